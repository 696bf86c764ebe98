"""What can be set at a node."""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.core.errors import UsageError


@dataclass(frozen=True)
class Knobs:
    """What can be set, and what is good for most."""

    # How often the lock may go from one local user to the next before others get their
    # turn, and for how long: 1 is strictly in turn.  Handing over within a process takes
    # microseconds, to another process a wake-up of another core.
    hand_overs: int = 64
    hand_over_time: float = 0.001

    # A name that nobody here has used for about this many seconds is given back, at the
    # latest after twice as long, and at most about `remembered` names are kept open without
    # being used.  A process that is stopped holds up the names that it has open; to open a
    # name again takes one round trip, or two if others have it open.  Names are looked at
    # at ticks, which are a second apart: a little less than that is at every tick.
    remember: float = 0.9
    remembered: int = 10_000

    def __post_init__(self) -> None:
        for name in ("hand_overs", "remembered"):
            number = getattr(self, name)
            if type(number) is bool or not isinstance(number, int) or number < 1:
                raise UsageError(f"{name} must be 1 or more, not {number!r:.50}")
        for name in ("hand_over_time", "remember"):
            seconds = getattr(self, name)
            is_number = isinstance(seconds, int | float) and type(seconds) is not bool
            if not is_number or not seconds >= 0:
                raise UsageError(f"{name} must be 0 or more seconds, not {seconds!r:.50}")
