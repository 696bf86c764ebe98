"""What a process has started, what that has started, and so on: none of it gets away.

Linux lets a process adopt those below it whose parents have ended.  One that does so and
has no child left has no offspring at all, wherever they went: into a process group, a
session or the background.  So to end them all is to kill until there is no child.
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
PAUSE = 0.002  # seconds from one look at who is left to the next

# Most kernels list a process's children; there one need not look at all processes.
LISTED = os.path.exists("/proc/thread-self/children")


def forked(work: Callable[[], None]) -> int:
    """A process that does this and ends.  Signals do not disturb it, but for the two
    that cannot be shut out."""
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
    """Whoever reads what is written there must not wait for us."""
    for standard in (0, 1, 2):
        os.dup2(os.open(os.devnull, os.O_RDWR), standard)


def die_with_parent() -> None:
    """The kernel kills this process when its parent ends; not what this one starts."""
    ctypes.CDLL(None).prctl(DIE_WITH_PARENT, signal.SIGKILL, 0, 0, 0)


class Offspring:
    """Of this process."""

    def __init__(self) -> None:
        self.none_left = False  # when we last looked
        ctypes.CDLL(None).prctl(ADOPT, 1, 0, 0, 0)
        # Whoever has become us by exec(2) may have left us children: they are not ours.
        self._strangers = frozenset(children(os.getpid()))

    def __iter__(self) -> Iterator[int]:
        yield from below(os.getpid(), self._strangers)

    def reap(self) -> dict[int, int]:
        """How those have ended that have since the last time."""
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
        """Kill until nobody is left, but for those whom we may not kill."""
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
    """False: it belongs to somebody else."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass  # nor does it need it any more
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
    """Each thread has its own."""
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
