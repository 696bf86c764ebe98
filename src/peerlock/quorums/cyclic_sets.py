"""Cyclic quorums: one set of numbers, moved round the ring by one for each next node.

W.-S. Luk, T.-T. Wong, "Two New Quorum Based Algorithms for Distributed Mutual Exclusion",
1997.  Node i asks {i + d mod N} for the d of one set D.  Any two such quorums meet if every
number from 1 to N-1 is a difference of two numbers of D; a difference set in which each is
so once, as of a projective plane, is the smallest, and for other N one relaxes that to
"at least once".  All quorums have |D| nodes and every node is in |D| of them, whichever N.

The paper finds the smallest D by search, up to N = 111.  Here a search finds it up to
N = 37; where there is a plane, its set is taken; for other N this one,

    0, 1, …, r-1,  r, 2r, 3r, …  up to N/2 + r

has about √2·√N numbers: every d up to N/2 is a multiple of r less a number below r, and
N - d is the same difference the other way round.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import lru_cache
from itertools import count
from math import isqrt

from peerlock.quorums.constructions import QuorumSystem, require_a_node
from peerlock.quorums.galois import prime_power, singer_difference_set

SEARCHED = 37  # nodes up to which the smallest set is found

Numbers = tuple[int, ...]


@lru_cache
def cyclic_sets(n: int) -> QuorumSystem:
    require_a_node(n)
    quorums = (tuple(sorted((i + d) % n + 1 for d in cover(n))) for i in range(n))
    return QuorumSystem("cyclic", tuple(quorums))


@lru_cache
def cover(n: int) -> Numbers:
    """Numbers below n, 0 among them, whose differences are all numbers below n."""
    if n <= SEARCHED:
        return next(found for k in count(1) if (found := _search(n, k)) is not None)
    order = (isqrt(4 * n - 3) - 1) // 2
    if order * order + order + 1 == n and prime_power(order):
        return singer_difference_set(order)
    return min((_ladder(n, r) for r in range(1, isqrt(n) + 2)), key=len)


def covers(numbers: Iterable[int], n: int) -> bool:
    some = tuple(numbers)
    return len({(a - b) % n for a in some for b in some}) == n


def _ladder(n: int, r: int) -> Numbers:
    return (*range(r), *range(r, n // 2 + r, r))


def _search(n: int, size: int) -> Numbers | None:
    """A set of `size` numbers, or None; the differences that it has are bits."""
    everything = (1 << n) - 1

    def extended(chosen: Numbers, covered: int) -> Numbers | None:
        if covered == everything:
            return chosen
        left = size - len(chosen)
        if (everything ^ covered).bit_count() > _most(len(chosen), left):
            return None
        for number in range(chosen[-1] + 1, n - left + 1):
            more = covered | _differences(number, chosen, n)
            if (found := extended((*chosen, number), more)) is not None:
                return found
        return None

    return extended((0,), 1)


def _most(chosen: int, left: int) -> int:
    """New differences that this many more numbers can make: two with each one before."""
    return sum(2 * k for k in range(chosen, chosen + left))


def _differences(number: int, chosen: Iterable[int], n: int) -> int:
    found = 0
    for bit in _both_ways(number, chosen, n):
        found |= bit
    return found


def _both_ways(number: int, chosen: Iterable[int], n: int) -> Iterator[int]:
    for other in chosen:
        yield 1 << (number - other) % n
        yield 1 << (other - number) % n
