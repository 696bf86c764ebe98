"""Ricart and Agrawala, 1980: on a broadcast medium, one REPLY answers all that wait.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, section 6.2.2.

Ricart and Agrawala's algorithm where a message to all nodes costs as much as one to a
single node.  The REQUEST is broadcast, and so is the REPLY after the critical section,
which names all nodes whose REQUEST was deferred.  It has to name them: a node may wait
whose REQUEST has not arrived here yet, and that must not take the REPLY for an answer to
it.

    messages      N per entry when nobody competes, a broadcast counting one: 1 REQUEST,
                  N-1 REPLY; towards 2 when all compete, 1 REQUEST and 1 BROADCAST_REPLY
    delay         one BROADCAST_REPLY from the leaving node to the next
    network       a broadcast medium, that need not keep broadcasts in order; no loss, no
                  duplicates
    failures      none: one silent node stops every request
    fairness      entries follow the order of (sequence number, node number)

Where this file departs from the paper, and why:
  * A REPLY that is sent at once goes to one node and has no list of recipients, as in the
    algorithm without a medium.  The broadcast one is a message type of its own, so that
    a count by type shows which is which.
  * A REPLY after the critical section is broadcast even if it is for one node only: on
    the medium it costs the same.
  * Our own REQUEST counts as seen, as in `ricart-agrawala`.
  * It is for the lab: lock nodes have connections, and no medium that all hear.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.ricart_agrawala import REPLY, Reply, Request, RicartAgrawala
from peerlock.core.bits import nodes_in
from peerlock.core.peer import NodeId


@dataclass(frozen=True, slots=True)
class BroadcastReply:
    recipients: tuple[NodeId, ...]


@dataclass(eq=False)
class RicartAgrawalaBroadcast(RicartAgrawala):
    messages = (Request, Reply, BroadcastReply)

    def release(self) -> None:
        recipients = tuple(nodes_in(self.reply_deferred))
        self.reply_deferred = 0  # so that none is answered one by one
        super().release()
        if recipients:
            self.broadcast(BroadcastReply(recipients))

    def receive_broadcast_reply(self, j: NodeId, message: BroadcastReply) -> None:
        if self.me in message.recipients:
            self.receive_reply(j, REPLY)


@dataclass(eq=False)
class RicartAgrawalaUnnamed(RicartAgrawalaBroadcast):
    """A broadcast REPLY without its list: every waiting node takes it for an answer.

    Made from the footnote of TR-869, section 6.2.2.  A node that leaves answers those that
    it has deferred.  One whose REQUEST is still on its way counts that REPLY as well, in
    the place of one that it has not got, and enters too early; it ignores the REPLYs
    that come when it expects none any more.
    """

    def receive_reply(self, j: NodeId, message: Reply) -> None:
        if self.outstanding_reply_count:
            super().receive_reply(j, message)

    def receive_broadcast_reply(self, j: NodeId, message: BroadcastReply) -> None:
        self.receive_reply(j, REPLY)


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-broadcast",
        peer=RicartAgrawalaBroadcast,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="N light, 2 heavy, on a broadcast medium",
        broadcast=True,
    ),
    Algorithm(
        name="ricart-agrawala-unnamed",
        peer=RicartAgrawalaUnnamed,
        source="made from Ricart, Agrawala",
        year=1980,
        family="museum",
        messages="N light, 2 heavy, on a broadcast medium",
        broadcast=True,
        verdict="exclusion",
    ),
)
