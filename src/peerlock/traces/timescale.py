"""From time to place on the drawing: linear, except that long silences are cut short.

The scale follows from what has to be read: a typical message travels far enough to the
right for its arrow to slant, and there is room for the labels of all messages.  Time
alone would draw a busy run as a black wall and a quiet one as an empty page.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from math import ceil, floor, log10

FLIGHT = 100.0  # how far a typical message travels, at least
SILENCE = 1.8  # typical flights: the widest stretch without a step
WIDEST = 16_000.0
TICKS = 72.0  # between two ticks, at least


@dataclass(frozen=True, slots=True)
class TimeScale:
    moments: Sequence[float]  # ascending, at least one
    places: Sequence[float]
    unit: float  # the width of a unit of time, where it is not cut

    def place(self, time: float) -> float:
        i = bisect_right(self.moments, time) - 1
        if i + 1 == len(self.moments):
            return self.places[-1]
        begin, end = self.moments[i], self.moments[i + 1]
        share = (time - begin) / (end - begin)
        return self.places[i] + share * (self.places[i + 1] - self.places[i])

    def cuts(self) -> list[tuple[float, float]]:
        """The stretches of time that are drawn shorter than they were."""
        widths = (b - a for a, b in pairwise(self.places))
        stretches = zip(pairwise(self.moments), widths, strict=True)
        return [(a, b) for (a, b), width in stretches if width < 0.99 * (b - a) * self.unit]

    def ticks(self) -> list[float]:
        """Round times, none of them where time is cut."""
        step = round_up(TICKS / self.unit)
        if all(float(moment).is_integer() for moment in self.moments):
            step = max(step, 1.0)
        begins = [self.moments[0], *(end for _, end in self.cuts())]
        ends = [*(begin for begin, _ in self.cuts()), self.moments[-1]]
        return [
            k * step
            for begin, end in zip(begins, ends, strict=True)
            for k in range(ceil(begin / step), floor(end / step) + 1)
        ]


def fit(times: Iterable[float], flight: float, wanted: float, left: float) -> TimeScale:
    """`flight` is how long a typical message takes, `wanted` the width for labels."""
    moments = sorted(set(times)) or [0.0]
    gaps = [b - a for a, b in pairwise(moments)]
    shown = [min(gap, SILENCE * flight) for gap in gaps]
    total = sum(shown) or 1.0
    unit = min(max(FLIGHT / flight, wanted / total), WIDEST / total)
    places = accumulate((gap * unit for gap in shown), initial=left)
    return TimeScale(moments, list(places), unit)


def round_up(value: float) -> float:
    """The next of …, 0.1, 0.2, 0.5, 1, 2, 5, 10, …"""
    power = 10.0 ** floor(log10(value))
    return next(k * power for k in (1, 2, 5, 10) if k * power >= 0.999 * value)
