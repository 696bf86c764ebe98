"""The triangle of G. Mühl's lecture: quorums of about √2·√N that share one node each.

The nodes fill a triangle row by row, one in the first row and m in the last.  With T_k
for column k and the row above it, row k − 1,

    1
    2  3        T_3 = {6, 9, 13} ∪ {2, 3}
    4  5  6
    7  8  9 10
   11 12 13 14 15

each of T_1 … T_{m+1} has m nodes, and T_j and T_k, j < k, share the node in row k − 1 and
column j.  A node in row r and column c is in two of them, T_c and T_{r+1}.  By the
lecture's first scheme it asks T_c, so that node 1 is asked by nine of fifteen and node 15
by one; by the second it asks T_{r+1}.  If half of the requests go by either scheme, all
are alike.

The lecture leaves open what becomes of a last row that is not full.  Its own set, T_{m+1},
then misses those T_k whose columns the row does not reach; it gets a node for each two of
these, the one that they share.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import count

from peerlock.core.peer import NodeId
from peerlock.quorums.constructions import Quorum, QuorumSystem


@lru_cache
def triangle(n: int) -> QuorumSystem:
    """Both schemes: half of the nodes keep to either, so that all sets are asked alike.

    Imagine T_1 … T_{m+1} in a ring.  A node is in two of them, and asks the one from which
    the way round to the other is the shorter one.
    """
    sets = _sets(n)
    ring = len(sets)
    quorums = []
    for row, column in map(place, range(1, n + 1)):
        ahead = 2 * (row + 1 - column)  # twice the way from T_column to T_{row+1}
        nearer = ahead < ring or (ahead == ring and column % 2)
        quorums.append(sets[column if nearer else row + 1])
    return QuorumSystem("triangle", tuple(quorums))


@lru_cache
def triangle_columns(n: int) -> QuorumSystem:
    """The first scheme, up and left: the same column, and the row above it."""
    sets = _sets(n)
    return QuorumSystem(
        "triangle-columns", tuple(sets[place(i)[1]] for i in range(1, n + 1))
    )


@lru_cache
def triangle_rows(n: int) -> QuorumSystem:
    """The second scheme, right and down: the same row, and the column right of it."""
    sets = _sets(n)
    return QuorumSystem(
        "triangle-rows", tuple(sets[place(i)[0] + 1] for i in range(1, n + 1))
    )


def place(node: NodeId) -> tuple[int, int]:
    """Row and column."""
    row = next(r for r in count(1) if r * (r + 1) // 2 >= node)
    return row, node - row * (row - 1) // 2


def _node(row: int, column: int) -> NodeId:
    return row * (row - 1) // 2 + column


@lru_cache
def _sets(n: int) -> dict[int, Quorum]:
    """T_1 … T_{m+1}."""
    if n < 1:
        raise ValueError(f"a quorum system needs at least one node, not {n}")
    rows, reached = place(n)
    sets = {k: _set(k, n, rows) for k in range(1, rows + 2)}
    missed = list(range(reached + 1, rows + 1))
    pairs = zip(missed[::2], missed[1::2], strict=False)
    shared = {_node(k - 1, j) for j, k in pairs}
    if len(missed) % 2:
        shared.add(sets[missed[-1]][0])
    sets[rows + 1] = tuple(sorted({*sets[rows + 1], *shared}))
    return sets


def _set(k: int, n: int, rows: int) -> Quorum:
    above = [_node(k - 1, column) for column in range(1, k)]
    column = [_node(row, k) for row in range(k, rows + 1)]
    return tuple(j for j in (*above, *column) if j <= n)
