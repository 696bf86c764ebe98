"""Which node requests when: light, heavy, a level of load, or a schedule.

The run notifies its load when it starts, when a node has left, and when everything is
quiet. The load then makes requests for nodes, as long as entries are left.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import floor, log1p
from random import Random
from typing import Protocol

from peerlock.core.errors import UsageError
from peerlock.core.peer import NodeId


class LoadRun(Protocol):
    """The part of a run that its load uses."""

    members: tuple[NodeId, ...]
    rng: Random
    now: float
    rests: bool

    def ask(self, node: NodeId, at: float) -> None: ...


class Load:
    def requests(self, entries: int) -> int:
        """The number of requests that gives the wanted number of entries."""
        return entries

    def start(self, run: LoadRun) -> None:
        """Time is 0 and nothing has happened yet."""

    def left(self, run: LoadRun, node: NodeId) -> None:
        """`node` has just left its critical section."""

    def quiet(self, run: LoadRun) -> None:
        """No message is under way and no node is inside."""


@dataclass(frozen=True)
class Light(Load):
    """The next request, from a random node, only when everything is quiet.

    Where messages never cease (a token that circulates), quiet means that no node waits.
    """

    def quiet(self, run: LoadRun) -> None:
        run.ask(run.rng.choice(run.members), run.now + 1.0)

    def start(self, run: LoadRun) -> None:
        if not run.rests:
            self.quiet(run)

    def left(self, run: LoadRun, node: NodeId) -> None:
        if not run.rests:
            self.quiet(run)


@dataclass(frozen=True)
class Heavy(Load):
    """Every node asks again as soon as it has left."""

    def start(self, run: LoadRun) -> None:
        for node in run.members:
            run.ask(node, 0.0)

    def left(self, run: LoadRun, node: NodeId) -> None:
        run.ask(node, run.now)


@dataclass(frozen=True)
class Level(Load):
    """Each idle node asks with probability `p` per time unit."""

    p: float

    def start(self, run: LoadRun) -> None:
        for node in run.members:
            self.left(run, node)

    def left(self, run: LoadRun, node: NodeId) -> None:
        run.ask(node, run.now + self.idle_time(run.rng.random))

    def idle_time(self, random: Callable[[], float]) -> float:
        """A geometric number of time units: each ends the wait with probability p."""
        if self.p == 1.0:
            return 1.0
        return 1.0 + floor(log1p(-random()) / log1p(-self.p))


@dataclass(frozen=True)
class Schedule(Load):
    """Requests at given times; one that comes while its node is busy waits for it."""

    wishes: tuple[tuple[float, NodeId], ...]

    def requests(self, entries: int) -> int:
        return len(self.wishes)

    def start(self, run: LoadRun) -> None:
        for at, node in self.wishes:
            run.ask(node, at)


def parse_load(spec: str) -> Load:
    """From `light`, `heavy`, or a probability per node and time unit."""
    if spec in ("light", "heavy"):
        return Light() if spec == "light" else Heavy()
    try:
        p = float(spec)
    except ValueError:
        p = 0.0
    if not 0.0 < p <= 1.0:
        raise UsageError(
            f"invalid load {spec!r}: use light, heavy, or a probability in (0, 1]"
        )
    return Level(p)
