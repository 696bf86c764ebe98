"""Cao and Singhal, 2001: quorums, and the leaving node hands its permissions on itself.

    G. Cao, M. Singhal.  A Delay-Optimal Quorum-Based Mutual Exclusion Algorithm for
    Distributed Systems.  IEEE Transactions on Parallel and Distributed Systems 12(12),
    December 2001, 1256-1268; in short form ICDCS 1998, 444-451.

Node i enters when every member of its set S_i is locked for it, as in Maekawa's algorithm.
There a leaving node tells the members, and they lock themselves for the next: two messages
from one entry to the following one.  Here a member TRANSFERs to the node it is locked for
who its heir is, the first of those that wait.  The leaving node sends LOCKED to the heir on
behalf of the member, and RELEASE, with the heir's name, to the member: one message.

    messages      3(K-1) per entry when nobody competes, about 5(K-1) when many do, K the
                  set's size; in the worst case, as rebuilt here, more than 6(K-1)
    delay         one message, LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: a silent node stops all whose set it is in
    fairness      by (sequence number, node number) at each member, as Maekawa's; but an
                  heir once named may enter before a request that precedes it

Where this file departs from the paper, and why:
  * Rebuilt from the abstract, which gives the idea and O(K) messages, and from accounts of
    it, which give 3(K-1) to 6(K-1).  The rules against deadlock are those of `maekawa`,
    with Sanders' correction.
  * LOCKED comes from a third node, and FIFO does not keep it in order with what the member
    says itself.  So a member numbers the times that it is locked, its terms.  TRANSFER and
    INQUIRE name the term that they are about: one of an earlier term is ignored, one of a
    term that is still to come waits for its LOCKED.
  * For the same reason a RELEASE names its term: the heir's may overtake that of the node
    which it has inherited from, and then waits for it.
  * A member that is its own heir is locked by the RELEASE that says so.
  * INQUIRE says who the heir is, so that it does without a TRANSFER.
  * 6(K-1) is not the most here, whatever it is in the paper.  A request that preempts
    another one costs REQUEST, INQUIRE, RELINQUISH, LOCKED, TRANSFER, RELEASE, and LOCKED
    once more for the other: seven at a member.  Of six nodes that ask the same two, each
    takes 12.3 messages in some schedule.
  * A FAILED from a member that is locked for us, or was, has been sent before the member
    heard of that, and is ignored; if it wants the lock back, it will INQUIRE.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.maekawa import Maekawa, Relinquish, Request, Timestamp
from peerlock.core.bits import bits, nodes_in
from peerlock.core.peer import NodeId, RemoteError


@dataclass(frozen=True, slots=True)
class Locked:
    member: NodeId  # which is not always the sender
    term: int


@dataclass(frozen=True, slots=True)
class Failed:
    sequence_number: int


@dataclass(frozen=True, slots=True)
class Transfer:
    term: int
    heir: NodeId


@dataclass(frozen=True, slots=True)
class Inquire:
    term: int
    heir: NodeId


@dataclass(frozen=True, slots=True)
class Release:
    term: int
    heir: NodeId  # 0: none


Heir = tuple[int, NodeId]  # of which term, and who


@dataclass(eq=False)
class CaoSinghal(Maekawa):
    messages = (  # type: ignore[assignment]
        Request,
        Locked,
        Failed,
        Transfer,
        Inquire,
        Relinquish,
        Release,
    )

    # The number of our last REQUEST.
    our_sequence_number: int = 0

    # By member: the last term in which it was locked for us, and the heir it named last.
    terms: tuple[int, ...] = ()
    heirs: tuple[Heir, ...] = ()

    # As a member of others' sets: the number of the term; and the term of a RELEASE that
    # has overtaken the one by which that term begins, 0 if there is none.
    term: int = 0
    early: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.terms = (0,) * len(self.members)
        self.heirs = ((0, 0),) * len(self.members)

    # The user of the lock

    def acquire(self) -> None:
        self.our_sequence_number = self.highest_sequence_number + 1
        super().acquire()

    def receive_locked(self, sender: NodeId, message: Any) -> None:
        member = message.member
        if sender != self.me == member:
            raise RemoteError(f"{sender} locks us for ourselves")
        if (
            member not in self.members
            or not self.awaits(member)
            or message.term <= self.terms[member - 1]
        ):
            raise RemoteError(f"{member} is locked for what we did not request")
        self.terms = changed(self.terms, member, message.term)
        self.locked_members |= 1 << member
        self.failed_members &= ~(1 << member)
        if self.locked_members == bits(self.quorum):
            self.inside = True
            self.inquiring_members = 0  # answered by the RELEASE
            self.grant()
        elif self.inquiring_members >> member & 1 and self.failed_members:
            self.relinquish(member)

    def release(self) -> None:
        assert self.inside

        self.requesting = self.inside = False
        self.locked_members = 0
        for member in self.quorum:
            term, heir = self.heirs[member - 1]
            if term != self.terms[member - 1]:
                heir = 0
            if heir and heir != member:
                self.send(heir, Locked(member, term + 1))
            self.tell(member, Release(self.terms[member - 1], heir))

    # Will we succeed?

    def receive_failed(self, sender: NodeId, message: Any) -> None:
        if message.sequence_number > self.our_sequence_number:
            raise RemoteError(f"{sender} fails what we did not request")
        over = not self.requesting or message.sequence_number < self.our_sequence_number
        if over or self.locked_members >> sender & 1:
            return
        self.failed_members |= 1 << sender
        for member in nodes_in(self.inquiring_members & self.locked_members):
            self.relinquish(member)

    def receive_transfer(self, sender: NodeId, message: Transfer) -> None:
        known = self.terms[sender - 1]
        if message.heir == self.me or message.heir not in self.members:
            raise RemoteError(f"{sender} names {message.heir} as an heir")
        if message.term > known and not self.awaits(sender):
            raise RemoteError(f"{sender} is not locked for us, and names an heir")
        if message.term >= known:
            self.heirs = changed(self.heirs, sender, (message.term, message.heir))

    def receive_inquire(self, sender: NodeId, message: Any) -> None:
        self.receive_transfer(sender, Transfer(message.term, message.heir))
        locked = self.locked_members >> sender & 1
        expected = message.term > self.terms[sender - 1]
        if self.inside or not (locked or expected):
            return
        if locked and self.failed_members:
            self.relinquish(sender)
        else:
            self.inquiring_members |= 1 << sender

    def relinquish(self, member: NodeId) -> None:
        self.locked_members ^= 1 << member
        self.inquiring_members &= ~(1 << member)
        self.failed_members |= 1 << member
        self.tell(member, Relinquish())

    # A member of others' sets

    def receive_request(self, sender: NodeId, message: Request) -> None:
        request = (message.sequence_number, sender)
        if not self.early and any(node == sender for _, node in self.waiting_queue):
            raise RemoteError(f"{sender} requests again before it has released")
        self.highest_sequence_number = max(self.highest_sequence_number, request[0])
        if self.locking is None:
            self.lock_for(request)
            return
        before = self.waiting_queue
        self.waiting_queue = tuple(sorted((*before, request)))
        if min((self.locking, *before[:1])) < request:
            self.tell(sender, Failed(request[0]))
        elif self.inquired:
            for number, node in before[:1]:
                self.tell(node, Failed(number))
        if self.waiting_queue[0] == request:
            self.name_heir()

    def name_heir(self) -> None:
        """The first that waits; if it precedes, the lock is wanted back."""
        assert self.locking is not None
        first, holder = self.waiting_queue[0], self.locking[1]
        if first < self.locking and not self.inquired:
            self.inquired = True
            self.tell(holder, Inquire(self.term, first[1]))
        else:
            self.tell(holder, Transfer(self.term, first[1]))

    def receive_release(self, sender: NodeId, message: Any) -> None:
        next_term = message.term == self.term + 1 and self.locking is not None
        if next_term and not message.heir and not self.early:
            self.early = message.term
            return
        if not self.locked_for(sender) or message.term != self.term:
            raise RemoteError(f"{sender} releases what is not locked for it")
        if not message.heir:
            self.lock_next()
            return
        waiting = [request for request in self.waiting_queue if request[1] == message.heir]
        if not waiting:
            raise RemoteError(f"{sender} names an heir that does not wait")
        self.inherit(waiting[0])

    def inherit(self, request: Timestamp) -> None:
        """It has the lock, or is about to get it, or has released it already."""
        self.waiting_queue = tuple(r for r in self.waiting_queue if r != request)
        self.locking, self.inquired = request, False
        self.term += 1
        if self.early == self.term:
            self.early = 0
            self.lock_next()
            return
        if request[1] == self.me:
            self.receive_locked(self.me, Locked(self.me, self.term))
        if self.waiting_queue:
            self.name_heir()

    def lock_for(self, request: Timestamp) -> None:
        self.locking = request
        self.term += 1
        self.tell(request[1], Locked(self.me, self.term))
        if self.waiting_queue:
            self.name_heir()


def changed(values: tuple[Any, ...], node: NodeId, value: Any) -> tuple[Any, ...]:
    return (*values[: node - 1], value, *values[node:])


ENTRIES = (
    Algorithm(
        name="cao-singhal",
        peer=CaoSinghal,
        source="Cao, Singhal",
        year=2001,
        family="permission",
        messages="3(K−1) light, about 5(K−1) heavy",
        fifo=True,
        takes="quorums",
        serves=("lock",),
    ),
)
