"""The clock on which leases are counted.

CLOCK_MONOTONIC stands still while the machine is suspended; a lease does not.  So leases
are counted on CLOCK_BOOTTIME where the system has it.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

now: Callable[[], float] = time.monotonic
if hasattr(time, "CLOCK_BOOTTIME"):  # a partial is a third faster than a function
    now = partial(time.clock_gettime, time.CLOCK_BOOTTIME)
