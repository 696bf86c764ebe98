"""Quorum systems: the nodes that each node asks, so that any two quorums share a node.

Maekawa, "A √N Algorithm for Mutual Exclusion in Decentralized Systems", 1985: node i
asks the set S_i, and any two of these sets meet.  The constructions are his: the
finite projective plane and what is left of one when N does not fit (Method 1), and
the grid (Method 2); and the majority, for comparison.  Each serves every N ≥ 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from functools import cached_property, lru_cache, reduce
from itertools import count
from math import comb, inf, isqrt
from operator import and_, or_

from peerlock.core.bits import Nodes, bits, nodes_in
from peerlock.core.peer import NodeId
from peerlock.quorums.galois import prime_power, singer_difference_set
from peerlock.quorums.hitting import membership_of, smallest_hitting_set

Quorum = tuple[NodeId, ...]


@dataclass(frozen=True)
class Sizes:
    """How many nodes a quorum has, itself included."""

    min: int
    mean: float
    max: int


@dataclass(frozen=True)
class QuorumSystem:
    """Nodes are 1..N; `quorums[i - 1]` is S_i, ascending.

    `known_resilience` is set by constructions that know theirs by proof.  A majority
    must: the table shows the quorum that each node asks, but any other is enough, too.
    """

    kind: str
    quorums: tuple[Quorum, ...]
    known_resilience: int | None = field(default=None, repr=False, compare=False)

    # Likewise the least load of a busiest node; of the sets of k = 0, 1, … nodes how many
    # contain a quorum; and whether a set of nodes does, where the table has not all.
    known_optimal_load: Fraction | None = field(default=None, repr=False, compare=False)
    known_survivals: Callable[[], tuple[int, ...]] | None = field(
        default=None, repr=False, compare=False
    )
    known_left: Callable[[Nodes], bool] | None = field(
        default=None, repr=False, compare=False
    )

    def of(self, node: NodeId) -> Quorum:
        assert 1 <= node <= self.nodes, f"{node} is none of 1..{self.nodes}"
        return self.quorums[node - 1]

    @property
    def nodes(self) -> int:
        return len(self.quorums)

    @cached_property
    def intersecting(self) -> bool:
        """Any two quorums have a node in common: Maekawa's property (a)."""
        everything = (1 << self.nodes) - 1
        asked_by = self._asked_by.__getitem__
        return all(reduce(or_, map(asked_by, q)) == everything for q in self.quorums)

    @cached_property
    def minimal(self) -> bool:
        """No quorum contains another one (but two nodes may have the same)."""
        return len(self.essential) == len(set(self.quorums))

    @cached_property
    def symmetric(self) -> bool:
        """Equal work, equal responsibility: Maekawa's properties (c) and (d).

        All quorums have the same size, and every node is in as many of them.
        """
        duties = {asked.bit_count() for asked in self._asked_by[1:]}
        return len(duties) == 1 and self.sizes.min == self.sizes.max

    @cached_property
    def sizes(self) -> Sizes:
        sizes = [len(quorum) for quorum in self.quorums]
        return Sizes(min(sizes), sum(sizes) / len(sizes), max(sizes))

    @cached_property
    def load(self) -> float:
        """The busiest node's share of the requests, if all nodes ask equally often."""
        return max(asked.bit_count() for asked in self._asked_by) / self.nodes

    @property
    def resilience(self) -> int:
        """The largest f such that, whichever f nodes fail, a quorum is left whole.

        Where `resilience_exact` is false, this much is proved, and the search for the
        exact number was given up.
        """
        return self._resilience[0]

    @property
    def resilience_exact(self) -> bool:
        """Of our kinds, only planes of 134 nodes or more with n ≤ q² fall short of it."""
        return self._resilience[1]

    def is_left(self, up: Nodes) -> bool:
        """Whether those that are up contain a quorum."""
        if self.known_left is not None:
            return self.known_left(up)
        return any(quorum & up == quorum for quorum in self._narrow_first)

    @cached_property
    def _narrow_first(self) -> tuple[Nodes, ...]:
        return tuple(sorted(self.essential, key=int.bit_count))

    @cached_property
    def _resilience(self) -> tuple[int, bool]:
        if self.known_resilience is not None:
            return self.known_resilience, True
        size, exact = smallest_hitting_set(self.essential)
        return size - 1, exact  # these `size` nodes break all quorums, fewer do not

    @cached_property
    def _asked_by(self) -> tuple[int, ...]:
        """For each node the quorums it is in, as the bits of an integer."""
        return membership_of(self.quorums, self.nodes + 1)

    @cached_property
    def essential(self) -> tuple[Nodes, ...]:
        """The distinct quorums that contain no other, which decide what survives."""
        sizes = [len(quorum) for quorum in self.quorums]
        spare = 0
        for i, quorum in enumerate(self.quorums):
            containing = reduce(and_, (self._asked_by[j] for j in quorum))
            spare |= bits(k for k in nodes_in(containing) if sizes[k] > sizes[i])
        kept = (q for i, q in enumerate(self.quorums) if not spare >> i & 1)
        return tuple(dict.fromkeys(bits(quorum) for quorum in kept))


# Constructions


@lru_cache
def projective_plane(order: int) -> QuorumSystem:
    """N = q²+q+1 nodes, K = q+1 in each quorum, any two of which share exactly one.

    A set that meets every line of the plane has at least q+1 points: through a point
    outside it go q+1 lines, and each needs a point of its own.  So q failures are safe.
    """
    if order != 1 and prime_power(order) is None:
        raise ValueError(f"no plane of order {order}: the order must be a prime power")
    n = order * order + order + 1
    differences = (0, 1) if order == 1 else singer_difference_set(order)
    quorums = tuple(tuple(sorted((i + d) % n + 1 for d in differences)) for i in range(n))
    return QuorumSystem("plane", quorums, known_resilience=order)


@lru_cache
def plane(n: int) -> QuorumSystem:
    """The projective plane of n points, or else what Maekawa's Method 1 makes of it."""
    require_a_node(n)
    if n == 1:
        return QuorumSystem("plane", ((1,),), known_resilience=0)
    order = next(q for q in count(1) if q * q + q + 1 >= n and (q == 1 or prime_power(q)))
    if order * order + order + 1 == n:
        return projective_plane(order)
    return _degenerate_plane(order, n)


def _degenerate_plane(order: int, n: int) -> QuorumSystem:
    """Method 1: the sets of the nodes > n go, and other nodes stand in for these.

    The plane is renumbered so that the points of S_1 come last, node 1 the very last:
    they are the first to go.  As long as one of them stays, that is for n > q², the
    smallest set H that meets all quorums has q nodes, like a line that has shrunk:

    A stand-in shares a line that stays with the node it stands in for, so not S_1.
    Hence a node has at most one point off S_1.  Let P on S_1 be no point of H (else H
    has q + 1 nodes).  A node of H then meets at most one of the lines through P that
    stay, and if it stayed on S_1 itself, none.  If P stays or is node 1, only S_1 is
    missing of its q + 1 lines, and H needs q nodes.  If not, P's own line is missing
    too, and H needs q − 1 nodes besides those that stay on S_1, all of which it has.
    """
    whole = projective_plane(order)
    first = whole.of(1)
    kept_longest = [j for j in range(1, whole.nodes + 1) if j not in first]
    old = [*kept_longest, *reversed(first)]
    new = {j: i for i, j in enumerate(old, start=1)}
    lines = [frozenset(new[j] for j in whole.of(i)) for i in old[:n]]
    stand_in = _stand_ins(lines, range(n + 1, whole.nodes + 1))
    quorums = tuple(tuple(sorted({stand_in.get(j, j) for j in line})) for line in lines)
    proven = order - 1 if n > order * order else None
    return QuorumSystem("plane", quorums, known_resilience=proven)


def _stand_ins(
    lines: Sequence[frozenset[NodeId]], dropped: Iterable[NodeId]
) -> dict[NodeId, NodeId]:
    """A different node for each one dropped; a line through both shrinks.

    The busiest choose first.  They prefer a line that has shrunk least, so that as many
    as possible do, and among the nodes on such lines the one with least to do.
    """
    duties = Counter(j for line in lines for j in line)
    shrunk = [0] * len(lines)
    free = set(range(1, len(lines) + 1))
    stand_in = {}
    for gone in sorted(dropped, key=lambda j: (-duties[j], j)):
        joint = {j: i for i, line in enumerate(lines) if gone in line for j in line}
        choices = [(shrunk[joint[j]] if j in joint else inf, duties[j], j) for j in free]
        stand_in[gone] = chosen = min(choices)[-1]
        free.remove(chosen)
        if chosen in joint:
            shrunk[joint[chosen]] += 1
    return stand_in


@lru_cache
def grid(n: int) -> QuorumSystem:
    """Method 2: node i asks its row and its column in a grid of rows of ⌈√n⌉.

    A short last row is completed from the row above, as Maekawa has it; the quorums
    would meet without, since the columns that this row reaches are full.

    Nodes meet all quorums if and only if they meet all rows, or all columns, or all
    full rows and all full columns.  The fewest are one for each full row, the last of
    them where it completes the short row: one failure less is safe.
    """
    require_a_node(n)
    width = isqrt(n - 1) + 1
    quorums = tuple(_row_and_column(i, n, width) for i in range(1, n + 1))
    return QuorumSystem("grid", quorums, known_resilience=n // width - 1)


def _row_and_column(i: NodeId, n: int, width: int) -> Quorum:
    start = (i - 1) // width * width + 1
    row = (j if j <= n else j - width for j in range(start, start + width))
    column = range((i - 1) % width + 1, n + 1, width)
    return tuple(sorted({*row, *column}))


@lru_cache
def majority(n: int) -> QuorumSystem:
    """More than half of the nodes: for node i they are i, i+1, … around the ring.

    Any majority will do, so a quorum is left as long as a majority is.
    """
    require_a_node(n)
    twice_around = [*range(1, n + 1)] * 2
    size = n // 2 + 1
    quorums = tuple(tuple(sorted(twice_around[i : i + size])) for i in range(n))
    return QuorumSystem(
        "majority",
        quorums,
        known_resilience=(n - 1) // 2,
        known_optimal_load=Fraction(size, n),
        known_survivals=lambda: tuple(comb(n, k) * (k >= size) for k in range(n + 1)),
        known_left=lambda up: up.bit_count() >= size,
    )


KINDS: Mapping[str, Callable[[int], QuorumSystem]] = {
    "plane": plane,
    "grid": grid,
    "majority": majority,
}


def require_a_node(n: int) -> None:
    if n < 1:
        raise ValueError(f"a quorum system needs at least one node, not {n}")


def spared(quorums: Sequence[Quorum], n: int) -> tuple[Quorum, ...]:
    """The same for n nodes: one beyond the construction asks itself and another's quorum.

    No quorum needs it, and what any two quorums share they share still.
    """
    beyond = range(len(quorums) + 1, n + 1)
    more = ((*quorums[j % len(quorums)], j) for j in beyond)
    return (*quorums, *more)
