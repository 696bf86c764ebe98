"""What the network does to messages, and what happens to nodes, as one value."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from random import Random

from peerlock.core.peer import NodeId
from peerlock.simulator.latency import Arrival, Latency, Uniform


@dataclass(frozen=True)
class Partition:
    """From `start` to `end` no message crosses between the groups.

    Nodes that are in none of them form one more group.
    """

    start: float
    end: float
    groups: tuple[frozenset[NodeId], ...]

    def separates(self, now: float, a: NodeId, b: NodeId) -> bool:
        return self.start <= now < self.end and any(
            (a in group) != (b in group) for group in self.groups
        )


@dataclass(frozen=True)
class Crash:
    """The node stops at `at`, forgetting everything, and comes back at `back`, if ever."""

    node: NodeId
    at: float
    back: float | None = None


@dataclass(frozen=True)
class Network:
    latency: Latency = Uniform(0.5, 1.5)
    fifo: bool = False  # messages between two nodes arrive in the order sent
    loss: float = 0.0  # the probability that a message is lost
    duplication: float = 0.0  # … and that it arrives twice
    partitions: tuple[Partition, ...] = ()
    crashes: tuple[Crash, ...] = ()
    broadcast_medium: bool = False  # a broadcast is one message
    ordered_medium: bool = False  # … and all hear it at once, the sender too, one by one

    @property
    def faultless(self) -> bool:
        faults = self.loss or self.duplication or self.partitions or self.crashes
        return not faults

    def arrivals(self, rng: Random, nodes: int) -> Arrival:
        """When a message sent now arrives; never (inf) if it gets lost."""
        arrival = self.latency.arrivals(rng, nodes)
        if self.fifo:
            arrival = in_order(arrival)
        if self.loss or self.partitions:
            arrival = with_losses(arrival, self.loss, self.partitions, rng.random)
        return arrival


def in_order(arrival: Arrival) -> Arrival:
    latest: dict[tuple[NodeId, NodeId], float] = {}

    def ordered(now: float, sender: NodeId, receiver: NodeId) -> float:
        link = sender, receiver
        time = max(arrival(now, sender, receiver), latest.get(link, 0.0))
        latest[link] = time
        return time

    return ordered


def with_losses(
    arrival: Arrival,
    loss: float,
    partitions: tuple[Partition, ...],
    random: Callable[[], float],
) -> Arrival:
    def lossy(now: float, sender: NodeId, receiver: NodeId) -> float:
        time = arrival(now, sender, receiver)
        if loss and random() < loss:
            return inf
        for partition in partitions:
            if partition.separates(now, sender, receiver):
                return inf
            if partition.separates(time, sender, receiver):
                return inf
        return time

    return lossy
