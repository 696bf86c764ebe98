"""Mueller, 1998: a token on a dynamic tree that goes to the highest priority first.

    F. Mueller.  Prioritized Token-Based Mutual Exclusion for Distributed Systems.
    International Parallel Processing Symposium, 1998, 791-795.

The token takes its queue along, sorted by priority, and among equals by arrival.  Nodes
find it as in Naimi and Trehel's algorithm: a REQUEST is passed on from one probable owner
to the next, and each of these then believes in the new requester.  It ends at the token, or
at a node that waits.  That node will have the token before and keeps the REQUEST for it,
unless the REQUEST has a higher priority: then it FOLLOWs the way of the node's own REQUEST
to the node that keeps that.  When the TOKEN arrives, what was kept is merged into
its queue; when its node leaves, the first of the queue is sent the TOKEN.

    messages      about log N per entry when nobody competes, 0 at the node that has the
                  token; a higher priority takes some more to overtake lower ones
    delay         one TOKEN from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: the token must not be lost
    fairness      by priority, then first come, first served; a low priority may wait for
                  ever while higher ones ask

Where this file departs from the paper, and why:
  * Rebuilt from the abstract and from accounts of it, which leave open how a REQUEST of a
    higher priority finds on from a node that waits.  The probable owners may lead it back
    to that very node.  Here each node remembers for each other one where it has sent that
    one's REQUEST last, and a FOLLOW goes after it.  FIFO keeps it from getting there first.
  * A FOLLOW that comes back to the node that it began at has missed the token, which is on
    its way to that node, and is kept there.
  * A node's priority is fixed; larger is higher.
  * The users of a lock have no priorities: for a lock all are equal, and it is first come,
    first served, much like `naimi-trehel`.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, RemoteError, setting


@dataclass(frozen=True, slots=True)
class Request:
    node: NodeId


@dataclass(frozen=True, slots=True)
class Follow:
    node: NodeId  # that requests
    leader: NodeId  # after whose REQUEST it goes


@dataclass(frozen=True, slots=True)
class Token:
    queue: tuple[NodeId, ...]


@dataclass(eq=False)
class MuellerPriority(Peer):
    messages = (Request, Follow, Token)

    priorities: tuple[int, ...] = setting()
    first_holder: NodeId = setting(1)

    # Where we believe the token to be: here, if we have it or wait for it.
    owner: NodeId = 0

    # True while the token is here.
    has_token: bool = False

    # True from our request until our grant, and from there until our release.
    waiting: bool = False
    inside: bool = False

    # The requests that are kept here: all of the token's if we have that.
    queue: tuple[NodeId, ...] = ()

    # By node: where its last request has gone from here; 0: it has not been here.
    went: tuple[NodeId, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.priorities is None:
            self.priorities = (1,) * len(self.members)
        self.owner = self.first_holder
        self.has_token = self.me == self.first_holder
        self.went = (0,) * len(self.members)

    # The user

    def acquire(self) -> None:
        assert not self.waiting
        assert not self.inside

        if self.has_token:
            self.inside = True
            self.grant()
            return
        self.waiting = True
        to, self.owner = self.owner, self.me
        self.pass_on(self.me, Request(self.me), to)

    def release(self) -> None:
        assert self.inside

        self.inside = False
        self.hand_over()

    # Requests

    def receive_request(self, sender: NodeId, message: Request) -> None:
        node = message.node
        self.must_be_new(node)
        if self.has_token or (self.waiting and not self.precedes_us(node)):
            self.keep(node)
        elif self.waiting:
            self.pass_on(node, Follow(node, self.me), self.went[self.me - 1])
        else:
            to, self.owner = self.owner, node
            self.pass_on(node, message, to)

    def receive_follow(self, sender: NodeId, message: Follow) -> None:
        node, leader = message.node, message.leader
        if node != self.me:
            self.must_be_new(node)
        elif not self.waiting or leader == self.me:
            raise RemoteError(f"{sender} returns a request that is over")
        if self.has_token or (self.waiting and leader == self.me):
            self.keep(node)
        elif leader in self.queue:
            self.receive_request(sender, Request(node))
        elif not (1 <= leader <= len(self.members) and self.went[leader - 1]):
            raise RemoteError(f"{sender} follows {leader}, which has not been here")
        elif leader == self.me:
            self.follow_token(node)
        else:
            self.pass_on(node, message, self.went[leader - 1])

    def follow_token(self, node: NodeId) -> None:
        """The request to go after is over; from here on it is the token."""
        to = self.went[self.me - 1]
        self.pass_on(node, Follow(node, to), to)

    def must_be_new(self, node: NodeId) -> None:
        known = 1 <= node <= len(self.members)
        if not known or node == self.me or node in self.queue:
            raise RemoteError(f"{node} requests again before it has released")

    def precedes_us(self, node: NodeId) -> bool:
        return self.priorities[node - 1] > self.priorities[self.me - 1]

    def pass_on(self, node: NodeId, message: Request | Follow, to: NodeId) -> None:
        self.remember((node,), to)
        self.send(to, message)

    def remember(self, nodes: tuple[NodeId, ...], to: NodeId) -> None:
        self.went = tuple(
            to if j in nodes else before for j, before in enumerate(self.went, start=1)
        )

    def keep(self, node: NodeId) -> None:
        self.merge((node,))
        self.hand_over()

    def merge(self, more: tuple[NodeId, ...]) -> None:
        """By priority; those that are equal stay in their order."""
        both = (*self.queue, *more)
        self.queue = tuple(sorted(both, key=lambda node: -self.priorities[node - 1]))

    # The token

    def receive_token(self, sender: NodeId, message: Token) -> None:
        if not self.waiting:
            raise RemoteError(f"{sender} sends the token, and we did not request it")
        for node in message.queue:
            self.must_be_new(node)
        if len(set(message.queue)) < len(message.queue):
            raise RemoteError(f"{sender} sends a token that has a request twice")
        self.waiting, self.inside = False, True
        self.has_token = True
        kept, self.queue = self.queue, message.queue
        self.merge(kept)
        self.grant()

    def hand_over(self) -> None:
        """To the first of the queue; the last of it is the probable owner."""
        if not self.has_token or self.inside or not self.queue:
            return
        queue, self.queue = self.queue, ()
        first, *rest = queue
        self.has_token = False
        self.owner = queue[-1]
        self.remember((self.me, *queue), first)
        self.send(first, Token(tuple(rest)))


ENTRIES = (
    Algorithm(
        name="mueller-priority",
        peer=MuellerPriority,
        source="Mueller",
        year=1998,
        family="token",
        messages="about log N; 0 at the holder",
        fifo=True,
        takes="priorities",
        serves=("lock",),
    ),
)
