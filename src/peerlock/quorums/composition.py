"""A quorum system of quorum systems: each node of one is replaced by another one whole.

M. L. Neilsen, M. Mizuno, "Coterie Join Algorithm", 1992.  The nodes are dealt into groups,
and the groups are the nodes of an outer system.  A quorum is made of a quorum of each group
that is in a quorum of the outer system.  If any two quorums of each part meet, any two of
the whole do; and if none of the parts is dominated, the whole is not.

`majority/plane` is written for a majority of √N groups, in each of which a line of a plane.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import reduce
from itertools import accumulate
from math import comb, isqrt

from peerlock.core.bits import Nodes, bits, nodes_in
from peerlock.core.peer import NodeId
from peerlock.quorums.availability import EFFORT, Counts, added, counted, multiplied
from peerlock.quorums.constructions import Quorum, QuorumSystem, require_a_node

MOST_GROUPS = 9  # so that every set of groups can be looked at

Make = Callable[[int], QuorumSystem]


def composed(outer: QuorumSystem, inner: Sequence[QuorumSystem], kind: str) -> QuorumSystem:
    """Group i has the system inner[i-1]; the nodes are numbered group by group."""
    sizes = [one.nodes for one in inner]
    if len(inner) != outer.nodes or len(inner) > MOST_GROUPS:
        raise ValueError(
            f"{len(inner)} systems cannot replace {outer.nodes} nodes: "
            f"use as many systems as nodes, and at most {MOST_GROUPS}"
        )
    begins = [end - size for end, size in zip(accumulate(sizes), sizes, strict=True)]
    parts = list(zip(begins, inner, strict=True))
    return QuorumSystem(
        kind,
        tuple(_quorums(outer, parts)),
        known_resilience=_fewest_to_break(outer, inner) - 1,
        known_survivals=lambda: _survivals(outer, inner),
        known_left=lambda up: outer.is_left(_groups_left(up, parts)),
    )


def composed_of(outer: Make, inner: Make, kind: str, n: int) -> QuorumSystem:
    """√n groups, or as many as can be, that differ by one node at most."""
    require_a_node(n)
    groups = min(isqrt(n), MOST_GROUPS)
    sizes = [(n + k) // groups for k in range(groups)]
    return composed(outer(groups), [inner(size) for size in sizes], kind)


Part = tuple[int, QuorumSystem]  # the nodes before it, and what it is


def _quorums(outer: QuorumSystem, parts: Sequence[Part]) -> Iterator[Quorum]:
    """Each node asks for its group, in it for itself, and in others as it does at home."""
    for group, (_, own) in enumerate(parts, 1):
        for node in range(1, own.nodes + 1):
            asked = [_in_group(parts[j - 1], node) for j in outer.of(group)]
            yield tuple(sorted(k for some in asked for k in some))


def _in_group(part: Part, node: NodeId) -> Quorum:
    begin, system = part
    return tuple(begin + k for k in system.of((node - 1) % system.nodes + 1))


def _groups_left(up: Nodes, parts: Sequence[Part]) -> Nodes:
    """The groups that have a quorum, as nodes of the outer system."""
    return bits(
        group
        for group, (begin, system) in enumerate(parts, 1)
        if system.is_left(up >> begin & (2 << system.nodes) - 2)
    )


def _fewest_to_break(outer: QuorumSystem, inner: Sequence[QuorumSystem]) -> int:
    costs = [one.resilience + 1 for one in inner]
    everybody = bits(range(1, outer.nodes + 1))
    return min(
        sum(costs[j - 1] for j in nodes_in(broken))
        for broken in range(0, everybody + 1, 2)
        if not outer.is_left(everybody & ~broken)
    )


def _survivals(outer: QuorumSystem, inner: Sequence[QuorumSystem]) -> Counts:
    """Each group has a quorum or has none; the outer system says which are enough."""
    yes = [counted(one, EFFORT) for one in inner]
    no = [_others(counts) for counts in yes]
    found: Counts = (0,)
    for groups in range(0, 2 << outer.nodes, 2):
        if outer.is_left(groups):
            chosen = (
                (yes if groups >> j & 1 else no)[j - 1] for j in range(1, outer.nodes + 1)
            )
            found = added(found, reduce(multiplied, chosen))
    return found


def _others(counts: Counts) -> Counts:
    nodes = len(counts) - 1
    return tuple(comb(nodes, k) - found for k, found in enumerate(counts))
