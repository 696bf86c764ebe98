"""All quorum systems that can be chosen by name; in each of them any two quorums meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from peerlock.core.errors import UsageError, unknown
from peerlock.quorums.constructions import KINDS, QuorumSystem
from peerlock.quorums.tree_quorums import tree_quorums
from peerlock.quorums.triangle import triangle, triangle_columns, triangle_rows
from peerlock.quorums.weighted import untied, weighted

SYSTEMS: Mapping[str, Callable[[int], QuorumSystem]] = {
    **KINDS,
    "triangle": triangle,
    "triangle-columns": triangle_columns,
    "triangle-rows": triangle_rows,
    "tree": tree_quorums,
    "weighted": lambda n: weighted(untied(n)),
}


def quorum_system(kind: str, nodes: int) -> QuorumSystem:
    if kind not in SYSTEMS:
        raise UsageError(unknown("kind of quorums", kind, SYSTEMS))
    if nodes < 1:
        raise UsageError(f"a quorum system needs at least 1 node, not {nodes}")
    return SYSTEMS[kind](nodes)
