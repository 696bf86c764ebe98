"""Mishra and Srimani, 1990, with request numbers that start over.

    S. Mishra, P. K. Srimani.  Fault-Tolerant Mutual Exclusion Algorithms.
    Journal of Systems and Software 11(2), February 1990, 111-129; here after the survey
    of Velazquez, whose count of L·N + (N-1) messages is that of bounded numbers.

Mishra and Srimani's algorithm, and Suzuki and Kasami's way to bound the numbers of
requests: they come in rounds of L, each node sends an ACK when the L of a round have
reached it, and the next round begins when all ACKs are there.  A node whose ACK does not
come within the time for answers has failed, and is not waited for.

    messages      L·N + N-1 for L entries of a node that has to ask, 0 at the node that has
                  the token; a false alarm costs 3(N-1) more, a new token at most 5(N-1)
    delay         one PRIVILEGE from the leaving node to the next; the first REQUEST of a
                  round is held back until the last ACK for the round before
    network       no loss, no duplicates; messages may overtake one another; a bound on
                  delay, a third of the time for answers
    failures      one node may stop for ever, with the token or without
    fairness      no node waits for ever; those that wait when a node leaves are queued
                  in the order of their numbers

Where this file departs from the survey, and why:
  * The survey gives the count and does not say how numbers are bounded.  It is done as in
    `suzuki-kasami-bounded`, and the ACKs are those of the count.
  * Numbers are kept modulo 2L+2, not L+2.  When a token is made anew, the numbers that two
    nodes know of a third are compared.  They are up to L apart, in either direction.
  * A node whose request is held back when a token is made anew counts as one that waits: it
    gets that token without a REQUEST.
  * The other departures of `mishra-srimani`.
  * It is for the lab: a lock node learns from its cluster which members have failed, and
    forms the circle of a name anew; a second recovery below that has no use.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit
from peerlock.algorithms.mishra_srimani import MishraSrimani, Privilege
from peerlock.algorithms.suzuki_kasami_bounded import Ack, SuzukiKasamiBounded
from peerlock.core.peer import NodeId


@dataclass(eq=False)
class MishraSrimaniBounded(MishraSrimani, SuzukiKasamiBounded):
    messages = (*MishraSrimani.messages, Ack)  # type: ignore[assignment]  # one more

    @property
    def modulus(self) -> int:
        return 2 * self.limit + 2

    # Rounds

    def ask(self) -> None:
        super().ask()
        if self.unanswered:
            self.set_timer("acks", self.time_for_answers)

    def receive_ack(self, sender: NodeId, message: Ack) -> None:
        if self.unanswered == 1 << sender:
            self.cancel_timer("acks")
        super().receive_ack(sender, message)

    def timer(self, name: str) -> None:
        if name != "acks":
            super().timer(name)
            return
        self.unanswered = 0
        if self.held_back:
            self.held_back = False
            self.ask()

    # A new token

    def take(self, token: Privilege) -> None:
        self.held_back = False
        super().take(token)

    def later(self, one: int, other: int) -> int:
        ahead = (other - one) % self.modulus
        return other if ahead <= self.limit else one

    def before(self, number: int) -> int:
        return (number - 1) % self.modulus


ENTRIES = (
    Algorithm(
        name="mishra-srimani-bounded",
        peer=MishraSrimaniBounded,
        source="Mishra, Srimani",
        year=1990,
        family="token",
        messages="L·N + (N−1) for L entries when nothing fails",
        takes="limit",
        outlasting=("token", "answers", "acks"),
        exhibit=Exhibit(crashes=1),
    ),
)
