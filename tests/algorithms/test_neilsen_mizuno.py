"""Neilsen and Mizuno: edges point to the node that asked last; a test for each claim."""

from __future__ import annotations

import pytest

from peerlock.algorithms.neilsen_mizuno import PRIVILEGE, NeilsenMizuno, Request
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.peer import Enter, NodeId, RemoteError, Send
from peerlock.core.topology import Star, topology
from peerlock.node.terms import blueprint, demand, settle
from peerlock.simulator import Heavy, Light, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from tests.support.counts import light_entries
from tests.support.trees import distance

NAME = "neilsen-mizuno"
SPECS = ["line", "star", "tree", "tree:3"]


# "An upper bound equal to D+1. In a star topology the upper bound is 3. For a linear
# topology, the upper bound is N"


@pytest.mark.parametrize("spec", SPECS)
@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_an_entry_costs_the_way_to_the_holder_and_one_privilege(spec: str, n: int) -> None:
    tree = topology(spec, n)
    for holder, node, messages in light_entries(NAME, n, 60, topology=spec):
        away = distance(tree, holder or 1, node)
        assert messages == (away + 1 if away else 0) <= tree.diameter + 1


@pytest.mark.parametrize("n", [3, 5, 10, 20, 50])
@pytest.mark.parametrize("spec", ["star", "line"])
def test_the_bound_is_reached_between_the_ends(spec: str, n: int) -> None:
    """3 on a star, from leaf to leaf; N on a line, from end to end."""
    first = 2 if spec == "star" else 1
    tree = topology(spec, n)
    cluster = ByHand(NAME, n, topology=tree, first_holder=first)
    cluster.request(n)
    cluster.settle()
    assert cluster.judge.inside == {n}
    assert cluster.sent == tree.diameter + 1 == (3 if spec == "star" else n)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
@pytest.mark.parametrize("spec", SPECS)
def test_d_plus_1_is_not_exceeded_when_all_compete(spec: str, n: int) -> None:
    report = simulate(Scenario(NAME, n, 20 * n, Heavy(), topology=spec))
    assert report.messages_per_entry <= topology(spec, n).diameter + 1


@pytest.mark.parametrize("n", [5, 10, 25, 50])
def test_a_star_where_all_compete_saves_a_message_when_the_centre_takes_part(
    n: int,
) -> None:
    """In each round the centre forwards nothing for itself, and nothing to itself."""
    report = simulate(Scenario(NAME, n, 60 * n, Heavy(), topology="star"))
    assert report.messages_per_entry == pytest.approx(3 - 2 / n, abs=0.02)


@pytest.mark.parametrize("n", [3, 10, 50])
def test_a_star_on_average(n: int) -> None:
    """Of n² pairs (holder, node): n cost 0, those with the centre 2, all others 3."""
    report = simulate(Scenario(NAME, n, 8000, Light(), topology="star"))
    mean = (n - 1) * (2 * 2 + 3 * (n - 2)) / n**2
    assert report.messages_per_entry == pytest.approx(mean, rel=0.02)


# "Node j sets LAST := 0, becoming a sink node, and waits"


def test_who_asks_becomes_a_sink() -> None:
    peer = NeilsenMizuno(4, (1, 2, 3, 4), topology=topology("line", 4))
    assert peer.last == 3
    peer.acquire()
    assert peer.drain() == [Send(3, Request(4))]
    assert (peer.last, peer.next) == (0, 0)


def test_a_sink_that_waits_notes_the_origin_and_turns_to_the_neighbour() -> None:
    peer = NeilsenMizuno(4, (1, 2, 3, 4), topology=topology("line", 4))
    peer.acquire()
    peer.drain()
    peer.receive(3, Request(1))
    assert peer.drain() == []
    assert (peer.last, peer.next) == (3, 1)


def test_an_intermediate_node_forwards_and_turns() -> None:
    peer = NeilsenMizuno(3, (1, 2, 3, 4), topology=topology("line", 4))
    peer.receive(4, Request(4))
    assert peer.drain() == [Send(2, Request(4))]
    assert (peer.last, peer.next) == (4, 0)


def test_an_idle_sink_sends_the_privilege_straight_to_the_origin() -> None:
    peer = NeilsenMizuno(1, (1, 2, 3, 4), topology=topology("line", 4))
    peer.receive(2, Request(4))
    assert peer.drain() == [Send(4, PRIVILEGE)]
    assert (peer.last, peer.holding) == (2, False)


def test_the_holder_of_an_idle_token_enters_without_a_message() -> None:
    peer = NeilsenMizuno(1, (1, 2, 3))
    for _ in range(2):
        peer.acquire()
        assert peer.drain() == [Enter()]
        peer.release()
        assert peer.drain() == []


# "The queue of pending requests can be deduced by following the state of NEXT"


def test_following_next_from_the_holder_is_the_queue() -> None:
    cluster = ByHand(NAME, 7, topology=topology("tree", 7))
    order = (5, 2, 7, 1, 4)
    for node in order:
        cluster.request(node)
        cluster.settle()
    assert queue(cluster) == list(order)
    for served, node in enumerate(order, start=1):
        assert cluster.judge.inside == {node}
        cluster.leave(node)
        cluster.settle()
        assert queue(cluster) == list(order[served:]) or served == len(order)


def queue(cluster: ByHand) -> list[NodeId]:
    at = next(i for i in cluster.members if peer(cluster, i).holding)
    found = []
    while at:
        found.append(at)
        at = peer(cluster, at).next
    return found


def peer(cluster: ByHand, node: NodeId) -> NeilsenMizuno:
    found = cluster.peers[node]
    assert isinstance(found, NeilsenMizuno)
    return found


@pytest.mark.parametrize("spec", SPECS)
def test_from_every_node_last_leads_to_the_one_sink(spec: str) -> None:
    """The graph is acyclic, when no request is under way."""
    n = 12
    cluster = ByHand(NAME, n, topology=topology(spec, n))
    for node in (9, 4, 12, 7):
        cluster.request(node)
        cluster.settle()
        for start in cluster.members:
            at, steps = start, 0
            while onward := peer(cluster, at).last:
                at, steps = onward, steps + 1
                assert steps < n
            assert at == node


# Invalid messages


@pytest.mark.parametrize(
    ("sender", "message"),
    [
        (2, Request(2)),  # the sink is in that direction
        (5, Request(5)),  # no neighbour
        (2, PRIVILEGE),  # not asked for
    ],
    ids=str,
)
def test_senseless_messages(sender: NodeId, message: Request) -> None:
    peer = NeilsenMizuno(3, (1, 2, 3, 4, 5), topology=topology("line", 5))
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(sender, message)
    assert (peer.snapshot(), peer.drain()) == (before, [])


# Every schedule; the smaller sizes are pinned with those of the other algorithms


@pytest.mark.parametrize(
    ("nodes", "requests", "spec", "counts"),
    [
        (3, 2, "star", (1184, 2461, 20, 3, 4)),
        (3, 2, "line", (1202, 2497, 21, 3, 4)),
        (4, 1, "star", (1376, 3254, 18, 3, 3)),
        (4, 1, "line", (1590, 3714, 18, 4, 3)),
        (4, 1, "tree", (1493, 3503, 18, 4, 3)),
        (4, 1, "edges:3-1,3-2,3-4", (1540, 3620, 18, 3, 3)),
        (4, 2, "line", (25778, 66536, 31, 4, 6)),
    ],
)
def test_it_holds_with_the_pinned_counts(
    nodes: int, requests: int, spec: str, counts: tuple[object, ...]
) -> None:
    report = check(model(NAME, nodes, requests, topology=spec))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts
    assert counts[3] == topology(spec, nodes).diameter + 1  # reached, never passed


@pytest.mark.parametrize(("spec", "states"), [("star", 1986), ("line", 2025)])
def test_nobody_waits_for_ever(spec: str, states: int) -> None:
    report = check(model(NAME, 4, None, topology=spec))
    assert report.holds
    assert report.coverage.states == states


def test_as_a_lock_it_runs_on_a_star_around_the_member_that_begins() -> None:
    """Requests go to that member first, so they keep the order of a circle."""
    terms = settle(demand("neilsen-mizuno"), start=2)
    settings = blueprint(terms, members=4).settings
    assert settings == {"first_holder": 3, "topology": Star(4, centre=3)}
