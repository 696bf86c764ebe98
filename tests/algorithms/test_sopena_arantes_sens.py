"""A token within each site and one between them, as Sopena, Arantes, Sens and others do."""

import pytest

from peerlock.algorithms.sopena_arantes_sens import (
    IN,
    OUT,
    Request,
    SiteRequest,
    SiteToken,
    SopenaArantesSens,
    Token,
    in_sites,
)
from peerlock.core.peer import Enter, NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Level, Light, Scenario, empty_trace, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.traces.trace import Kind

FOUR = (1, 2, 3, 4)  # in two sites: 1 and 2, 3 and 4; 1 and 3 coordinate


def coordinator(me: NodeId = 1) -> SopenaArantesSens:
    peer = SopenaArantesSens(me, FOUR, sites=2)
    peer.start()
    return peer


# The rules


def test_sites_differ_by_one_node_at_most() -> None:
    assert in_sites((1, 2, 3, 4, 5, 6, 7), 3) == [(1, 2), (3, 4), (5, 6, 7)]
    assert in_sites((1, 2), 5) == [(1,), (2,)]


def test_a_coordinator_that_has_the_turn_at_hand_lets_the_token_go() -> None:
    peer = coordinator(1)
    peer.receive(2, Request(3, 2))
    assert peer.drain() == [Send(2, Token(2))]
    assert peer.turn == IN


def test_another_asks_for_the_turn_first() -> None:
    peer = coordinator(3)
    peer.receive(4, Request(3, 2))
    assert peer.drain() == [Send(1, SiteRequest(2))]
    peer.receive(1, SiteToken())
    assert peer.drain() == [Send(4, Token(2))]


def test_an_idle_turn_is_given_up_at_once() -> None:
    peer = coordinator(1)
    peer.receive(3, SiteRequest(2))
    assert peer.drain() == [Send(3, SiteToken())]
    assert peer.turn == OUT


def test_a_site_whose_turn_it_is_asks_for_its_token_back() -> None:
    peer = coordinator(1)
    peer.receive(2, Request(3, 2))
    peer.drain()
    peer.receive(3, SiteRequest(2))
    assert peer.drain() == [Send(2, Request(2, 3))]
    peer.receive(2, Token(3))
    assert peer.drain() == [Send(3, SiteToken())]


def test_a_coordinator_asks_itself_without_messages() -> None:
    peer = coordinator(1)
    peer.acquire()
    assert peer.drain() == [Enter()]


def test_all_that_wait_in_a_site_are_served_in_one_turn() -> None:
    cluster = ByHand("sopena-arantes-sens", 4, sites=2)
    for node in FOUR:
        cluster.request(node)
    cluster.settle()
    order = []
    for _ in FOUR:
        (inside,) = cluster.judge.inside
        order.append(inside)
        cluster.leave(inside)
        cluster.settle()
    assert {frozenset(order[:2]), frozenset(order[2:])} == {
        frozenset((1, 2)),
        frozenset((3, 4)),
    }


@pytest.mark.parametrize(
    "message", [SiteRequest(1), SiteToken(), Request(3, 1), Token(7)], ids=str
)
def test_a_node_that_is_no_coordinator_refuses_what_is_for_one(message: object) -> None:
    with pytest.raises(RemoteError):
        SopenaArantesSens(2, FOUR, sites=2).receive(1, message)


@pytest.mark.parametrize("message", [SiteRequest(3), Request(1, 4), Request(3, 0)], ids=str)
def test_so_does_a_coordinator_of_sites_and_parts_that_there_are_not(
    message: object,
) -> None:
    with pytest.raises(RemoteError):
        SopenaArantesSens(1, FOUR, sites=2).receive(2, message)


# Claims


def between(name: str, nodes: int, sites: int, load: Light | Heavy | Level) -> float:
    """Messages per entry from one site to another."""
    settings = {"sites": sites} if name.startswith("sopena") else {}
    scenario = Scenario(name, nodes, 300, load, **settings)  # type: ignore[arg-type]
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    home = {
        j: k
        for k, site in enumerate(in_sites(tuple(range(1, nodes + 1)), sites))
        for j in site
    }
    sends = [s for s in trace if s.kind is Kind.SEND]
    return sum(home[s.node] != home[s.peer or 0] for s in sends) / 300


def test_fewer_messages_between_sites_than_by_one_flat_tree() -> None:
    for load, share in ((Heavy(), 0.25), (Level(0.1), 0.25), (Light(), 0.8)):
        composed = between("sopena-arantes-sens", 20, 4, load)
        assert composed < share * between("naimi-trehel", 20, 4, load)


@pytest.mark.parametrize("n", [4, 9, 25])
def test_it_costs_what_its_parts_cost(n: int) -> None:
    """Not more than a way within the site, the turn, and the way out of the other site."""
    report = simulate(Scenario("sopena-arantes-sens", n, 40 * n, Light()))
    side = round(n**0.5)
    harmonic = sum(1 / k for k in range(1, side + 1))
    assert report.messages_per_entry <= 3 * harmonic


def test_with_one_site_there_is_nothing_between() -> None:
    assert between("sopena-arantes-sens", 8, 1, Heavy()) == 0


@pytest.mark.parametrize("sites", [1, 2, 3, 8])
def test_nobody_is_favoured_whatever_the_sites(sites: int) -> None:
    report = simulate(Scenario("sopena-arantes-sens", 8, 800, Heavy(), sites=sites))
    assert report.fairness > 0.9
