"""What the network does to messages, and what happens to nodes, as one value."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from math import inf
from random import Random

from peerlock.core.errors import UsageError
from peerlock.core.peer import NodeId, listed
from peerlock.simulator.arrivals import Arrival, Arrivals, one_by_one
from peerlock.simulator.latency import LONGEST, Latency, Uniform


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

    def validate(self, nodes: int) -> None:
        must_be_times(self.start, self.end)
        if not self.start < self.end:
            raise UsageError(f"a partition from {self.start:g} cannot end at {self.end:g}")
        everybody = [node for group in self.groups for node in group]
        strangers = {node for node in everybody if not 1 <= node <= nodes}
        if strangers:
            raise UsageError(f"invalid partition: there is no node {listed(strangers)}")
        twice = {node for node in everybody if everybody.count(node) > 1}
        if twice:
            raise UsageError(f"invalid partition: {listed(twice)} is in two groups")


@dataclass(frozen=True)
class Crash:
    """The node crashes at `at` and loses its memory; it comes back at `back`, if at all."""

    node: NodeId
    at: float
    back: float | None = None

    def validate(self, nodes: int) -> None:
        if not 1 <= self.node <= nodes:
            raise UsageError(f"invalid crash: there is no node {self.node}")
        must_be_times(self.at, self.at if self.back is None else self.back)
        if self.back is not None and self.back < self.at:
            raise UsageError(
                f"node {self.node} crashes at {self.at:g}, "
                f"so it cannot be back at {self.back:g}"
            )


@dataclass(frozen=True)
class Network:
    """How messages travel, and what may happen to them and to the nodes."""

    latency: Latency = Uniform(0.5, 1.5)
    fifo: bool = False  # messages between two nodes arrive in the order sent
    loss: float = 0.0  # the probability that a message is lost
    duplication: float = 0.0  # … and that it arrives twice
    partitions: tuple[Partition, ...] = ()
    crashes: tuple[Crash, ...] = ()
    broadcast_medium: bool = False  # a broadcast is one message
    ordered_medium: bool = (
        False  # … and all nodes, the sender included, receive all broadcasts in one order
    )

    @property
    def faultless(self) -> bool:
        faults = self.loss or self.duplication or self.partitions or self.crashes
        return not faults

    def validate(self, nodes: int) -> None:
        for chance in (self.loss, self.duplication):
            if not 0 <= chance <= 1:
                raise UsageError(f"invalid probability {chance}: use 0 to 1")
        for partition in self.partitions:
            partition.validate(nodes)
        for crash in self.crashes:
            crash.validate(nodes)
        ordered = sorted(self.crashes, key=lambda crash: (crash.node, crash.at))
        for before, after in pairwise(ordered):
            is_down = before.back is None or before.back >= after.at
            if before.node == after.node and is_down:
                raise UsageError(
                    f"node {after.node} cannot crash at {after.at:g}: it is down then"
                )

    def arrivals(self, rng: Random, nodes: int) -> tuple[Arrival, Arrivals]:
        """When a message sent now arrives, and one to several receivers; never (inf) if it
        gets lost."""
        arrival = self.latency.arrival(rng, nodes)
        if not (self.fifo or self.loss or self.partitions):
            return arrival, self.latency.arrivals(rng, nodes)
        if self.fifo:
            arrival = in_order(arrival)
        if self.loss or self.partitions:
            arrival = with_losses(arrival, self.loss, self.partitions, rng.random)
        return arrival, one_by_one(arrival)


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


# Words

TIME = r"(\d+(?:\.\d*)?|\.\d+)"
GROUP = r"\d+(?:,\d+)*"
CRASH = re.compile(rf"(\d+)@{TIME}(?:-{TIME})?")
PARTITION = re.compile(rf"{TIME}-{TIME}:({GROUP}(?:/{GROUP})*)")


def parse_crash(text: str) -> Crash:
    """From `3@20`, or `3@20-40` for a node that comes back."""
    match = CRASH.fullmatch(text)
    if match is None:
        raise UsageError(
            f"invalid crash {text!r}: use NODE@TIME or NODE@TIME-BACK, like 3@20-40"
        )
    return Crash(int(match[1]), float(match[2]), float(match[3]) if match[3] else None)


def parse_partition(text: str) -> Partition:
    """From `10-20:1,2/3,4`."""
    match = PARTITION.fullmatch(text)
    if match is None:
        raise UsageError(
            f"invalid partition {text!r}: use FROM-TO:GROUPS, like 10-20:1,2/3,4"
        )
    groups = tuple(frozenset(map(int, g.split(","))) for g in match[3].split("/"))
    return Partition(float(match[1]), float(match[2]), groups)


def must_be_times(*times: float) -> None:
    for time in times:
        if not 0 <= time <= LONGEST:
            raise UsageError(f"invalid time {time:g}: use a finite number, 0 or more")
