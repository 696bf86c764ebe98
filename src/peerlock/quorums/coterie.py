"""k-coteries: the nodes that each node asks, so that at most k nodes have all they asked.

H. Kakugawa, S. Fujita, M. Yamashita, T. Ae, "Availability of k-Coterie", 1993; here after
the survey of Velazquez.  A k-coterie is a set of quorums with three properties:

  * non-intersection: to any h < k quorums, no two of which meet, there is one more that
    meets none of them, so that the k-th may enter while k-1 are inside;
  * intersection: of any k+1 quorums two meet, so that no more than k are inside;
  * minimality: no quorum contains another one.

The survey asks of the one more only that it misses *one* of the h.  With k = 3 the quorums
{1}, {2, 3}, {2, 4}, {3, 4} would pass, and no three of them are disjoint.
"""

from __future__ import annotations

from functools import lru_cache
from itertools import combinations

from peerlock.core.bits import Nodes, bits
from peerlock.core.peer import NodeId
from peerlock.quorums.constructions import Quorum, QuorumSystem, majority, plane


@lru_cache
def k_coterie(n: int, k: int) -> QuorumSystem:
    """k groups of nodes, dealt out like cards, with a coterie each; i asks in its group.

    Two quorums meet if and only if they are of one group.  So any k+1 of them meet
    somewhere, and fewer than k leave a group free.  The groups differ by one node at most.
    With more permits than nodes, each node is its own group, and no node ever waits.

    The k-majorities, any ⌈(n+1)/(k+1)⌉ nodes, are larger, and are not always a k-coterie:
    for n = 8 and k = 3 that is 3 nodes, and no three such sets are disjoint.
    """
    if min(n, k) < 1:
        raise ValueError(f"a k-coterie needs a node and a permit at least, not {n} and {k}")
    return QuorumSystem("k-coterie", tuple(_in_group(i, n, k) for i in range(1, n + 1)))


def _in_group(node: NodeId, n: int, k: int) -> Quorum:
    group = range((node - 1) % k + 1, n + 1, k)
    quorum = _coterie(len(group)).of(group.index(node) + 1)
    return tuple(group[j - 1] for j in quorum)


def _coterie(n: int) -> QuorumSystem:
    """The smallest that we have; but the plane of two, {1} and {1, 2}, is not minimal."""
    return majority(n) if n == 2 else plane(n)


@lru_cache
def choices(system: QuorumSystem, node: NodeId) -> tuple[Nodes, ...]:
    """The quorums that `node` may ask, its own first, then those of the nodes after it.

    Of each group one, where there are groups: of several quorums no two of which meet, such
    that every other one meets just one of them.  If fewer are taken than there are, one of
    these is free.  Where there are no groups, all quorums.
    """
    ring = (*system.quorums[node - 1 :], *system.quorums[: node - 1])
    quorums = tuple(dict.fromkeys(map(bits, ring)))
    apart: list[Nodes] = []
    for quorum in quorums:
        if not any(quorum & other for other in apart):
            apart.append(quorum)
    grouped = all(sum(q & one != 0 for one in apart) == 1 for q in quorums)
    return tuple(apart) if grouped else quorums


def most_disjoint(system: QuorumSystem) -> int:
    """The most quorums no two of which meet; a k-coterie has k of them and not more."""
    return _disjoint(frozenset(system.essential))


def _disjoint(family: frozenset[Nodes]) -> int:
    """Of those that meet a smallest one, at most one is chosen if they all meet."""
    if not family:
        return 0
    first = min(family, key=lambda quorum: (quorum.bit_count(), quorum))
    meeting = [quorum for quorum in family if quorum & first]
    if all(a & b for a, b in combinations(meeting, 2)):
        return 1 + _disjoint(family.difference(meeting))
    return max(
        1 + _disjoint(frozenset(other for other in family if not other & quorum))
        for quorum in meeting
    )
