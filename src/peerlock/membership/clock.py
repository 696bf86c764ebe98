"""The clock on which leases are counted.

CLOCK_MONOTONIC stops while the machine is suspended; a lease does not.  So leases
are counted on CLOCK_BOOTTIME where the system has it.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import suppress
from functools import partial

__all__ = ["name", "now"]

BOOT = "/proc/sys/kernel/random/boot_id"
NAMESPACE = "/proc/self/ns/time"

# A partial is called without a frame, and the node reads the clock ten times for a grant.
now: Callable[[], float] = (
    partial(time.clock_gettime, time.CLOCK_BOOTTIME)
    if hasattr(time, "CLOCK_BOOTTIME")
    else time.monotonic
)


def name() -> str:
    """Which clock that is: processes whose clocks have the same name read the same time.

    It begins with every boot of the machine, and Linux has time namespaces, in each of
    which it may be set forward or back.
    """
    boot = namespace = ""
    with suppress(OSError), open(BOOT, encoding="utf-8") as file:
        boot = file.read().strip()
    with suppress(OSError):
        namespace = os.readlink(NAMESPACE)
    return f"{boot} {namespace}"
