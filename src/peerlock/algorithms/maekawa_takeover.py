"""Maekawa, 1985: when a node fails, another one takes over its part in the sets.

    M. Maekawa.  A √N Algorithm for Mutual Exclusion in Decentralized Systems.
    ACM Transactions on Computer Systems 3(2), May 1985, 145-159, section 9.

As in Maekawa's algorithm, node i enters when every member of its set S_i is locked for it.
A member is a seat that some node has: its own node at first, and if that one has failed the
next node that has not, in the order of numbers.  What the failed node knew is lost, but it
was about the nodes in whose sets it is, and they know it too: each sends a REPORT to the
seat's new node, whether the seat is locked for it, or it waits for that, or neither.  When
all have reported, the new node continues where the failed one had stopped.

    messages      3(K-1) per entry when nobody competes, fewer than 6(K-1) when many do;
                  for a node that fails, one REPORT from each node in whose set its seats
                  are, at most K of them where each node is in K sets, and as many answers
    delay         two messages, RELEASE and LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes; that a node is
                  DOWN is reported after all that it has sent
    failures      any number of nodes may stop for ever
    fairness      a request waits at a seat for at most K-1 others that came before it,
                  and for later ones with a smaller number, however many there are

Where this file departs from the paper, and why:
  * The paper has two paragraphs on failures and says neither which node takes over nor how
    the lost information is regained.  This is one way to do it, with the O(√N) messages
    that the paper expects.
  * A node that takes over keeps its own part and the other one apart.  The paper likens it
    to a set system in which one node replaces the other.  But both parts may be locked at
    that moment, for two nodes whose sets meet elsewhere.
  * How a failure is found the paper leaves open: here the host reports it.
  * A node that has failed does not come back: it has forgotten what it is locked for.
  * Sanders' correction, and the other departures of `maekawa`.
  * It is for the lab: a lock node learns from its cluster which members have failed, and
    forms the circle of a name anew; a second recovery below that has no use.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from peerlock.algorithms import maekawa
from peerlock.algorithms.entry import Algorithm, Exhibit
from peerlock.algorithms.maekawa import Timestamp
from peerlock.core.bits import Nodes, bits, nodes_in
from peerlock.core.peer import Down, NodeId, Peer, RemoteError, setting
from peerlock.quorums.constructions import QuorumSystem, plane


@dataclass(frozen=True, slots=True)
class Request(maekawa.Request):
    seat: NodeId


@dataclass(frozen=True, slots=True)
class Locked:
    seat: NodeId


@dataclass(frozen=True, slots=True)
class Failed:
    seat: NodeId


@dataclass(frozen=True, slots=True)
class Inquire:
    seat: NodeId


@dataclass(frozen=True, slots=True)
class Relinquish:
    seat: NodeId


@dataclass(frozen=True, slots=True)
class Release:
    seat: NodeId


@dataclass(frozen=True, slots=True)
class Report:
    seat: NodeId
    sequence_number: int  # of the sender's REQUEST, or 0
    locked: bool  # the seat is, for that REQUEST


class Seat(NamedTuple):
    """What its node knows."""

    locking: Timestamp | None = None  # the REQUEST for which it is locked
    waiting: tuple[Timestamp, ...] = ()  # the others, in the order of precedence
    inquired: bool = False  # an INQUIRE is still unanswered
    unreported: Nodes = 0  # that have yet to tell what the failed node knew


@dataclass(eq=False)
class MaekawaTakeover(Peer):
    messages = (Request, Locked, Failed, Inquire, Relinquish, Release, Report, Down)

    quorums: QuorumSystem = setting()

    # The nodes that are reported down.
    lost: Nodes = 0

    # The highest sequence number of any REQUEST sent or received here.
    highest_sequence_number: int = 0

    # Our own request and its number; the seats that are locked for us, those that failed
    # us, and those whose INQUIRE waits until we know whether we will succeed.
    requesting: bool = False
    our_sequence_number: int = 0
    inside: bool = False
    locked_seats: Nodes = 0
    failed_seats: Nodes = 0
    inquiring_seats: Nodes = 0

    # The seats that we have, or another node believes that we have, by number.
    seats: tuple[tuple[NodeId, Seat], ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.quorums is None:
            self.quorums = plane(len(self.members))
        self.seats = ((self.me, Seat()),)

    @property
    def quorum(self) -> tuple[NodeId, ...]:
        return self.quorums.of(self.me)

    def node_of(self, seat: NodeId) -> NodeId:
        """The first from there on that is not down."""
        while self.lost >> seat & 1:
            seat = seat % len(self.members) + 1
        return seat

    # The user of the lock

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        self.highest_sequence_number += 1
        self.our_sequence_number = self.highest_sequence_number
        for seat in self.quorum:
            self.tell(self.node_of(seat), Request(self.our_sequence_number, seat))

    def receive_locked(self, sender: NodeId, message: Locked) -> None:
        self.must_be_awaited(sender, message.seat)
        self.locked_seats |= 1 << message.seat
        self.failed_seats &= ~(1 << message.seat)
        if self.locked_seats == bits(self.quorum):
            self.inside = True
            self.inquiring_seats = 0  # answered by the RELEASE
            self.grant()

    def release(self) -> None:
        assert self.inside

        self.requesting = self.inside = False
        self.locked_seats = 0
        for seat in self.quorum:
            self.tell(self.node_of(seat), Release(seat))

    # Will we succeed?

    def receive_failed(self, sender: NodeId, message: Failed) -> None:
        self.must_be_awaited(sender, message.seat)
        self.failed_seats |= 1 << message.seat
        for seat in nodes_in(self.inquiring_seats):
            self.relinquish(seat)
        self.inquiring_seats = 0

    def receive_inquire(self, sender: NodeId, message: Inquire) -> None:
        if self.inside or not self.locked_seats >> message.seat & 1:
            return
        if self.failed_seats:
            self.relinquish(message.seat)
        else:
            self.inquiring_seats |= 1 << message.seat

    def relinquish(self, seat: NodeId) -> None:
        self.locked_seats ^= 1 << seat
        self.failed_seats |= 1 << seat
        self.tell(self.node_of(seat), Relinquish(seat))

    def must_be_awaited(self, sender: NodeId, seat: NodeId) -> None:
        locked = self.locked_seats >> seat & 1
        if not self.requesting or locked or seat not in self.quorum:
            raise RemoteError(f"{sender} answers what we did not request")

    # The node of a seat

    def seat(self, number: NodeId) -> Seat:
        """One that we hear of for the first time belongs to a node that has failed."""
        for known, seat in self.seats:
            if known == number:
                return seat
        whose = bits(i for i in self.members if number in self.quorums.of(i))
        return Seat(unreported=whose & ~self.lost)

    def put(self, number: NodeId, seat: Seat) -> None:
        others = [pair for pair in self.seats if pair[0] != number]
        self.seats = tuple(sorted([*others, (number, seat)], key=lambda pair: pair[0]))

    def receive_request(self, sender: NodeId, message: Request) -> None:
        seat = self.seat(message.seat)
        request = (message.sequence_number, sender)
        if any(node == sender for _, node in seat.waiting):
            raise RemoteError(f"{sender} requests again before it has released")
        self.observe(message.sequence_number)
        if seat.unreported:
            self.put(message.seat, with_waiting(seat, request))
        elif seat.locking is None:
            self.lock_for(message.seat, seat, request)
        else:
            self.let_wait(message.seat, seat, seat.locking, request)

    def let_wait(
        self, number: NodeId, seat: Seat, locking: Timestamp, request: Timestamp
    ) -> None:
        first = min((locking, *seat.waiting))
        self.put(number, with_waiting(seat, request))
        if first < request:
            self.tell(request[1], Failed(number))
        elif not seat.inquired:
            self.inquire(number)
        elif seat.waiting:  # or the one because of whom we inquired has failed
            self.tell(seat.waiting[0][1], Failed(number))

    def inquire(self, number: NodeId) -> None:
        seat = self.seat(number)
        assert seat.locking is not None
        self.put(number, seat._replace(inquired=True))
        self.tell(seat.locking[1], Inquire(number))

    def receive_relinquish(self, sender: NodeId, message: Relinquish) -> None:
        seat = self.seat(message.seat)
        if not is_locked_for(seat, sender) or not seat.inquired:
            raise RemoteError(f"{sender} relinquishes without being asked to")
        assert seat.locking is not None
        self.lock_next(message.seat, with_waiting(seat, seat.locking))

    def receive_release(self, sender: NodeId, message: Release) -> None:
        seat = self.seat(message.seat)
        if not is_locked_for(seat, sender):
            raise RemoteError(f"{sender} releases what is not locked for it")
        self.lock_next(message.seat, seat)

    def lock_next(self, number: NodeId, seat: Seat) -> None:
        """For the first that waits, unless others may yet report."""
        seat = seat._replace(locking=None, inquired=False)
        if seat.unreported or not seat.waiting:
            self.put(number, seat)
        else:
            request, *rest = seat.waiting
            self.lock_for(number, seat._replace(waiting=tuple(rest)), request)

    def lock_for(self, number: NodeId, seat: Seat, request: Timestamp) -> None:
        self.put(number, seat._replace(locking=request))
        self.tell(request[1], Locked(number))

    def observe(self, sequence_number: int) -> None:
        self.highest_sequence_number = max(self.highest_sequence_number, sequence_number)

    # A node has failed

    def receive_down(self, node: NodeId, message: Down) -> None:
        if self.lost >> node & 1:
            raise RemoteError(f"{node} is reported down twice")
        moved = [seat for seat in self.quorum if self.node_of(seat) == node]
        self.lost |= 1 << node
        for number, _ in self.seats:
            self.forget(number, node)
        for seat in moved:
            self.report(seat)

    def forget(self, number: NodeId, node: NodeId) -> None:
        """It neither waits nor reports any more, and no seat is locked for it."""
        seat = self.seat(number)
        waiting = tuple(request for request in seat.waiting if request[1] != node)
        unreported = seat.unreported & ~(1 << node)
        then = seat._replace(waiting=waiting, unreported=unreported)
        if unreported != seat.unreported:
            if is_locked_for(then, node):
                then = then._replace(locking=None)
            self.put(number, then)
            self.take_over_if_all_have_reported(number)
        elif is_locked_for(then, node):
            self.lock_next(number, then)
        else:
            self.put(number, then)

    def report(self, seat: NodeId) -> None:
        """To its new node, which will ask and tell anew what the failed one had."""
        self.inquiring_seats &= ~(1 << seat)
        self.failed_seats &= ~(1 << seat)
        number = self.our_sequence_number if self.requesting else 0
        locked = bool(self.locked_seats >> seat & 1)
        self.tell(self.node_of(seat), Report(seat, number, locked))

    def receive_report(self, sender: NodeId, message: Report) -> None:
        seat, request = self.seat(message.seat), (message.sequence_number, sender)
        if not seat.unreported >> sender & 1:
            raise RemoteError(f"{sender} reports what we know")
        self.observe(message.sequence_number)
        seat = seat._replace(unreported=seat.unreported ^ (1 << sender))
        if message.locked:
            seat = seat._replace(locking=request)
        elif message.sequence_number:
            seat = with_waiting(seat, request)
        self.put(message.seat, seat)
        self.take_over_if_all_have_reported(message.seat)

    def take_over_if_all_have_reported(self, number: NodeId) -> None:
        seat = self.seat(number)
        if seat.unreported:
            return
        if seat.locking is None:
            self.lock_next(number, seat)
            failed = seat.waiting[1:]
        elif seat.waiting and seat.waiting[0] < seat.locking:
            self.inquire(number)
            failed = seat.waiting[1:]
        else:
            failed = seat.waiting
        for _, node in failed:
            self.tell(node, Failed(number))

    def tell(self, node: NodeId, message: Any) -> None:
        """State first, then tell: a message to ourselves is handled in place."""
        if node == self.me:
            self.receive(node, message)
        else:
            self.send(node, message)


def with_waiting(seat: Seat, request: Timestamp) -> Seat:
    return seat._replace(waiting=tuple(sorted((*seat.waiting, request))))


def is_locked_for(seat: Seat, node: NodeId) -> bool:
    return seat.locking is not None and seat.locking[1] == node


ENTRIES = (
    Algorithm(
        name="maekawa-takeover",
        peer=MaekawaTakeover,
        source="Maekawa",
        year=1985,
        family="permission",
        messages="3(K−1) light, < 6(K−1), when nothing fails",
        fifo=True,
        takes="quorums",
        exhibit=Exhibit(crashes=1),
    ),
)
