"""Whether a quorum system is dominated: whether another one is at least as good, always.

H. Garcia-Molina, D. Barbará, "How to Assign Votes in a Distributed System", 1985.  A
system in which any two quorums meet is dominated if there is another such system in which
every quorum of the first contains one, so that whatever nodes are up, the other one has a
quorum whenever the first has.  That is so if and only if some set of nodes meets every
quorum and contains none: it could be a quorum, too.

Of a set of nodes and the rest, never both contain a quorum, as the two would not meet.  If
one of them always does, no such set is left.  So a system is not dominated if and only if
just half of all sets contain a quorum, and to count them is to decide it: then a quorum is
left with probability 1/2 if each node is up with probability 1/2.
"""

from __future__ import annotations

from peerlock.core.bits import Nodes
from peerlock.quorums.availability import Availability
from peerlock.quorums.constructions import QuorumSystem


def is_dominated(found: Availability) -> bool | None:
    """Of a system whose quorums meet, by its availability; None if that was not counted."""
    return None if found.counts is None else 2 * sum(found.counts) < 1 << found.nodes


def one_more_quorum(system: QuorumSystem) -> Nodes | None:
    """A smallest set that meets every quorum and contains none; None if there is none.

    All sets of nodes are looked at.
    """
    everybody = (2 << system.nodes) - 2
    for up in sorted(range(0, everybody + 1, 2), key=int.bit_count):
        if not system.is_left(up) and not system.is_left(everybody & ~up):
            return up
    return None
