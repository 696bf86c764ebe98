"""Read and write quorums: each set that is read meets each set that is written.

A. W. Fu, "Delay-Optimal Quorum Consensus for Distributed Systems", 1997, calls such pairs
bicoteries; the first ones are D. K. Gifford's, "Weighted Voting for Replicated Data", 1979.
A reader finds what was written last, because the two sets share a node.  Any two sets that
are written meet as well, so that one write follows the other; two that are read need not,
and may be small where there is more to be read than written.

The grid is that of S. Y. Cheung, M. H. Ammar, M. Ahamad, "The Grid Protocol", 1992.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import isqrt

from peerlock.core.bits import bits
from peerlock.core.peer import NodeId
from peerlock.quorums.agreements import Entries, entries, half
from peerlock.quorums.constructions import Quorum, QuorumSystem, require_a_node


@dataclass(frozen=True)
class Bicoterie:
    """Nodes are 1..N; `read[i - 1]` is what i reads and `written[i - 1]` what it writes."""

    kind: str
    read: tuple[Quorum, ...]
    written: tuple[Quorum, ...]

    @property
    def nodes(self) -> int:
        return len(self.read)

    @cached_property
    def reading(self) -> bool:
        """Each set that is read meets each that is written."""
        read, written = ({bits(q) for q in some} for some in (self.read, self.written))
        return all(r & w for r in read for w in written)

    @cached_property
    def writing(self) -> bool:
        """Any two sets that are written meet."""
        return half(self.written).intersecting

    @cached_property
    def entry(self) -> QuorumSystem:
        """The nodes that must be up to read and then to write."""
        made = entries(self.read, self.written)
        return Entries(f"bicoterie:{self.kind}", made.quorums, halves=made.halves)


@lru_cache
def read_one_write_all(n: int) -> Bicoterie:
    require_a_node(n)
    members = tuple(range(1, n + 1))
    return Bicoterie("read-one-write-all", tuple((i,) for i in members), (members,) * n)


@lru_cache
def read_few(n: int) -> Bicoterie:
    """The ⌈n/3⌉ nodes from the node on, round the ring, are read.

    As many are written as must be to meet them: two thirds, which meet one another, too.
    """
    require_a_node(n)
    few = -(-n // 3)
    ring = [*range(1, n + 1)] * 2
    most = n + 1 - few
    return Bicoterie(
        "read-few",
        tuple(tuple(sorted(ring[i : i + few])) for i in range(n)),
        tuple(tuple(sorted(ring[i : i + most])) for i in range(n)),
    )


@lru_cache
def read_grid(n: int) -> Bicoterie:
    """A node of each column is read; a column is written, and a node of each other one.

    Two sets that are written meet, as one has a column and the other a node of it.
    """
    require_a_node(n)
    width = isqrt(n - 1) + 1
    columns = [range(first, n + 1, width) for first in range(1, width + 1)]
    members = range(1, n + 1)
    read = tuple(_one_of_each(i, columns) for i in members)
    own = (tuple(columns[(i - 1) % width]) for i in members)
    written = (tuple(sorted({*r, *c})) for r, c in zip(read, own, strict=True))
    return Bicoterie("grid", read, tuple(written))


def _one_of_each(node: NodeId, columns: list[range]) -> Quorum:
    row = (node - 1) // len(columns)
    return tuple(sorted(column[row % len(column)] for column in columns))


KINDS: Mapping[str, Callable[[int], Bicoterie]] = {
    "read-one-write-all": read_one_write_all,
    "read-few": read_few,
    "grid": read_grid,
}
