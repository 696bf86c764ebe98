"""The system of the public TLA+ example LamportMutex, as a peer.

Its transitions are those of that example, not those of `peerlock.algorithms.lamport`: to
enter is a step of its own, which is possible again and again while inside, and only
requests carry the clock.  States in which a clock exceeds the bound are not gone on from.
TLC publishes the counts for three nodes and a bound of 6.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peerlock.checker.model import Model, Network
from peerlock.core.bits import Nodes, bits
from peerlock.core.peer import NodeId, Peer

NODES, MAX_CLOCK = 3, 6
DISTINCT, GENERATED = 724_274, 2_729_079


@dataclass(frozen=True, slots=True)
class Req:
    clock: int


@dataclass(frozen=True, slots=True)
class Ack:
    pass


@dataclass(frozen=True, slots=True)
class Rel:
    pass


@dataclass(eq=False)
class ClockPeer(Peer):
    messages = (Req, Ack, Rel)

    clock: int = 1
    requests: tuple[int, ...] = ()  # 0 when there is none
    acknowledged: Nodes = 0
    inside: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.requests = (0,) * len(self.members)

    def acquire(self) -> None:
        self.set_request(self.me, self.clock)
        self.acknowledged = bits([self.me])
        self.broadcast(Req(self.clock))

    def release(self) -> None:
        self.inside = False
        self.set_request(self.me, 0)
        self.acknowledged = 0
        self.cancel_timer("enter")
        self.broadcast(Rel())

    def timer(self, name: str) -> None:
        if not self.inside:
            self.inside = True
            self.grant()
        self.set_timer("enter", 0.0)

    def receive_req(self, sender: NodeId, message: Req) -> None:
        self.set_request(sender, message.clock)
        self.clock = max(self.clock, message.clock) + 1
        self.send(sender, Ack())
        self.may_enter()

    def receive_ack(self, sender: NodeId, message: Ack) -> None:
        self.acknowledged |= 1 << sender
        self.may_enter()

    def receive_rel(self, sender: NodeId, message: Rel) -> None:
        self.set_request(sender, 0)
        self.may_enter()

    def may_enter(self) -> None:
        if self.acknowledged == bits(self.members) and all(map(self.beats, self.others())):
            self.set_timer("enter", 0.0)
        else:
            self.cancel_timer("enter")

    def beats(self, other: NodeId) -> bool:
        ours, theirs = self.requests[self.me - 1], self.requests[other - 1]
        return theirs == 0 or (ours, self.me) < (theirs, other)

    def set_request(self, node: NodeId, clock: int) -> None:
        self.requests = (*self.requests[: node - 1], clock, *self.requests[node:])


def within_the_bound(snapshot: tuple[Any, ...]) -> bool:
    return bool(snapshot[0] <= MAX_CLOCK)


def lamport_clock() -> Model:
    members = tuple(range(1, NODES + 1))
    return Model(
        name="lamport-clock",
        make=lambda node: ClockPeer(node, members),
        nodes=NODES,
        requests=None,
        network=Network(fifo=True),
        fences=False,
        within=within_the_bound,
    )
