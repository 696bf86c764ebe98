"""Paths: a way from left to right through a lattice, and one from top to bottom.

M. Naor, A. Wool, "The Load, Capacity, and Availability of Quorum Systems", 1998, section 6.
The nodes are the edges of a lattice with ℓ+1 rows, each of ℓ+1 horizontal edges, and ℓ
vertical edges between any two rows:

    ·─1─·─2─·─3─·
        │   │
        10  11
        │   │
    ·─4─·─5─·─6─·
        │   │
        12  13
        │   │
    ·─7─·─8─·─9─·          ℓ = 2, 2ℓ²+2ℓ+1 = 13 nodes

A quorum is the edges of a path from the left side to the right, and the edges that are
crossed by a path from the top to the bottom which runs between them, through the faces.
Where the first path of a quorum crosses the second path of another, they share an edge.

The load is at most 2√2/√N, within a constant of the least that is possible; whichever ℓ
nodes fail, a quorum is left; and if each node is up with a probability above one half, the
probability that none is left falls exponentially in √N, which no grid achieves.

A node that is in no lattice, as N is between two sizes, asks the quorum of another node
and itself.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from math import isqrt

from peerlock.core.bits import Nodes
from peerlock.core.peer import NodeId
from peerlock.quorums.availability import one_by_one
from peerlock.quorums.constructions import Quorum, QuorumSystem, require_a_node, spared

Place = tuple[int, int]  # of a corner: its row and column; of a face: likewise
Links = dict[Place, list[tuple[NodeId, Place]]]  # from each place, by which edge where to


@lru_cache
def paths(n: int) -> QuorumSystem:
    """For each node a path through it that is as straight as can be.

    Failures stop all paths from left to right if and only if they contain a way from top to
    bottom, and the other way round; either has at least ℓ+1 edges.
    """
    require_a_node(n)
    lattice = Lattice((isqrt(2 * n - 1) - 1) // 2)
    quorums = tuple(map(lattice.quorum, range(1, lattice.nodes + 1)))
    return QuorumSystem(
        "paths",
        spared(quorums, n),
        known_resilience=lattice.size,
        known_survivals=lambda: one_by_one(
            lattice.is_left, lattice.nodes, n - lattice.nodes
        ),
        known_left=lattice.is_left,
    )


class Lattice:
    def __init__(self, size: int) -> None:
        self.size = size  # ℓ
        self.nodes = 2 * size * size + 2 * size + 1

    def horizontal(self, row: int, column: int) -> NodeId:
        return row * (self.size + 1) + column + 1

    def vertical(self, row: int, column: int) -> NodeId:
        """Below that row; the columns are those between two horizontal edges."""
        return (self.size + 1) ** 2 + row * self.size + column

    def quorum(self, node: NodeId) -> Quorum:
        side = self.size + 1
        if node <= side * side:
            row, column = divmod(node - 1, side)
            across = self._straight(row, 0, side)
        else:
            row, column = divmod(node - side * side - 1, self.size)
            column += 1
            across = [*self._straight(row, 0, column), node]
            across += self._straight(row + 1, column, side)
        down = [self.horizontal(r, column) for r in range(side)]
        return tuple(sorted({*across, *down}))

    def _straight(self, row: int, begin: int, end: int) -> list[NodeId]:
        return [self.horizontal(row, column) for column in range(begin, end)]

    # Which nodes contain a quorum

    def is_left(self, up: Nodes) -> bool:
        """Each way has to get from 0 to ℓ+1: in columns of corners, in rows of faces."""
        return self._connects(up, self._corners, 1) and self._connects(up, self._faces, 0)

    @cached_property
    def _corners(self) -> Links:
        """From each corner: by which edge to which corner."""
        return linked(self._between_corners())

    @cached_property
    def _faces(self) -> Links:
        """From each face: across which edge to which face; row 0 is above the lattice."""
        return linked(self._between_faces())

    def _between_corners(self) -> Iterator[tuple[NodeId, Place, Place]]:
        for row in range(self.size + 1):
            for column in range(self.size + 1):
                edge = self.horizontal(row, column)
                yield edge, (row, column), (row, column + 1)
        for row in range(self.size):
            for column in range(1, self.size + 1):
                yield self.vertical(row, column), (row, column), (row + 1, column)

    def _between_faces(self) -> Iterator[tuple[NodeId, Place, Place]]:
        for row in range(self.size + 1):
            for column in range(self.size + 1):
                edge = self.horizontal(row, column)
                yield edge, (row, column), (row + 1, column)
        for row in range(self.size):
            for column in range(1, self.size + 1):
                edge = self.vertical(row, column)
                yield edge, (row + 1, column - 1), (row + 1, column)

    def _connects(self, up: Nodes, links: Links, axis: int) -> bool:
        todo = [place for place in links if place[axis] == 0]
        seen = set(todo)
        while todo:
            here = todo.pop()
            if here[axis] == self.size + 1:
                return True
            for edge, there in links[here]:
                if up >> edge & 1 and there not in seen:
                    seen.add(there)
                    todo.append(there)
        return False


def linked(
    edges: Iterator[tuple[NodeId, Place, Place]],
) -> Links:
    links: Links = {}
    for edge, a, b in edges:
        links.setdefault(a, []).append((edge, b))
        links.setdefault(b, []).append((edge, a))
    return links
