"""The measures of a run."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from math import isnan
from typing import Any


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
