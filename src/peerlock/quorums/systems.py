"""All quorum systems that can be chosen by name; in each of them any two quorums meet.

Two names with a slash between them are a system of systems: see `composition`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import lru_cache

from peerlock.core.errors import UsageError, unknown
from peerlock.quorums.composition import composed_of
from peerlock.quorums.constructions import KINDS, QuorumSystem
from peerlock.quorums.cyclic_sets import cyclic_sets
from peerlock.quorums.hierarchical import hierarchical
from peerlock.quorums.masking import masking, masking_grid
from peerlock.quorums.paths import paths
from peerlock.quorums.tree_quorums import tree_quorums
from peerlock.quorums.triangle import triangle, triangle_columns, triangle_rows
from peerlock.quorums.walls import crumbling_wall, wheel
from peerlock.quorums.weighted import untied, weighted

SYSTEMS: Mapping[str, Callable[[int], QuorumSystem]] = {
    **KINDS,
    "triangle": triangle,
    "triangle-columns": triangle_columns,
    "triangle-rows": triangle_rows,
    "tree": tree_quorums,
    "weighted": lambda n: weighted(untied(n)),
    "wheel": wheel,
    "wall": crumbling_wall,
    "hierarchical": hierarchical,
    "cyclic": cyclic_sets,
    "paths": paths,
    "masking": masking,
    "masking-grid": masking_grid,
}


def is_known(kind: str) -> bool:
    outer, slash, inner = kind.partition("/")
    return outer in SYSTEMS and (inner in SYSTEMS or not slash)


def quorum_system(kind: str, nodes: int) -> QuorumSystem:
    if not is_known(kind):
        raise UsageError(unknown("kind of quorums", kind, SYSTEMS))
    if nodes < 1:
        raise UsageError(f"a quorum system needs at least 1 node, not {nodes}")
    return _made(kind, nodes) if "/" in kind else SYSTEMS[kind](nodes)


@lru_cache
def _made(kind: str, nodes: int) -> QuorumSystem:
    outer, _, inner = kind.partition("/")
    return composed_of(SYSTEMS[outer], SYSTEMS[inner], kind, nodes)
