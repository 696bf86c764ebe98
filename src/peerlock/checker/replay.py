"""A schedule, replayed with the real peers, as a trace that can be drawn.

Time is the number of the step.  The fences are the real ones here, so that a replay also
verifies the one bit that the search keeps instead.
"""

from __future__ import annotations

from typing import Any

from peerlock.checker.model import Model
from peerlock.checker.sites import Action, Breach
from peerlock.core.peer import Broadcast, Down, Enter, NodeId, Send
from peerlock.core.under_way import UnderWay
from peerlock.traces.trace import Kind, Step, Trace


def replay(model: Model, schedule: list[Action], breach: Breach | None = None) -> Trace:
    """Only the last step may fail, and only if that is the breach."""
    replayed = Replay(model)
    fails = breach is not None and breach.property in ("remote error", "invariant")
    for number, action in enumerate(schedule, 1):
        try:
            replayed.play(action)
        except Exception:
            if not fails or number < len(schedule):
                raise
    if breach is not None:
        replayed.note(Kind.VIOLATION, breach.node, note=breach.text)
    return replayed.trace


class Replay:
    def __init__(self, model: Model) -> None:
        self.model = model
        self.trace = Trace(model.name, model.nodes)
        self.time = 0
        self.flights: list[UnderWay] = []
        self.fences = [0] * (model.nodes + 1)
        self.latest = 0  # fence of a grant
        self.gone: set[NodeId] = set()
        self.fifo, self.medium = model.network.fifo, model.medium
        self.peers = {node: model.make(node) for node in range(1, model.nodes + 1)}
        for node, peer in self.peers.items():
            peer.start()
            self._carry_out(node)

    def note(self, kind: Kind, node: NodeId, **more: Any) -> None:
        self.trace.steps.append(Step(float(self.time), kind, node, **more))

    def play(self, action: Action) -> None:
        self.time += 1
        node, peer = action.node, self.peers[action.node]
        match action.what:
            case "restart":
                self._restart(node)
            case "request":
                demand = self.model.rule.demands[action.demand]
                self.note(Kind.REQUEST, node, note=self.model.rule.words(demand))
                peer.acquire_for(demand)
            case "leave":
                self.note(Kind.LEAVE, node)
                peer.release()
            case "timer":
                self.note(Kind.TIMER, node, note=action.timer)
                peer.timer(action.timer)
            case "receive":
                flight = self._arrival(action, Kind.RECEIVE)
                self.fences[node] = max(self.fences[node], flight.fence)
                peer.receive(action.sender, action.message)
            case "lose":
                self._arrival(action, Kind.LOSE)
            case "duplicate":
                self.flights.append(self._find(action))
            case "crash":
                self._crash(node)
        self._carry_out(node)

    def _arrival(self, action: Action, kind: Kind) -> UnderWay:
        flight = self._find(action)
        self.flights.remove(flight)
        if flight.sender == flight.receiver:
            return flight  # its own, on a medium
        self.note(
            kind,
            action.node,
            peer=flight.sender,
            message=flight.message,
            flight=flight.number,
        )
        return flight

    def _find(self, action: Action) -> UnderWay:
        """The first of these messages that knows as much of the latest grant.

        If none does, the receiver knows already, and it does not matter.
        """
        found = [
            f
            for f in self.flights
            if (f.sender, f.receiver, f.message)
            == (action.sender, action.node, action.message)
        ]
        if self.fifo or self.medium:
            return found[0]
        alike = [f for f in found if (f.fence == self.latest) == action.knows]
        return (alike or found)[0]

    def _crash(self, node: NodeId) -> None:
        self.gone.add(node)
        self.flights = [flight for flight in self.flights if flight.receiver != node]
        self.note(Kind.CRASH, node)
        for to in self.peers[node].others():
            if Down in self.peers[to].messages:
                self._send(node, to, Down())

    def _restart(self, node: NodeId) -> None:
        self.gone.discard(node)
        self.note(Kind.RESTART, node)
        self.peers[node] = self.model.make(node)
        self.peers[node].restart()

    def _carry_out(self, node: NodeId) -> None:
        for effect in self.peers[node].drain():
            match effect:
                case Send(to, message):
                    self._send(node, to, message)
                case Broadcast(message):
                    for to in self.peers[node].others():
                        self._send(node, to, message)
                    if self.medium:
                        own = UnderWay(0, node, node, message, self.fences[node])
                        self.flights.append(own)
                case Enter():
                    self.latest = self.fences[node] = self._fence(node)
                    self.note(Kind.ENTER, node, fence=self.latest)
        self.trace.see(self.peers[node])

    def _fence(self, node: NodeId) -> int:
        real = self.model.fence_of
        return real(self.peers[node]) if real else self.fences[node] + 1

    def _send(self, sender: NodeId, to: NodeId, message: Any) -> None:
        number = 1 + sum(step.kind is Kind.SEND for step in self.trace)
        self.note(Kind.SEND, sender, peer=to, message=message, flight=number)
        if to not in self.gone:
            flight = UnderWay(number, sender, to, message, self.fences[sender])
            self.flights.append(flight)
