"""The command line of `peerlock lock`: the options of flock(1), and our own."""

from __future__ import annotations

import os
from typing import Any, NamedTuple

from peerlock.cli.options import (
    CLUSTER,
    LABEL,
    LEASE,
    REACH,
    CommandLine,
    Option,
    plain_seconds,
    whole_number,
)
from peerlock.core.errors import UsageError

MOST_NAMES = 1_000  # their fences must fit into one message to the watchdog
NOT_ACQUIRED = 1  # the exit code with -n and -w, unless -E gives another

HELP = Option("help", ("-h", "--help"), "Show this message and exit.")

OPTIONS = (
    Option(
        "shared",
        ("-s", "--shared"),
        "Share the lock with others that share it.",
        default=False,
    ),
    Option(
        "shared",
        ("-x", "-e", "--exclusive"),
        "Hold the lock alone (the default).",
        default=False,
        means=False,
    ),
    Option(
        "nonblock",
        ("-n", "--nb", "--nonblock"),
        "Fail if the lock is not free.",
        default=False,
    ),
    Option(
        "timeout",
        ("-w", "--wait", "--timeout"),
        "Wait for at most this long.",
        "SECONDS",
        convert=plain_seconds,
    ),
    Option(
        "conflict",
        ("-E", "--conflict-exit-code"),
        "Exit code if the lock could not be acquired with -n or -w.",
        "CODE",
        NOT_ACQUIRED,
        whole_number(0, 255),
    ),
    Option(
        "shell",
        ("-c", "--command"),
        "Run this in a shell.",
        "STRING",
        default=(),
        collects=True,
    ),
    Option(
        "close",
        ("-o", "--close"),
        "Processes that COMMAND leaves behind do not keep the lock.",
        default=False,
    ),
    Option(
        "no_fork",
        ("-F", "--no-fork"),
        "Become COMMAND, while another process holds the lock for it.",
        default=False,
    ),
    Option(
        "permits",
        ("--permits",),
        "A semaphore with N permits: at most N holders.",
        "N",
        0,
        whole_number(1),
    ),
    Option("algorithm", ("--algorithm",), "Use this algorithm: see peerlock list.", "NAME"),
    CLUSTER,
    LABEL,
    LEASE,
    *REACH,
    Option(
        "verbose", ("--verbose",), "Print how long acquiring the lock took.", default=False
    ),
)


class LockRequest(NamedTuple):
    names: tuple[str, ...]
    command: tuple[str, ...]
    cluster: str | None
    label: str | None
    lease: float | None
    listen: str
    advertise: str | None
    certificates: str | None
    insecure: bool
    nonblock: bool
    timeout: float | None
    shared: bool
    conflict: int
    permits: int
    algorithm: str | None
    close: bool
    no_fork: bool
    verbose: bool

    @property
    def what(self) -> str:
        """The locks, in words."""
        return ", ".join(self.names)


def parse(arguments: list[str]) -> LockRequest | None:
    """None if help is requested.  Options may stand before and after a name.

    What follows `--` is the command, and all names stand before it.  Without `--`, the
    first word is the name, and what follows it and its options is the command.
    """
    values: dict[str, Any] = {option.name: option.default for option in OPTIONS}
    line = CommandLine((*OPTIONS, HELP), arguments)
    names: list[str] = []
    read = line.read()
    while line.rest and "help" not in read and not (names and line.is_at_the_command):
        names.append(line.rest.pop(0))
        more = line.read()
        shell = read.get("shell", ()) + more.get("shell", ())
        read |= more | ({"shell": shell} if shell else {})
    if "help" in read:
        return None
    if not names:
        raise UsageError("missing lock name: peerlock lock NAME -- COMMAND")
    if len(names) > MOST_NAMES:
        raise UsageError(f"at most {MOST_NAMES:,} locks at a time, got {len(names):,}")
    values |= read
    if values["close"] and values["no_fork"]:
        raise UsageError("-o and -F exclude each other: omit one")
    command = to_run(names[0], line.rest, values.pop("shell"))
    return LockRequest(tuple(names), command, **values)


def to_run(name: str, command: list[str], shell: tuple[str, ...]) -> tuple[str, ...]:
    if shell and (command or len(shell) > 1):
        raise UsageError("give one command, or one -c STRING")
    if shell:
        return (os.environ.get("SHELL") or "/bin/sh", "-c", *shell)
    if not command:
        raise UsageError(f"missing command: peerlock lock {name} -- COMMAND")
    return tuple(command)
