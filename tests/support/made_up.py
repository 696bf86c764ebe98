"""Algorithms made up from a seed, to hold the searches against each other.

They are nonsense: what a peer does on an input is drawn once for each input in each local
state.  So they do what nobody would think of: they let several in, wait for ever, send to
everybody at once, refuse messages, fail.  A peer sends only so many messages, so that the
states have an end.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

from peerlock.checker.model import Model, Network
from peerlock.core.demands import Groups, Permits, Rule, Sharing
from peerlock.core.peer import NodeId, Peer, RemoteError, fixed

IDLE, WAITING, INSIDE = range(3)


@dataclass(frozen=True)
class Word:
    """A message."""

    value: int


@dataclass(frozen=True)
class Count:
    """A message that is only counted: it commutes with much."""


@dataclass(frozen=True)
class Ask:
    """A message that is answered at once: it nearly commutes with much."""


class Kind(NamedTuple):
    """How the algorithms of a seed are made up."""

    alike: bool  # all nodes do the same, and know each other by what they said only
    values: int  # of words
    states: int
    eager: float  # how often a node that waits enters
    timers: bool
    alarm: bool  # a node that waits enters some time, or is called again and again
    failing: float  # how often an input fails
    every: int  # how many counted messages make a difference; 1: none does
    telling: bool  # does an answer say what the node does?
    calm: bool  # words are only remembered, so that much commutes; but what is asked?


class Reaction(NamedTuple):
    state: int
    sends: tuple[tuple[str, Any], ...]  # to whom, and what
    enters: bool
    timer: str  # set, cancelled, or ""
    fails: type[Exception] | None


@cache
def reaction(seed: int, kind: Kind, *given: object) -> Reaction:
    chance = random.Random(repr((seed, given)))
    sends = []
    for _ in range(chance.choice([0, 0, 1, 1, 2])):
        to = chance.choice(["sender", "sender", "all", "next", "last"])
        word: Any = (
            Word(chance.randrange(kind.values)) if chance.random() < 0.7 else Count()
        )
        sends.append((to, word))
    fails = chance.choice([RemoteError, AssertionError])
    return Reaction(
        chance.randrange(kind.states),
        tuple(sends),
        chance.random() < kind.eager,
        chance.choice(["set", "cancel", ""]) if kind.timers else "",
        fails if chance.random() < kind.failing else None,
    )


@dataclass(eq=False)
class MadeUp(Peer):
    messages = (Word, Count, Ask)
    seed: int = fixed(default=0, kw_only=True)
    kind: Kind = fixed(default=None, kw_only=True)

    state: int = 0
    phase: int = IDLE
    may_send: int = fixed(default=0, kw_only=True)
    sent: int = 0
    counted: int = 0
    inputs: int = 0  # of a calm one, so that no step leads back

    def start(self) -> None:
        self._react("start")

    def acquire(self) -> None:
        self.acquire_for("")

    def acquire_for(self, demand: Any) -> None:
        self.phase = WAITING
        if self.kind.alarm:
            self.set_timer("alarm", 1.0)
        self._react("acquire", demand)

    def release(self) -> None:
        self.phase = IDLE
        self._react("release")

    def timer(self, name: str) -> None:
        self.inputs += self.kind.calm
        if name == "t":
            self._react("timer")
        elif self.phase == WAITING and self.sent < self.may_send + self.seed % 3:
            self._enter()
        elif self.phase == WAITING:
            self.set_timer("alarm", 1.0)  # for ever

    def receive(self, sender: NodeId, message: Any) -> None:
        self.inputs += self.kind.calm
        super().receive(sender, message)

    def receive_word(self, sender: NodeId, message: Word) -> None:
        if not self.kind.calm:
            self._react("word", message.value, sender=sender)
        elif self.kind.every == 1:
            self.state = max(self.state, message.value)
        else:
            self.state = message.value

    def receive_count(self, sender: NodeId, message: Count) -> None:
        self.counted += 1

    def receive_ask(self, sender: NodeId, message: Ask) -> None:
        self.send(sender, Word(self.phase) if self.kind.telling else Count())

    def _react(self, *what: object, sender: NodeId = 0) -> None:
        name = 0 if self.kind.alike else self.me
        said = bool(sender) if self.kind.alike else sender
        given = (name, said, *what, self.state, self.phase, self.counted % self.kind.every)
        found = reaction(self.seed, self.kind, *given)
        if found.fails is not None and self.phase != IDLE:
            raise found.fails("made up")
        self.state = found.state
        early = self.seed % 2
        enters = found.enters and self.phase == WAITING
        if enters and early:
            self._enter()
        for to, message in found.sends:
            self._say(to, message, sender)
        if enters and not early:
            self._enter()
        if found.timer == "set" and self.sent < self.may_send:
            self.sent += 1  # a timer that sets itself has an end, too
            self.set_timer("t", 1.0)
        elif found.timer == "cancel":
            self.cancel_timer("t")

    def _enter(self) -> None:
        self.phase = INSIDE
        self.grant()

    def _say(self, to: str, message: Any, sender: NodeId) -> None:
        if self.sent == self.may_send:
            return
        self.sent += 1
        size = len(self.members)
        if to == "all" or (self.kind.alike and not sender):
            self.broadcast(message)
        elif sender and (to == "sender" or self.kind.alike):
            self.send(sender, message)
        else:
            away = 1 if to == "next" else size - 1
            self.send((self.me - 1 + away) % size + 1, message)


def made_up(seed: int) -> Model:
    """A cluster of such an algorithm, on some network."""
    chance = random.Random(seed)
    kind = Kind(
        alike=chance.random() < 0.4,
        values=chance.choice([1, 2, 3]),
        states=chance.choice([1, 2, 3]),
        eager=chance.choice([0.2, 0.5, 0.9]),
        timers=chance.random() < 0.3,
        alarm=chance.random() < 0.5,
        failing=chance.choice([0.0, 0.0, 0.1]),
        every=chance.choice([1, 1, 2]),
        telling=chance.random() < 0.5,
        calm=False,
    )
    nodes = chance.choice([2, 2, 3])
    requests = tuple(chance.choice([1, 1, 2]) for _ in range(nodes))
    if kind.alike:
        requests = (chance.choice([1, 2]),) * nodes
    faults = chance.choice([(0, 0, 0)] * 4 + [(1, 0, 0), (0, 1, 0), (0, 0, 1)])
    fifo = chance.random() < 0.5
    rules: list[Rule] = [
        Permits(1),
        Permits(2),
        Sharing(),
        Groups(2),
        *[Permits(nodes)] * 4,
    ]
    rule = chance.choice(rules)
    medium = chance.random() < 0.1 and not any(faults)
    return Model(
        name=f"made-up-{seed}",
        make=maker(seed, kind, nodes, may_send=chance.choice([1, 2, 3])),
        nodes=nodes,
        requests=None if chance.random() < 0.15 else requests,
        network=Network(fifo, *faults, returns=chance.random() < 0.5),
        rule=rule,
        fences=chance.random() < 0.3 and not faults[2],
        medium=medium,
        outlasting=("t",) if chance.random() < 0.5 else (),
    )


def calm(seed: int) -> Model:
    """One in which many deliveries commute, or nearly do."""
    chance = random.Random(seed)
    nodes = chance.choice([2, 2, 3])
    kind = Kind(
        alike=chance.random() < 0.4,
        values=chance.choice([1, 2]),
        states=chance.choice([1, 2]),
        eager=chance.choice([0.0, 0.5, 0.9]),
        timers=False,
        alarm=True,
        failing=0.0,
        every=chance.choice([1, 1, 2]),
        telling=chance.random() < 0.5,
        calm=True,
    )
    return Model(
        name=f"calm-{seed}",
        make=maker(seed, kind, nodes, may_send=chance.choice([2, 3])),
        nodes=nodes,
        requests=tuple(chance.choice([1, 1, 2]) for _ in range(nodes)),
        network=Network(fifo=chance.random() < 0.5),
        rule=Permits(nodes - (chance.random() < 0.3)),
        fences=chance.random() < 0.2,
    )


def maker(seed: int, kind: Kind, nodes: int, may_send: int) -> Callable[[NodeId], Peer]:
    members = tuple(range(1, nodes + 1))
    return lambda me: MadeUp(me, members, seed=seed, kind=kind, may_send=may_send)
