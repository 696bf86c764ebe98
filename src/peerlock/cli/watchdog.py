"""Whoever holds a lock for a command must stop it in time, even if stopped himself.

A second process, forked before there are any threads, waits for word from us: until when
the lock is ours.  If that time passes, or we are gone, it kills the command and all that
is in its process group.  It is in a session of its own, so that what a terminal stops or
interrupts does not include it.
"""

from __future__ import annotations

import contextlib
import os
import select
import signal
import struct
import time
from math import inf, isnan, nan

DEADLINE = struct.Struct("d")


class Watchdog:
    def __init__(self, group: int) -> None:
        theirs, self._ours = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.close(self._ours)
            watch(theirs, group)
        os.close(theirs)

    def until(self, deadline: float) -> None:
        """The command may go on until then, on the monotonic clock."""
        with contextlib.suppress(BrokenPipeError):
            os.write(self._ours, DEADLINE.pack(deadline))

    def dismiss(self) -> None:
        """The command has ended, or must not be killed for any other reason."""
        self.until(nan)
        os.close(self._ours)
        os.waitpid(self.pid, 0)


def watch(pipe: int, group: int) -> None:
    """In the second process, for ever."""
    try:
        os.setsid()
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
            signal.signal(number, signal.SIG_IGN)
        for standard in (0, 1, 2):  # whoever reads our output must not wait for us
            os.dup2(os.open(os.devnull, os.O_RDWR), standard)
        deadline = inf
        while (left := deadline - time.monotonic()) > 0:
            ready, _, _ = select.select([pipe], [], [], None if left == inf else left)
            if ready:
                told = os.read(pipe, DEADLINE.size)
                if len(told) < DEADLINE.size:
                    break  # our parent is gone
                (deadline,) = DEADLINE.unpack(told)
                if isnan(deadline):
                    os._exit(0)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(group, signal.SIGKILL)
    finally:
        os._exit(0)
