"""Crumbling walls: a whole row of bricks, and a brick of each row below it.

D. Peleg, A. Wool, "Crumbling Walls: A Class of Practical and Efficient Quorum Systems",
1997.  The nodes are the bricks of a wall of rows, and a quorum is

  * all nodes of one row, and
  * one node of each row below it.

Of two quorums, the one whose whole row is higher has a node in the other's whole row.  If
the first row is one node wide, no coterie dominates the wall; if a later one is, the rows
above it are of no use.

The wheel is the wall with two rows: node 1, the hub, and all others, the rim.  A spoke is
a quorum of two nodes, and the rim is one without the hub.  In the wall that is called
CWlog row i is ⌊log₂ 2i⌋ wide; its smallest quorum has about log₂ N nodes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from functools import lru_cache
from itertools import accumulate, count
from math import comb

from peerlock.core.bits import Nodes, bits
from peerlock.core.peer import NodeId
from peerlock.quorums.availability import Counts, added, multiplied
from peerlock.quorums.constructions import Quorum, QuorumSystem, require_a_node

Widths = tuple[int, ...]  # of the rows, the highest first


@lru_cache
def wall(widths: Widths, kind: str = "wall") -> QuorumSystem:
    """For each node its own row, and of the rows below those that are under it, in turn.

    To break all quorums, a node of each row must fail, or else a whole row and a node of
    each row below it: nothing above that row is whole then.
    """
    if not widths or min(widths) < 1:
        raise ValueError(f"a wall has rows of at least one node, not {widths}")
    d = len(widths)
    fewest = min(d, *(width + d - row for row, width in enumerate(widths, 1)))
    rows = list(_rows(widths))
    quorums = tuple(_own(node, at, rows) for at, row in enumerate(rows) for node in row)
    return QuorumSystem(
        kind,
        quorums,
        known_resilience=fewest - 1,
        known_survivals=lambda: _survivals(widths),
        known_left=lambda up: _is_left(up, rows),
    )


@lru_cache
def wheel(n: int) -> QuorumSystem:
    """Each node but the hub asks the hub and itself; the rim is for when the hub is down.

    If the rim is asked by n-2 in 2n-3, hub and rim are equally busy.
    """
    require_a_node(n)
    if n == 1:
        return wall((1,), "wheel")
    made = wall((1, n - 1), "wheel")
    spokes = ((1, 2), *((1, i) for i in range(2, n + 1)))
    load = Fraction(n - 1, 2 * n - 3)
    return replace(made, quorums=spokes, known_optimal_load=load)


@lru_cache
def crumbling_wall(n: int) -> QuorumSystem:
    """CWlog; nodes that do not fill a row of their own make the last row wider."""
    require_a_node(n)
    widths: list[int] = []
    left = n
    for row in count(1):
        width = (2 * row).bit_length() - 1
        if width > left:
            break
        widths.append(width)
        left -= width
    widths[-1] += left
    return wall(tuple(widths))


def _rows(widths: Widths) -> Iterator[range]:
    ends = accumulate(widths)
    for width, end in zip(widths, ends, strict=True):
        yield range(end - width + 1, end + 1)


def _own(node: NodeId, at: int, rows: list[range]) -> Quorum:
    under = (row[node % len(row)] for row in rows[at + 1 :])
    return (*rows[at], *under)


def _is_left(up: Nodes, rows: list[range]) -> bool:
    for row in reversed(rows):
        here = bits(row)
        if up & here == here:
            return True
        if not up & here:
            return False
    return False


def _survivals(widths: Widths) -> Counts:
    """From the lowest row up, by whether there is a quorum and a node of each row is up."""
    both: Counts = (0,)
    quorum_only, reached_only, neither = both, added(both, (1,)), both
    for width in reversed(widths):
        whole = (*[0] * width, 1)
        some = (0, *(comb(width, k) for k in range(1, width)), 0)
        none = (1, *[0] * width)
        up = added(whole, some)
        both, quorum_only, reached_only, neither = (
            added(multiplied(both, up), multiplied(reached_only, whole)),
            added(multiplied(both, none), multiplied(quorum_only, added(up, none))),
            multiplied(reached_only, some),
            added(multiplied(reached_only, none), multiplied(neither, added(up, none))),
        )
    return added(both, quorum_only)
