"""The checker's search once more, the slow and obvious way, to hold the fast one against.

A state is a tuple of everything; peers are restored and run for every single step; no
number, no bit, no memory of earlier steps.  Fences, if it is to watch them, are counted as
a node counts them.  It knows no faults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

from peerlock.checker.model import Model
from peerlock.core.peer import Broadcast, CancelTimer, Enter, NodeId, Peer, Send, SetTimer


class Flight(NamedTuple):
    sender: NodeId
    to: NodeId
    message: Any
    fence: int


class World(NamedTuple):
    peers: tuple[tuple[Any, ...], ...]
    left: tuple[int, ...]
    waiting: frozenset[NodeId]
    inside: frozenset[NodeId]
    flights: tuple[Flight, ...]
    fences: tuple[int, ...]
    latest: int = 0  # fence of a grant
    fell: bool = False
    demands: frozenset[tuple[NodeId, Any]] = frozenset()  # of those that wait or are inside
    timers: frozenset[tuple[NodeId, str]] = frozenset()


class Found(NamedTuple):
    states: int
    transitions: int
    depth: int
    violated: str


def explore(model: Model) -> Found:
    peers = [model.make(node) for node in range(1, model.nodes + 1)]
    assert model.requests is not None
    fences = (0,) * model.nodes
    world = World((), model.requests, frozenset(), frozenset(), (), fences)
    for peer in peers:
        peer.start()
        world = carry_out(world, model, peer)
    world = world._replace(peers=tuple(peer.snapshot() for peer in peers))
    seen, layer, transitions, depth = {world}, [world], 0, 0
    while True:
        following: list[World] = []
        for here in layer:
            successors = list(steps(here, model, peers))
            transitions += len(successors)
            if here.waiting and not (here.inside or here.flights or here.timers):
                return Found(len(seen), transitions, depth, "stuck")
            for then in successors:
                if then not in seen and not beyond(then, model):
                    seen.add(then)
                    following.append(then)
        if any(crowded(then, model) for then in following):
            return Found(len(seen), transitions, depth + 1, "exclusion")
        if any(then.fell for then in following):
            return Found(len(seen), transitions, depth + 1, "fence")
        if not following:
            return Found(len(seen), transitions, depth, "")
        layer, depth = following, depth + 1


def beyond(world: World, model: Model) -> bool:
    return model.within is not None and not all(map(model.within, world.peers))


def crowded(world: World, model: Model) -> bool:
    return not model.rule.together([d for node, d in world.demands if node in world.inside])


def steps(world: World, model: Model, peers: list[Peer]) -> Iterator[World]:
    for peer in peers:
        me = peer.me
        if me in world.inside:
            peer.restore(world.peers[me - 1])
            peer.release()
            inside = world.inside - {me}
            demands = frozenset(pair for pair in world.demands if pair[0] != me)
            yield carry_out(world._replace(inside=inside, demands=demands), model, peer)
        elif me not in world.waiting and world.left[me - 1]:
            left = tuple(n - (i == me) for i, n in enumerate(world.left, 1))
            asked = world._replace(left=left, waiting=world.waiting | {me})
            for demand in model.rule.demands:
                peer.restore(world.peers[me - 1])
                peer.acquire_for(demand)
                demands = world.demands | {(me, demand)}
                yield carry_out(asked._replace(demands=demands), model, peer)
    for me, name in world.timers:
        if not (world.flights and name in model.outlasting):
            peer = peers[me - 1]
            peer.restore(world.peers[me - 1])
            peer.timer(name)
            yield carry_out(world._replace(timers=world.timers - {(me, name)}), model, peer)
    for flight in deliverable(world.flights, model):
        peer = peers[flight.to - 1]
        peer.restore(world.peers[flight.to - 1])
        peer.receive(flight.sender, flight.message)
        flights = list(world.flights)
        flights.remove(flight)
        fences = list(world.fences)
        fences[flight.to - 1] = max(fences[flight.to - 1], flight.fence)
        then = world._replace(flights=tuple(flights), fences=tuple(fences))
        yield carry_out(then, model, peer)


def deliverable(flights: tuple[Flight, ...], model: Model) -> list[Flight]:
    if model.medium:
        return list({flight.to: flight for flight in reversed(flights)}.values())
    if not model.network.fifo:
        return list(dict.fromkeys(flights))
    first: dict[tuple[NodeId, NodeId], Flight] = {}
    for flight in flights:
        first.setdefault((flight.sender, flight.to), flight)
    return list(first.values())


def ordering(model: Model) -> Callable[[Flight], Any]:
    """What makes equal worlds equal, and keeps messages in order where they are."""
    if model.medium:
        return lambda f: f.to
    return (lambda f: (f.sender, f.to)) if model.network.fifo else repr


def carry_out(world: World, model: Model, peer: Peer) -> World:
    me, flights, fences = peer.me, list(world.flights), list(world.fences)
    for effect in peer.drain():
        match effect:
            case Send(to, message):
                flights.append(Flight(me, to, message, fences[me - 1]))
            case Broadcast(message):
                heard = peer.members if model.medium else peer.others()
                flights += [Flight(me, to, message, fences[me - 1]) for to in heard]
            case SetTimer(name):
                world = world._replace(timers=world.timers | {(me, name)})
            case CancelTimer(name):
                world = world._replace(timers=world.timers - {(me, name)})
            case Enter():
                fences[me - 1] += model.fences
                world = world._replace(
                    waiting=world.waiting - {me},
                    inside=world.inside | {me},
                    fell=model.fences and fences[me - 1] <= world.latest,
                    latest=fences[me - 1],
                )
    flights.sort(key=ordering(model))
    snapshots = list(world.peers)
    snapshots[me - 1 : me] = [peer.snapshot()]
    return world._replace(
        peers=tuple(snapshots), flights=tuple(flights), fences=tuple(fences)
    )
