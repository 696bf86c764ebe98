"""The measures of a run: counted while it runs, summarised at its end."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from math import isnan, nan
from typing import Any

from peerlock.core.peer import NodeId


@dataclass(frozen=True)
class Summary:
    """A summary of many times; each value is NaN if there were none."""

    mean: float
    p50: float
    p99: float
    max: float


@dataclass(frozen=True)
class Report:
    """The measures of a run.  Times are in units of virtual time; NaN is a figure without
    samples, such as the synchronisation delay of a run in which no node had to wait.
    """

    algorithm: str
    nodes: int
    entries: int
    messages: int
    messages_per_entry: float
    messages_by_type: dict[str, int]
    max_inside: int
    max_overtaken: int  # the most entries by others while one request waited
    response_time: Summary  # from asking to entering
    synchronisation_delay: Summary  # from leaving to the next entering, if it waited
    throughput: float  # entries per time unit
    queue_length: float  # the number of waiters, averaged over time
    fairness: float  # Jain's index of the nodes' entries: 1 is even, 1/N is one node's
    remote_errors: int  # messages refused as invalid, on unreliable networks
    events: int
    seed: int

    def as_dict(self) -> dict[str, Any]:
        """As the command line prints it in JSON: figures without samples are None."""
        found: dict[str, Any] = without_nan(asdict(self))
        return found


def without_nan(value: Any) -> Any:
    """The same with None for NaN, and for a summary of nothing but NaN."""
    if isinstance(value, float) and isnan(value):
        return None
    if not isinstance(value, dict):
        return value
    found = {name: without_nan(item) for name, item in value.items()}
    return found if any(item is not None for item in found.values()) or not found else None


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
