"""Distances in a tree."""

from __future__ import annotations

from peerlock.core.peer import NodeId
from peerlock.core.topology import Topology


def distance(tree: Topology, a: NodeId, b: NodeId) -> int:
    steps = 0
    while a != b:
        a, steps = tree.next_hop(a, b), steps + 1
    return steps
