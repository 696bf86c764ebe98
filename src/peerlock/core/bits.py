"""Sets of nodes as the bits of an integer, for the papers' arrays of booleans.

Bit j stands for node j.  Such a set is immutable and hashes at once, equal sets are
equal integers, and adding a node does not copy the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache

from peerlock.core.peer import NodeId

Nodes = int


def bits(nodes: Iterable[NodeId]) -> Nodes:
    found = 0
    for j in nodes:
        found |= 1 << j
    return found


def all_but(node: NodeId, members: int) -> Nodes:
    """All of 1..members except `node`."""
    return ((2 << members) - 2) & ~(1 << node)


def nodes_in(found: Nodes) -> Iterator[NodeId]:
    """In ascending order."""
    return iter(_listed(found))


@lru_cache(256)  # the same few sets come again and again
def _listed(found: Nodes) -> tuple[NodeId, ...]:
    nodes = []
    while found:
        lowest = found & -found
        nodes.append(lowest.bit_length() - 1)
        found ^= lowest
    return tuple(nodes)
