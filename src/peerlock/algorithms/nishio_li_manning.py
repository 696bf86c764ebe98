"""Nishio, Li and Manning, 1990: a token with an age, made anew if no node objects.

    S. Nishio, K. F. Li, E. G. Manning.  A Resilient Mutual Exclusion Algorithm for
    Computer Networks.  IEEE Transactions on Parallel and Distributed Systems 1(3), July
    1990, 344-355; here after the survey of Velazquez.

Requests are as in Suzuki and Kasami's algorithm, and the TOKEN goes round a circle as in
that of Ricart and Agrawala.  A node that has asked sets a time-out.  When it runs out, the
node sends everyone TOKEN_MISSING with a proposed age above all that it knows of.  One that
has the token, or knows of an age as high, answers NACK; then the request is sent once more.
All others answer ACK, with the number of their latest request that was granted.  With ACK
from all N-1 others a new TOKEN of the proposed age is made, and what it has to know of
the granted requests is in the ACKs.  If a node does not answer, it begins anew.

An ACK is a promise: its sender discards every TOKEN below that age.  So there is never a
second one that any node uses, however long messages take and however many are lost.

    messages      N per entry, 0 at the node that has the token; 2(N-1) more for a new
                  token, 3(N-1) for a false alarm, the REQUEST sent again included
    delay         one TOKEN from the leaving node to the next
    network       messages may be lost and may overtake one another; no duplicates
    failures      links, and nodes that come back with what they knew; while a node is
                  away no token is made
    fairness      in the order of the circle, once a REQUEST is known

Where this file departs from the survey, and why:
  * Processor and controller of a node are not told apart: a peer is the controller.  A
    processor that fails inside is one that leaves.
  * A node that answers ACK takes over the proposed age at once, and gives up its own
    proposal, if it has one below.  The survey does not say when; any later a TOKEN that was
    under way would be used after its successor is made.
  * A node that has the token and answers NACK raises the token's age to the proposed one.
    Otherwise those that had answered ACK would discard it.
  * Ages are proposed so that no two nodes ever propose the same: node i takes those that
    leave a remainder of i when divided by N.  So of several that propose at a time the
    highest succeeds, where equal ones would stop each other again and again.
  * A REQUEST does not name its receiver, which knows itself.
  * Recovery from a controller that has lost its memory is in `nishio-li-manning-apart`.
  * It is for the lab: a lock node learns from its cluster which members have failed, and
    forms the circle of a name anew; a second recovery below that has no use.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms import ricart_agrawala_token
from peerlock.algorithms.entry import Algorithm, Bound, Exhibit
from peerlock.algorithms.ricart_agrawala_token import Request, RicartAgrawalaToken
from peerlock.algorithms.suzuki_kasami import replaced
from peerlock.core.bits import Nodes, all_but
from peerlock.core.peer import NodeId, RemoteError, setting


@dataclass(frozen=True, slots=True)
class Token(ricart_agrawala_token.Token):
    age: int


@dataclass(frozen=True, slots=True)
class TokenMissing:
    proposed_age: int


@dataclass(frozen=True, slots=True)
class Ack:
    age: int  # the proposed one
    granted: int  # the number of the sender's latest request that was


@dataclass(frozen=True, slots=True)
class Nack:
    age: int  # one that is in use or proposed, not below the one that was proposed here


@dataclass(eq=False)
class NishioLiManning(RicartAgrawalaToken):
    messages = (Request, Token, TokenMissing, Ack, Nack)  # type: ignore[assignment]

    time_out: float = setting()  # for the token; unless given, 20 for each node
    time_for_answers: float = setting(15.0)

    # The highest age that we know of; while the token is here, its age.
    age: int = 0

    # The nodes that have not answered our TOKEN_MISSING yet; 0 if we wait for no answer.
    unanswered: Nodes = 0

    # What the ACKs have said so far: the new token's token_data.
    granted: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time_out is None:
            self.time_out = 20.0 * len(self.members)

    # As in the algorithms it is made from

    def acquire(self) -> None:
        super().acquire()
        if self.token_data is None:
            self.set_timer("token", self.time_out)

    def hand_over(self, token_data: tuple[int, ...]) -> None:
        """To the first node that waits, from our successor on; or to none."""
        self.token_data = token_data
        for j in (*self.members[self.me :], *self.members[: self.me - 1]):
            if self.request_data[j - 1] > token_data[j - 1]:
                self.token_data = None
                self.send(j, Token(token_data, self.age))
                return

    def receive_token(self, sender: NodeId, message: ricart_agrawala_token.Token) -> None:
        assert isinstance(message, Token)
        if message.age < self.age:
            self.discard()
            return
        if not self.requesting or self.token_data is not None:
            raise RemoteError(f"{sender} sends a token that we did not ask for")
        self.age = message.age
        self.enter(message.token_data)

    def enter(self, token_data: tuple[int, ...]) -> None:
        self.token_data = token_data
        self.stop_proposing()
        self.cancel_timer("token")
        self.grant()

    def discard(self) -> None:
        """A token that was lost, and is replaced or soon will be."""
        if self.requesting and self.token_data is None and not self.unanswered:
            self.ask_again()

    def ask_again(self) -> None:
        self.broadcast(Request(self.request_data[self.me - 1]))
        self.set_timer("token", self.time_out)

    # The token does not come

    def timer(self, name: str) -> None:
        """For the token, or for the answers of all others: propose a new token."""
        self.age = self.next_age()
        self.unanswered = all_but(self.me, len(self.members))
        self.granted = self.request_data
        self.broadcast(TokenMissing(self.age))
        self.set_timer("answers", self.time_for_answers)

    def next_age(self) -> int:
        """The lowest that is above all that we know of, and ours to propose."""
        lowest = self.age + 1
        return lowest + (self.me - lowest) % len(self.members)

    def stop_proposing(self) -> None:
        self.unanswered, self.granted = 0, ()
        self.cancel_timer("answers")

    def receive_token_missing(self, j: NodeId, message: TokenMissing) -> None:
        below = self.age < message.proposed_age
        self.age = max(self.age, message.proposed_age)
        if below and self.token_data is None:
            self.consent(j)
        else:
            self.send(j, Nack(self.age))

    def consent(self, j: NodeId) -> None:
        waiting = self.requesting
        self.send(j, Ack(self.age, self.request_data[self.me - 1] - waiting))
        if waiting:
            self.stop_proposing()
            self.set_timer("token", self.time_out)

    def receive_ack(self, j: NodeId, message: Ack) -> None:
        if message.age > self.age:
            raise RemoteError(f"{j} consents to what was not proposed")
        if message.age < self.age or not self.unanswered >> j & 1:
            return  # to what we have given up
        self.unanswered ^= 1 << j
        self.granted = replaced(self.granted, j, message.granted)
        if not self.unanswered:
            self.enter(self.granted)

    def receive_nack(self, j: NodeId, message: Nack) -> None:
        if not self.age:
            raise RemoteError(f"{j} objects, and nothing was proposed")
        if not self.unanswered or message.age < self.age:
            return  # to what we have given up
        self.age = message.age
        self.stop_proposing()
        self.ask_again()


ENTRIES = (
    Algorithm(
        name="nishio-li-manning",
        peer=NishioLiManning,
        source="Nishio, Li, Manning",
        year=1990,
        family="token",
        messages="0 or N when nothing fails",
        bound=Bound("age", 2),
        exhibit=Exhibit(losses=1),
    ),
)
