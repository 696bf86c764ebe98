"""Suzuki and Kasami, 1985: request numbers that start over, once all have arrived.

    I. Suzuki, T. Kasami.  A Distributed Mutual Exclusion Algorithm.
    ACM Transactions on Computer Systems 3(4), November 1985, 344-349; here after what
    the survey of Velazquez, 1993, says of it in two sentences, and rebuilt from them.

Suzuki and Kasami's algorithm with numbers that stay small.  A node's requests come in
rounds of L.  Every node counts those that reach it, and when the L of a round are there
it sends an ACK.  A node that has all ACKs knows that no REQUEST of its own is under way
any more, and only then begins its next round: so an old REQUEST is never taken for a new
one, however late it comes.

A node knows another one's number at most L too low, and the token's number is at
most one behind it.  So of the numbers that are compared none is more than L above or one
below the other, and L+2 different ones, 0 … L+1, are enough to tell which nodes wait.

    messages      L·N + N-1 for L entries of a node that has to ask: N each, and an ACK
                  from each other node for the round; 0 at the node that has the token
    delay         one PRIVILEGE from the leaving node to the next; the first REQUEST of a
                  round is held back until the last ACK for the round before
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the token must not be lost, and one silent node stops everyone
                  after a round
    fairness      no node waits for ever; those that wait when a node leaves are queued
                  in the order of their numbers

Where this file departs from the survey, and why:
  * The survey says that numbers can be bounded, and what it costs, but not how.  How is
    rebuilt here: N-1 messages more for L entries leave room for one ACK from each node.
    That a node counts REQUESTs and acknowledges a whole round is what the survey tells
    of the algorithm of Srimani and Reddy, which is built on this one.
  * The ACK is for L REQUESTs that have arrived, not for the arrival of the L-th: when
    messages overtake one another an earlier one may still be under way then.
  * A node that leaves hands the token over at once, ACKs or not; its own next request is
    what waits for them.
  * Numbers are kept modulo L+2.  Modulo L+1, a node that none of the L REQUESTs of a
    round has reached takes the last grant of the round for a request.
  * L = 1 is enough, an ACK for every REQUEST; the survey has L ≥ 2.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.suzuki_kasami import Privilege, Request, SuzukiKasami, replaced
from peerlock.core.bits import Nodes, all_but
from peerlock.core.peer import NodeId, RemoteError, setting
from peerlock.core.topology import Complete


@dataclass(frozen=True, slots=True)
class Ack:
    pass


ACK = Ack()


@dataclass(eq=False)
class SuzukiKasamiBounded(SuzukiKasami):
    messages = (Request, Privilege, Ack)  # type: ignore[assignment]  # one more

    # L: the requests of a round.
    limit: int = setting(2)

    # round_after[j - 1]: the last number before j's round; a round has the L after it.
    round_after: tuple[int, ...] = ()

    # arrived[j - 1]: how many REQUESTs of j's round we have; for us, how many we made.
    arrived: tuple[int, ...] = ()

    # The nodes whose ACK for our last round is missing.
    unanswered: Nodes = 0

    # True while our request waits for these ACKs and is not sent yet.
    held_back: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.limit >= 1 and isinstance(self.topology, Complete)
        self.round_after = self.arrived = self.requested

    # Procedure P1

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.privilege is not None:
            self.grant()
        elif self.unanswered:
            self.held_back = True
        else:
            self.ask()

    def ask(self) -> None:
        number = self.after(self.requested[self.me - 1])
        if self.completes_round(self.me, number):
            self.unanswered = all_but(self.me, len(self.members))
        self.broadcast(Request(self.me, number))

    def receive_ack(self, sender: NodeId, message: Ack) -> None:
        if not self.unanswered >> sender & 1:
            raise RemoteError(f"{sender} acknowledges a round that is not over")
        self.unanswered ^= 1 << sender
        if self.held_back and not self.unanswered:
            self.held_back = False
            self.ask()

    def receive_privilege(self, sender: NodeId, message: Privilege) -> None:
        if not self.requesting or self.held_back:
            raise RemoteError(f"{sender} sends a token that we did not ask for")
        super().receive_privilege(sender, message)

    # Procedure P2

    def receive_request(self, sender: NodeId, message: Request) -> None:
        j, n = message.origin, message.number
        if j != sender or not self.in_round(j, n):
            raise RemoteError(f"{sender} requests for {j} with {n}, not of its round")
        if self.completes_round(j, n):
            self.send(j, ACK)
        if self.privilege is not None and not self.requesting:
            self.hand_over(self.privilege.queue, self.privilege.granted)

    # Rounds

    @property
    def modulus(self) -> int:
        return self.limit + 2

    def after(self, number: int) -> int:
        return (number + 1) % self.modulus

    def place(self, j: NodeId, number: int) -> int:
        """Which of j's round a number is: 1 … L, and 0 the last one before it."""
        return (number - self.round_after[j - 1]) % self.modulus

    def in_round(self, j: NodeId, number: int) -> bool:
        return 0 <= number < self.modulus and 1 <= self.place(j, number) <= self.limit

    def completes_round(self, j: NodeId, number: int) -> bool:
        """Count j's REQUEST, which may have been overtaken by a later one."""
        if self.place(j, number) > self.place(j, self.requested[j - 1]):
            self.requested = replaced(self.requested, j, number)
        arrived = (self.arrived[j - 1] + 1) % self.limit
        self.arrived = replaced(self.arrived, j, arrived)
        if arrived:
            return False
        self.round_after = replaced(self.round_after, j, self.requested[j - 1])
        return True


ENTRIES = (
    Algorithm(
        name="suzuki-kasami-bounded",
        peer=SuzukiKasamiBounded,
        source="Suzuki, Kasami",
        year=1985,
        family="token",
        messages="0 or N, and N−1 more every L requests of a node",
        takes="limit",
        serves=("lock",),
    ),
)
