"""A descriptor that becomes readable at a time on the clock of leases.

The timeouts of select(2) count on CLOCK_MONOTONIC, which stops while the machine is
suspended.  A kernel timer on CLOCK_BOOTTIME fires as soon as the machine resumes.
"""

from __future__ import annotations

import ctypes
import os
import time
from math import inf

ABSOLUTE = 1  # TFD_TIMER_ABSTIME in <sys/timerfd.h>


class Timespec(ctypes.Structure):
    _fields_ = (("seconds", ctypes.c_long), ("nanoseconds", ctypes.c_long))


class Timer(ctypes.Structure):
    _fields_ = (("interval", Timespec), ("value", Timespec))


class DeadlineTimer:
    def __init__(self) -> None:
        self._library = ctypes.CDLL(None, use_errno=True)
        flags = os.O_CLOEXEC | os.O_NONBLOCK
        self.descriptor = self._library.timerfd_create(time.CLOCK_BOOTTIME, flags)
        if self.descriptor < 0:
            raise OSError(ctypes.get_errno(), "the kernel has no timer on CLOCK_BOOTTIME")

    def set(self, deadline: float) -> None:
        """On `peerlock.membership.clock`; a deadline in the past fires at once."""
        nanoseconds = 0 if deadline == inf else max(1, int(deadline * 1e9))  # 0: never
        timer = Timer(value=Timespec(*divmod(nanoseconds, 10**9)))
        self._library.timerfd_settime(self.descriptor, ABSOLUTE, ctypes.byref(timer), None)
