"""Availability: the probability that a quorum is left, if each node is up with probability
p.

It is exact if the sets of nodes that contain a quorum can be counted: some constructions
know their number, because any majority is enough and not only those in their table;
otherwise by deciding one node after the other, or by adding up votes.  Where that takes too
long, it is estimated by trials: each node draws a number and is up if that is less than p,
so that one trial gives the p from which a quorum is left.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import reduce
from math import comb, fsum, sqrt
from operator import or_
from random import Random

from peerlock.core.bits import Nodes, nodes_in
from peerlock.quorums.constructions import QuorumSystem
from peerlock.quorums.hitting import OutOfEffort
from peerlock.quorums.weighted import WeightedVotes, survivals

EFFORT = 800_000  # pairs of quorums before counting is given up: a second or two
TRIALS = 2_000
FEW = 13  # nodes, of whose sets each can be looked at

Counts = tuple[int, ...]  # counts[k]: the sets of k nodes that contain a quorum


@dataclass(frozen=True)
class Availability:
    """Either `counts` is known, or `thresholds` are, one a trial, ascending."""

    nodes: int
    counts: Counts | None = None
    thresholds: tuple[float, ...] = ()

    @property
    def exact(self) -> bool:
        return self.counts is not None

    def at(self, p: float) -> float:
        """The probability that a quorum is left, if a node is up with probability p."""
        if self.counts is None:
            return bisect_right(self.thresholds, p) / len(self.thresholds)
        n, q = self.nodes, 1 - p
        return fsum(float(c) * p**k * q ** (n - k) for k, c in enumerate(self.counts) if c)

    def standard_error(self, p: float) -> float:
        """Of the trials; not zero even if all of them had the same result."""
        if self.exact:
            return 0.0
        trials = len(self.thresholds)
        found = (self.at(p) * trials + 1) / (trials + 2)
        return sqrt(found * (1 - found) / trials)


def availability(
    system: QuorumSystem, effort: int = EFFORT, trials: int = TRIALS, seed: int = 1
) -> Availability:
    try:
        return Availability(system.nodes, counted(system, effort))
    except OutOfEffort:
        return Availability(system.nodes, thresholds=by_trial(system, trials, seed))


def counted(system: QuorumSystem, effort: int) -> Counts:
    if system.known_survivals is not None:
        return system.known_survivals()
    if isinstance(system, WeightedVotes):
        return survivals(system.votes, effort)
    return Counting(effort).count(system)


def one_by_one(is_left: Callable[[Nodes], bool], nodes: int, spare: int = 0) -> Counts:
    """Look at every set of this many nodes, if these are few; some more are spare."""
    if nodes > FEW:
        raise OutOfEffort
    counts = [0] * (nodes + 1)
    for up in range(0, 2 << nodes, 2):
        counts[up.bit_count()] += is_left(up)
    return spread(counts, spare)


class Counting:
    """A node is up or down; what remains is counted once and remembered."""

    def __init__(self, effort: int) -> None:
        self.effort = effort
        self.known: dict[frozenset[Nodes], Counts] = {}

    def count(self, system: QuorumSystem) -> Counts:
        family = frozenset(system.essential)
        spare = system.nodes - reduce(or_, family).bit_count()
        return spread(self._of(family), spare)

    def _of(self, family: frozenset[Nodes]) -> Counts:
        """Of the nodes that are in some quorum of the family; none contains another."""
        if not family:
            return (0,)
        if 0 in family:
            return (1,)
        if family not in self.known:
            self.effort -= len(family) ** 2
            if self.effort < 0:
                raise OutOfEffort
            self.known[family] = self._decide(family)
        return self.known[family]

    def _decide(self, family: frozenset[Nodes]) -> Counts:
        nodes = reduce(or_, family)
        busiest = max(nodes_in(nodes), key=lambda j: sum(q >> j & 1 for q in family))
        bit, others = 1 << busiest, nodes.bit_count() - 1
        up = smallest({quorum & ~bit for quorum in family})
        down = frozenset(quorum for quorum in family if not quorum & bit)
        with_it = spread(self._of(up), others - reduce(or_, up, 0).bit_count())
        without = spread(self._of(down), others - reduce(or_, down, 0).bit_count())
        return added((0, *with_it), without)


def smallest(family: Collection[Nodes]) -> frozenset[Nodes]:
    """Those that contain no other."""
    kept: list[Nodes] = []
    for quorum in sorted(family, key=int.bit_count):
        if not any(other & quorum == other for other in kept):
            kept.append(quorum)
    return frozenset(kept)


def spread(counts: Sequence[int], spare: int) -> Counts:
    """The same with `spare` nodes more, whichever of them are up."""
    return multiplied(counts, tuple(comb(spare, k) for k in range(spare + 1)))


def multiplied(a: Sequence[int], b: Sequence[int]) -> Counts:
    product = [0] * (len(a) + len(b) - 1)
    for i, x in enumerate(a):
        if x:
            for j, y in enumerate(b):
                product[i + j] += x * y
    return tuple(product)


def added(a: Sequence[int], b: Sequence[int]) -> Counts:
    longer, shorter = (a, b) if len(a) >= len(b) else (b, a)
    padded = (*shorter, *[0] * (len(longer) - len(shorter)))
    return tuple(x + y for x, y in zip(longer, padded, strict=True))


def by_trial(system: QuorumSystem, trials: int, seed: int) -> tuple[float, ...]:
    rng = Random(seed)
    return tuple(
        sorted(one_trial(system.nodes, system.is_left, rng) for _ in range(trials))
    )


def one_trial(nodes: int, left: Callable[[Nodes], bool], rng: Random) -> float:
    """The least p that leaves a quorum: nodes come up in the order of their draws."""
    draws = sorted((rng.random(), j) for j in range(1, nodes + 1))
    too_few, enough = 0, nodes
    up_to = [0]
    for _, j in draws:
        up_to.append(up_to[-1] | 1 << j)
    while enough - too_few > 1:
        middle = (too_few + enough) // 2
        if left(up_to[middle]):
            enough = middle
        else:
            too_few = middle
    return draws[enough - 1][0]
