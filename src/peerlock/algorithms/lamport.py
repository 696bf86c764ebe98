"""Lamport, 1978: every node keeps the same queue of requests.

    L. Lamport.  Time, Clocks, and the Ordering of Events in a Distributed System.
    Communications of the ACM 21(7), July 1978, 558-565.

A request carries the time of its node's logical clock, goes to all nodes, is put into
every node's queue, and is acknowledged with a REPLY.  A node enters when its own request
is the first in its own queue and all others have replied: as messages stay in order, no
earlier request can still be on its way.

    messages      3(N-1) per entry: N-1 REQUEST, N-1 REPLY, N-1 RELEASE
    delay         one RELEASE from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: one silent node stops every request
    fairness      entries follow the order of (timestamp, node number)

Where this file departs from the paper, and why:
  * The acknowledgement is called REPLY, as the survey of Velazquez does.
  * Rule 3 and 4 remove "any" request of the node that releases.  A node has one request
    at a time and channels are FIFO, so exactly the one request of that node is removed;
    anything else is a remote error.
  * Only a REQUEST carries a time, as in the TLA+ example LamportMutex.  A REPLY is later
    than the REQUEST it answers by being its answer, and that is what rule 5 asks for; a
    node that has replied counts as heard.  A node that was heard from in another way
    still replies, so nothing is lost but a little time.
  * The clock advances where a time is read or written, at REQUESTs.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.core.bits import Nodes, all_but
from peerlock.core.peer import NodeId, Peer, RemoteError


@dataclass(frozen=True, slots=True)
class Request:
    time: int


@dataclass(frozen=True, slots=True)
class Reply:
    pass


@dataclass(frozen=True, slots=True)
class Release:
    pass


REPLY = Reply()
RELEASE = Release()


@dataclass(eq=False)
class Lamport(Peer):
    messages = (Request, Reply, Release)

    # The logical clock.
    clock: int = 0

    # The requests known here, as (time, node), the earliest first.
    request_queue: tuple[tuple[int, NodeId], ...] = ()

    # Our own request while we have one, critical section included.
    our_request: tuple[int, NodeId] | None = None
    inside: bool = False

    # The nodes whose REPLY to it we wait for.
    outstanding: Nodes = 0

    # The user of the lock

    def acquire(self) -> None:
        assert self.our_request is None

        self.clock += 1
        self.our_request = (self.clock, self.me)
        self.enqueue(self.our_request)
        self.outstanding = all_but(self.me, len(self.members))
        self.broadcast(Request(self.clock))
        self.enter_if_first()

    def release(self) -> None:
        assert self.inside and self.our_request is not None

        self.dequeue(self.our_request)
        self.our_request, self.inside = None, False
        self.broadcast(RELEASE)

    # Receiving messages

    def receive_request(self, sender: NodeId, message: Request) -> None:
        if self.request_of(sender) is not None:
            raise RemoteError(f"{sender} requests again before it has released")
        self.clock = max(self.clock, message.time)
        self.enqueue((message.time, sender))
        self.send(sender, REPLY)

    def receive_reply(self, sender: NodeId, message: Reply) -> None:
        if not self.outstanding >> sender & 1:
            raise RemoteError(f"{sender} replies to what we did not request")
        self.outstanding ^= 1 << sender
        self.enter_if_first()

    def receive_release(self, sender: NodeId, message: Release) -> None:
        request = self.request_of(sender)
        if request is None:
            raise RemoteError(f"{sender} releases what it did not request")
        self.dequeue(request)
        self.enter_if_first()

    def enter_if_first(self) -> None:
        """Rule 5: ours is the first request, and all others have replied."""
        ours = self.our_request
        if ours is None or self.inside or self.outstanding:
            return
        if self.request_queue[0] == ours:
            self.inside = True
            self.grant()

    # The queue

    def request_of(self, node: NodeId) -> tuple[int, NodeId] | None:
        return next((r for r in self.request_queue if r[1] == node), None)

    def enqueue(self, request: tuple[int, NodeId]) -> None:
        self.request_queue = tuple(sorted((*self.request_queue, request)))

    def dequeue(self, request: tuple[int, NodeId]) -> None:
        self.request_queue = tuple(r for r in self.request_queue if r != request)


ENTRIES = (
    Algorithm(
        name="lamport",
        peer=Lamport,
        source="Lamport",
        year=1978,
        family="permission",
        messages="3(N−1)",
        fifo=True,
        serves=("lock",),
    ),
)
