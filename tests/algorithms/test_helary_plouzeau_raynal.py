"""Hélary, Plouzeau and Raynal: an arbitrary network, flooded, a claim a test."""

from __future__ import annotations

from dataclasses import dataclass, replace

import pytest

from peerlock.algorithms.helary_plouzeau_raynal import (
    HelaryPlouzeauRaynal,
    HelaryPlouzeauRaynalBehind,
    Request,
    Token,
)
from peerlock.checker.check import check
from peerlock.checker.model import exhibit, model
from peerlock.core.peer import Enter, NodeId, RemoteError, Send
from peerlock.core.topology import Graph, Ring, topology
from peerlock.simulator import Heavy, Level, Light, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Exponential
from peerlock.simulator.load import Load
from peerlock.simulator.network import Network as Wire
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries
from tests.support.trees import distance

NAME = "helary-plouzeau-raynal"
SIZES = [2, 3, 5, 10, 20, 50]


KITE = "graph:1-2,2-3,3-1,3-4"
SQUARE_AND_DIAGONAL = "graph:1-2,2-3,3-4,4-1,1-3"
PETERSEN = "graph:1-2,2-3,3-4,4-5,5-1,1-6,2-7,3-8,4-9,5-10,6-8,7-9,8-10,9-6,10-7"

each_network = pytest.mark.parametrize(
    ("spec", "n"), [(KITE, 4), (SQUARE_AND_DIAGONAL, 4), (PETERSEN, 10)]
)


@dataclass(frozen=True)
class NeighboursOnly(Graph):
    """A network of which a node can learn its neighbours only."""

    @property
    def diameter(self) -> int:
        raise AssertionError("no node knows this")

    def next_hop(self, node: NodeId, to: NodeId) -> NodeId:
        raise AssertionError("no node knows this")

    def onward(self, node: NodeId, came_from: NodeId, origin: NodeId) -> tuple[NodeId, ...]:
        raise AssertionError("no node knows this")


def neighbours_only(spec: str, n: int) -> NeighboursOnly:
    found = topology(spec, n)
    assert isinstance(found, Graph)
    return NeighboursOnly(n, found.links)


# "In a complete network the total message number is N"


@pytest.mark.parametrize("n", SIZES)
def test_a_complete_network_costs_n(n: int) -> None:
    for holder, node, messages in light_entries(NAME, n, 40, topology="complete"):
        assert messages == (0 if node == (holder or 1) else n)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_a_complete_network_costs_no_more_when_all_compete(n: int) -> None:
    report = simulate(Scenario(NAME, n, 20 * n, Heavy(), topology="complete"))
    assert n - 1 <= report.messages_per_entry <= n


# "For a linear topology, the total number bounds are N and 2(N-1)"; N to N-1+D on a tree


@pytest.mark.parametrize("spec", ["line", "star", "tree", "tree:3"])
@pytest.mark.parametrize("n", SIZES)
def test_a_tree_costs_a_request_to_everyone_and_the_way_back(spec: str, n: int) -> None:
    tree = topology(spec, n)
    for holder, node, messages in light_entries(NAME, n, 60, topology=spec):
        away = distance(tree, holder or 1, node)
        assert messages == (n - 1 + away if away else 0)
        assert not away or n <= messages <= n - 1 + tree.diameter


@pytest.mark.parametrize("n", SIZES)
def test_both_bounds_of_a_line_are_reached(n: int) -> None:
    for asking, cost in ((2, n), (n, 2 * (n - 1))):
        cluster = ByHand(NAME, n, topology=topology("line", n))
        cluster.request(asking)
        cluster.settle()
        assert cluster.judge.inside == {asking}
        assert cluster.sent == cost


@pytest.mark.parametrize("spec", ["line", "star", "tree", "tree:3"])
@pytest.mark.parametrize("n", [2, 5, 10, 25])
def test_a_tree_where_all_compete_costs_no_more(spec: str, n: int) -> None:
    report = simulate(Scenario(NAME, n, 20 * n, Heavy(), topology=spec))
    assert n - 1 <= report.messages_per_entry <= n - 1 + topology(spec, n).diameter


# "From N to 2N in a ring topology"


@pytest.mark.parametrize("n", SIZES)
@pytest.mark.parametrize("steady", [True, False], ids=["steady", "any order"])
def test_a_ring_costs_n_to_2n(n: int, steady: bool) -> None:
    wire = None if steady else Wire(Exponential(1.0), fifo=False)
    scenario = Scenario(NAME, n, 1, Light(), network=wire, topology="ring")
    for seed in range(30):
        cost = simulate(replace(scenario, seed=seed)).messages_per_entry
        assert cost == 0 or n <= cost <= 2 * n


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_a_ring_where_all_compete_costs_n_to_2n(n: int) -> None:
    report = simulate(Scenario(NAME, n, 20 * n, Heavy(), topology="ring"))
    assert n - 1 <= report.messages_per_entry <= 2 * n


# "The only knowledge owned by a node is the name of its neighbors"; n to 2e+n-1 messages,
# e the number of links, as Chaudhuri and Edward have it


@each_network
def test_an_arbitrary_network_costs_n_to_2e_plus_n_minus_1(spec: str, n: int) -> None:
    network, links = neighbours_only(spec, n), spec.count("-")
    for asking in range(2, n + 1):
        cluster = ByHand(NAME, n, topology=network)
        cluster.request(asking)
        cluster.settle()
        assert cluster.judge.inside == {asking}
        assert n <= cluster.sent <= 2 * links + n - 1


@each_network
@pytest.mark.parametrize("load", [Light(), Heavy(), Level(0.1)], ids=str)
def test_an_arbitrary_network_costs_no_more_in_a_run(spec: str, n: int, load: Load) -> None:
    report = simulate(Scenario(NAME, n, 20 * n, load, topology=spec))
    assert report.entries == 20 * n
    assert report.messages_per_entry <= 2 * spec.count("-") + n - 1


@each_network
def test_a_message_goes_to_a_neighbour(spec: str, n: int) -> None:
    network = neighbours_only(spec, n)
    cluster = ByHand(NAME, n, topology=network)
    for node in (4, 2, 3):
        cluster.request(node)
    while cluster.judge.waiting or cluster.judge.inside:
        cluster.settle()
        for node in list(cluster.judge.inside):
            cluster.leave(node)
    for step in cluster.trace:
        if step.kind is Kind.SEND:
            assert step.peer in network.neighbours(step.node)


# "Finds out to which of its own neighbors the request has not been sent yet"


def ring_of_five(me: NodeId, first_holder: NodeId = 1) -> HelaryPlouzeauRaynal:
    members = (1, 2, 3, 4, 5)
    return HelaryPlouzeauRaynal(me, members, topology=Ring(5), first_holder=first_holder)


def test_a_request_goes_to_all_neighbours_and_says_so() -> None:
    peer = ring_of_five(3)
    peer.acquire()
    request = Request(3, 1, (2, 3, 4))
    assert peer.drain() == [Send(2, request), Send(4, request)]


def test_a_request_is_passed_on_to_those_who_have_not_been_sent_it() -> None:
    peer = ring_of_five(2)
    peer.receive(3, Request(3, 1, (2, 3, 4)))
    assert peer.drain() == [Send(1, Request(3, 1, (1, 2, 3, 4)))]
    assert peer.way_back == (0, 0, 3, 0, 0)
    peer.receive(1, Request(3, 1, (1, 2, 3, 4, 5)))  # the other way round: known
    assert peer.drain() == []
    assert peer.way_back == (0, 0, 3, 0, 0)


def test_nobody_is_sent_what_was_sent_to_all() -> None:
    peer = ring_of_five(1)
    peer.acquire()
    peer.drain()
    peer.receive(2, Request(3, 1, (1, 2, 3, 4, 5)))
    assert peer.drain() == []


def test_an_idle_holder_passes_the_request_on_and_sends_the_token() -> None:
    peer = ring_of_five(1)
    peer.receive(2, Request(3, 1, (1, 2, 3, 4)))
    assert peer.drain() == [
        Send(5, Request(3, 1, (1, 2, 3, 4, 5))),
        Send(2, Token(3, (0, 0, 1, 0, 0))),
    ]


# "Forwards the token to its neighbor following the return path"


def test_a_token_for_somebody_else_is_passed_on_even_by_one_that_waits() -> None:
    peer = ring_of_five(2)
    peer.receive(3, Request(3, 1, (2, 3, 4)))
    peer.acquire()
    peer.drain()
    token = Token(3, (0, 0, 1, 0, 0))
    peer.receive(1, token)
    assert peer.drain() == [Send(3, token)]
    own = Token(2, (0, 2, 1, 0, 0))
    peer.receive(3, own)
    assert peer.drain() == [Enter()]


# "Node i finds the oldest request from its own set of pending ones"


@pytest.mark.parametrize(
    ("requests", "oldest"),
    [
        ({2: 3, 5: 2}, 5),
        ({2: 2, 5: 2}, 2),  # a tie, which the lower node wins
        ({5: 1}, 5),
    ],
)
def test_the_oldest_request_is_granted_first(
    requests: dict[NodeId, int], oldest: NodeId
) -> None:
    peer = ring_of_five(1)
    peer.acquire()
    for node, time in requests.items():
        peer.receive(node, Request(node, time, (1, 2, 3, 4, 5)))
    peer.drain()
    peer.release()
    (sent,) = peer.drain()
    assert isinstance(sent, Send)
    assert (sent.to, sent.message.destination) == (oldest, oldest)


def test_a_request_is_later_than_all_that_its_node_knows_of() -> None:
    peer = ring_of_five(2)
    peer.receive(3, Request(3, 7, (1, 2, 3, 4, 5)))
    peer.acquire()
    assert peer.drain() == [
        Send(1, Request(2, 8, (1, 2, 3))),
        Send(3, Request(2, 8, (1, 2, 3))),
    ]


def test_a_granted_request_that_arrives_late_does_not_move_the_token() -> None:
    peer = ring_of_five(2)
    peer.acquire()
    peer.receive(1, Token(2, (0, 1, 0, 5, 0)))
    peer.release()
    peer.drain()
    peer.receive(3, Request(4, 5, (1, 2, 3, 4, 5)))
    assert peer.drain() == []
    assert peer.granted is not None


@dataclass(eq=False)
class FollowingLamport(HelaryPlouzeauRaynalBehind):
    """Every message sets the clock, the TOKEN too, by the latest time in its array."""

    def receive_token(self, sender: NodeId, message: Token) -> None:
        self.clock = max(self.clock, *message.granted) + 1
        super().receive_token(sender, message)


@pytest.mark.parametrize("requests", [(1, 1, 1), (0, 2, 1)])
def test_with_a_clock_that_follows_lamports_rules_the_surveys_words_hold(
    requests: tuple[int, ...],
) -> None:
    """And (1, 2, 1), the museum's: 88,228 states."""
    chosen = model("helary-plouzeau-raynal", 3, requests)
    report = check(replace(chosen, make=lambda node: FollowingLamport(node, (1, 2, 3))))
    assert report.holds
    assert report.everyone_entered or 0 in requests


def test_with_a_clock_that_only_requests_set_one_can_seem_to_be_granted() -> None:
    violation = check(exhibit("helary-plouzeau-raynal-behind")).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("deadlock", 13)


# Invalid messages


@pytest.mark.parametrize(
    ("sender", "message"),
    [
        (4, Request(4, 1, (1, 2, 3, 4, 5))),  # no neighbour
        (1, Request(2, 1, (1, 2, 3, 4, 5))),  # our own, and we have not asked
        (1, Token(2, (0, 0, 0, 0, 0))),  # not asked for
        (1, Token(4, (0, 0, 0, 1, 0))),  # no way to there
    ],
    ids=str,
)
def test_senseless_messages(sender: NodeId, message: Request | Token) -> None:
    peer = ring_of_five(2)
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(sender, message)
    assert (peer.snapshot(), peer.drain()) == (before, [])


def test_a_second_token() -> None:
    peer = ring_of_five(1)
    peer.acquire()
    peer.receive(2, Request(3, 1, (1, 2, 3, 4, 5)))
    peer.drain()
    with pytest.raises(RemoteError):
        peer.receive(2, Token(3, (0, 0, 1, 0, 0)))


# Every schedule; the smaller sizes are pinned with those of the other algorithms


@pytest.mark.parametrize(
    ("nodes", "requests", "spec", "counts"),
    [
        (3, 2, "line", (106604, 343366, 33, 4, 4)),
        (4, (0, 1, 1, 1), "ring", (225925, 810072, 23, 6, 2)),
        (4, (0, 1, 1, 1), "star", (7535, 23673, 20, 5, 2)),
    ],
)
def test_it_holds_with_the_pinned_counts(
    nodes: int, requests: int | tuple[int, ...], spec: str, counts: tuple[object, ...]
) -> None:
    report = check(model(NAME, nodes, requests, topology=spec))
    assert report.holds
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts


@pytest.mark.parametrize(
    ("spec", "requests", "counts"),
    [
        (KITE, (0, 1, 0, 2), (629, 1509, 21, 5, 2)),
        (KITE, (0, 1, 1, 1), (20562, 71204, 20, 5, 2)),
        (SQUARE_AND_DIAGONAL, (0, 1, 0, 2), (7313, 24520, 22, 6, 2)),
    ],
    ids=str,
)
def test_it_holds_on_an_arbitrary_network(
    spec: str, requests: tuple[int, ...], counts: tuple[object, ...]
) -> None:
    report = check(model(NAME, 4, requests, topology=spec))
    assert report.holds
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts
