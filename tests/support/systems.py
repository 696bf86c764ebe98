"""Quorum systems made up, and their resilience by trying."""

from __future__ import annotations

from itertools import combinations

from hypothesis import strategies as st

from peerlock.quorums.constructions import Quorum, QuorumSystem


def meets_all(nodes: Quorum, system: QuorumSystem) -> bool:
    return all(set(nodes) & set(quorum) for quorum in system.quorums)


def resilience_by_hand(system: QuorumSystem) -> int:
    nodes = sorted({j for quorum in system.quorums for j in quorum})
    return next(
        size - 1
        for size in range(1, len(nodes) + 1)
        if any(meets_all(failed, system) for failed in combinations(nodes, size))
    )


@st.composite
def any_system(draw: st.DrawFn) -> QuorumSystem:
    n = draw(st.integers(1, 7))
    quorum = st.frozensets(st.integers(1, n), min_size=1)
    quorums = draw(st.lists(quorum, min_size=n, max_size=n))
    return QuorumSystem("any", tuple(tuple(sorted(q)) for q in quorums))
