"""Maekawa, 1985: the REQUEST goes from member to member and locks one after the other.

    M. Maekawa.  A √N Algorithm for Mutual Exclusion in Decentralized Systems.
    ACM Transactions on Computer Systems 3(2), May 1985, 145-159, section 10.

As when the members are asked one by one, all nodes have theirs locked in one order, so
that nobody waits in a circle.  But a member that is locked does not say so: it passes the
REQUEST on to the next one, and only the last answers.  A REQUEST waits at the member where
it has got to until that one is free.

    messages      2K-1 per entry, K the set's size: K to enter, K-1 RELEASE; one more for a
                  node in the middle of its own set
    delay         RELEASE to the next one's REQUEST, which has the rest of its way to go
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: a silent node stops all nodes whose set it is in
    fairness      no node starves, but one with late members only enters more often

Where this file departs from the paper, and why:
  * The paper leaves the order open: it is that of the node numbers.  If each REQUEST
    began with its own node and went round from there, K messages would always do, but
    then nodes do wait in a circle: that form is `maekawa-cyclic-round` in the museum.
  * So a REQUEST comes by its own node when that one's turn comes.  If it is the first or
    the last of its set, that costs nothing; in the middle it costs a message more than the
    paper's K.  The plane of seven nodes can be dealt out so that no node is in the middle.
  * What comes back to the node is a LOCKED.  A REQUEST could not be told from one that
    comes by because the node is a member too.
  * RELEASE goes to each member directly, the quicker one of the two ways that the paper
    names.  The node's next REQUEST can be passed on to a member before the RELEASE is
    there, FIFO or not, and waits.  So the algorithm holds without FIFO too.
  * A REQUEST names its origin, which need not be its sender, and a member knows where the
    origin's set continues.
  * The sets need not contain their own node; an entry then costs 2K+1.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from peerlock.algorithms.entry import Algorithm, Quotation
from peerlock.algorithms.maekawa import Locked, Release
from peerlock.algorithms.maekawa_sequential import MaekawaSequential
from peerlock.core.peer import NodeId, RemoteError, label


@dataclass(frozen=True, slots=True)
class Request:
    origin: NodeId


@dataclass(eq=False)
class MaekawaCyclic(MaekawaSequential):
    messages: ClassVar[tuple[type, ...]] = (Request, Locked, Release)

    def way(self, origin: NodeId) -> tuple[NodeId, ...]:
        """The members of the origin's set, as its REQUEST comes by."""
        return self.quorums.of(origin)

    # The user of the lock

    def ask_next(self) -> None:
        self.tell(self.way(self.me)[0], Request(self.me))

    def receive_locked(self, sender: NodeId, message: Locked) -> None:
        if not self.awaits(sender):
            raise RemoteError(f"{sender} is locked for what we did not request")
        self.locked_members = len(self.quorum)
        self.grant()

    def awaits(self, member: NodeId) -> bool:
        waiting = self.requesting and not self.inside
        return waiting and self.way(self.me)[-1] == member

    # A member of others' sets

    def receive_request(self, sender: NodeId, message: Request) -> None:  # type: ignore[override]
        self.must_be_on_its_way(sender, message)
        self.admit(message.origin)

    def must_be_on_its_way(self, sender: NodeId, message: Request) -> None:
        origin = message.origin
        if origin not in self.members or self.me not in self.way(origin):
            raise RemoteError(f"{sender} sent {label(message)}, whose set we are not in")
        stops = (origin, *self.way(origin))
        if sender != stops[stops.index(self.me, 1) - 1]:
            raise RemoteError(f"{sender} is not before us on the way of {label(message)}")

    def locked_for(self, node: NodeId) -> None:
        way = self.way(node)
        onward = way[way.index(self.me) + 1 :]
        if onward:
            self.tell(onward[0], Request(node))
        else:
            self.tell(node, Locked())


@dataclass(eq=False)
class MaekawaCyclicRound(MaekawaCyclic):
    """Each REQUEST begins with its own node and goes round its set from there.

    That saves the message of a node in the middle of its set, and is the nearest reading of
    "cyclically passing a REQUEST among the member nodes".  But there is no one order any
    more: three nodes that each have locked themselves wait for one another.
    """

    def way(self, origin: NodeId) -> tuple[NodeId, ...]:
        members = self.quorums.of(origin)
        return tuple(sorted(members, key=lambda member: (member < origin, member)))


ENTRIES = (
    Algorithm(
        name="maekawa-cyclic",
        peer=MaekawaCyclic,
        source="Maekawa",
        year=1985,
        family="permission",
        messages="2K−1, or 2K from the middle of its set",
        fifo=True,
        takes="quorums",
        serves=("lock",),
    ),
    Algorithm(
        name="maekawa-cyclic-round",
        peer=MaekawaCyclicRound,
        source="Maekawa",
        year=1985,
        family="museum",
        messages="2K−1",
        fifo=True,
        takes="quorums",
        verdict="deadlock",
        quotes=(
            Quotation(
                "maekawa-1985",
                "section 10",
                "cyclically passing a REQUEST among the member nodes",
            ),
        ),
    ),
)
