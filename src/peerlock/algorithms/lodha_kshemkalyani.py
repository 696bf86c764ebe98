"""Lodha and Kshemkalyani, 2000: a request that meets another one is its reply.

    S. Lodha, A. Kshemkalyani.  A Fair Distributed Mutual Exclusion Algorithm.  IEEE
    Transactions on Parallel and Distributed Systems 11(6), June 2000, 537-549.

A node sends a numbered REQUEST to every other node, as in Ricart and Agrawala's algorithm.
If two nodes ask before either has heard of the other, their REQUESTs cross, and each takes
the other's for a REPLY: both know the order of the two, and no REPLY is due.  Each node
keeps the requests that crossed its own in a queue, and enters when it has heard from all
others and its own request is the first.  When it leaves, it sends one FLUSH, to the next in
the queue.  All other requests are answered by a REPLY: at once by a node that does not ask,
and at its exit by one that had heard from the sender before.

Every message names the last request that its sender has finished.  Entries follow the order
of requests, so that all requests which precede it are finished, too.

    messages      2(N-1) per entry when nobody competes; each request that crosses it saves
                  one, and a FLUSH is added if one follows: N if all ask at once, and N-1
                  for the last one
    delay         one FLUSH or REPLY from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: one silent node stops every request
    fairness      entries follow the order of (sequence number, node number)

Where this file departs from the paper, and why:
  * Rebuilt from accounts of it; the paper itself was not at hand.
  * The paper's RV vector is an integer with a bit per node, and its LRQ is a sorted tuple.
  * A REQUEST names the last finished request as well, as it may stand for a REPLY.  If it
    does not, the checker finds a deadlock: node 2 has replied to 3 and asks; 3, which was
    to tell it that 1 has left, asks again before it hears of that.
  * A REQUEST may come later than word that it is finished, and is then not queued, or its
    receiver would wait for ever: three nodes that ask at once are enough.
  * A FLUSH does not count as heard from its sender: its REQUEST did so before.  And a FLUSH
    that is late, as a later one said more, must not answer the next request.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.core.bits import Nodes, all_but, nodes_in
from peerlock.core.peer import NodeId, Peer, RemoteError


@dataclass(frozen=True, slots=True)
class Request:
    sequence_number: int
    finished: int  # as of a REPLY, which it may stand for


@dataclass(frozen=True, slots=True)
class Reply:
    finished: int  # the number of the sender's last request that is over


@dataclass(frozen=True, slots=True)
class Flush:
    finished: int


Timestamp = tuple[int, NodeId]  # of two requests, the smaller one precedes


@dataclass(eq=False)
class LodhaKshemkalyani(Peer):
    messages = (Request, Reply, Flush)

    # The sequence number of our last request, and the highest sent or received.
    our_sequence_number: int = 0
    highest_sequence_number: int = 0

    # True from our request until our grant, and from there until our release.
    waiting: bool = False
    inside: bool = False

    # Since our request: those that we have heard from, and the requests that crossed it,
    # with ours, as far as they are not finished.
    heard: Nodes = 0
    queue: tuple[Timestamp, ...] = ()

    # The last request that we know to be over, our own included.
    finished: Timestamp = (0, 0)

    # Those whose REQUEST came after we had heard from them: a REPLY is due at our exit.
    deferred: Nodes = 0

    @property
    def ours(self) -> Timestamp:
        return self.our_sequence_number, self.me

    def acquire(self) -> None:
        assert not self.waiting
        assert not self.inside

        self.waiting = True
        before = self.our_sequence_number
        self.highest_sequence_number += 1
        self.our_sequence_number = self.highest_sequence_number
        self.heard, self.queue = 0, (self.ours,)
        self.broadcast(Request(self.our_sequence_number, before))
        self.enter_if_first()

    def release(self) -> None:
        assert self.inside

        self.inside = False
        for _, node in self.queue[1:2]:
            self.send(node, Flush(self.our_sequence_number))
        for node in nodes_in(self.deferred):
            self.send(node, Reply(self.our_sequence_number))
        self.queue, self.heard, self.deferred = (), 0, 0
        self.finished = self.ours

    def receive_request(self, j: NodeId, message: Request) -> None:
        number = message.sequence_number
        if self.deferred >> j & 1:
            raise RemoteError(f"{j} requests again before we have replied")
        self.must_precede_us(j, message.finished)
        self.highest_sequence_number = max(self.highest_sequence_number, number)
        if self.heard >> j & 1:
            self.deferred |= 1 << j
        elif self.waiting:
            self.finish((message.finished, j))
            if (number, j) > self.finished:
                self.queue = tuple(sorted((*self.queue, (number, j))))
            self.hear(j)
        else:
            self.send(j, Reply(self.our_sequence_number))

    def receive_reply(self, j: NodeId, message: Reply) -> None:
        if not self.waiting or self.heard >> j & 1:
            raise RemoteError(f"{j} replies, and no reply is outstanding")
        self.must_precede_us(j, message.finished)
        self.finish((message.finished, j))
        self.hear(j)

    def receive_flush(self, j: NodeId, message: Flush) -> None:
        self.must_precede_us(j, message.finished)
        if self.waiting:
            self.finish((message.finished, j))
            self.enter_if_first()

    def must_precede_us(self, j: NodeId, finished: int) -> None:
        if self.waiting and (finished, j) > self.ours:
            raise RemoteError(f"{j} has finished a request that follows ours")

    def finish(self, last: Timestamp) -> None:
        """That request is over, and so is every one that precedes it."""
        self.finished = max(self.finished, last)
        self.queue = tuple(request for request in self.queue if request > last)

    def hear(self, j: NodeId) -> None:
        self.heard |= 1 << j
        self.enter_if_first()

    def enter_if_first(self) -> None:
        everybody = all_but(self.me, len(self.members))
        if self.heard == everybody and self.queue[0] == self.ours:
            self.waiting, self.inside = False, True
            self.grant()


ENTRIES = (
    Algorithm(
        name="lodha-kshemkalyani",
        peer=LodhaKshemkalyani,
        source="Lodha, Kshemkalyani",
        year=2000,
        family="permission",
        messages="2(N−1) light … N if all ask at once",
        fifo=True,
        serves=("lock",),
    ),
)
