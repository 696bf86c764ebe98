"""Carvalho and Roucairol, 1983: a permission is kept until it is asked back.

    O. S. F. Carvalho, G. Roucairol.  On Mutual Exclusion in Computer Networks.
    Communications of the ACM 26(2), February 1983, 146-147.

Ricart and Agrawala's algorithm, except that a REPLY holds until the node that gave it
asks for it back with a REQUEST of its own.  A node that wants in asks only those whose
permission it does not hold, so the node that entered last enters again for nothing.
Between any two nodes at most one holds the other's permission.

    messages      0 to 2(N-1) per entry
    delay         one REPLY from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: a silent node stops all that need its permission
    fairness      no node waits for ever, but a node that holds all permissions may enter
                  again before a request with a smaller number has reached it

Where this file departs from the source, and why:
  * It is written after the survey of Velazquez, with the names of Ricart and Agrawala;
    the authors' array A is a set of nodes here.
  * Being inside is a state of its own.  A node may be inside with a number greater than
    that of a REQUEST it receives, which cannot happen in Ricart and Agrawala's.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.ricart_agrawala import REPLY, Reply, Request
from peerlock.core.bits import Nodes, all_but, nodes_in
from peerlock.core.peer import NodeId, Peer, RemoteError


@dataclass(eq=False)
class CarvalhoRoucairol(Peer):
    messages = (Request, Reply)

    # The sequence number of our request, and the highest sent or received by anyone.
    our_sequence_number: int = 0
    highest_sequence_number: int = 0

    # True from our request until our grant, and from there until our release.
    waiting: bool = False
    inside: bool = False

    # The nodes whose permission we hold.
    authorized: Nodes = 0

    # The nodes whose REQUEST we have not answered yet.
    reply_deferred: Nodes = 0

    # The user of the lock

    def acquire(self) -> None:
        assert not self.waiting and not self.inside

        self.waiting = True
        self.our_sequence_number = self.highest_sequence_number + 1
        self.highest_sequence_number = self.our_sequence_number
        for j in nodes_in(self.missing()):
            self.send(j, Request(self.our_sequence_number))
        self.enter_if_authorized()

    def release(self) -> None:
        assert self.inside

        self.inside = False
        self.authorized &= ~self.reply_deferred
        for j in nodes_in(self.reply_deferred):
            self.send(j, REPLY)
        self.reply_deferred = 0

    # Receiving messages

    def receive_request(self, j: NodeId, message: Request) -> None:
        k = message.sequence_number
        if self.reply_deferred >> j & 1:
            raise RemoteError(f"{j} requests again before we have replied")
        self.highest_sequence_number = max(self.highest_sequence_number, k)

        we_came_first = (self.our_sequence_number, self.me) < (k, j)
        if self.inside or (self.waiting and we_came_first):
            self.reply_deferred |= 1 << j
        else:
            self.give_way(j)

    def give_way(self, j: NodeId) -> None:
        """Reply; and if j's permission was part of our request, ask for it anew."""
        self.send(j, REPLY)
        if self.authorized >> j & 1:
            self.authorized ^= 1 << j
            if self.waiting:
                self.send(j, Request(self.our_sequence_number))

    def receive_reply(self, j: NodeId, message: Reply) -> None:
        if not self.waiting or self.authorized >> j & 1:
            raise RemoteError(f"{j} replies to what we did not ask")
        self.authorized |= 1 << j
        self.enter_if_authorized()

    def enter_if_authorized(self) -> None:
        if not self.missing():
            self.waiting, self.inside = False, True
            self.grant()

    def missing(self) -> Nodes:
        return all_but(self.me, len(self.members)) & ~self.authorized


ENTRIES = (
    Algorithm(
        name="carvalho-roucairol",
        peer=CarvalhoRoucairol,
        source="Carvalho, Roucairol",
        year=1983,
        family="permission",
        messages="0 … 2(N−1)",
        serves=("lock",),
    ),
)
