"""The numbers of views, and how they grow although everything that kept them is lost.

A number has 41 bits.  A new cluster begins with 1,024 numbers for each second since 2024,
which lasts until 2092, and every change takes the next one.  No number is ahead of the
clock: a change that would need one is made a little later (`early`).  So a cluster that is
made afresh after a loss begins above every number that the lost one has given, however soon
it is made and at whatever rate the numbers were given, unless the clock was set back.

Fences are a number above a counter.  A cluster whose counter runs over takes a block of
numbers for its fences without a new view (`BLOCK`).
"""

from __future__ import annotations

from peerlock.core.errors import UsageError

BITS = 41
MOST = 1 << BITS  # every number is lower
BLOCK = 256  # numbers that are taken at once for fences

BEGINNING = 1_704_067_200  # 2024-01-01, in seconds since 1970
UNBELIEVABLE = 3_629_145_600  # 2085-01-01
PER_SECOND = 1024

# A clock that is this many seconds behind the numbers has been set back: changes alone
# never need more than a block, which is a quarter of a second.
SET_BACK = 1.0

# The clocks of two machines differ by less than this many seconds, also if one of them was
# set to the time of its zone instead of UTC.
APART = 86_400.0


def origin(wall_clock: float) -> int:
    """The number that a new cluster begins with; the clock is in seconds since 1970."""
    if not BEGINNING <= wall_clock < UNBELIEVABLE:
        raise UsageError(
            "the clock of this machine is wrong (it must be between 2024 and 2085); "
            "set it before a new cluster is made, because its numbers begin there"
        )
    return int((wall_clock - BEGINNING) * PER_SECOND)


def early(number: int, wall_clock: float) -> float:
    """For how many seconds to wait before this number may be given.

    0 if the clock has been set back: to wait for it could take years.  The cluster works
    on; its fences fall only if it is lost, too, before the clock has caught up.
    """
    ahead = number / PER_SECOND - (wall_clock - BEGINNING)
    return ahead if 0 < ahead <= SET_BACK else 0.0


def is_possible(number: int, given: int, wall_clock: float) -> bool:
    """Whether an engine that has given `given` can have given this number by now.

    A cluster may be ahead of our clock: ours is wrong, or another one has been set back.
    """
    by_clock = (wall_clock - BEGINNING) * PER_SECOND
    return number <= max(given, by_clock) + APART * PER_SECOND
