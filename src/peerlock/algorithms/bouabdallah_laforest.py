"""Bouabdallah and Laforest, 2000: several resources, queued for by one control token.

    A. Bouabdallah, C. Laforest.  A Distributed Token-Based Algorithm for the Dynamic
    Resource Allocation Problem.  ACM SIGOPS Operating Systems Review 34(3), July 2000,
    60-68.

A request is for a set of resources.  Each resource has a token, and there is one control
token.  A node that wants some resources first asks for the control token, by Naimi and
Trehel's algorithm.  The control token has the tokens of the resources that no node uses,
and for each other one it says which node has asked for it last.  The node takes what is
there, INQUIREs of the last ones for the rest, enters itself as the last one for all its
resources, and passes the control token on: no node keeps it while it waits.  So requests
are in the queues of their resources in the same order, and there is no deadlock.  A node
enters when it has all tokens.  At its exit it sends each to the node that has inquired for
it, or keeps it.

    messages      about log N for the control token, and at most 2 for each resource
    delay         one RESOURCE from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: no token must be lost
    fairness      for each resource in the order in which the control token comes round

Where this file departs from the paper, and why:
  * Rebuilt from accounts of it.
  * An INQUIRE names the request that it comes after.  A node may have asked anew since, and
    as messages overtake one another, INQUIREs after either of its requests may come in any
    order: the token goes to that after the older one.
  * Tokens that a node keeps without use are put into the control token when it has that.
  * It is for the lab: lock nodes acquire several names in one order, each name with an
    algorithm of its own.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peerlock.algorithms import naimi_trehel as nt
from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.naimi_trehel import NaimiTrehel
from peerlock.core.bits import nodes_in
from peerlock.core.demands import DEFAULT_PERMITS
from peerlock.core.peer import Enter, NodeId, Peer, RemoteError, Send, fixed, setting

Resource = int
Asked = tuple[NodeId, int]  # the node that asked last, and with which request
HERE: Asked = (0, 0)  # in the control token


@dataclass(frozen=True, slots=True)
class Request:
    origin: NodeId


@dataclass(frozen=True, slots=True)
class Control:
    asked: tuple[Asked, ...]  # by resource


@dataclass(frozen=True, slots=True)
class Inquire:
    resource: Resource
    number: int  # of the receiver's request that it comes after


@dataclass(frozen=True, slots=True)
class Token:
    resource: Resource


@dataclass(eq=False)
class BouabdallahLaforest(Peer):
    messages = (Request, Control, Inquire, Token)

    resources: int = setting(DEFAULT_PERMITS)

    # The number of our last request; what it is for, as bits, until our release.
    number: int = 0
    wanted: int = 0
    inside: bool = False

    # The resources whose tokens are here, and those of them that our request has got.
    tokens: int = 0
    got: int = 0

    # By resource: the node that comes after our request; 0: none yet.
    heirs: tuple[NodeId, ...] = ()

    # What the control token says, while it is here.
    asked: tuple[Asked, ...] | None = None

    control: NaimiTrehel = fixed(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.heirs = (0,) * self.resources
        self.control = NaimiTrehel(self.me, self.members)
        if self.control.token_here:
            self.asked = (HERE,) * self.resources

    # State: that of the control token's algorithm is ours

    def snapshot(self) -> tuple[Any, ...]:
        return (*super().snapshot(), self.control.snapshot())

    def restore(self, state: tuple[Any, ...]) -> None:
        super().restore(state[:-1])
        self.control.restore(state[-1])

    # The user

    def acquire(self) -> None:
        self.acquire_for(2)  # the first resource

    def acquire_for(self, wanted: int) -> None:
        assert not self.wanted

        self.wanted = wanted
        self.number += 1
        self.control.acquire()
        self.carry_out()

    def release(self) -> None:
        assert self.inside

        self.inside = False
        for resource in nodes_in(self.wanted):
            if heir := self.heirs[resource - 1]:
                self.pass_on(resource, heir)
        self.heirs = (0,) * self.resources
        self.wanted = self.got = 0

    # The control token

    def receive_request(self, sender: NodeId, message: Request) -> None:
        self.control.receive(sender, nt.Request(message.origin))
        self.carry_out()

    def receive_control(self, sender: NodeId, message: Control) -> None:
        if not self.wanted or len(message.asked) != self.resources:
            raise RemoteError(f"{sender} sends a control token that we did not ask for")
        self.control.receive(sender, nt.TOKEN)
        self.asked = message.asked
        self.carry_out()

    def carry_out(self) -> None:
        """What the control token's algorithm does, until it has nothing more to do."""
        while effects := self.control.drain():
            for effect in effects:
                match effect:
                    case Enter():
                        self.queue_up()
                        self.control.release()
                    case Send(to, nt.Request(origin)):
                        self.send(to, Request(origin))
                    case Send(to, _):
                        self.put_back()
                        asked, self.asked = self.asked, None
                        assert asked is not None
                        self.send(to, Control(asked))

    def queue_up(self) -> None:
        """We have the control token: we come after the last node that asked for each."""
        assert self.asked is not None
        asked = list(self.asked)
        for resource in nodes_in(self.wanted):
            node, number = asked[resource - 1]
            if node in (0, self.me):
                self.tokens |= 1 << resource
                self.got |= 1 << resource
            else:
                self.send(node, Inquire(resource, number))
            asked[resource - 1] = (self.me, self.number)
        self.asked = tuple(asked)
        self.enter_if_complete()

    def put_back(self) -> None:
        """Tokens that are here without use, and that nobody has asked for since."""
        assert self.asked is not None
        asked = list(self.asked)
        for resource in nodes_in(self.tokens & ~self.wanted):
            if asked[resource - 1][0] == self.me:
                asked[resource - 1] = HERE
                self.tokens ^= 1 << resource
        self.asked = tuple(asked)

    # The tokens of the resources

    def receive_inquire(self, sender: NodeId, message: Inquire) -> None:
        resource = message.resource
        self.must_be_one(resource)
        current = self.wanted >> resource & 1 and message.number == self.number
        if current and not self.heirs[resource - 1]:
            self.heirs = tuple(
                sender if r == resource else heir
                for r, heir in enumerate(self.heirs, start=1)
            )
        elif not current and (self.tokens & ~self.got) >> resource & 1:
            self.pass_on(resource, sender)
        else:
            raise RemoteError(f"{sender} inquires of us for {resource}, which is not here")

    def receive_token(self, sender: NodeId, message: Token) -> None:
        self.must_be_one(message.resource)
        bit = 1 << message.resource
        if not self.wanted & bit or self.tokens & bit:
            raise RemoteError(f"{sender} sends a token that we did not ask for")
        self.tokens |= bit
        self.got |= bit
        self.enter_if_complete()

    def must_be_one(self, resource: Resource) -> None:
        if not 1 <= resource <= self.resources:
            raise RemoteError(f"there is no resource {resource}")

    def pass_on(self, resource: Resource, to: NodeId) -> None:
        self.tokens ^= 1 << resource
        self.send(to, Token(resource))

    def enter_if_complete(self) -> None:
        if self.got == self.wanted:
            self.inside = True
            self.grant()


ENTRIES = (
    Algorithm(
        name="bouabdallah-laforest",
        peer=BouabdallahLaforest,
        source="Bouabdallah, Laforest",
        year=2000,
        family="several",
        messages="about log N, and ≤ 2 for each resource",
        takes="resources",
    ),
)
