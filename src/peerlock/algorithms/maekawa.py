"""Maekawa, 1985: lock a quorum of about √N nodes, any two of which meet.

    M. Maekawa.  A √N Algorithm for Mutual Exclusion in Decentralized Systems.
    ACM Transactions on Computer Systems 3(2), May 1985, 145-159.
    B. A. Sanders.  The Information Structure of Distributed Mutual Exclusion Algorithms.
    ACM Transactions on Computer Systems 5(3), August 1987, 284-299.

Node i enters when every member of its set S_i is locked for it.  A member is locked for
one REQUEST at a time, and any two sets share a member, so two nodes are never inside.
Sets locked piece by piece can lock each other out: then the member that sees a preceding
REQUEST arrive INQUIREs whether the node it is locked for will succeed, and a node that
has FAILED elsewhere RELINQUISHes.

    messages      3(K-1) per entry when nobody competes; when many do, more than the paper's
                  5(K-1), but fewer than 6(K-1), K the set's size
    delay         two messages, RELEASE and LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: a silent node stops all nodes whose set it is in
    fairness      a request waits at a member for at most K-1 others that came before it,
                  and for later ones with a smaller number, however many there are, which
                  the paper overlooks

Where this file departs from the paper, and why:
  * Sanders' correction.  As published, a waiting REQUEST that was the first in the queue
    when it came is not told when a preceding one comes later.  Its node then never learns
    that it must relinquish what it holds elsewhere, and four nodes on the 2×2 grid can
    lock each other out for ever.  Here it gets its FAILED then.  The published form is
    `maekawa-1985` in the museum.
  * A node "knows that it will not succeed" while some member's last word was FAILED or
    it has relinquished some member; a LOCKED from there takes it back.  The paper lets
    one FAILED count until the next request, which makes it relinquish more than needed.
  * An INQUIRE from a member that is not locked for us is about a request that is over
    (FIFO rules out anything else) and is ignored, as the paper asks.
  * The sequence number of a REQUEST may be observed at the members only, so every
    node's highest number is that of the REQUESTs it sent or received.
  * The sets need not contain their own node.
  * Section 8.2 counts "five (K - 1) messages" and says that "This is the worst case".  It
    leaves out that a node which relinquished a member is sent LOCKED by it again, so that a
    REQUEST which precedes costs six messages at a member: REQUEST, INQUIRE, RELINQUISH,
    LOCKED twice, RELEASE.  If E nodes that are in nobody's set ask the same K-1 others, the
    most is 6(K-1) - (3(K-1)+2)/E for each entry.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.core.bits import Nodes, bits, nodes_in
from peerlock.core.peer import NodeId, Peer, RemoteError, setting
from peerlock.quorums.constructions import QuorumSystem, plane


@dataclass(frozen=True, slots=True)
class Request:
    sequence_number: int


@dataclass(frozen=True, slots=True)
class Locked:
    pass


@dataclass(frozen=True, slots=True)
class Failed:
    pass


@dataclass(frozen=True, slots=True)
class Inquire:
    pass


@dataclass(frozen=True, slots=True)
class Relinquish:
    pass


@dataclass(frozen=True, slots=True)
class Release:
    pass


Timestamp = tuple[int, NodeId]  # of two REQUESTs, the smaller one precedes


@dataclass(eq=False)
class Maekawa(Peer):
    messages = (Request, Locked, Failed, Inquire, Relinquish, Release)

    quorums: QuorumSystem = setting()

    # The highest sequence number of any REQUEST sent or received here.
    highest_sequence_number: int = 0

    # Our own request: the members locked for us, those that failed us, and those whose
    # INQUIRE waits until we know whether we will succeed.
    requesting: bool = False
    inside: bool = False
    locked_members: Nodes = 0
    failed_members: Nodes = 0
    inquiring_members: Nodes = 0

    # As a member of others' sets: the locking REQUEST, the waiting ones in the order of
    # precedence, and whether an INQUIRE is still unanswered.
    locking: Timestamp | None = None
    waiting_queue: tuple[Timestamp, ...] = ()
    inquired: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quorums is None:
            self.quorums = plane(len(self.members))

    @property
    def quorum(self) -> tuple[NodeId, ...]:
        return self.quorums.of(self.me)

    # Steps (1), (5) and (6): the user of the lock

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        self.highest_sequence_number += 1
        request = Request(self.highest_sequence_number)
        for member in self.quorum:
            self.tell(member, request)

    def receive_locked(self, sender: NodeId, message: Locked) -> None:
        if not self.awaits(sender):
            raise RemoteError(f"{sender} is locked for what we did not request")
        self.locked_members |= 1 << sender
        self.failed_members &= ~(1 << sender)
        if self.locked_members == bits(self.quorum):
            self.inside = True
            self.inquiring_members = 0  # answered by the RELEASE
            self.grant()

    def release(self) -> None:
        assert self.inside

        self.requesting = self.inside = False
        self.locked_members = 0
        for member in self.quorum:
            self.tell(member, Release())

    # Step (3): will we succeed?

    def receive_failed(self, sender: NodeId, message: Failed) -> None:
        if not self.awaits(sender):
            raise RemoteError(f"{sender} fails what we did not request")
        self.failed_members |= 1 << sender
        for member in nodes_in(self.inquiring_members):
            self.relinquish(member)
        self.inquiring_members = 0

    def receive_inquire(self, sender: NodeId, message: Inquire) -> None:
        if self.inside or not self.locked_members >> sender & 1:
            return
        if self.failed_members:
            self.relinquish(sender)
        else:
            self.inquiring_members |= 1 << sender

    def relinquish(self, member: NodeId) -> None:
        self.locked_members ^= 1 << member
        self.failed_members |= 1 << member
        self.tell(member, Relinquish())

    def awaits(self, member: NodeId) -> bool:
        locked = self.locked_members >> member & 1
        return self.requesting and not locked and member in self.quorum

    # Steps (2), (4) and (7): a member of others' sets

    def receive_request(self, sender: NodeId, message: Request) -> None:
        request = (message.sequence_number, sender)
        if any(node == sender for _, node in self.waiting_queue):
            raise RemoteError(f"{sender} requests again before it has released")
        self.highest_sequence_number = max(self.highest_sequence_number, request[0])
        if self.locking is None:
            self.lock_for(request)
        else:
            self.let_wait(request, self.locking)

    def let_wait(self, request: Timestamp, locking: Timestamp) -> None:
        first = min((locking, *self.waiting_queue))
        before = self.waiting_queue
        self.waiting_queue = tuple(sorted((*before, request)))
        if first < request:
            self.tell(request[1], Failed())
        elif self.inquired:
            for _, node in before[:1]:
                self.overtaken(node)
        else:
            self.inquired = True
            self.tell(locking[1], Inquire())

    def overtaken(self, node: NodeId) -> None:
        """`node` waits for the answer to an INQUIRE, and a preceding request has come."""
        self.tell(node, Failed())

    def receive_relinquish(self, sender: NodeId, message: Relinquish) -> None:
        if not self.locked_for(sender) or not self.inquired:
            raise RemoteError(f"{sender} relinquishes without being asked to")
        assert self.locking is not None
        self.waiting_queue = tuple(sorted((*self.waiting_queue, self.locking)))
        self.lock_next()

    def receive_release(self, sender: NodeId, message: Release) -> None:
        if not self.locked_for(sender):
            raise RemoteError(f"{sender} releases what is not locked for it")
        self.lock_next()

    def lock_next(self) -> None:
        self.locking, self.inquired = None, False
        if self.waiting_queue:
            request, *rest = self.waiting_queue
            self.waiting_queue = tuple(rest)
            self.lock_for(request)

    def lock_for(self, request: Timestamp) -> None:
        self.locking = request
        self.tell(request[1], Locked())

    def locked_for(self, node: NodeId) -> bool:
        return self.locking is not None and self.locking[1] == node

    def tell(self, node: NodeId, message: Any) -> None:
        """State first, then tell: a message to ourselves is handled in place."""
        if node == self.me:
            self.receive(node, message)
        else:
            self.send(node, message)


@dataclass(eq=False)
class Maekawa1985(Maekawa):
    """Section 4 as published, whose deadlock Sanders found.

    A REQUEST that came first and is then overtaken gets no FAILED; and one FAILED counts
    until the request is over, whatever that member says later.
    """

    failed: bool = False

    def acquire(self) -> None:
        self.failed = False
        super().acquire()

    def receive_failed(self, sender: NodeId, message: Failed) -> None:
        super().receive_failed(sender, message)
        self.failed = True

    def receive_inquire(self, sender: NodeId, message: Inquire) -> None:
        if self.failed and not self.inside and self.locked_members >> sender & 1:
            self.relinquish(sender)
        else:
            super().receive_inquire(sender, message)

    def overtaken(self, node: NodeId) -> None:
        pass


ENTRIES = (
    Algorithm(
        name="maekawa",
        peer=Maekawa,
        source="Maekawa; Sanders",
        year=1987,
        family="permission",
        messages="3(K−1) light, < 6(K−1)",
        fifo=True,
        takes="quorums",
        serves=("lock",),
    ),
    Algorithm(
        name="maekawa-1985",
        peer=Maekawa1985,
        source="Maekawa",
        year=1985,
        family="museum",
        messages="3(K−1) light",
        fifo=True,
        takes="quorums",
        verdict="deadlock",
        exhibit=Exhibit(nodes=4, quorums="grid"),
        quotes=(
            Quotation(
                "maekawa-1985",
                "section 4, step 2",
                "the current locking REQUEST or any other outstanding REQUEST at the "
                "node precedes the received REQUEST. … If so, a FAILED message is "
                "returned to node i . Otherwise, an INQUIRE message is sent",
            ),
            Quotation(
                "maekawa-1985",
                "section 4, step 3",
                "it has received a FAILED message from some of its members",
            ),
        ),
    ),
)
