"""Srimani and Reddy, 1992, with request numbers that start over in bounded rounds.

    P. K. Srimani, R. L. Reddy.  Another Distributed Algorithm for Multiple Entries to a
    Critical Section.  Information Processing Letters 41, January 1992, 51-57; here after
    the survey of Velazquez, 1993, and rebuilt where that is silent.

Srimani and Reddy's algorithm with k tokens.  A node's requests come in rounds of L.  A node
that all L of a round have reached sends an ACK, and enters in the LT of every token it has
that this round is recorded: no token says then that a request before the last one of that
round is not granted.  A token that comes later, with an LT that is older, is brought up to
date as it arrives, and the node whose round it is gets a RECORDED.  When all ACKs are there
and all k tokens are recorded, the next round begins.  So no number that is compared, of a
REQUEST, a node or a token, is older than the end of the round before.

    messages      0 with an idle token at hand, else N-1 REQUESTs and, as a rule, 1 to k
                  PRIVILEGEs; for a round of L requests N-1 ACKs and at most k RECORDED
    delay         one PRIVILEGE from a leaving node to the next; the first REQUEST of a
                  round is held back until the round before is acknowledged and recorded
    network       no loss, no duplicates; messages may overtake one another
    failures      none: no token must be lost, and one silent node stops everyone after a
                  round
    fairness      no node waits for ever

Where this file departs from the survey, and why:
  * The survey names LT and the acknowledgements, and does not say how a node learns that a
    token which is under way has the round recorded.  ACKs alone do not tell: a token may be
    under way for longer than any number of rounds.  So there is RECORDED.
  * Numbers are kept modulo 2L+3: those that are compared are up to L+1 apart, in either
    direction.
  * A node that leaves hands the token on at once; it is its own next request that waits for
    ACKs.  In the survey the node waits with the token.
  * The survey has L > N.  Any L will do, and with L = 1 searches are small.
  * The line whose misprint the survey reports is in a listing that was not at hand.
  * It is for the lab: `srimani-reddy` serves semaphores, and its numbers have room.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.srimani_reddy import Numbers, SrimaniReddy
from peerlock.algorithms.suzuki_kasami import Request, replaced
from peerlock.core.bits import Nodes, all_but
from peerlock.core.peer import NodeId, RemoteError, setting


@dataclass(frozen=True, slots=True)
class Privilege:
    queue: tuple[NodeId, ...]
    granted: Numbers  # LN
    recorded: Numbers  # LT: of each node, the last number of the latest round recorded


@dataclass(frozen=True, slots=True)
class Ack:
    tokens: int  # in which the round was recorded together with this


@dataclass(frozen=True, slots=True)
class Recorded:
    """Your round, in one token more."""


@dataclass(eq=False)
class SrimaniReddyBounded(SrimaniReddy):
    messages = (Request, Privilege, Ack, Recorded)  # type: ignore[assignment]

    limit: int = setting(2)  # L

    # The LT of each idle token, and of the one that we are inside with.
    spare: tuple[Numbers, ...] = ()
    recorded: Numbers = ()

    # round_after[j - 1]: the last number of j's round before; arrived[j - 1]: how many
    # REQUESTs of its round have come; for us, how many we have made.
    round_after: Numbers = ()
    arrived: Numbers = ()

    # Of our last round: whose ACK is missing, and how many tokens do not have it recorded.
    unanswered: Nodes = 0
    unrecorded: int = 0

    # True while our request waits for these and is not sent yet.
    held_back: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        assert self.limit >= 1
        self.round_after = self.arrived = self.requested
        self.spare, self.idle = (self.requested,) * self.idle, 0

    # The user

    def acquire(self) -> None:
        assert not self.waiting
        assert not self.inside

        if self.spare:
            self.recorded, *rest = self.spare
            self.spare = tuple(rest)
            self.queue = ()
            self.enter()
            return
        self.waiting = True
        self.held_back = bool(self.unanswered or self.unrecorded)
        if not self.held_back:
            self.ask()

    def ask(self) -> None:
        number = (self.requested[self.me - 1] + 1) % self.modulus
        if self.completes_round(self.me, number):
            self.unanswered = all_but(self.me, len(self.members))
            self.unrecorded = self.permits
        self.broadcast(Request(self.me, number))

    def enter(self) -> None:
        self.held_back = False
        super().enter()

    def release(self) -> None:
        assert self.inside

        self.inside = False
        queue, self.queue = self.queue, ()
        recorded, self.recorded = self.recorded, ()
        self.hand_on(queue, recorded)

    def ask_if_held_back(self) -> None:
        if self.held_back and not self.unanswered and not self.unrecorded:
            self.held_back = False
            self.ask()

    # Tokens

    def receive_privilege(self, sender: NodeId, message: Privilege) -> None:  # type: ignore[override]
        self.granted = tuple(map(self.later, self.granted, message.granted))
        recorded = self.brought_up_to_date(message.recorded)
        queue = tuple(j for j in message.queue if self.waits(j))
        if self.waiting:
            self.queue = tuple(j for j in queue if j != self.me)
            self.recorded = recorded
            self.enter()
        else:
            self.hand_on(queue, recorded)

    def brought_up_to_date(self, recorded: Numbers) -> Numbers:
        """The LT of a token that arrives."""
        for j in self.members:
            if self.is_behind(recorded, j):
                if j == self.me:
                    self.unrecorded -= 1
                else:
                    self.send(j, Recorded())
        return tuple(map(self.later, recorded, self.round_after))

    def is_behind(self, recorded: Numbers, j: NodeId) -> bool:
        ahead = (self.round_after[j - 1] - recorded[j - 1]) % self.modulus
        return 1 <= ahead <= self.limit + 1

    def hand_on(self, queue: tuple[NodeId, ...], recorded: Numbers) -> None:
        """Queue all that wait, and send the token to the first; or keep it."""
        queue += tuple(j for j in self.members if self.waits(j) and j not in queue)
        if queue:
            first, *rest = queue
            self.send(first, Privilege(tuple(rest), self.granted, recorded))
        else:
            self.spare = tuple(sorted((*self.spare, recorded)))

    # Requests, and rounds of them

    def receive_request(self, sender: NodeId, message: Request) -> None:
        number = message.number
        if message.origin != sender or not self.in_round(sender, number):
            raise RemoteError(f"{sender} asks with {number}, not of its round")
        if self.completes_round(sender, number):
            self.send(sender, Ack(self.record(sender)))
        if self.spare and self.waits(sender):
            recorded, *rest = self.spare
            self.spare = tuple(rest)
            self.hand_on((), recorded)

    def record(self, j: NodeId) -> int:
        """In all tokens that are here; gives in how many it was not yet."""
        end = self.round_after[j - 1]
        tokens = (*self.spare, *([self.recorded] if self.inside else []))
        fresh = sum(self.is_behind(recorded, j) for recorded in tokens)
        last_but_one = (end - 1) % self.modulus
        self.granted = replaced(
            self.granted, j, self.later(self.granted[j - 1], last_but_one)
        )
        self.spare = tuple(
            sorted(tuple(map(self.later, x, self.round_after)) for x in self.spare)
        )
        if self.inside:
            self.recorded = tuple(map(self.later, self.recorded, self.round_after))
        return fresh

    def receive_ack(self, sender: NodeId, message: Ack) -> None:
        if not self.unanswered >> sender & 1 or message.tokens > self.unrecorded:
            raise RemoteError(f"{sender} acknowledges a round that is not over")
        self.unanswered ^= 1 << sender
        self.unrecorded -= message.tokens
        self.ask_if_held_back()

    def receive_recorded(self, sender: NodeId, message: Recorded) -> None:
        if not self.unrecorded:
            raise RemoteError(f"{sender} records a round that is recorded")
        self.unrecorded -= 1
        self.ask_if_held_back()

    def completes_round(self, j: NodeId, number: int) -> bool:
        """Count j's REQUEST, which may have been overtaken by a later one."""
        self.requested = replaced(
            self.requested, j, self.later(self.requested[j - 1], number)
        )
        arrived = (self.arrived[j - 1] + 1) % self.limit
        self.arrived = replaced(self.arrived, j, arrived)
        if arrived:
            return False
        self.round_after = replaced(self.round_after, j, self.requested[j - 1])
        return True

    def in_round(self, j: NodeId, number: int) -> bool:
        place = (number - self.round_after[j - 1]) % self.modulus
        return 0 <= number < self.modulus and 1 <= place <= self.limit

    # Numbers

    @property
    def modulus(self) -> int:
        return 2 * self.limit + 3

    def later(self, one: int, other: int) -> int:
        return other if (other - one) % self.modulus <= self.limit + 1 else one

    def waits(self, node: NodeId) -> bool:
        ahead = (self.requested[node - 1] - self.granted[node - 1]) % self.modulus
        return 1 <= ahead <= self.limit + 1


ENTRIES = (
    Algorithm(
        name="srimani-reddy-bounded",
        peer=SrimaniReddyBounded,
        source="Srimani, Reddy",
        year=1992,
        family="several",
        messages="0 or N … N+k−1, seldom more, and up to N−1+k every L requests of a node",
        takes="permits",
    ),
)
