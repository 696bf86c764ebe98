"""Options as plain data, for a command that must start faster than click is imported.

`Line` is the parser of `peerlock lock`.  `cli/output.py` makes click's options from the
same data: for the commands that click parses, and for the help of `lock`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isfinite
from typing import Any, NamedTuple

from peerlock.core.errors import UsageError, unknown


class Option(NamedTuple):
    name: str
    flags: tuple[str, ...]
    help: str
    metavar: str = ""  # of its value; empty: it takes no value
    default: Any = None
    convert: Callable[[str], Any] = str  # raises ValueError with what is expected
    means: Any = True  # its value, if it takes no value
    collects: bool = False  # if it is given several times, all count; otherwise the last


class CommandLine:
    """A command line, read option by option, by the rules of getopt_long(3) without
    abbreviations."""

    def __init__(self, options: Sequence[Option], words: Sequence[str]) -> None:
        self.options = {flag: option for option in options for flag in option.flags}
        self.rest = list(words)
        self._ended = False  # by `--`, what was read last

    @property
    def is_at_the_command(self) -> bool:
        """What is left is the command's: it follows `--`, or there is none."""
        return self._ended or "--" not in self.rest

    def read(self) -> dict[str, Any]:
        """The options by name; what follows them stays in `rest`."""
        values: dict[str, Any] = {}
        self._ended = False
        while self.rest and self.rest[0].startswith("-") and self.rest[0] != "-":
            word = self.rest.pop(0)
            if word == "--":
                self._ended = True
                break
            option, value = self._one(word)
            if option.collects:
                value = (*values.get(option.name, ()), value)
            values[option.name] = value
        return values

    def _one(self, word: str) -> tuple[Option, Any]:
        flag, equals, text = word.partition("=")
        if not word.startswith("--"):  # -w3, or -nx for -n -x
            flag, text = word[:2], word[2:]
            equals = text
        if flag not in self.options:
            raise UsageError(unknown("option", flag, self.options))
        option = self.options[flag]
        if option.metavar:
            return option, converted(flag, option, text if equals else self._next(flag))
        if text and not word.startswith("--") and not text.startswith("-"):
            self.rest.insert(0, f"-{text}")
        elif equals:
            raise UsageError(f"{flag} takes no value, got {text!r}")
        return option, option.means

    def _next(self, flag: str) -> str:
        if not self.rest:
            raise UsageError(f"{flag} needs a value: {flag} {self.options[flag].metavar}")
        return self.rest.pop(0)


def converted(flag: str, option: Option, text: str) -> Any:
    try:
        return option.convert(text)
    except ValueError as error:
        raise UsageError(f"invalid {flag} {text!r}: use {error}") from None


# Values


def plain_seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = -1
    if not seconds >= 0 or not isfinite(seconds):
        raise ValueError("a number of seconds, 0 or more")
    return seconds


def whole_number(least: int, most: int | None = None) -> Callable[[str], int]:
    expected = f"{least} or more" if most is None else f"{least} to {most}"

    def convert(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            raise ValueError(f"a whole number, {expected}")
        return number

    return convert


def lease(text: str) -> float | None:
    """The engine checks how short it may be."""
    try:
        return None if text == "none" else float(text)
    except ValueError:
        raise ValueError("a number of seconds, or none") from None


# Shared by the commands that use a cluster

CLUSTER = Option(
    "cluster",
    ("--cluster",),
    "The cluster: sqlite:///path, etcd://host:2379/name, "
    "postgresql://host/database?cluster=name.  "
    "[default: $PEERLOCK_CLUSTER, or your own on this machine]",
    "URL",
)
LABEL = Option(
    "label",
    ("--label",),
    "What `peerlock status` shows for this process.  [default: host, pid, program]",
    "TEXT",
)
LEASE = Option(
    "lease",
    ("--lease",),
    "If this process is silent for this long, it loses its locks; none disables this.",
    "SECONDS",
    10.0,
    lease,
)
LISTEN = Option(
    "listen",
    ("--listen",),
    "Between machines: where other members reach this one.  [default: any free port]",
    "HOST:PORT",
    "",
)
ADVERTISE = Option(
    "advertise",
    ("--advertise",),
    "Between machines: the address that other members use, if it differs.",
    "HOST:PORT",
)
CERTIFICATES = Option(
    "certificates",
    ("--certificates",),
    "Directory with this host's certificate: see peerlock certs.  "
    "[default: $PEERLOCK_CERTIFICATES]",
    "DIR",
)
INSECURE = Option(
    "insecure",
    ("--insecure",),
    "Between machines: no certificates and no encryption.",
    default=False,
)
REACH = (LISTEN, ADVERTISE, CERTIFICATES, INSECURE)  # as peerlock.Reach has them
