"""Maekawa, section 10: the REQUEST goes from member to member; a claim a test."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from itertools import pairwise

import pytest

from peerlock.algorithms.maekawa import Locked, Release
from peerlock.algorithms.maekawa_cyclic import MaekawaCyclic, Request
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.peer import Enter, NodeId, RemoteError, Send
from peerlock.quorums.constructions import KINDS, QuorumSystem, grid, majority
from peerlock.simulator import Heavy, Scenario, empty_trace, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Constant
from peerlock.simulator.load import Light
from peerlock.simulator.network import Network as Wires
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

NAME = "maekawa-cyclic"

# Nobody but node 3 is in its own set.
OTHERS = QuorumSystem("others", ((2, 3), (1, 3), (1, 2, 3)))

# The plane of seven nodes, its lines dealt out so that each node is at an end of its own.
ENDS = QuorumSystem(
    "ends",
    ((1, 2, 4), (2, 6, 7), (3, 4, 6), (4, 5, 7), (2, 3, 5), (1, 5, 6), (1, 3, 7)),
)


def given(
    quorums: QuorumSystem, requests: int, peer: type[MaekawaCyclic] = MaekawaCyclic
) -> Model:
    members = tuple(range(1, quorums.nodes + 1))
    return Model(
        name=quorums.kind,
        make=lambda node: peer(node, members, quorums=quorums),
        nodes=quorums.nodes,
        requests=(requests,) * quorums.nodes,
        network=Network(fifo=True),
    )


def to_enter(node: NodeId, members: tuple[NodeId, ...]) -> int:
    """A message to each stop that is not the one before it, the way back included."""
    stops = (node, *members, node)
    return sum(a != b for a, b in pairwise(stops))


def cost(node: NodeId, members: tuple[NodeId, ...]) -> int:
    return to_enter(node, members) + sum(member != node for member in members)


# "K message passes", and K-1 to clear


@pytest.mark.parametrize("quorums", [ENDS, *map(majority, (2, 3))], ids=lambda q: q.nodes)
def test_a_node_at_an_end_of_its_set_needs_k_messages_to_enter(
    quorums: QuorumSystem,
) -> None:
    assert quorums.intersecting
    k = quorums.sizes.max
    for node in range(1, quorums.nodes + 1):
        cluster = ByHand(NAME, quorums.nodes, quorums=quorums)
        cluster.request(node)
        cluster.settle()
        assert cluster.judge.inside == {node}
        assert cluster.sent == k
        cluster.leave(node)
        cluster.settle()
        assert cluster.sent == k + k - 1


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 4, 7, 13, 21, 34, 50])
def test_an_entry_costs_2_k_minus_1_or_one_more_in_the_middle(n: int, kind: str) -> None:
    for _, node, messages in light_entries(NAME, n, quorums=kind):
        members = KINDS[kind](n).of(node)
        at_an_end = node in (members[0], members[-1])
        alone = members == (node,)
        assert messages == (0 if alone else 2 * len(members) - at_an_end)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 7, 13, 25])
def test_competition_does_not_change_the_count(n: int, kind: str) -> None:
    scenario = Scenario(NAME, n, 10 * n, Heavy(), quorums=kind)
    trace = empty_trace(scenario)
    report = simulate(scenario, trace)
    entered = (step.node for step in trace if step.kind is Kind.ENTER)
    assert report.messages == sum(cost(node, KINDS[kind](n).of(node)) for node in entered)


@pytest.mark.parametrize("n", [4, 9, 16, 25])
def test_it_saves_messages_and_time_over_asking_one_by_one(n: int) -> None:
    steady = Wires(Constant(1.0))
    ours, one_by_one = (
        simulate(Scenario(name, n, 40, Light(), steady, quorums="grid"))
        for name in (NAME, "maekawa-sequential")
    )
    assert ours.messages_per_entry <= one_by_one.messages_per_entry
    assert ours.response_time.max <= grid(n).sizes.max + 1
    assert ours.response_time.mean <= one_by_one.response_time.mean


def test_one_node_needs_no_message() -> None:
    report = simulate(Scenario(NAME, 1, 5, Light()))
    assert (report.entries, report.messages) == (5, 0)


def test_a_node_outside_its_own_set_pays_2_k_plus_1() -> None:
    for node in (1, 2, 3):
        cluster = ByHand(NAME, 3, quorums=OTHERS)
        cluster.request(node)
        cluster.settle()
        cluster.leave(node)
        cluster.settle()
        assert cluster.sent == cost(node, OTHERS.of(node)) == 5


# From member to member


def test_a_member_that_is_locked_passes_on_and_the_last_answers() -> None:
    for node, onward in ((1, Send(2, Request(3))), (2, Send(3, Request(3)))):
        peer = MaekawaCyclic(node, (1, 2, 3), quorums=OTHERS)
        peer.receive(3 if node == 1 else 1, Request(3))
        assert peer.drain() == [onward]
    last = MaekawaCyclic(3, (1, 2, 3), quorums=OTHERS)
    last.receive(2, Request(1))
    assert last.drain() == [Send(1, Locked())]


def test_a_request_comes_by_its_own_node_when_that_ones_turn_comes() -> None:
    peer = MaekawaCyclic(3, (1, 2, 3, 4), quorums=majority(4))
    assert peer.quorum == (1, 3, 4)
    peer.acquire()
    assert peer.drain() == [Send(1, Request(3))]
    assert 3 not in peer.queue
    peer.receive(1, Request(3))
    assert peer.drain() == [Send(4, Request(3))]
    peer.receive(4, Locked())
    assert peer.drain() == [Enter()]
    peer.release()
    assert peer.drain() == [Send(1, Release()), Send(4, Release())]


def test_a_request_waits_where_it_is() -> None:
    peer = MaekawaCyclic(2, (1, 2, 3), quorums=OTHERS)
    peer.receive(1, Request(1))
    peer.receive(1, Request(3))
    assert peer.drain() == [Send(3, Request(1))]
    peer.receive(1, Release())
    assert peer.drain() == [Send(3, Request(3))]


def test_what_makes_no_sense_is_refused() -> None:
    peer = MaekawaCyclic(1, (1, 2, 3), quorums=OTHERS)
    peer.receive(2, Request(2))
    peer.receive(3, Request(3))
    peer.acquire()
    peer.drain()
    before = peer.snapshot()
    for sender, message in (
        (3, Request(3)),  # once more, while the first one waits
        (3, Request(4)),  # by nobody
        (3, Request(1)),  # we are not in our own set
        (3, Request(2)),  # we are the first that node 2 asks
        (3, Release()),  # not locked for it
        (2, Locked()),  # not the last of our set
    ):
        with pytest.raises(RemoteError):
            peer.receive(sender, message)
    assert (peer.snapshot(), peer.drain()) == (before, [])
    peer.receive(3, Locked())
    with pytest.raises(RemoteError):
        peer.receive(3, Locked())


# What comes of it when all compete


@pytest.mark.parametrize("kind", KINDS)
def test_whoever_has_late_members_only_enters_more_often(kind: str) -> None:
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
        (4, 1, "grid", (3708, 9903, 30, 6, 3)),
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


@dataclass(eq=False)
class Impatient(MaekawaCyclic):
    """Takes FIFO to mean that a node's RELEASE comes before its next REQUEST."""

    def admit(self, node: NodeId) -> None:
        if node in self.queue:
            raise RemoteError(f"{node} requests again before it has released")
        super().admit(node)


def test_fifo_does_not_keep_a_request_behind_the_release_before_it() -> None:
    """The REQUEST takes the way by another member."""
    violation = check(given(OTHERS, 2, Impatient)).violation
    assert violation is not None
    assert violation.property == "remote error"


def test_to_go_round_from_the_own_node_deadlocks_with_three() -> None:
    violation = check(model("maekawa-cyclic-round", 3, 1)).violation
    assert violation is not None
    assert violation.property == "deadlock"
    assert violation.depth == 6
