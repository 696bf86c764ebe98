"""Masking quorums: what a quorum says is outvoted by the honest, though f nodes lie.

D. Malkhi, M. Reiter, "Byzantine Quorum Systems", 1998; the grid of rows and columns after
D. Malkhi, M. Reiter, A. Wool, "The Load and Availability of Byzantine Quorum Systems",
2000.  Up to f nodes, whichever, may say anything at all.  A quorum system masks them if

  * any two quorums share at least 2f+1 nodes, so that of those that one wrote and another
    reads f+1 or more are honest, and the liars are fewer; and
  * whichever f nodes are silent, a quorum is left.

If what is written is signed, f+1 shared nodes suffice: such a system disseminates.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations
from math import comb, isqrt

from peerlock.core.bits import Nodes, bits
from peerlock.quorums.availability import one_by_one
from peerlock.quorums.constructions import Quorum, QuorumSystem, require_a_node, spared


def masked(system: QuorumSystem) -> int:
    """The most liars that the system masks."""
    return min((least_shared(system) - 1) // 2, system.resilience)


def disseminated(system: QuorumSystem) -> int:
    """The same where what is written is signed."""
    return min(least_shared(system) - 1, system.resilience)


def least_shared(system: QuorumSystem) -> int:
    """The fewest nodes that two quorums of the table have in common."""
    quorums = [bits(quorum) for quorum in dict.fromkeys(system.quorums)]
    smallest = system.sizes.min  # what a quorum shares with itself
    return min(
        (smallest, *((a & b).bit_count() for a, b in combinations(quorums, 2))),
    )


@lru_cache
def masking(n: int, liars: int | None = None) -> QuorumSystem:
    """Any ⌈(n+2f+1)/2⌉ nodes: two such sets share 2f+1.  That needs n > 4f.

    As many liars as can be, unless told otherwise.
    """
    require_a_node(n)
    f = (n - 1) // 4 if liars is None else liars
    if not 0 <= 4 * f < n:
        raise ValueError(f"{n} nodes cannot mask {f} liars: there must be more than 4 each")
    size = (n + 2 * f + 2) // 2
    ring = [*range(1, n + 1)] * 2
    return QuorumSystem(
        "masking",
        tuple(tuple(sorted(ring[i : i + size])) for i in range(n)),
        known_resilience=n - size,
        known_survivals=lambda: tuple(comb(n, k) * (k >= size) for k in range(n + 1)),
        known_left=lambda up: up.bit_count() >= size,
    )


@lru_cache
def masking_grid(n: int, liars: int | None = None) -> QuorumSystem:
    """r rows and r columns of a square, r the least with r² > f.

    The rows of one cross the columns of the other in r² places, and the other way round in
    as many; if some of these are the same, the two share a whole row.
    """
    require_a_node(n)
    side = isqrt(n)
    f = (side - 1) // 2 if liars is None else liars
    if not 0 <= 2 * f < side:
        raise ValueError(f"a square of {side} rows cannot mask {f} liars: more than 2 each")
    lines = isqrt(f) + 1
    square = side * side
    own = tuple(_rows_and_columns(i, side, lines) for i in range(square))

    def is_left(up: Nodes) -> bool:
        return min(_whole(up, side)) >= lines

    return QuorumSystem(
        "masking-grid",
        spared(own, n),
        known_resilience=side - lines,
        known_survivals=lambda: one_by_one(is_left, square, n - square),
        known_left=is_left,
    )


def _whole(up: Nodes, side: int) -> tuple[int, int]:
    """How many rows and how many columns of the square have all their nodes up."""
    rows = [range(k * side + 1, (k + 1) * side + 1) for k in range(side)]
    columns = [range(k + 1, side * side + 1, side) for k in range(side)]
    rows_up, columns_up = (
        sum(all(up >> j & 1 for j in line) for line in lines) for lines in (rows, columns)
    )
    return rows_up, columns_up


def _rows_and_columns(place: int, side: int, lines: int) -> Quorum:
    """Those of the place itself, and those that follow it."""
    row, column = divmod(place, side)
    rows = {(row + k) % side for k in range(lines)}
    columns = {(column + k) % side for k in range(lines)}
    places = (
        r * side + c + 1
        for r in range(side)
        for c in range(side)
        if r in rows or c in columns
    )
    return tuple(places)
