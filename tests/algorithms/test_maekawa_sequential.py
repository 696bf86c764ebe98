"""Maekawa, section 10: members asked one by one in one order; a claim a test."""

from __future__ import annotations

from collections import Counter

import pytest

from peerlock.algorithms.maekawa import Locked, Release
from peerlock.algorithms.maekawa_sequential import MaekawaSequential, Request
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.peer import Enter, RemoteError, Send
from peerlock.quorums.constructions import KINDS, QuorumSystem, plane
from peerlock.simulator import Heavy, Scenario, empty_trace, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Constant
from peerlock.simulator.load import Light
from peerlock.simulator.network import Network as Wires
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

NAME = "maekawa-sequential"

# Nobody but node 3 is in its own set.
OTHERS = QuorumSystem("others", ((2, 3), (1, 3), (1, 2, 3)))


def given(quorums: QuorumSystem, requests: int) -> Model:
    members = tuple(range(1, quorums.nodes + 1))
    return Model(
        name=quorums.kind,
        make=lambda node: MaekawaSequential(node, members, quorums=quorums),
        nodes=quorums.nodes,
        requests=(requests,) * quorums.nodes,
        network=Network(fifo=True),
    )


# "Two (K-1) messages to create an instance of mutual exclusion", and (K-1) to clear


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 4, 7, 13, 21, 34, 50])
def test_an_entry_costs_3_k_minus_1_when_nobody_competes(n: int, kind: str) -> None:
    for _, node, messages in light_entries(NAME, n, quorums=kind):
        assert messages == 3 * (len(KINDS[kind](n).of(node)) - 1)


@pytest.mark.parametrize("n", [3, 7, 13, 21, 31])
def test_competition_does_not_change_the_count(n: int) -> None:
    """In these planes all sets have the same size."""
    report = simulate(Scenario(NAME, n, 10 * n, Heavy()))
    each = len(plane(n).of(1)) - 1
    sent = dict.fromkeys(("REQUEST", "LOCKED", "RELEASE"), each * report.entries)
    assert report.messages_by_type == sent


@pytest.mark.parametrize("n", [3, 7, 13, 21, 31])
def test_the_greater_delay_is_two_messages_for_each_member(n: int) -> None:
    steady = Wires(Constant(1.0))
    ours, maekawas = (
        simulate(Scenario(name, n, 20, Light(), steady)) for name in (NAME, "maekawa")
    )
    assert ours.response_time.mean == 2 * (len(plane(n).of(1)) - 1)
    assert maekawas.response_time.mean == 2


def test_one_node_needs_no_message() -> None:
    report = simulate(Scenario(NAME, 1, 5, Light()))
    assert (report.entries, report.messages) == (5, 0)


def test_a_node_outside_its_own_set_pays_3_k() -> None:
    for node, cost in ((1, 6), (2, 6), (3, 6)):
        cluster = ByHand(NAME, 3, quorums=OTHERS)
        cluster.request(node)
        cluster.settle()
        cluster.leave(node)
        cluster.settle()
        assert cluster.sent == cost


# "In a systemwise prespecified order, one by one"


def test_a_member_is_asked_after_the_one_before_is_locked() -> None:
    peer = MaekawaSequential(3, (1, 2, 3, 4), quorums=KINDS["majority"](4))
    assert peer.quorum == (1, 3, 4)
    peer.acquire()
    assert peer.drain() == [Send(1, Request())]
    assert 3 not in peer.queue  # our own turn is after node 1
    peer.receive(1, Locked())
    assert 3 in peer.queue
    assert peer.drain() == [Send(4, Request())]
    peer.receive(4, Locked())
    assert peer.drain() == [Enter()]
    peer.release()
    assert peer.drain() == [Send(1, Release()), Send(4, Release())]
    assert 3 not in peer.queue


def test_a_node_waits_in_its_own_queue_too() -> None:
    peer = MaekawaSequential(1, (1, 2, 3))
    assert peer.quorum == (1, 2)
    peer.receive(3, Request())
    peer.acquire()
    assert peer.drain() == [Send(3, Locked())]
    peer.receive(3, Release())
    assert peer.drain() == [Send(2, Request())]


def test_a_member_serves_in_the_order_of_arrival() -> None:
    peer = MaekawaSequential(1, (1, 2, 3, 4))
    for node in (3, 4, 2):
        peer.receive(node, Request())
    for node in (3, 4, 2):
        peer.receive(node, Release())
    assert peer.drain() == [Send(j, Locked()) for j in (3, 4, 2)]


def test_what_makes_no_sense_is_refused() -> None:
    peer = MaekawaSequential(1, (1, 2, 3))
    peer.receive(3, Request())
    peer.receive(2, Request())
    peer.acquire()
    peer.drain()
    before = peer.snapshot()
    for sender, message in (
        (2, Request()),  # once more, while the first one waits
        (2, Release()),  # not locked for it
        (2, Locked()),  # not asked yet
        (3, Locked()),  # not in our set
    ):
        with pytest.raises(RemoteError):
            peer.receive(sender, message)
    assert (peer.snapshot(), peer.drain()) == (before, [])


# What comes of it when all compete


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_has_late_members_only_enters_more_often(kind: str) -> None:
    """And yet nobody waits for more than a few rounds."""
    scenario = Scenario(NAME, 8, 1600, Heavy(), quorums=kind)
    trace = empty_trace(scenario)
    report = simulate(scenario, trace)
    entered = Counter(step.node for step in trace if step.kind is Kind.ENTER)
    latest = max(min(quorum) for quorum in KINDS[kind](8).quorums)
    most = max(entered, key=entered.__getitem__)
    assert min(KINDS[kind](8).of(most)) == latest
    assert entered[most] > 2 * report.entries / 8
    assert report.max_overtaken <= 4 * 8


# Every schedule; more sizes are in test_checker


@pytest.mark.parametrize("kind", ["plane", "grid"])
def test_nobody_starves_with_requests_without_end(kind: str) -> None:
    report = check(model(NAME, 3, None, quorums=kind))
    assert report.holds
    assert report.everyone_entered


@pytest.mark.parametrize(
    ("nodes", "requests", "kind", "counts"),
    [
        (2, 3, "plane", (180, 293, 21, 3, 3)),
        (3, 2, "plane", (2524, 6178, 30, 3, 4)),
        (4, 1, "grid", (4096, 11043, 32, 6, 3)),
    ],
)
def test_it_holds_without_fifo_too(
    nodes: int, requests: int, kind: str, counts: tuple[object, ...]
) -> None:
    report = check(model(NAME, nodes, requests, Network(fifo=False), kind))
    assert report.holds
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts


def test_it_holds_with_sets_without_their_own_node() -> None:
    assert OTHERS.intersecting
    assert check(given(OTHERS, 2)).holds
