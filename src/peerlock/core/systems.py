"""All quorum systems that can be chosen by name; in each of them any two quorums meet."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from peerlock.core.quorums import KINDS, QuorumSystem
from peerlock.core.tree_quorums import tree_quorums
from peerlock.core.triangle import triangle, triangle_columns, triangle_rows
from peerlock.core.weighted import untied, weighted

SYSTEMS: Mapping[str, Callable[[int], QuorumSystem]] = {
    **KINDS,
    "triangle": triangle,
    "triangle-columns": triangle_columns,
    "triangle-rows": triangle_rows,
    "tree": tree_quorums,
    "weighted": lambda n: weighted(untied(n)),
}
