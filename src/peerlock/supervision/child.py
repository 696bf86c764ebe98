"""What becomes the command that a lock is held for.

It stays in our process group, as it does with flock(1).  So the terminal, pipelines, job
control and whatever is sent to the group reach it with no work of ours.
"""

from __future__ import annotations

import errno
import os
import signal
from collections.abc import Collection
from contextlib import suppress
from typing import NamedTuple, NoReturn

# What a command that cannot be run ends with, as flock(1) has it.
CANNOT_RUN = 69

# Python ignores these for itself, whatever it was started with.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)

# And these we answer ourselves; but who starts us in the background may want SIGINT to be
# ignored, and nohup(1) SIGHUP: that is for the command, too.
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
    blocked: Collection[int]  # the signals that whoever starts us wants to be blocked


def become(command: Command, fence: str, inherited: Collection[int]) -> NoReturn:
    """In a process that was made for it."""
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
    """Like execvp(3), which has the shell run a script that does not say what runs it."""
    try:
        os.execvpe(arguments[0], arguments, environment)
    except OSError as error:
        if error.errno != errno.ENOEXEC:
            raise
    from shutil import which  # slow to load, and seldom needed

    script = which(arguments[0]) or arguments[0]
    os.execve("/bin/sh", ["/bin/sh", script, *arguments[1:]], environment)
