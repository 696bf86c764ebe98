"""The process that becomes the command for which a lock is held.

It stays in our process group, as with flock(1).  So the terminal, pipelines, job control
and signals to the group reach it directly.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple, NoReturn

# The exit code if the command cannot be run, as with flock(1).
CANNOT_RUN = 69

# Python ignores these for itself, whatever their disposition was at its start.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

# These are handled here.  But a shell that starts a background job may have SIGINT ignored,
# and nohup(1) SIGHUP: that holds for the command, too.
ANSWERED = (
    signal.SIGINT,
    signal.SIGTERM,
    signal.SIGHUP,
    signal.SIGQUIT,
    signal.SIGUSR1,
    signal.SIGUSR2,
)


def answered() -> list[signal.Signals]:
    return [n for n in ANSWERED if signal.getsignal(n) != signal.SIG_IGN]


class Command(NamedTuple):
    arguments: tuple[str, ...]
    environment: dict[str, str]
    blocked: Collection[int]  # the signals that were blocked when this process started


def become(command: Command, fence: str, inherited: Collection[int]) -> NoReturn:
    """Called in a process of its own."""
    try:
        for number in (*answered(), *IGNORED_BY_PYTHON):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_SETMASK, command.blocked)
        for descriptor in inherited:
            os.set_inheritable(descriptor, True)
        execute(command.arguments, {**command.environment, "PEERLOCK_FENCE": fence})
    except OSError as error:
        text = f"peerlock: cannot run {command.arguments[0]}: {error.strerror}\n"
        with suppress(OSError):
            os.write(2, text.encode(errors="backslashreplace"))
    finally:
        os._exit(CANNOT_RUN)


def execute(arguments: tuple[str, ...], environment: dict[str, str]) -> None:
    """Like execvp(3), which runs a script without an interpreter line in the shell."""
    try:
        os.execvpe(arguments[0], arguments, environment)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    from shutil import which  # slow to load, and rarely needed

    script = which(arguments[0]) or arguments[0]
    os.execve("/bin/sh", ["/bin/sh", script, *arguments[1:]], environment)
