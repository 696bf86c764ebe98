"""Ricart and Agrawala, 1980: the broadcast medium itself puts the REQUESTs in order.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, section 6.2.1.

On a medium that carries one broadcast after the other, and where a node can tell when its
own has been carried, all nodes see the REQUESTs in one order.  That order takes the place
of sequence numbers.  A node enters when each REQUEST before its own has been followed by
its node's REPLY, which is broadcast too, when the node has left.

    messages      2 per entry, each a broadcast: 1 REQUEST, 1 REPLY
    delay         one REPLY from the leaving node to the next
    network       a medium on which all nodes, the sender included, hear all broadcasts in
                  one order; no loss, no duplicates
    failures      none: one that stops inside, or waiting, stops all after it
    fairness      entries follow the order of the REQUESTs on the medium

Where this file departs from the paper, and why:
  * The REQUESTs without a REPLY are kept as a queue; the paper says what to wait for, not
    how to remember it.
  * A REPLY goes out at the end of every entry, as the node that asks next must hear that
    none is inside.  It is an answer to all that wait, and to those that will.
  * It is for the lab: lock nodes have connections, and no medium that all hear.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.ricart_agrawala import REPLY, Reply
from peerlock.core.peer import NodeId, Peer, RemoteError


@dataclass(frozen=True, slots=True)
class Request:
    pass


@dataclass(eq=False)
class RicartAgrawalaBroadcastOrdered(Peer):
    messages = (Request, Reply)

    # Our own request: made, perhaps not heard on the medium yet; and granted.
    requesting: bool = False
    inside: bool = False

    # Whose REQUEST was heard and whose REPLY was not, in the order of the medium.
    queue: tuple[NodeId, ...] = ()

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        self.broadcast(Request())

    def release(self) -> None:
        assert self.inside

        self.requesting = self.inside = False
        self.queue = self.queue[1:]  # so that our next REQUEST is not taken for this one
        self.broadcast(REPLY)

    def receive_request(self, j: NodeId, message: Request) -> None:
        if j in self.queue:
            raise RemoteError(f"{j} requests again before it has replied")
        self.queue = (*self.queue, j)
        self.enter_if_first()

    def receive_reply(self, j: NodeId, message: Reply) -> None:
        if j == self.me:
            return  # the medium has carried it
        if j not in self.queue:
            raise RemoteError(f"{j} replies, and has not requested")
        self.queue = tuple(other for other in self.queue if other != j)
        self.enter_if_first()

    def enter_if_first(self) -> None:
        if self.queue[:1] == (self.me,) and not self.inside:
            self.inside = True
            self.grant()


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-broadcast-ordered",
        peer=RicartAgrawalaBroadcastOrdered,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2, on a broadcast medium that orders",
        medium=True,
    ),
)
