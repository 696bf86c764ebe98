"""Quorum agreements (Q, Q⁻¹): which nodes a node asks, and which it tells of having it.

Each set of Q meets each set of Q⁻¹, while two sets of Q need not meet.  Node i asks its
request set R_i of Q, and tells its acquired set A_i of Q⁻¹ when it has what it asked for:
so a node that i asks also hears of j, in whichever order.  H. Garcia-Molina and
D. Barbará, "How to Assign Votes in a Distributed System", 1985; here after the survey of
Velazquez, which uses them for the algorithm of Mizuno, Neilsen and Rao.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache, reduce
from itertools import product
from math import isqrt
from operator import or_

from peerlock.core.bits import Nodes
from peerlock.core.peer import NodeId
from peerlock.quorums.availability import smallest
from peerlock.quorums.constructions import Quorum, QuorumSystem, plane
from peerlock.quorums.hitting import membership_of
from peerlock.quorums.tree_quorums import tree_quorums


@dataclass(frozen=True)
class QuorumAgreement:
    """Nodes are 1..N; `request[i - 1]` is R_i and `acquired[i - 1]` is A_i, ascending."""

    kind: str
    request: tuple[Quorum, ...]
    acquired: tuple[Quorum, ...]

    # What an entry takes, where more is known of that than follows from the sets.
    known_entry: QuorumSystem | None = field(default=None, repr=False, compare=False)

    @property
    def nodes(self) -> int:
        return len(self.request)

    def request_set(self, node: NodeId) -> Quorum:
        return self.request[node - 1]

    def acquired_set(self, node: NodeId) -> Quorum:
        return self.acquired[node - 1]

    @cached_property
    def agreeing(self) -> bool:
        """Every request set has a node in common with every acquired set of another node.

        A node that has it need not be asked whether it has.
        """
        everybody = (1 << self.nodes) - 1
        told_by = membership_of(self.acquired, self.nodes + 1)
        return all(
            reduce(or_, (told_by[k] for k in asked), 1 << i) == everybody
            for i, asked in enumerate(self.request)
        )

    @cached_property
    def entry(self) -> QuorumSystem:
        """The nodes that must be up for an entry: a set of Q and a set of Q⁻¹."""
        known = self.known_entry or entries(self.request, self.acquired)
        return replace(known, kind=f"agreement:{self.kind}")


@dataclass(frozen=True)
class Entries(QuorumSystem):
    """A set of one half and one of the other, whichever; the table has each node's own."""

    halves: tuple[QuorumSystem, ...] = field(default=(), repr=False)

    @cached_property
    def essential(self) -> tuple[Nodes, ...]:
        pairs = product(*(one.essential for one in self.halves))
        return tuple(sorted(smallest({reduce(or_, pair) for pair in pairs})))

    @cached_property
    def minimal(self) -> bool:
        return all(one.minimal for one in self.halves)


def entries(asked: Sequence[Quorum], told: Sequence[Quorum]) -> Entries:
    halves = half(asked), half(told)
    own = zip(*(one.quorums for one in halves), strict=True)
    return Entries("", tuple(tuple(sorted({*a, *b})) for a, b in own), halves=halves)


def half(sets: Sequence[Quorum]) -> QuorumSystem:
    """As a quorum system, which counts a node itself among those that it asks."""
    quorums = tuple(tuple(sorted({i, *some})) for i, some in enumerate(sets, 1))
    return QuorumSystem("half", quorums)


@lru_cache
def grid_set(n: int) -> QuorumAgreement:
    """R_i is the row of i and A_i its column, in a grid twice as wide as it is high.

    To get and to tell takes a message to each node of a row and of a column, and each
    node of the column may answer; with rows of √(2n) that is least.  A short last row
    is completed from the row above.

    To break all entries, nodes must meet all rows or all columns, and columns are more.
    The fewest are one for each full row, the last of them where it completes the short
    row: one failure less is safe.
    """
    _require_a_node(n)
    width = min(isqrt(2 * n - 1) + 1, n)
    members = range(1, n + 1)
    rows = tuple(_row(i, n, width) for i in members)
    columns = tuple(tuple(range((i - 1) % width + 1, n + 1, width)) for i in members)
    known = replace(entries(rows, columns), known_resilience=n // width - 1)
    return QuorumAgreement("grid-set", rows, columns, known)


def _row(i: NodeId, n: int, width: int) -> Quorum:
    start = (i - 1) // width * width + 1
    row = range(start, start + width)
    return tuple(sorted(j if j <= n else j - width for j in row))


@lru_cache
def suzuki_kasami(n: int) -> QuorumAgreement:
    """Ask all others, tell none."""
    _require_a_node(n)
    members = range(1, n + 1)
    others = tuple(tuple(j for j in members if j != i) for i in members)
    return QuorumAgreement("suzuki-kasami", others, tuple((i,) for i in members))


@lru_cache
def twice(quorums: QuorumSystem) -> QuorumAgreement:
    """R_i = A_i = S_i, of a system in which any two quorums meet."""
    return QuorumAgreement(quorums.kind, quorums.quorums, quorums.quorums, quorums)


KINDS: Mapping[str, Callable[[int], QuorumAgreement]] = {
    "grid-set": grid_set,
    "plane": lambda n: twice(plane(n)),
    "tree": lambda n: twice(tree_quorums(n)),
    "suzuki-kasami": suzuki_kasami,
}


def _require_a_node(n: int) -> None:
    if n < 1:
        raise ValueError(f"a quorum agreement needs at least one node, not {n}")
