"""All quorums of a tree, by every set of failed nodes."""

from __future__ import annotations

from itertools import chain, combinations

from peerlock.core.peer import NodeId
from peerlock.quorums.constructions import Quorum
from peerlock.quorums.tree_quorums import tree_quorum


def failures(n: int) -> list[Quorum]:
    """Every set of failed nodes."""
    nodes = range(1, n + 1)
    return list(chain.from_iterable(combinations(nodes, f) for f in range(n + 1)))


def all_quorums(n: int) -> set[frozenset[NodeId]]:
    """Those of every node for every set of failed nodes."""
    found = (tree_quorum(i, n, down) for i in range(1, n + 1) for down in failures(n))
    return {frozenset(quorum) for quorum in found if quorum is not None}
