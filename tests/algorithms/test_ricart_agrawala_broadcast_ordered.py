"""TR-869, section 6.2.1: the medium orders the REQUESTs; a claim a test."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerlock.algorithms.ricart_agrawala import REPLY
from peerlock.algorithms.ricart_agrawala_broadcast_ordered import (
    Request,
    RicartAgrawalaBroadcastOrdered,
)
from peerlock.checker.check import check
from peerlock.checker.model import Network, model
from peerlock.core.peer import Broadcast, Enter, NodeId, RemoteError
from peerlock.simulator import Heavy, Level, Light, Scenario, empty_trace, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Exponential
from peerlock.simulator.load import Load
from peerlock.simulator.network import Network as Wires
from peerlock.traces.trace import Kind, Trace

NAME = "ricart-agrawala-broadcast-ordered"


def run(n: int, load: Load, seed: int = 1) -> Trace:
    scenario = Scenario(NAME, n, 20 * n, load, Wires(Exponential(1.0)), seed=seed)
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    return trace


# "Only two messages per critical section invocation are required"


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
@pytest.mark.parametrize("load", [Light(), Level(0.1), Heavy()], ids=str)
def test_an_entry_costs_two_broadcasts(n: int, load: Load) -> None:
    report = simulate(Scenario(NAME, n, 20 * n, load))
    assert report.messages_by_type == {"REQUEST": report.entries, "REPLY": report.entries}


# "The broadcast medium enforces serialization of the REQUESTs"


@pytest.mark.parametrize("seed", range(5))
def test_all_hear_the_same_in_the_same_order(seed: int) -> None:
    n = 5
    heard: dict[NodeId, list[object]] = {node: [] for node in range(1, n + 1)}
    for step in run(n, Heavy(), seed):
        if step.kind is Kind.RECEIVE:
            heard[step.node].append((step.peer, type(step.message)))
    for a in heard:
        for b in heard:
            ours = [what for what in heard[a] if what[0] != b]  # type: ignore[index]
            theirs = [what for what in heard[b] if what[0] != a]  # type: ignore[index]
            assert ours == theirs


@pytest.mark.parametrize("seed", range(5))
def test_entries_follow_the_order_of_the_medium(seed: int) -> None:
    """The REQUESTs of others as node 1 hears them, and who enters."""
    trace = run(4, Level(0.3), seed)
    asked = [
        step.peer
        for step in trace
        if step.kind is Kind.RECEIVE and step.node == 1 and step.message == Request()
    ]
    entered = [step.node for step in trace if step.kind is Kind.ENTER and step.node != 1]
    assert asked == entered


# "REPLYs are only needed from those which have broadcast a prior REQUEST"


def peer() -> RicartAgrawalaBroadcastOrdered:
    return RicartAgrawalaBroadcastOrdered(2, (1, 2, 3))


def test_nobody_is_waited_for_who_has_not_asked_before() -> None:
    node = peer()
    node.acquire()
    assert node.drain() == [Broadcast(Request())]
    node.receive(2, Request())
    assert node.drain() == [Enter()]


def test_who_has_asked_before_must_reply() -> None:
    node = peer()
    node.acquire()
    node.receive(3, Request())
    node.receive(2, Request())
    node.receive(1, Request())
    assert Enter() not in node.drain()
    node.receive(3, REPLY)
    assert node.drain() == [Enter()]
    node.release()
    assert node.drain() == [Broadcast(REPLY)]


def test_a_request_counts_from_when_it_is_heard_and_not_from_when_it_is_made() -> None:
    cluster = ByHand(NAME, 3)
    cluster.request(1)
    cluster.request(3)
    cluster.settle()
    assert cluster.judge.inside == {1}
    cluster.request(2)
    cluster.leave(1)
    cluster.request(1)
    cluster.settle()
    assert cluster.judge.inside == {3}


def test_our_next_request_is_not_taken_for_the_last_one() -> None:
    node = peer()
    node.acquire()
    node.receive(2, Request())
    node.release()
    node.acquire()
    node.drain()
    node.receive(1, Request())
    node.receive(2, REPLY)
    node.receive(2, Request())
    assert node.drain() == []
    assert node.queue == (1, 2)


@pytest.mark.parametrize(("sender", "message"), [(3, REPLY), (1, Request())], ids=str)
def test_nonsense_is_refused(sender: NodeId, message: object) -> None:
    node = peer()
    node.receive(1, Request())
    before = node.snapshot()
    with pytest.raises(RemoteError):
        node.receive(sender, message)
    assert node.snapshot() == before


# Every schedule


def test_it_holds_with_whatever_delay_on_the_medium() -> None:
    report = check(model(NAME, 3, (2, 1, 1)))
    assert report.holds
    assert report.coverage == (27498, 78654, 32)
    assert report.max_overtaken == 2


def test_nobody_is_overtaken_by_the_same_node_twice() -> None:
    for nodes, requests in ((2, 4), (3, 1)):
        assert check(model(NAME, nodes, requests)).max_overtaken == nodes - 1


def test_without_a_medium_nobody_knows_its_place() -> None:
    chosen = replace(model(NAME, 2, 1, Network(fifo=True)), medium=False)
    violation = check(chosen).violation
    assert violation is not None
    assert violation.property == "deadlock"
