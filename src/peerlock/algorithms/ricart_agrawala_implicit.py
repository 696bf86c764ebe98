"""Ricart and Agrawala, 1980: silence is consent, where messages are never late.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, section 6.1.

Ricart and Agrawala's algorithm with the sense of the answer turned round.  If a message
takes less than a known time, an answer comes within twice that time or not at all; so a
node that would reply at once says nothing, and one that defers its REPLY says so, DEFERRED.
When the time is over a node enters, or waits for the REPLYs of those that have deferred.

    messages      N-1 per entry when nobody competes, and 2 more for each node that defers,
                  DEFERRED and REPLY: up to 3(N-1); on a broadcast medium 1 when nobody
                  competes
    delay         one REPLY from the leaving node to the next; an entry that nobody contests
                  takes twice the bound
    network       every message takes less than the bound; no loss, no duplicates; messages
                  may overtake one another
    failures      a node that stops while none waits for its REPLY is taken to consent;
                  one that owes a REPLY stops the node that waits for it; a lost message may
                  let two in
    fairness      entries follow the order of (sequence number, node number)

Where this file departs from the paper, and why:
  * The paper counts up to 2(N-1) messages.  That leaves out the REPLY that has to follow a
    DEFERRED in the end.  If all compete, every other node defers, and it is 3(N-1), more
    than without this modification.
  * The paper's "time period" is twice the bound: there and back.
  * A REPLY may overtake the DEFERRED before it; the two settle one another in either order.
  * Silence carries no fence: an entry that follows another one may know nothing of it.  So
    this is for the lab only.
  * Our own REQUEST counts as seen, as in `ricart-agrawala`.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit
from peerlock.algorithms.ricart_agrawala import REPLY, Reply, Request, RicartAgrawala
from peerlock.core.bits import Nodes
from peerlock.core.peer import NodeId, RemoteError, setting


@dataclass(frozen=True, slots=True)
class Deferred:
    pass


DEFERRED = Deferred()


@dataclass(eq=False)
class RicartAgrawalaImplicit(RicartAgrawala):
    messages = (Request, Deferred, Reply)

    # Every message takes less time than this.
    bound: float = setting(1.5)

    # True from our request until an answer to it could no longer be DEFERRED.
    listening: bool = False

    # The nodes of whose DEFERRED and REPLY one has come and the other one has not.
    unsettled: Nodes = 0

    def ask_everyone(self) -> None:
        super().ask_everyone()
        if self.outstanding_reply_count:
            self.listening = True
            self.set_timer("silence", 2 * self.bound)

    def timer(self, name: str) -> None:
        assert name == "silence" and self.listening

        self.listening = False
        self.outstanding_reply_count = self.unsettled.bit_count()
        self.enter_if_all_replied()

    def receive_request(self, j: NodeId, message: Request) -> None:
        k, ours = message.sequence_number, self.our_sequence_number
        we_came_first = k > ours or (k == ours and j > self.me)
        if self.requesting_critical_section and we_came_first:
            if self.reply_deferred >> j & 1:
                raise RemoteError(f"{j} requests again before we have replied")
            self.reply_deferred |= 1 << j
            self.send(j, DEFERRED)
        self.highest_sequence_number = max(self.highest_sequence_number, k)

    def receive_deferred(self, j: NodeId, message: Deferred) -> None:
        if not self.listening:
            raise RemoteError(f"{j} defers its reply too late, or to no request")
        self.unsettled ^= 1 << j

    def receive_reply(self, j: NodeId, message: Reply) -> None:
        if not self.listening and not self.unsettled >> j & 1:
            raise RemoteError(f"{j} replies, and its reply is not outstanding")
        self.unsettled ^= 1 << j
        if not self.listening:
            super().receive_reply(j, REPLY)


@dataclass(eq=False)
class RicartAgrawalaUntimely(RicartAgrawalaImplicit):
    """Silence is taken for consent where there is no bound on delay.

    A REQUEST that is still on its way, or a DEFERRED, is answered by the clock.
    """


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-implicit",
        peer=RicartAgrawalaImplicit,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="(N−1) light … 3(N−1) heavy",
        takes="bound",
        timely=True,
        outlasting=("silence",),
    ),
    Algorithm(
        name="ricart-agrawala-untimely",
        peer=RicartAgrawalaUntimely,
        source="made from Ricart, Agrawala",
        year=1980,
        family="museum",
        messages="(N−1) light … 3(N−1) heavy",
        timely=True,
        verdict="exclusion",
        exhibit=Exhibit(nodes=2),
    ),
)
