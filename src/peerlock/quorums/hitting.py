"""The smallest set of nodes that meets all quorums: if just these fail, no quorum is left.

Finding it is NP-hard in general.  The search is exact where it ends in time, and says so;
where it does not, what it has proved is still a bound.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import reduce
from itertools import groupby
from operator import itemgetter, or_

from peerlock.core.bits import Nodes, bits, nodes_in
from peerlock.core.peer import NodeId

EFFORT = 3_500_000  # candidates before a search gives up: about two seconds
ROUNDING = 1e-9  # more than the errors in a sum of shares can add up to

Candidate = tuple[int, NodeId, int]  # in how many unmet quorums, who, in which ones


class OutOfEffort(Exception):
    """A search was given up; what it had proved by then stays proved."""


def smallest_hitting_set(
    quorums: Sequence[Nodes], effort: int = EFFORT
) -> tuple[int, bool]:
    """The size of the smallest set of nodes that meets all quorums, and True.

    If that takes too much effort: a size that no such set goes below, and False.
    """
    search = HittingSetSearch(quorums, effort)
    upper = search.upper_bound()
    for size in range(1, upper):
        try:
            if search.finds(size):
                return size, True
        except OutOfEffort:
            return size, False
    return upper, True


class HittingSetSearch:
    """Branch and bound: the set has a node of every quorum, so of the narrowest one."""

    def __init__(self, quorums: Sequence[Nodes], effort: int) -> None:
        # Of equally narrow quorums the first is taken.  Best is one of busy nodes: once
        # looked at, they are out of the game for all that follows.
        size = max(quorum.bit_length() for quorum in quorums)
        membership = membership_of(map(nodes_in, quorums), size)
        duties = [asked.bit_count() for asked in membership]
        self.quorums = sorted(quorums, key=lambda q: -sum(duties[j] for j in nodes_in(q)))
        self.membership = membership_of(map(nodes_in, self.quorums), size)
        self.effort = effort

    def upper_bound(self) -> int:
        """All nodes are a hitting set, and so is a quorum that meets all others."""
        return min(
            (
                quorum.bit_count()
                for quorum in self.quorums
                if all(quorum & other for other in self.quorums)
            ),
            default=len(self.membership),
        )

    def finds(self, size: int) -> bool:
        everything = (1 << len(self.quorums)) - 1
        return self._meets(everything, range(len(self.membership)), size)

    def _meets(self, unmet: int, nodes: Sequence[NodeId], picks: int) -> bool:
        """Whether some `picks` of the nodes meet all the quorums that are unmet."""
        self.effort -= len(nodes)
        if self.effort < 0:
            raise OutOfEffort
        candidates = self._promising(unmet, nodes, picks)
        if not candidates:
            return False
        left = [j for _, j, _ in candidates]
        narrowest = self._narrowest(unmet, bits(left))
        for _, j, quorums in candidates:
            if narrowest >> j & 1:
                left.remove(j)  # all sets with j are looked at now
                rest = unmet ^ quorums
                if not rest or self._meets(rest, left.copy(), picks - 1):
                    return True
        return False

    def _narrowest(self, unmet: int, candidates: Nodes) -> Nodes:
        narrowed = [self.quorums[i] & candidates for i in nodes_in(unmet)]
        return min(narrowed, key=int.bit_count)

    def _promising(
        self, unmet: int, nodes: Sequence[NodeId], picks: int
    ) -> list[Candidate]:
        """The nodes worth picking, those in most unmet quorums first.

        The same thought twice: a node must carry enough weight, first with all quorums
        weighing 1, which is quick, then with their shares.
        """
        membership = self.membership
        candidates = [
            (met.bit_count(), j, met) for j in nodes if (met := membership[j] & unmet)
        ]
        candidates.sort(reverse=True)
        counts = [strength for strength, _, _ in candidates]
        candidates = strong_enough(candidates, counts, unmet.bit_count(), picks)
        shares = shares_of(candidates)
        total = sum([part.bit_count() * share for part, share in shares])
        if total > picks + ROUNDING or sum([part for part, _ in shares]) != unmet:
            return []
        weights = [
            sum([(quorums & part).bit_count() * share for part, share in shares])
            for _, _, quorums in candidates
        ]
        return strong_enough(candidates, weights, total, picks)


def strong_enough(
    candidates: list[Candidate], weights: Sequence[float], total: float, picks: int
) -> list[Candidate]:
    """Those that, with the strongest others to make up `picks`, reach the total."""
    others = sum(sorted(weights, reverse=True)[: picks - 1])
    floor = total - others - ROUNDING
    return [c for c, weight in zip(candidates, weights, strict=True) if weight >= floor]


def shares_of(candidates: Iterable[Candidate]) -> list[tuple[int, float]]:
    """Weights under which a node carries 1 at most, so that the total needs as many.

    A quorum weighs 1/m if the strongest of its nodes is in m of the unmet ones.  They
    come as parts, the quorums of equal weight as the bits of an integer.
    """
    shares, seen = [], 0
    for strength, equals in groupby(candidates, key=itemgetter(0)):
        part = reduce(or_, [quorums for _, _, quorums in equals]) & ~seen
        if part:
            shares.append((part, 1 / strength))
            seen |= part
    return shares


def membership_of(quorums: Iterable[Iterable[NodeId]], size: int) -> tuple[int, ...]:
    """For each node below `size` the quorums that it is in, as bits."""
    membership = [0] * size
    for i, quorum in enumerate(quorums):
        bit = 1 << i
        for j in quorum:
            membership[j] |= bit
    return tuple(membership)
