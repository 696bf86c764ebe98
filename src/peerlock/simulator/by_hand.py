"""A cluster driven by hand, one step at a time: for tests, stories and teaching.

Nothing happens by itself: the caller decides which node requests, leaves or crashes, which
message arrives next, and which timer fires.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from peerlock.algorithms.lookup import algorithm, reference
from peerlock.core.demands import Demand
from peerlock.core.errors import UsageError
from peerlock.core.peer import (
    Broadcast,
    CancelTimer,
    Down,
    Effect,
    Enter,
    NodeId,
    Peer,
    Send,
    SetTimer,
    label,
    snake,
)
from peerlock.core.under_way import UnderWay
from peerlock.simulator.judge import Judge
from peerlock.traces.trace import Kind, Step, Trace


class ByHand:
    """Every step returns its effects, and the judge checks each of them."""

    def __init__(self, wanted: str | type[Peer], nodes: int, **settings: Any) -> None:
        self.algorithm = algorithm(wanted)
        self.members = tuple(range(1, nodes + 1))
        make = self.algorithm.peer
        self._make: Callable[[NodeId], Peer] = lambda i: make(i, self.members, **settings)
        self.peers: dict[NodeId, Peer] = {i: self._make(i) for i in self.members}
        self.flying: list[UnderWay] = []
        self.timers: set[tuple[NodeId, str]] = set()
        self.gone: set[NodeId] = set()
        self.sent = 0
        self.rule = self.algorithm.rule(settings)
        self.judge = Judge(self.rule, fences=not self.algorithm.timely)
        self.trace = Trace(reference(wanted), nodes)
        self._fences = dict.fromkeys(self.members, 0)
        self._steps = 0
        for i, peer in self.peers.items():
            peer.start()
            self._carry_out(i)

    def request(self, node: NodeId, demand: Demand = None) -> list[Effect]:
        """For the rule's first demand, unless told otherwise."""
        if node in self.gone:
            raise UsageError(f"{node} has crashed")
        if node in self.judge.waiting or node in self.judge.inside:
            raise UsageError(f"{node} has a request already")
        wanted = self.rule.demands[0] if demand is None else demand
        self._step(Kind.REQUEST, node, note=self.rule.words(wanted))
        self.judge.requested(node, wanted)
        self.peers[node].acquire_for(wanted)
        return self._carry_out(node)

    def leave(self, node: NodeId) -> list[Effect]:
        if node not in self.judge.inside:
            raise UsageError(f"{node} is not inside")
        self._step(Kind.LEAVE, node)
        self.judge.left(node)
        self.peers[node].release()
        return self._carry_out(node)

    def deliver(self, sender: NodeId, node: NodeId, name: str) -> list[Effect]:
        """The oldest message of that name that is under way from `sender` to `node`."""
        return self._land(self._find(sender, node, name))

    def land(self, number: int) -> list[Effect]:
        """The message of that number arrives; the first, if it is under way twice."""
        flight = self.flight(number)
        self.must_be_next(flight)
        return self._land(flight)

    def lose(self, number: int) -> None:
        flight = self.flight(number)
        self.flying.remove(flight)
        self._step(Kind.LOSE, flight.receiver, flight.sender, flight.message, number)

    def duplicate(self, number: int) -> None:
        """It is under way once more, behind all that is: no step, until it arrives."""
        self.flying.append(self.flight(number))

    def fire(self, node: NodeId, name: str) -> list[Effect]:
        if (node, name) not in self.timers:
            raise UsageError(f"{node} has set no timer {name}")
        self.timers.remove((node, name))
        self._step(Kind.TIMER, node, note=name)
        self.peers[node].timer(name)
        return self._carry_out(node)

    def crash(self, node: NodeId) -> None:
        """Messages on their way to it are lost, too; fences are not checked from now on."""
        if node in self.gone:
            raise UsageError(f"{node} has crashed already")
        self._step(Kind.CRASH, node)
        self.gone.add(node)
        self.timers = {timer for timer in self.timers if timer[0] != node}
        self.flying = [flight for flight in self.flying if flight.receiver != node]
        self.judge.crashed(node)
        self.judge.fences = False
        if Down in self.algorithm.peer.messages:
            self._report_down(node)

    def restart(self, node: NodeId) -> list[Effect]:
        """It comes back, its memory lost."""
        if node not in self.gone:
            raise UsageError(f"{node} has not crashed")
        self._step(Kind.RESTART, node)
        self.gone.remove(node)
        self.peers[node] = self._make(node)
        self.peers[node].restart()
        return self._carry_out(node)

    def _report_down(self, node: NodeId) -> None:
        for to in self.members:
            if to not in self.gone:
                number = -len(self.trace)  # it is not a message; those are counted
                self._note(Kind.SEND, node, to, Down(), number)
                self.flying.append(UnderWay(number, node, to, Down(), 0))

    def settle(self) -> None:
        """Deliver all that is under way, the oldest first, until nothing is."""
        while self.flying:
            self._land(self.flying[0])

    def _land(self, flight: UnderWay) -> list[Effect]:
        sender, node = flight.sender, flight.receiver
        self.flying.remove(flight)
        if sender != node:
            self._step(Kind.RECEIVE, node, sender, flight.message, flight.number)
        self._fences[node] = max(self._fences[node], flight.fence)
        self.peers[node].receive(sender, flight.message)
        return self._carry_out(node)

    def flight(self, number: int) -> UnderWay:
        for flight in self.flying:
            if flight.number == number:
                return flight
        raise UsageError(f"message {number} is not under way")

    def must_be_next(self, flight: UnderWay) -> None:
        """Raises UsageError if an older message must arrive first."""
        medium = self.algorithm.medium
        if not (self.algorithm.fifo or medium):
            return
        first = next(
            f
            for f in self.flying
            if f.receiver == flight.receiver and (medium or f.sender == flight.sender)
        )
        if flight != first:
            name, older = _name(flight.message), label(first.message)
            raise UsageError(f"{name} would overtake {older}, which FIFO forbids")

    def _find(self, sender: NodeId, node: NodeId, name: str) -> UnderWay:
        for flight in self.flying:
            named = flight.sender, flight.receiver, _name(flight.message)
            if named == (sender, node, name):
                self.must_be_next(flight)
                return flight
        raise UsageError(f"no {name} is under way from {sender} to {node}")

    def _carry_out(self, node: NodeId) -> list[Effect]:
        effects = self.peers[node].drain()
        for effect in effects:
            match effect:
                case Send(to, message):
                    self._send(node, to, message)
                case Broadcast(message):
                    for to in self.members:
                        if to != node:
                            self._send(node, to, message)
                    if self.algorithm.medium:
                        number = -len(self.trace)  # no message either
                        own = UnderWay(number, node, node, message, self._fences[node])
                        self.flying.append(own)
                case Enter():
                    self._fences[node] += 1
                    self._note(Kind.ENTER, node, fence=self._fences[node])
                    self.judge.granted(node, self._fences[node])
                case SetTimer(name):
                    self.timers.add((node, name))
                case CancelTimer(name):
                    self.timers.discard((node, name))
        self.trace.see(self.peers[node])
        return effects

    def _send(self, sender: NodeId, to: NodeId, message: Any) -> None:
        self.sent += 1
        self._note(Kind.SEND, sender, to, message, self.sent)
        if to not in self.gone:
            fence = self._fences[sender]
            self.flying.append(UnderWay(self.sent, sender, to, message, fence))

    def _step(self, kind: Kind, node: NodeId, *what: Any, note: str = "") -> None:
        self._steps += 1
        self._note(kind, node, *what, note=note)

    def _note(self, kind: Kind, node: NodeId, *what: Any, **more: Any) -> None:
        step = Step(float(self._steps), kind, node, *what)
        self.trace.steps.append(replace(step, **more))


def _name(message: Any) -> str:
    return snake(type(message)).upper()
