"""Maekawa, 1985: lock the members one by one, all nodes in the same order.

    M. Maekawa.  A √N Algorithm for Mutual Exclusion in Decentralized Systems.
    ACM Transactions on Computer Systems 3(2), May 1985, 145-159, section 10.

Node i enters when every member of its set S_i is locked for it, and any two sets share a
member, as in Maekawa's algorithm.  But a REQUEST is sent only after the LOCKED of the
member before, and all nodes ask their members in one order.  A node that waits at a
member waits for one that can wait at later members only, so no nodes wait in a circle.
INQUIRE, FAILED and RELINQUISH are not needed, and the entry takes longer.

    messages      3(K-1) per entry, K the set's size: K-1 REQUEST, K-1 LOCKED, K-1 RELEASE
    delay         RELEASE and LOCKED to the next, and two for each member it has yet to ask
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: a silent node stops all nodes whose set it is in
    fairness      no node starves, but one with late members only enters more often

Where this file departs from the paper, and why:
  * The paper leaves the order open: it is that of the node numbers.  A node that is in its
    own set locks itself when its turn comes, not before.
  * A REQUEST has no sequence number, and a member serves in the order of arrival.  Nothing
    is taken back from a node, so members need not compare REQUESTs.  Numbers would not
    make it even: those that wait at an early member do not compete at the later ones yet.
  * A REQUEST from the node that a member is locked for waits like any other.  So it may
    overtake the RELEASE before it, and the algorithm holds without FIFO too.
  * The sets need not contain their own node; an entry then costs 3K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.maekawa import Locked, Release
from peerlock.core.peer import NodeId, Peer, RemoteError, setting
from peerlock.quorums.constructions import QuorumSystem, plane


@dataclass(frozen=True, slots=True)
class Request:
    pass


@dataclass(eq=False)
class MaekawaSequential(Peer):
    messages: ClassVar[tuple[type, ...]] = (Request, Locked, Release)

    quorums: QuorumSystem = setting()

    # Our own request, and how many of our members, from the first on, are locked for us.
    requesting: bool = False
    locked_members: int = 0

    # As a member of others' sets: the node that we are locked for, then those that wait.
    queue: tuple[NodeId, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quorums is None:
            self.quorums = plane(len(self.members))

    @property
    def quorum(self) -> tuple[NodeId, ...]:
        return self.quorums.of(self.me)

    @property
    def inside(self) -> bool:
        return self.requesting and self.locked_members == len(self.quorum)

    # The user of the lock

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        self.ask_next()

    def ask_next(self) -> None:
        self.tell(self.quorum[self.locked_members], Request())

    def receive_locked(self, sender: NodeId, message: Locked) -> None:
        if not self.awaits(sender):
            raise RemoteError(f"{sender} is locked for what we did not request")
        self.locked_members += 1
        if self.inside:
            self.grant()
        else:
            self.ask_next()

    def awaits(self, member: NodeId) -> bool:
        waiting = self.requesting and not self.inside
        return waiting and self.quorum[self.locked_members] == member

    def release(self) -> None:
        assert self.inside

        self.requesting, self.locked_members = False, 0
        for member in self.quorum:
            self.tell(member, Release())

    # A member of others' sets

    def receive_request(self, sender: NodeId, message: Request) -> None:
        self.admit(sender)

    def admit(self, node: NodeId) -> None:
        """The first in the queue may come again: its RELEASE is still on its way."""
        if node in self.queue[1:]:
            raise RemoteError(f"{node} requests again before it has released")
        self.queue = (*self.queue, node)
        if len(self.queue) == 1:
            self.locked_for(node)

    def receive_release(self, sender: NodeId, message: Release) -> None:
        if self.queue[:1] != (sender,):
            raise RemoteError(f"{sender} releases what is not locked for it")
        self.queue = self.queue[1:]
        if self.queue:
            self.locked_for(self.queue[0])

    def locked_for(self, node: NodeId) -> None:
        self.tell(node, Locked())

    def tell(self, node: NodeId, message: Any) -> None:
        """State first, then tell: a message to ourselves is handled in place."""
        if node == self.me:
            self.receive(node, message)
        else:
            self.send(node, message)


ENTRIES = (
    Algorithm(
        name="maekawa-sequential",
        peer=MaekawaSequential,
        source="Maekawa",
        year=1985,
        family="permission",
        messages="3(K−1)",
        fifo=True,
        takes="quorums",
        serves=("lock",),
    ),
)
