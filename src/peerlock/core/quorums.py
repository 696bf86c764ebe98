"""Quorum systems (provisional, until the full file is in place)."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import lru_cache
from math import isqrt

from peerlock.core.galois import prime_power, singer_difference_set
from peerlock.core.peer import NodeId


@dataclass(frozen=True)
class QuorumSystem:
    kind: str
    quorums: tuple[tuple[NodeId, ...], ...]

    @property
    def nodes(self) -> int:
        return len(self.quorums)

    def of(self, node: NodeId) -> tuple[NodeId, ...]:
        return self.quorums[node - 1]


@lru_cache(maxsize=None)
def plane(n: int) -> QuorumSystem:
    if n == 1:
        return QuorumSystem("plane", ((1,),))
    q = 1
    while q * q + q + 1 < n or not (q == 1 or prime_power(q)):
        q += 1
    v = q * q + q + 1
    d = (0, 1) if q == 1 else singer_difference_set(q)
    sets = [{(i + x) % v + 1 for x in d} for i in range(v)]
    degree = [{i for i in range(n) if p in sets[i]} for p in range(v + 1)]
    free = set(range(1, n + 1))
    for x in range(v, n, -1):
        y = max(sorted(free), key=lambda y: len(degree[x] & degree[y]))
        free.discard(y)
        for i in degree[x]:
            sets[i] = (sets[i] - {x}) | {y}
        degree[y] |= degree[x]
    return QuorumSystem("plane", tuple(tuple(sorted(s)) for s in sets[:n]))


@lru_cache(maxsize=None)
def grid(n: int) -> QuorumSystem:
    width = isqrt(n - 1) + 1
    rows = -(-n // width)
    sets = []
    for i in range(n):
        r, c = divmod(i, width)
        row = {r * width + x for x in range(width)}
        row = {x if x < n else x - width for x in row} if rows > 1 else set(range(n))
        col = {x for x in range(c, n, width)}
        sets.append(tuple(sorted(x + 1 for x in row | col)))
    return QuorumSystem("grid", tuple(sets))


@lru_cache(maxsize=None)
def majority(n: int) -> QuorumSystem:
    return QuorumSystem(
        "majority",
        tuple(tuple(sorted((i + x) % n + 1 for x in range(n // 2 + 1))) for i in range(n)),
    )


KINDS: Mapping[str, Callable[[int], QuorumSystem]] = {
    "plane": plane,
    "grid": grid,
    "majority": majority,
}
