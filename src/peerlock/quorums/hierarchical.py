"""Hierarchical quorums: a majority of groups, and in each of them a majority of groups.

A. Kumar, "Hierarchical Quorum Consensus: A New Algorithm for Managing Replicated Data",
1991.  The nodes are the leaves of a tree.  A quorum of a node of the tree is made of
quorums of more than half of its children.  Two such majorities share a child, and below it
two quorums of that child meet in turn.

With three children each, the best choice, 3^m nodes have quorums of 2^m, which is N^0.63.
Here N nodes are divided into three groups that differ by one node at most, each group in
the same way; of a group of two both are needed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from functools import cache, lru_cache, reduce

from peerlock.core.bits import Nodes
from peerlock.core.peer import NodeId
from peerlock.quorums.availability import Counts, added, multiplied
from peerlock.quorums.constructions import Quorum, QuorumSystem, require_a_node


@lru_cache
def hierarchical(n: int) -> QuorumSystem:
    """For each node its own group and the next one, in which it asks as it does at home."""
    require_a_node(n)
    nodes = range(1, n + 1)
    return QuorumSystem(
        "hierarchical",
        tuple(_quorum(node, n) for node in nodes),
        known_resilience=_fewest_to_break(n) - 1,
        known_optimal_load=_least_load(n),
        known_survivals=lambda: _survivals(n)[0],
        known_left=lambda up: _is_left(nodes, up),
    )


def parts(n: int) -> tuple[int, ...]:
    """The sizes of the groups that n nodes are divided into; larger ones come first."""
    groups = min(n, 3)
    return tuple((n + groups - 1 - k) // groups for k in range(groups))


def _quorum(at: int, n: int) -> Quorum:
    """Of n nodes, for the one at place `at`; other groups are asked from the same place."""
    if n == 1:
        return (1,)
    sizes = parts(n)
    begins = [sum(sizes[:k]) for k in range(len(sizes))]
    own = max(k for k, begin in enumerate(begins) if begin < at)
    place = at - begins[own]
    asked = [(own + k) % len(sizes) for k in range(len(sizes) // 2 + 1)]
    return tuple(
        begins[k] + j
        for k in sorted(asked)
        for j in _below((place - 1) % sizes[k] + 1, sizes[k])
    )


@cache
def _below(at: int, n: int) -> Quorum:
    return _quorum(at, n)


def _is_left(nodes: Sequence[NodeId], up: Nodes) -> bool:
    if len(nodes) == 1:
        return bool(up >> nodes[0] & 1)
    left = [_is_left(group, up) for group in _divided(nodes)]
    return 2 * sum(left) > len(left)


def _divided(nodes: Sequence[NodeId]) -> Iterator[Sequence[NodeId]]:
    begin = 0
    for size in parts(len(nodes)):
        yield nodes[begin : begin + size]
        begin += size


@lru_cache
def _fewest_to_break(n: int) -> int:
    """A majority of the groups must be spoilt until none is left; of two, one."""
    if n == 1:
        return 1
    below = sorted(map(_fewest_to_break, parts(n)))
    return sum(below[: (len(below) + 1) // 2])


@lru_cache
def _least_load(n: int) -> Fraction:
    """Two of three groups are asked; each as often as makes all equally busy.

    That is possible, since the groups are nearly equal: none would be needed every time.
    """
    if n <= 2:
        return Fraction(1)
    inverse = sum(1 / _least_load(size) for size in parts(n))
    return 2 / Fraction(inverse)


@lru_cache
def _survivals(n: int) -> tuple[Counts, Counts]:
    """Of the sets of n nodes, by size: how many contain a quorum, and do not."""
    if n == 1:
        return (0, 1), (1, 0)
    below = [_survivals(size) for size in parts(n)]
    found = reduce(multiplied, (yes for yes, _ in below))
    for one in range(len(below)) if len(below) == 3 else ():
        chosen = (some[k == one] for k, some in enumerate(below))
        found = added(found, reduce(multiplied, chosen))
    total = reduce(multiplied, (added(yes, no) for yes, no in below))
    return found, tuple(x - y for x, y in zip(total, found, strict=True))
