"""A presence alone, stepped by a test."""

from __future__ import annotations

from math import inf
from typing import Any, TypeVar

from peerlock.node.fences import Fences
from peerlock.node.node import Node
from peerlock.node.presence import Join, Presence
from peerlock.node.terms import demand
from peerlock.node.views import Member, View
from peerlock.node.waiters import State, Waiter
from peerlock.node.wire import Batch, Told

LEASE = 10.0


ME, OTHER, THIRD = 1, 2, 3


E = TypeVar("E")


def view(number: int, *members: int) -> View:
    return View(number, tuple(Member(i, f"at {i}", i) for i in members))


def ready(number: int) -> Batch:
    """From the other one, in this view."""
    fences = Fences()
    fences.enter(number)
    return Batch(
        ME, fences.view, 1, 0, fences.highest, fences.limit, (Told(number, 1, (), False),)
    )


class Alone(Presence):
    """A presence whose clocks, engine and connections are in the hands of a test."""

    def __init__(self, lease: float | None = LEASE, **kind: Any) -> None:
        self.now = 100.0
        self.ahead = 1_000.0  # the wall clock, of the lease clock
        node = Node(lambda: self.now)
        super().__init__(node, lambda: self.now + self.ahead, lease, **kind)
        assert self.start("here") == Join("here", 0)

    @property
    def ends(self) -> float:
        return inf if self.lease is None else self.now + self.lease

    def join(self, *members: int, number: int = 10) -> None:
        """As the first one of these, who are all connected and ready."""
        self.joined(view(number, *(members or (ME,))), ME, self.ends, self.lease)
        for member in members[1:]:
            self.wanted(member)
            self.connected(member)
            self.node.receive(member, ready(number))
        self.drain()

    def got(self, kind: type[E]) -> list[E]:
        """What was wanted since the last time, of this kind."""
        return [effect for effect in self.drain() if isinstance(effect, kind)]

    def hold(self, name: str = "x") -> Waiter:
        waiter = Waiter(demand())
        self.node.acquire(name, waiter)
        self.node.drain()
        assert waiter.state is State.HOLDING
        return waiter

    def pass_time(self, seconds: float) -> None:
        """Waking up whenever it is due."""
        until = self.now + seconds
        while self.wake_at <= until:
            self.now = max(self.now, self.wake_at)
            self.wake()
        self.now = until


def member(*members: int) -> Alone:
    presence = Alone()
    presence.join(*members)
    return presence


def younger_member() -> Alone:
    """Not the eldest: that is the other one, and all three are connected."""
    presence = Alone()
    presence.joined(view(10, OTHER, ME, THIRD), ME, presence.ends, LEASE)
    for member in (OTHER, THIRD):
        presence.wanted(member)
        presence.connected(member)
    presence.drain()
    return presence
