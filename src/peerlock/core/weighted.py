"""Weighted votes: a quorum is any set of nodes that has more than half of all votes.

D. K. Gifford, "Weighted Voting for Replicated Data", 1979.  Two such sets cannot be
disjoint, so any two askers share an arbiter.  A node that is trusted more, or that is
quicker to reach, is given more votes; one that has none is never asked.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from functools import lru_cache
from itertools import accumulate

from peerlock.core.peer import NodeId
from peerlock.core.quorums import Quorum, QuorumSystem

Votes = tuple[int, ...]  # votes[i - 1] are those of node i


def untied(n: int) -> Votes:
    """One vote each, and one more for node 1 if otherwise two halves could be equal."""
    if n < 1:
        raise ValueError(f"votes are given to at least one node, not {n}")
    return (1 if n % 2 else 2, *[1] * (n - 1))


@lru_cache
def weighted(votes: Votes) -> QuorumSystem:
    """For each node itself and the fewest others that make it more than half.

    Those with most votes are the fewest.  Among equals node i takes those that follow it
    round the ring, i+1, i+2, …, so that not all nodes ask the same ones.  Who has no vote
    is in no quorum, not even in its own.

    Any set with more than half of all votes will do, so a quorum is left as long as more
    than half of the votes are; the worst is that the nodes with most votes fail first.
    """
    if any(vote < 0 for vote in votes):
        raise ValueError("a node cannot have less than no vote")
    if not any(votes):
        raise ValueError("somebody must have a vote")
    quorums = tuple(_fewest(i, votes) for i in range(1, len(votes) + 1))
    return QuorumSystem(
        "weighted",
        quorums,
        known_resilience=_survived(votes),
        known_survivals=lambda: _survivals(votes),
    )


def _fewest(node: NodeId, votes: Votes) -> Quorum:
    total = sum(votes)
    ring = [*range(node + 1, len(votes) + 1), *range(1, node)]
    ring.sort(key=lambda j: -votes[j - 1])  # equals stay in the order of the ring
    asked = [j for j in (node, *ring) if votes[j - 1]]
    together = accumulate(votes[j - 1] for j in asked)
    enough = next(k for k, sum_ in enumerate(together, 1) if 2 * sum_ > total)
    return tuple(sorted(asked[:enough]))


def _win(nodes: Iterable[NodeId], votes: Votes) -> bool:
    return 2 * sum(votes[j - 1] for j in nodes) > sum(votes)


def _survived(votes: Votes) -> int:
    """How many failures, of whichever nodes, leave more than half of the votes."""
    nodes = sorted(range(1, len(votes) + 1), key=lambda j: votes[j - 1])  # best go first
    return sum(_win(nodes[:left], votes) for left in range(len(nodes)))


def _survivals(votes: Votes) -> tuple[int, ...]:
    """How many sets of k nodes have more than half of all votes."""
    sets = Counter({(0, 0): 1})  # by how many nodes, with how many votes together
    for vote in votes:
        for (size, total), number in list(sets.items()):
            sets[size + 1, total + vote] += number
    found = [0] * (len(votes) + 1)
    for (size, total), number in sets.items():
        if 2 * total > sum(votes):
            found[size] += number
    return tuple(found)
