"""The command that a lock is held for: a process group of its own.

It is forked before this process has any thread, and waits to be told to run.  Unless told
otherwise it inherits the file by which the cluster knows that we live: whatever kills us,
the lock is kept until the command is dead, too, or our lease is over.
"""

from __future__ import annotations

import contextlib
import os
import signal
import socket
from collections.abc import Sequence

# What a command that cannot be run ends with, as flock(1) has it.
CANNOT_RUN = 69

# Who starts us in the background may want SIGINT to be ignored; these are Python's doing.
IGNORED_BY_PYTHON = (signal.SIGPIPE, signal.SIGXFSZ)


class Child:
    def __init__(self, command: Sequence[str], environment: dict[str, str]) -> None:
        self.status: int | None = None  # its exit code, once it has ended
        self.started = False
        self._ours, theirs = socket.socketpair()
        self.pid = os.fork()
        if self.pid == 0:
            self._ours.close()
            wait_and_run(theirs, list(command), environment)
        theirs.close()
        with contextlib.suppress(OSError):  # it has done so itself
            os.setpgid(self.pid, self.pid)

    def run(self, fence: int, keep_open: int | None) -> None:
        """Now.  `keep_open` is a descriptor for it to inherit."""
        self.started = True
        take_terminal(self.pid)
        socket.send_fds(
            self._ours, [b"%d" % fence], [] if keep_open is None else [keep_open]
        )
        self._ours.close()

    def send_signal(self, number: int) -> None:
        """To it and all that it has started and left in its group."""
        with contextlib.suppress(ProcessLookupError):
            os.killpg(self.pid, number)

    def reap(self) -> bool:
        """Look after it.  True: it has stopped, as by Ctrl-Z."""
        if self.status is not None:
            return False
        pid, status = os.waitpid(self.pid, os.WNOHANG | os.WUNTRACED)
        if pid == 0:
            return False
        if os.WIFSTOPPED(status):
            return True
        self.status = exit_code(status)
        take_terminal(os.getpgrp())
        return False

    def resume(self) -> None:
        take_terminal(self.pid)
        self.send_signal(signal.SIGCONT)

    def abandon(self) -> None:
        """It will not run, or not any longer."""
        self._ours.close()
        if self.status is None:
            self.send_signal(signal.SIGKILL)
            os.waitpid(self.pid, 0)
            take_terminal(os.getpgrp())


def wait_and_run(
    told: socket.socket, command: list[str], environment: dict[str, str]
) -> None:
    """In the child, for ever."""
    try:
        os.setpgid(0, 0)
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGPIPE, signal.SIGXFSZ):
            if number in IGNORED_BY_PYTHON or signal.getsignal(number) != signal.SIG_IGN:
                signal.signal(number, signal.SIG_DFL)
        fence, inherited, _, _ = socket.recv_fds(told, 100, 1)
        if not fence:
            os._exit(0)  # our parent has given up
        for descriptor in inherited:
            os.set_inheritable(descriptor, True)
        os.execvpe(command[0], command, {**environment, "PEERLOCK_FENCE": fence.decode()})
    except OSError as error:
        text = f"peerlock: cannot run {command[0]}: {error.strerror}\n"
        os.write(2, text.encode(errors="replace"))
    finally:
        os._exit(CANNOT_RUN)


def exit_code(status: int) -> int:
    if os.WIFSIGNALED(status):
        return 128 + os.WTERMSIG(status)
    return os.WEXITSTATUS(status)


def take_terminal(group: int) -> None:
    """Let this process group read from the terminal, if it is ours to give."""
    try:
        terminal = os.open("/dev/tty", os.O_RDWR)
    except OSError:
        return
    try:
        if os.tcgetpgrp(terminal) in (os.getpgrp(), group) or group == os.getpgrp():
            before = signal.signal(signal.SIGTTOU, signal.SIG_IGN)
            os.tcsetpgrp(terminal, group)
            signal.signal(signal.SIGTTOU, before)
    except OSError:
        pass
    finally:
        os.close(terminal)
