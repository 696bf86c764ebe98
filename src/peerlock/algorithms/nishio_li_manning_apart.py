"""Nishio, Li and Manning, 1990: processors and controllers fail apart, nodes come and go.

    S. Nishio, K. F. Li, E. G. Manning.  A Resilient Mutual Exclusion Algorithm for
    Computer Networks.  IEEE Transactions on Parallel and Distributed Systems 1(3), July
    1990, 344-355; here after the survey of Velazquez.

All goes as in `nishio-li-manning`.  A node is a processor, which enters the critical
section, and a controller, which keeps all state and exchanges all messages.  The peer is
the controller; its user is the processor.

If the processor fails inside, its controller passes the TOKEN on.  If it fails while it
waits, its controller withdraws the request, and passes on a TOKEN that still comes for it.
A controller that has lost its memory sends RECOVER to all others.  Each answers STATE: the
age and the requests that it knows of.  With the answers of all the controller takes part
again, and makes its next request under a number that is above all that it was given.

A node that is removed passes the TOKEN on and sends LEAVE to all others; with FAREWELL
from all it is away, and a new token needs no ACK of it.  A node is inserted as a
controller that has lost its memory.

    messages      N per entry, 0 at the node that has the token; 2(N-1) more for a new
                  token, for a controller that recovers, and for a node that leaves
    delay         one TOKEN from the leaving node to the next
    network       messages may be lost and may overtake one another; no duplicates; a
                  bound on delay, below the time for answers to RECOVER and LEAVE
    failures      links, processors, and the memory of one controller: if a second loses
                  its own, there can be two tokens; a new token needs every node that has
                  not left
    fairness      in the order of the circle, once a REQUEST is known

Where this file departs from the survey, and why:
  * The survey says that information propagation recovers a controller without memory, and
    that nodes can be inserted and removed easily, but not how.  Both are rebuilt here.
  * A request that is sent again has a new number.  A controller that has lost its memory
    may use a number again that an earlier REQUEST, still under way, has; the token may
    have served that number already.
  * A node does not fail while it leaves, and one node stays.  A LEAVE that arrives after
    the return of its sender would remove a node that may have the token.
  * A REQUEST goes to nodes that have left too, which do not read it.
  * The other departures of `nishio-li-manning`.
  * It does not serve locks: a lock node learns from its cluster which members have failed,
    and forms the circle of a name anew; a second recovery below that has no use.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms import ricart_agrawala_token
from peerlock.algorithms.entry import Algorithm, Bound, Exhibit
from peerlock.algorithms.nishio_li_manning import (
    Ack,
    Nack,
    NishioLiManning,
    Token,
    TokenMissing,
)
from peerlock.algorithms.suzuki_kasami import replaced
from peerlock.core.bits import Nodes, all_but
from peerlock.core.peer import NodeId, RemoteError


@dataclass(frozen=True, slots=True)
class Recover:
    """The sender remembers nothing."""


@dataclass(frozen=True, slots=True)
class State:
    age: int
    request_data: tuple[int, ...]
    left: Nodes


@dataclass(frozen=True, slots=True)
class Leave:
    """The sender has no token, and will be removed."""


@dataclass(frozen=True, slots=True)
class Farewell:
    """The LEAVE has arrived."""


@dataclass(eq=False)
class NishioLiManningApart(NishioLiManning):
    messages = (  # type: ignore[assignment]
        *NishioLiManning.messages,
        Recover,
        State,
        Leave,
        Farewell,
    )

    # The nodes that have left.
    left: Nodes = 0

    # The nodes whose STATE is to come; 0 unless the controller recovers.
    unheard: Nodes = 0

    # The nodes whose FAREWELL is to come; 0 unless this node leaves.
    staying: Nodes = 0

    # This node has left.
    away: bool = False

    # The processor

    def acquire(self) -> None:
        if self.unheard:
            self.requesting = True  # asked for when the controller has recovered
        else:
            super().acquire()

    def processor_fails(self) -> None:
        """The processor has failed, in its critical section or while it waits."""
        if self.requesting and self.token_data is not None:
            self.release()
        elif self.requesting:
            self.requesting = False
            self.stop_proposing()
            self.cancel_timer("token")

    # Requests and tokens

    def ask_again(self) -> None:
        number = self.request_data[self.me - 1] + 1
        self.request_data = replaced(self.request_data, self.me, number)
        super().ask_again()

    def receive_token(self, sender: NodeId, message: ricart_agrawala_token.Token) -> None:
        assert isinstance(message, Token)
        if self.unheard or self.away:
            return  # it is lost, and will be made anew
        if self.requesting or message.age < self.age:
            super().receive_token(sender, message)
            return
        if self.token_data is not None:
            raise RemoteError(f"{sender} sends a second token")
        self.age = message.age
        ours = self.request_data[self.me - 1]
        self.pass_on(replaced(message.token_data, self.me, ours))

    def pass_on(self, token_data: tuple[int, ...]) -> None:
        """To the first node that waits; one that leaves sends it to the next that stays."""
        self.hand_over(token_data)
        if self.token_data is not None and self.staying:
            circle = (*self.members[self.me :], *self.members[: self.me - 1])
            heir = next(j for j in circle if not self.left >> j & 1)
            self.token_data = None
            self.send(heir, Token(token_data, self.age))

    # The token does not come

    def timer(self, name: str) -> None:
        if name == "recover":
            self.ask_for_state()
        elif name == "leave":
            self.say_leave()
        else:
            super().timer(name)
            self.unanswered &= ~self.left
            if not self.unanswered:
                self.enter(self.granted)

    def receive_token_missing(self, j: NodeId, message: TokenMissing) -> None:
        if not (self.unheard or self.away):
            super().receive_token_missing(j, message)

    def receive_ack(self, j: NodeId, message: Ack) -> None:
        if message.age <= self.age:  # otherwise what we proposed before we failed
            super().receive_ack(j, message)

    def receive_nack(self, j: NodeId, message: Nack) -> None:
        if self.unanswered:
            super().receive_nack(j, message)

    # A controller without memory, or a new node

    def restart(self) -> None:
        self.token_data = None
        self.unheard = self.left = all_but(self.me, len(self.members))
        self.ask_for_state()

    def ask_for_state(self) -> None:
        self.broadcast(Recover())
        self.set_timer("recover", self.time_for_answers)

    def receive_recover(self, j: NodeId, message: Recover) -> None:
        if self.unheard or self.away:
            return
        self.left &= ~(1 << j)
        self.send(j, State(self.age, self.request_data, self.left))

    def receive_state(self, j: NodeId, message: State) -> None:
        if not self.unheard >> j & 1:
            return  # it has told us before
        self.unheard ^= 1 << j
        self.left &= message.left & ~(1 << j)
        self.age = max(self.age, message.age)
        pairs = zip(self.request_data, message.request_data, strict=True)
        self.request_data = tuple(max(pair) for pair in pairs)
        if not self.unheard & ~self.left:
            self.take_part()

    def take_part(self) -> None:
        self.unheard = 0
        self.cancel_timer("recover")
        if self.requesting:
            self.ask_again()

    # Removal of a node

    def leave(self) -> None:
        assert not (self.requesting or self.unheard)

        self.staying = all_but(self.me, len(self.members)) & ~self.left
        assert self.staying, "one node stays"
        if self.token_data is not None:
            self.pass_on(self.token_data)
        self.say_leave()

    def say_leave(self) -> None:
        self.broadcast(Leave())
        self.set_timer("leave", self.time_for_answers)

    def receive_leave(self, j: NodeId, message: Leave) -> None:
        if not (self.unheard or self.away):
            self.left |= 1 << j
            self.send(j, Farewell())

    def receive_farewell(self, j: NodeId, message: Farewell) -> None:
        if not self.staying >> j & 1:
            return  # to a LEAVE that was sent again
        self.staying ^= 1 << j
        if not self.staying:
            self.away = True
            self.cancel_timer("leave")


ENTRIES = (
    Algorithm(
        name="nishio-li-manning-apart",
        peer=NishioLiManningApart,
        source="Nishio, Li, Manning",
        year=1990,
        family="token",
        messages="0 or N when nothing fails",
        outlasting=("recover", "leave"),
        bound=Bound("age", 2),
        exhibit=Exhibit(nodes=2, crashes=1, returns=True),
    ),
)
