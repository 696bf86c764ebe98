"""The settings of a node."""

from __future__ import annotations

from dataclasses import dataclass
from math import inf

from peerlock.core.errors import UsageError

MOST = 1_000_000_000
LONGEST = 86_400  # seconds


@dataclass(frozen=True)
class Knobs:
    """The settings of a node, with defaults that suit most programs."""

    # How often, and for how long, the lock may be handed from one local user to the next
    # before other processes get their turn: 1 is strictly in turn.  A hand-over within a
    # process takes microseconds, one to another process must wake another core.
    hand_overs: int = 64
    hand_over_time: float = 0.001

    # A name that was not used here for about this many seconds is given back, at the latest
    # after twice as long, and at most about `remembered` names are kept open without being
    # used.  A stopped process blocks the names that it has open; opening a name again takes
    # one round trip, or two if other members have it open.  Names are checked at ticks,
    # which are a second apart: a little less than that means at every tick.
    remember: float = 0.9
    remembered: int = 10_000

    def __post_init__(self) -> None:
        for name in ("hand_overs", "remembered"):
            number = getattr(self, name)
            is_number = isinstance(number, int) and type(number) is not bool
            if not is_number or not 1 <= number <= MOST:
                raise UsageError(f"{name} must be 1 to {MOST:,}, got {shown(number)}")
        for name in ("hand_over_time", "remember"):
            seconds = getattr(self, name)
            is_number = isinstance(seconds, int | float) and type(seconds) is not bool
            if not is_number or not (0 <= seconds <= LONGEST or seconds == inf):
                raise UsageError(
                    f"{name} must be 0 to {LONGEST:,} seconds, or infinite, "
                    f"got {shown(seconds)}"
                )


def shown(value: object) -> str:
    """Also of an integer with so many digits that Python refuses to show them."""
    try:
        return f"{value!r:.50}"
    except ValueError:
        return "a larger number"
