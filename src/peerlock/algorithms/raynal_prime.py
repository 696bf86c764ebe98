"""Raynal, 1989: prime numbers tell whose turn it is.

    M. Raynal.  Prime Numbers as a Tool to Design Distributed Algorithms.  Information
    Processing Letters 33(1), October 1989, 53-58; here in the form that the survey of
    Velazquez, 1993, gives it.

Node i has a prime number A_i and a value X_i, which is A_i, except that the X_k of one node
is 1.  The product T of all X is then Q/A_k, where Q is the product of all A, and T = Q/A_k
means that it is node k's turn.  A node that leaves multiplies its X_i by A_i/A_j, j being
the next node round the ring: T becomes Q/A_j, as a product has only one factorisation.

The survey's form: a node that has changed its X_i INFORMs all others, and a node whose turn
it is and that does not want in behaves as if it left.  So each node computes T for itself,
and no node has to ask.

    messages      N-1 per entry when all compete, (N-1)² at most from a request to its
                  entry; without bound when nobody asks
    delay         one INFORM to the next node, N-1 one after the other at most
    network       no loss, no duplicates; messages may overtake one another
    failures      none: a silent node stops all when its turn comes
    fairness      in the order of the ring: at most N-1 others enter before a waiting node

Where this file departs from the sources, and why:
  * The published form asks: a REQUEST to all, a REPLY with its X from each, and the same
    again after a while if T is not Q/A_i.  It blocks when it is the turn of a node that
    does not want in, as the survey says.  It is `raynal-prime-1989` in the museum.
  * INFORM(X_i) says by what X_i was multiplied, and a node keeps T alone.  X_i itself would
    grow with each round, to A_i·(A_i/A_j)^r; in T the rounds cancel each other out.
  * The survey has no rule for the beginning.  The node whose turn is the first passes it on
    when it starts, unless its user is quicker.
  * One node alone keeps its turn: a message to oneself is not a message.
  * It is for the lab: its turn goes round for ever, so a lock that nobody wants would cost
    messages without end.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from itertools import count
from math import prod

from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.core.peer import NodeId, Peer, RemoteError, fixed, setting


@dataclass(frozen=True, slots=True)
class Inform:
    change: Fraction  # what X_i was multiplied by


@dataclass(frozen=True, slots=True)
class Request:
    pass


@dataclass(frozen=True, slots=True)
class Reply:
    value: Fraction  # X_j


@lru_cache
def attributes(n: int) -> tuple[int, ...]:
    """A_1 … A_N: the first n prime numbers."""
    found: list[int] = []
    candidates = count(2)
    while len(found) < n:
        candidate = next(candidates)
        if all(candidate % prime for prime in found):
            found.append(candidate)
    return tuple(found)


def change_of(node: NodeId, nodes: int) -> Fraction:
    """A_i/A_j: what X_i is multiplied by to give the turn to the next node."""
    primes = attributes(nodes)
    return Fraction(primes[node - 1], primes[node % nodes])


def product_at(node: NodeId, nodes: int) -> Fraction:
    """Q/A_i: what T is when it is the turn of node i."""
    primes = attributes(nodes)
    return Fraction(prod(primes), primes[node - 1])


@dataclass(eq=False)
class RaynalPrime(Peer):
    messages = (Inform,)

    first_holder: NodeId = setting(1)

    # T when it is our turn.
    ours: Fraction = fixed(init=False)

    # True from our request until our release, the critical section included.
    requesting: bool = False

    # T, the product of all X, as far as we have been informed.
    product: Fraction = Fraction(1)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.ours = product_at(self.me, len(self.members))
        self.product = product_at(self.first_holder, len(self.members))

    def start(self) -> None:
        if self.product == self.ours:
            self.pass_on()

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.product == self.ours:
            self.grant()

    def release(self) -> None:
        assert self.requesting and self.product == self.ours

        self.requesting = False
        self.pass_on()

    def receive_inform(self, sender: NodeId, message: Inform) -> None:
        if message.change != change_of(sender, len(self.members)):
            raise RemoteError(f"{sender} gives its turn to a node that is not the next")
        if self.product == self.ours:
            raise RemoteError(f"{sender} gives away a turn that is ours")
        self.product *= message.change
        if self.product != self.ours:
            return
        if self.requesting:
            self.grant()
        else:
            self.pass_on()

    def pass_on(self) -> None:
        change = change_of(self.me, len(self.members))
        self.product *= change
        if len(self.members) > 1:
            self.broadcast(Inform(change))


@dataclass(eq=False)
class RaynalPrime1989(Peer):
    """As published: a node that does not want in keeps its turn for ever.

    A node asks all others for their X, multiplies them all, enters if that makes Q/A_i, and
    otherwise asks again after a time; X changes only when its node has been inside.  If the
    next node round the ring does not want in, those that do ask again and again.  The time
    is a timer: the checker lets it run out at any moment, and shows asking and being
    answered as a loop.
    """

    messages = (Request, Reply)

    first_holder: NodeId = setting(1)

    # How long we wait before we ask again.
    patience: float = setting(1.0)

    # True from our request until our release, and from our grant until then.
    requesting: bool = False
    inside: bool = False

    # Our X.
    value: Fraction = Fraction(1)

    # The product of our X and of those in the REPLYs that have come, and how many are due.
    product: Fraction = Fraction(1)
    outstanding: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.me != self.first_holder:
            self.value = Fraction(attributes(len(self.members))[self.me - 1])

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        self.ask()

    def ask(self) -> None:
        self.product = self.value
        self.outstanding = len(self.members) - 1
        self.broadcast(Request())
        self.decide()

    def timer(self, name: str) -> None:
        self.ask()

    def release(self) -> None:
        assert self.inside

        self.requesting = self.inside = False
        self.value *= change_of(self.me, len(self.members))

    def receive_request(self, sender: NodeId, message: Request) -> None:
        self.send(sender, Reply(self.value))

    def receive_reply(self, sender: NodeId, message: Reply) -> None:
        if not self.outstanding:
            raise RemoteError(f"{sender} replies, and no reply is outstanding")
        self.product *= message.value
        self.outstanding -= 1
        self.decide()

    def decide(self) -> None:
        if self.outstanding:
            return
        if self.product == product_at(self.me, len(self.members)):
            self.inside = True
            self.grant()
        else:
            self.set_timer("ask again", self.patience)


ENTRIES = (
    Algorithm(
        name="raynal-prime",
        peer=RaynalPrime,
        source="Raynal; Velazquez",
        year=1993,
        family="permission",
        messages="(N−1) heavy … (N−1)²",
        rests=False,
    ),
    Algorithm(
        name="raynal-prime-1989",
        peer=RaynalPrime1989,
        source="Raynal",
        year=1989,
        family="museum",
        messages="2(N−1) … 2(N−1)²",
        verdict="starvation",
        exhibit=Exhibit(nodes=2, requests=None),
        quotes=(
            Quotation(
                "velazquez-1993-survey",
                "section 5, Raynal",
                "if the next node in the logical ring does not want to enter the CS; it "
                "never updates its variable Xj",
            ),
        ),
    ),
)
