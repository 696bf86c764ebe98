"""How long messages take: models as values, drawn from the run's own generator.

A model returns the functions of `arrivals.py`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from math import log1p
from random import Random

from peerlock.core.errors import UsageError, unknown
from peerlock.simulator.arrivals import Arrival, Arrivals, all_spread, one_by_one, spread

# Next to longer times, short ones would vanish in a sum; and NaN is not below it.
LONGEST = 1e12


class Latency(ABC):
    @abstractmethod
    def arrival(self, rng: Random, nodes: int) -> Arrival: ...

    def arrivals(self, rng: Random, nodes: int) -> Arrivals:
        return one_by_one(self.arrival(rng, nodes))


@dataclass(frozen=True)
class Constant(Latency):
    delay: float

    def arrival(self, rng: Random, nodes: int) -> Arrival:
        delay = self.delay
        return lambda now, sender, receiver: now + delay


@dataclass(frozen=True)
class Uniform(Latency):
    low: float
    high: float

    def arrival(self, rng: Random, nodes: int) -> Arrival:
        return spread(self.low, self.high - self.low, rng.random)

    def arrivals(self, rng: Random, nodes: int) -> Arrivals:
        return all_spread(self.low, self.high - self.low, rng.random)


@dataclass(frozen=True)
class Exponential(Latency):
    mean: float

    def arrival(self, rng: Random, nodes: int) -> Arrival:
        mean, random = self.mean, rng.random
        return lambda now, sender, receiver: now - mean * log1p(-random())


@dataclass(frozen=True)
class Matrix(Latency):
    """Sites with a fixed delay between each two; the nodes fill them evenly, in order."""

    delays: tuple[tuple[float, ...], ...]

    def arrival(self, rng: Random, nodes: int) -> Arrival:
        delays = self.delays
        site = [0, *(i * len(delays) // nodes for i in range(nodes))]
        return lambda now, sender, receiver: now + delays[site[sender]][site[receiver]]


FORMS = {
    "constant": "constant:1",
    "uniform": "uniform:0.5,1.5",
    "exponential": "exponential:1",
    "matrix": "matrix:1,80/80,1",
}


def parse_latency(spec: str) -> Latency:
    """From `constant:1`, `uniform:0.5,1.5`, `exponential:1` or `matrix:1,80/80,1`."""
    kind, _, text = spec.partition(":")
    if kind not in FORMS:
        raise UsageError(unknown("latency", kind, list(FORMS)))
    try:
        rows = tuple(tuple(map(float, r.split(","))) for r in text.split("/"))
        if not all(0 <= delay <= LONGEST for row in rows for delay in row):
            raise ValueError
        return _model(kind, rows)
    except (ValueError, TypeError):
        raise UsageError(f"invalid latency {spec!r}: use {FORMS[kind]}") from None


def _model(kind: str, rows: tuple[tuple[float, ...], ...]) -> Latency:
    if kind == "matrix":
        if any(len(row) != len(rows) for row in rows):
            raise ValueError
        return Matrix(rows)
    (numbers,) = rows
    if kind == "uniform" and numbers[0] > numbers[-1]:
        raise ValueError
    models: dict[str, Callable[..., Latency]] = {
        "constant": Constant,
        "uniform": Uniform,
        "exponential": Exponential,
    }
    return models[kind](*numbers)
