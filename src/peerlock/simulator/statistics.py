"""What is counted during a run, and summarised at its end."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from math import nan

from peerlock.core.peer import NodeId
from peerlock.simulator.report import Summary


class RunStatistics:
    def __init__(self, nodes: int) -> None:
        self.entries_of = [0] * (nodes + 1)
        self.entries = 0
        self.inside = self.max_inside = self.max_overtaken = 0
        self._asked_at = [0.0] * (nodes + 1)
        self._entries_before = [0] * (nodes + 1)
        self._response_times = array("d")
        self._delays = array("d")
        self.last_left = -1.0

    def requested(self, node: NodeId, now: float) -> None:
        self._asked_at[node] = now
        self._entries_before[node] = self.entries

    def granted(self, node: NodeId, now: float) -> None:
        asked = self._asked_at[node]
        self._response_times.append(now - asked)
        if asked <= self.last_left:
            self._delays.append(now - self.last_left)
        overtaken = self.entries - self._entries_before[node]
        if overtaken > self.max_overtaken:
            self.max_overtaken = overtaken
        self.entries += 1
        self.entries_of[node] += 1
        self.inside += 1
        if self.inside > self.max_inside:
            self.max_inside = self.inside

    def left(self, now: float) -> None:
        self.inside -= 1
        self.last_left = now

    def crashed_inside(self) -> None:
        self.inside -= 1

    @property
    def response_time(self) -> Summary:
        return summary(self._response_times)

    @property
    def synchronisation_delay(self) -> Summary:
        return summary(self._delays)

    @property
    def throughput(self) -> float:
        return self.entries / self.last_left if self.last_left > 0 else nan

    @property
    def queue_length(self) -> float:
        """By Little's law: the sum of all waits, divided by the duration."""
        return sum(self._response_times) / self.last_left if self.last_left > 0 else nan

    @property
    def fairness(self) -> float:
        return jain(self.entries_of[1:])


def summary(times: Sequence[float]) -> Summary:
    if not times:
        return Summary(nan, nan, nan, nan)
    ordered = sorted(times)
    last = len(ordered) - 1
    return Summary(
        mean=sum(ordered) / len(ordered),
        p50=ordered[round(0.50 * last)],
        p99=ordered[round(0.99 * last)],
        max=ordered[last],
    )


def jain(shares: Sequence[int]) -> float:
    squares = sum(x * x for x in shares)
    return sum(shares) ** 2 / (len(shares) * squares) if squares else nan
