"""All quorum systems that can be chosen by name; in each of them any two quorums meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

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
