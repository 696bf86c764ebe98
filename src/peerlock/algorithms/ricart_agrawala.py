"""Ricart and Agrawala, 1981: ask everyone, enter when everyone has replied.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980; in short form
    Communications of the ACM 24(1), January 1981, 9-17.

A node that wants its critical section sends a numbered REQUEST to every other node.
A node that gets a REQUEST replies at once, unless it wants the section too and its own
request came first; then it defers the REPLY until it has left.  Requests are ordered by
sequence number, ties by node number, so of two rivals exactly one defers.

    messages      2(N-1) per entry: N-1 REQUEST, N-1 REPLY
    delay         one REPLY from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: one silent node stops every request
    fairness      entries follow the order of (sequence number, node number)

Where this file departs from the paper's listing, and why:
  * The semaphore Shared_vars is gone: an input runs to its end undisturbed.
  * WAITFOR becomes a grant, which the last REPLY causes.
  * Reply_Deferred[1:N] is an integer with a bit per node.
  * The j of REQUEST(k, j) is the sender, known from the envelope.
  * Our own REQUEST counts as seen.  The paper's definition of the highest number says
    so, its listing leaves it out.  With it no node uses a number twice.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from peerlock.algorithms.entry import Algorithm
from peerlock.core.bits import Nodes, nodes_in
from peerlock.core.peer import NodeId, Peer, RemoteError


@dataclass(frozen=True, slots=True)
class Request:
    sequence_number: int


@dataclass(frozen=True, slots=True)
class Reply:
    pass


REPLY = Reply()


@dataclass(eq=False)
class RicartAgrawala(Peer):
    messages: ClassVar[tuple[type, ...]] = (Request, Reply)

    # The sequence number chosen by a request originating at this node.
    our_sequence_number: int = 0

    # The highest sequence number seen in any REQUEST sent or received.
    highest_sequence_number: int = 0

    # The number of REPLYs still expected.
    outstanding_reply_count: int = 0

    # True from our request until our release, the critical section included.
    requesting_critical_section: bool = False

    # The nodes whose REQUEST we have not answered yet.
    reply_deferred: Nodes = 0

    # Invoking mutual exclusion for this node

    def acquire(self) -> None:
        assert not self.requesting_critical_section

        self.requesting_critical_section = True
        self.our_sequence_number = self.highest_sequence_number + 1
        self.highest_sequence_number = self.our_sequence_number
        self.outstanding_reply_count = len(self.members) - 1
        self.ask_everyone()
        self.enter_if_all_replied()

    def ask_everyone(self) -> None:
        self.broadcast(Request(self.our_sequence_number))

    def release(self) -> None:
        assert self.requesting_critical_section
        assert self.outstanding_reply_count == 0

        self.requesting_critical_section = False
        for j in nodes_in(self.reply_deferred):
            self.send(j, REPLY)
        self.reply_deferred = 0

    # Receiving messages

    def receive_request(self, j: NodeId, message: Request) -> None:
        k, ours = message.sequence_number, self.our_sequence_number
        we_came_first = k > ours or (k == ours and j > self.me)
        if self.requesting_critical_section and we_came_first:
            if self.reply_deferred >> j & 1:
                raise RemoteError(f"{j} requests again before we have replied")
            self.reply_deferred |= 1 << j
        else:
            self.send(j, REPLY)
        if k > self.highest_sequence_number:
            self.highest_sequence_number = k

    def receive_reply(self, j: NodeId, message: Reply) -> None:
        if self.outstanding_reply_count == 0:
            raise RemoteError(f"{j} replies, and no reply is outstanding")
        self.outstanding_reply_count -= 1
        self.enter_if_all_replied()

    def enter_if_all_replied(self) -> None:
        if self.outstanding_reply_count == 0:
            self.grant()


ENTRIES = (
    Algorithm(
        name="ricart-agrawala",
        peer=RicartAgrawala,
        source="Ricart, Agrawala",
        year=1981,
        family="permission",
        messages="2(N−1)",
        serves=("lock",),
    ),
)
