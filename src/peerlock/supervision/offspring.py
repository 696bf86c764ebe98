"""All descendants of a process, wherever they are.

Linux lets a process adopt descendants whose parents have ended.  If such a process has no
child left, it has no descendant at all, in whatever process group, session or background
they were.  So killing children until there is none ends them all.
"""

from __future__ import annotations

import ctypes
import os
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import suppress

# From <linux/prctl.h>: PR_SET_PDEATHSIG and PR_SET_CHILD_SUBREAPER.
DIE_WITH_PARENT = 1
ADOPT = 36
PAUSE = 0.002  # seconds between two checks for processes that are left

# Most kernels list the children of a process, which saves looking at all processes.
LISTED = os.path.exists("/proc/thread-self/children")


def forked(work: Callable[[], None]) -> int:
    """A process that does this and ends.  All signals are blocked in it, except for the two
    that cannot be blocked."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signal.valid_signals())
    pid = os.fork()
    if pid == 0:
        try:
            work()
        finally:
            os._exit(0)
    signal.pthread_sigmask(signal.SIG_SETMASK, before)
    return pid


def let_go_of_streams() -> None:
    """Replace the standard streams: their readers must not wait for this process."""
    for standard in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), standard)


def die_with_parent() -> None:
    """The kernel kills this process when its parent ends, but not its children."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


class Offspring:
    """Of this process."""

    def __init__(self) -> None:
        self.none_left = False  # at the last check
        ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)
        # The program that became this one by exec(2) may have left children: they are not
        # ours.
        self._strangers = frozenset(children(os.getpid()))

    def __iter__(self) -> Iterator[int]:
        yield from below(os.getpid(), self._strangers)

    def reap(self) -> dict[int, int]:
        """The exit codes of those that have ended since the last call."""
        ended, self.none_left = {}, False
        try:
            while (found := os.waitpid(-1, os.WNOHANG)) != (0, 0):
                ended[found[0]] = found[1]
        except ChildProcessError:
            self.none_left = True
        return ended

    def send_signal(self, number: int) -> None:
        """To all of them."""
        for pid in self:
            sent(pid, number)

    def end(self) -> dict[int, int]:
        """Kill until no process is left, except for those that we may not kill."""
        ended: dict[int, int] = {}
        while True:
            ended |= self.reap()
            if self.none_left:
                break
            left = [sent(pid, signal.SIGKILL) for pid in self]
            if not any(left) and (left or self._strangers):
                break
            time.sleep(PAUSE)
        return ended


def sent(pid: int, number: int) -> bool:
    """False: it belongs to another user."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # it has ended meanwhile
    except PermissionError:
        return False
    return True


def below(pid: int, without: frozenset[int] = frozenset()) -> Iterator[int]:
    for child in children(pid):
        if child not in without:
            yield child
            yield from below(child)


def children(pid: int) -> list[int]:
    return children_listed(pid) if LISTED else children_found(pid)


def children_listed(pid: int) -> list[int]:
    """Of all threads: each has its own list."""
    found: list[int] = []
    with suppress(OSError):
        for thread in os.listdir(f"/proc/{pid}/task"):
            with suppress(OSError), open(f"/proc/{pid}/task/{thread}/children") as file:
                found += map(int, file.read().split())
    return found


def children_found(parent: int) -> list[int]:
    found = []
    for process in filter(str.isdigit, os.listdir("/proc")):
        with suppress(OSError), open(f"/proc/{process}/stat") as file:
            pid, _, rest = file.read().partition(" (")
            if int(rest.rpartition(")")[2].split()[1]) == parent:
                found.append(int(pid))
    return found
