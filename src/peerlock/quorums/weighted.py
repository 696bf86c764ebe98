"""Weighted votes: a quorum is any set of nodes that has more than half of all votes.

D. K. Gifford, "Weighted Voting for Replicated Data", 1979.  Two such sets cannot be
disjoint, so any two quorums share a node.  A node that is trusted more, or that is
quicker to reach, is given more votes; one that has none is never asked.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache
from itertools import accumulate

from peerlock.core.bits import nodes_in
from peerlock.core.peer import NodeId
from peerlock.quorums.constructions import Quorum, QuorumSystem
from peerlock.quorums.hitting import OutOfEffort

Votes = tuple[int, ...]  # votes[i - 1] are those of node i

ENTRY = 100  # bytes that a count takes, however small it is
UNIT = 2_500  # bytes of counts to a unit of effort
AT_ONCE = 20  # at most one part in this many of all the effort is in memory at a time


@dataclass(frozen=True)
class WeightedVotes(QuorumSystem):
    """The table shows the quorum that each node asks; any other set that wins will do."""

    votes: Votes = field(default=(), repr=False)


def untied(n: int) -> Votes:
    """One vote each, and one more for node 1 if otherwise two halves could be equal."""
    if n < 1:
        raise ValueError(f"votes need at least one node, not {n}")
    return (1 if n % 2 else 2, *[1] * (n - 1))


@lru_cache
def weighted(votes: Votes) -> WeightedVotes:
    """For each node itself and the fewest others that make it more than half.

    Those with most votes are the fewest.  Among equals node i takes those that follow it
    round the ring, i+1, i+2, …, so that not all nodes ask the same ones.  A node
    without votes is in no quorum, not even in its own.

    Any set with more than half of all votes will do, so a quorum is left as long as more
    than half of the votes are; the worst is that the nodes with most votes fail first.
    """
    if any(vote < 0 for vote in votes):
        raise ValueError("invalid votes: a node cannot have fewer than 0")
    if not any(votes):
        raise ValueError("invalid votes: at least one node must have a vote")
    quorums = tuple(_fewest(i, votes) for i in range(1, len(votes) + 1))
    return WeightedVotes(
        "weighted",
        quorums,
        known_resilience=_survived(votes),
        known_left=lambda up: 2 * sum(votes[j - 1] for j in nodes_in(up)) > sum(votes),
        votes=votes,
    )


def preference(node: NodeId, votes: Votes) -> tuple[NodeId, ...]:
    """The order in which `node` asks: itself, then those with most votes, none without."""
    ring = [*range(node + 1, len(votes) + 1), *range(1, node)]
    ring.sort(key=lambda j: -votes[j - 1])  # equals stay in the order of the ring
    return tuple(j for j in (node, *ring) if votes[j - 1])


def _fewest(node: NodeId, votes: Votes) -> Quorum:
    asked = preference(node, votes)
    together = accumulate(votes[j - 1] for j in asked)
    enough = next(k for k, sum_ in enumerate(together, 1) if 2 * sum_ > sum(votes))
    return tuple(sorted(asked[:enough]))


def _survived(votes: Votes) -> int:
    """How many failures, of whichever nodes, leave more than half of the votes."""
    together = accumulate(sorted(votes))  # best go first
    return sum(2 * left > sum(votes) for left in together) - 1


def survivals(votes: Votes, effort: int) -> tuple[int, ...]:
    """How many sets of k nodes have more than half of all votes, for k = 0, 1, …

    The nodes decide one after the other, those with most votes first.  Sets with equal
    votes are counted together, by size: in one integer, a field for each size.  Those that
    have won, and those that cannot win any more, need not be distinguished.
    """
    width = len(votes) + 1  # of a field: there are fewer than 2^n sets of any size
    need, left = sum(votes) // 2 + 1, sum(votes)
    undecided, won = {0: 1}, 0
    at_once = effort // AT_ONCE
    for decided, vote in enumerate(sorted(votes, reverse=True)):
        size = 1 + len(undecided) * (ENTRY + decided * width // 8) // UNIT
        effort -= size
        if size > at_once or effort < 0:
            raise OutOfEffort
        left -= vote
        won += won << width  # without this node, and with it
        undecided, more = _joined(undecided, vote, need, left, width)
        won += more
    return tuple(won >> k * width & (1 << width) - 1 for k in range(width))


def _joined(
    undecided: dict[int, int], vote: int, need: int, left: int, width: int
) -> tuple[dict[int, int], int]:
    """A node joins each of the sets, or does not; also the sets that win by that."""
    found: dict[int, int] = {}
    won = 0
    for votes, sets in undecided.items():
        if votes + left >= need:
            found[votes] = found.get(votes, 0) + sets
        votes += vote
        if votes >= need:
            won += sets << width
        elif votes + left >= need:
            found[votes] = found.get(votes, 0) + (sets << width)
    return found, won
