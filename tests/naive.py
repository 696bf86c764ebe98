"""The checker's search once more, the slow and obvious way, to hold the fast one against.

A state is a tuple of everything; peers are restored and run for every single step; no
number, no bit, no memory of earlier steps.  It knows no fences and no faults.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from peerlock.checker.model import Model
from peerlock.core.peer import Broadcast, Grant, NodeId, Peer, Send


class Flight(NamedTuple):
    sender: NodeId
    to: NodeId
    message: Any


class World(NamedTuple):
    peers: tuple[tuple[Any, ...], ...]
    left: tuple[int, ...]
    waiting: frozenset[NodeId]
    inside: frozenset[NodeId]
    flights: tuple[Flight, ...]


class Found(NamedTuple):
    states: int
    transitions: int
    depth: int
    violated: str


def explore(model: Model) -> Found:
    peers = [model.make(node) for node in range(1, model.nodes + 1)]
    assert model.requests is not None
    world = World((), model.requests, frozenset(), frozenset(), ())
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
            if here.waiting and not here.inside and not here.flights:
                return Found(len(seen), transitions, depth, "stuck")
            for then in successors:
                if then not in seen:
                    seen.add(then)
                    following.append(then)
        if any(len(then.inside) > 1 for then in following):
            return Found(len(seen), transitions, depth + 1, "exclusion")
        if not following:
            return Found(len(seen), transitions, depth, "")
        layer, depth = following, depth + 1


def steps(world: World, model: Model, peers: list[Peer]) -> Iterator[World]:
    for peer in peers:
        me = peer.me
        if me in world.inside:
            peer.restore(world.peers[me - 1])
            peer.release()
            yield carry_out(world._replace(inside=world.inside - {me}), model, peer)
        elif me not in world.waiting and world.left[me - 1]:
            peer.restore(world.peers[me - 1])
            peer.acquire()
            left = tuple(n - (i == me) for i, n in enumerate(world.left, 1))
            waiting = world.waiting | {me}
            yield carry_out(world._replace(left=left, waiting=waiting), model, peer)
    for flight in deliverable(world.flights, model.network.fifo):
        peer = peers[flight.to - 1]
        peer.restore(world.peers[flight.to - 1])
        peer.receive(flight.sender, flight.message)
        flights = list(world.flights)
        flights.remove(flight)
        yield carry_out(world._replace(flights=tuple(flights)), model, peer)


def deliverable(flights: tuple[Flight, ...], fifo: bool) -> list[Flight]:
    if not fifo:
        return list(dict.fromkeys(flights))
    first: dict[tuple[NodeId, NodeId], Flight] = {}
    for flight in flights:
        first.setdefault((flight.sender, flight.to), flight)
    return list(first.values())


def carry_out(world: World, model: Model, peer: Peer) -> World:
    flights = list(world.flights)
    waiting, inside = world.waiting, world.inside
    for effect in peer.drain():
        match effect:
            case Send(to, message):
                flights.append(Flight(peer.me, to, message))
            case Broadcast(message):
                flights += [Flight(peer.me, to, message) for to in peer.others()]
            case Grant():
                waiting, inside = waiting - {peer.me}, inside | {peer.me}
    key = (lambda f: (f.sender, f.to)) if model.network.fifo else repr
    snapshots = list(world.peers)
    snapshots[peer.me - 1 : peer.me] = [peer.snapshot()]
    flights.sort(key=key)
    return World(tuple(snapshots), world.left, waiting, inside, tuple(flights))
