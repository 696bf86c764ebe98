"""The clock on which leases are counted.

CLOCK_MONOTONIC stands still while the machine is suspended; a lease does not.  So leases
are counted on CLOCK_BOOTTIME where the system has it.
"""

from __future__ import annotations

import time

__all__ = ["now"]

if hasattr(time, "CLOCK_BOOTTIME"):

    def now() -> float:
        return time.clock_gettime(time.CLOCK_BOOTTIME)

else:
    now = time.monotonic
