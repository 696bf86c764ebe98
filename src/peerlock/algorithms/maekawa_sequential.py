"""Maekawa, 1985: lock the members one by one, all nodes in the same order.

    M. Maekawa.  A √N Algorithm for Mutual Exclusion in Decentralized Systems.
    ACM Transactions on Computer Systems 3(2), May 1985, 145-159, section 10.

Node i enters when every member of its set S_i is locked for it, and any two sets share a
member, as in Maekawa's algorithm.  But a REQUEST is sent only after the LOCKED of the
member before, and all nodes ask their members in one order.  Whoever waits at a member
waits for nodes that hold this one and may wait at later ones only, so nobody waits in a
circle.  INQUIRE, FAILED and RELINQUISH are not needed, and the entry takes longer.

    messages      3(K-1) per entry, K the set's size: K-1 REQUEST, K-1 LOCKED, K-1 RELEASE
    delay         RELEASE and LOCKED to the next, then two for each member it has yet to ask
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: a silent node stops all whose set it is in
    fairness      each member serves in the order of arrival

Where this file departs from the paper, and why:
  * The paper leaves the order open: it is that of the node numbers.  A node that is in its
    own set locks itself when its turn comes, not before.
  * A REQUEST has no sequence number.  Nothing is taken back from anybody, so members need
    not compare REQUESTs, and serve them as they come.
  * A REQUEST from the node that a member is locked for waits like any other.  So a REQUEST
    may overtake the RELEASE before it, and the algorithm holds without FIFO too.
  * The sets need not contain their own node; the cost is then 3K.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from peerlock.algorithms.maekawa import Locked, Release, Request, Timestamp
from peerlock.core.peer import NodeId, Peer, RemoteError, setting
from peerlock.core.quorums import QuorumSystem, plane


@dataclass(eq=False)
class MaekawaSequential(Peer):
    messages: ClassVar[tuple[type, ...]] = (Request, Locked, Release)

    quorums: QuorumSystem = setting()

    # The highest sequence number of any REQUEST sent or received here.
    highest_sequence_number: int = 0

    # Our own REQUEST's number, 0 when there is none, and how many of our members, from the
    # first on, are locked for it.
    our_sequence_number: int = 0
    locked_members: int = 0

    # As a member of others' sets: the locking REQUEST, and the waiting ones in the order of
    # precedence.
    locking: Timestamp | None = None
    waiting_queue: tuple[Timestamp, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quorums is None:
            self.quorums = plane(len(self.members))

    @property
    def quorum(self) -> tuple[NodeId, ...]:
        return self.quorums.of(self.me)

    @property
    def inside(self) -> bool:
        return self.locked_members == len(self.quorum)

    # The user of the lock

    def acquire(self) -> None:
        assert not self.our_sequence_number

        self.highest_sequence_number += 1
        self.our_sequence_number = self.highest_sequence_number
        self.ask_next()

    def ask_next(self) -> None:
        member = self.quorum[self.locked_members]
        self.tell(member, Request(self.our_sequence_number))

    def receive_locked(self, sender: NodeId, message: Locked) -> None:
        if not self.awaits(sender):
            raise RemoteError(f"{sender} is locked for what we did not request")
        self.locked_members += 1
        if self.inside:
            self.grant()
        else:
            self.ask_next()

    def awaits(self, member: NodeId) -> bool:
        waiting = self.our_sequence_number and not self.inside
        return bool(waiting) and self.quorum[self.locked_members] == member

    def release(self) -> None:
        assert self.inside

        self.our_sequence_number = self.locked_members = 0
        for member in self.quorum:
            self.tell(member, Release())

    # A member of others' sets

    def receive_request(self, sender: NodeId, message: Request) -> None:
        self.admit((message.sequence_number, sender))

    def admit(self, request: Timestamp) -> None:
        """Its node may have a REQUEST locking here, whose RELEASE is still on its way."""
        number, node = request
        if any(waiting == node for _, waiting in self.waiting_queue):
            raise RemoteError(f"{node} requests again before it has released")
        self.highest_sequence_number = max(self.highest_sequence_number, number)
        if self.locking is None:
            self.lock_for(request)
        else:
            self.waiting_queue = tuple(sorted((*self.waiting_queue, request)))

    def receive_release(self, sender: NodeId, message: Release) -> None:
        if self.locking is None or self.locking[1] != sender:
            raise RemoteError(f"{sender} releases what is not locked for it")
        self.locking = None
        if self.waiting_queue:
            request, *rest = self.waiting_queue
            self.waiting_queue = tuple(rest)
            self.lock_for(request)

    def lock_for(self, request: Timestamp) -> None:
        self.locking = request
        self.locked(request)

    def locked(self, request: Timestamp) -> None:
        self.tell(request[1], Locked())

    def tell(self, node: NodeId, message: Any) -> None:
        """State first, then tell: a message to ourselves is handled in place."""
        if node == self.me:
            self.receive(node, message)
        else:
            self.send(node, message)
