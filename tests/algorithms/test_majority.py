"""Majorities, plain and weighted: what is claimed of them, one test a claim."""

from __future__ import annotations

from fractions import Fraction

import pytest

from peerlock.algorithms.maekawa import Locked, Release, Request
from peerlock.algorithms.majority import Majority
from peerlock.algorithms.weighted_majority import WeightedMajority
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.peer import Down, Enter, RemoteError, Send
from peerlock.quorums.weighted import Votes, untied, weighted
from peerlock.simulator import Heavy, Level, Scenario, empty_trace, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.network import Crash
from peerlock.simulator.network import Network as Wires
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

VOTES: tuple[Votes, ...] = (
    (1,),
    (2, 1),
    (1, 1, 1),
    (3, 1, 1),
    (0, 1, 1, 1),
    (2, 2, 1, 1, 1),
    (5, 1, 1, 1, 1),
    (4, 3, 2, 1, 0, 1),
)


# The plain majority


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10])
def test_half_and_one_must_confirm_the_asking_node_included(n: int) -> None:
    for node in range(1, n + 1):
        quorum = Majority(node, tuple(range(1, n + 1))).quorum
        assert len(quorum) == n // 2 + 1
        assert node in quorum


def test_one_confirmation_less_is_not_enough() -> None:
    peer = Majority(1, (1, 2, 3, 4, 5))
    peer.acquire()
    assert peer.drain() == [Send(2, Request(1)), Send(3, Request(1))]
    peer.receive(2, Locked())
    assert peer.drain() == []
    peer.receive(3, Locked())
    assert peer.drain() == [Enter()]


@pytest.mark.parametrize("n", [2, 3, 4, 5, 10, 25, 50])
def test_an_entry_costs_three_for_each_other_member(n: int) -> None:
    half = -(-(n - 1) // 2)
    assert {m for *_, m in light_entries("majority", n)} == {3 * half}


@pytest.mark.parametrize("name", ["majority", "weighted-majority"])
@pytest.mark.parametrize("n", [3, 5, 10, 25])
def test_competition_costs_fewer_than_six_for_each(name: str, n: int) -> None:
    half = -(-(n - 1) // 2)
    report = simulate(Scenario(name, n, 20 * n, Heavy()))
    assert report.messages_per_entry < 6 * half
    if n % 2:
        assert report.messages_per_entry >= 3 * half


# Votes


@pytest.mark.parametrize("n", range(1, 20))
def test_votes_that_are_not_given_cannot_be_tied(n: int) -> None:
    votes = untied(n)
    assert len(votes) == n
    assert sum(votes) % 2 == 1
    assert max(votes) <= 2


@pytest.mark.parametrize("votes", [*VOTES, *map(untied, range(1, 40))], ids=str)
def test_any_two_quorums_of_weighted_votes_meet(votes: Votes) -> None:
    system = weighted(votes)
    assert system.intersecting
    for node, vote in enumerate(votes, start=1):
        quorum = system.of(node)
        assert 2 * sum(votes[j - 1] for j in quorum) > sum(votes)
        assert (node in quorum) == (vote > 0)


@pytest.mark.parametrize("votes", VOTES, ids=str)
def test_no_other_choice_asks_fewer_others(votes: Votes) -> None:
    for node, vote in enumerate(votes, start=1):
        others = [j for j in weighted(votes).of(node) if j != node]
        most = sorted((v for j, v in enumerate(votes, 1) if j != node), reverse=True)
        fewer = max(len(others) - 1, 0)
        assert not others or 2 * (vote + sum(most[:fewer])) <= sum(votes)


@pytest.mark.parametrize(
    ("votes", "resilience"),
    [((1, 1, 1), 1), ((3, 1, 1), 0), ((2, 2, 1, 1, 1), 1), ((1,) * 5, 2), ((1,) * 4, 1)],
)
def test_failures_are_survived_as_long_as_more_than_half_is_left(
    votes: Votes, resilience: int
) -> None:
    assert weighted(votes).resilience == resilience


def test_equal_votes_are_the_majority() -> None:
    for n in (3, 5, 9):
        assert {len(q) for q in weighted((1,) * n).quorums} == {n // 2 + 1}
        assert weighted((1,) * n).symmetric


@pytest.mark.parametrize("votes", [(), (0, 0), (2, -1)], ids=str)
def test_senseless_votes_are_refused(votes: Votes) -> None:
    with pytest.raises(ValueError, match="vote"):
        weighted(votes)
    with pytest.raises(ValueError, match="vote"):
        untied(0)


def test_every_node_needs_a_number_of_votes() -> None:
    with pytest.raises(AssertionError):
        WeightedMajority(1, (1, 2, 3), votes=(1, 1))


def test_all_votes_at_one_node_make_it_a_coordinator() -> None:
    """Three messages, none at the coordinator itself."""
    cluster = ByHand("weighted-majority", 4, votes=(1, 0, 0, 0))
    for node, messages in ((3, 3), (1, 0), (4, 3)):
        before = cluster.sent
        cluster.request(node)
        cluster.settle()
        cluster.leave(node)
        cluster.settle()
        assert cluster.sent - before == messages


@pytest.mark.parametrize("n", [2, 3, 4, 5, 10, 25, 50])
def test_an_entry_costs_three_for_each_other_node_whose_votes_are_needed(n: int) -> None:
    system = weighted(untied(n))
    for _, node, messages in light_entries("weighted-majority", n):
        assert messages == 3 * (len(system.of(node)) - 1)


# Every schedule


def voting(votes: Votes, requests: int) -> Model:
    members = tuple(range(1, len(votes) + 1))
    return Model(
        name=f"votes {votes}",
        make=lambda node: WeightedMajority(node, members, votes=votes),
        nodes=len(votes),
        requests=(requests,) * len(votes),
        network=Network(fifo=True),
    )


@pytest.mark.parametrize(
    ("votes", "requests", "counts"),
    [
        ((3, 1, 1), 2, (2134, 4720, 24, Fraction(15, 4), 4)),
        ((1, 1), 2, (264, 393, 22, Fraction(15, 4), 2)),
        ((2, 1, 1, 1), 1, (3763, 9429, 21, Fraction(15, 4), 3)),
        ((0, 1, 1, 1), 1, (15767, 47326, 24, 6, 3)),
    ],
    ids=str,
)
def test_it_holds_with_these_votes(
    votes: Votes, requests: int, counts: tuple[object, ...]
) -> None:
    report = check(voting(votes, requests))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts


def test_with_an_odd_number_of_nodes_the_two_are_the_same() -> None:
    for nodes, requests in ((3, 1), (3, 2)):
        plain = check(model("majority", nodes, requests))
        votes = check(model("weighted-majority", nodes, requests))
        assert plain.holds
        assert plain.coverage == votes.coverage


# "Any majority": nodes that are down are gone round


def test_another_is_asked_in_the_place_of_one_that_is_down() -> None:
    peer = Majority(1, (1, 2, 3, 4, 5))
    peer.acquire()
    peer.receive(2, Down())
    assert peer.drain() == [Send(2, Request(1)), Send(3, Request(1)), Send(4, Request(1))]
    for member in (3, 4):
        peer.receive(member, Locked())
    assert peer.drain() == [Enter()]
    peer.release()
    assert peer.drain() == [Send(3, Release()), Send(4, Release())]


def test_a_lock_that_was_given_stays_good() -> None:
    peer = Majority(1, (1, 2, 3))
    peer.acquire()
    peer.receive(2, Locked())
    peer.release()
    peer.acquire()
    peer.drain()
    peer.receive(2, Locked())
    assert peer.drain() == [Enter()]
    peer.receive(2, Down())
    assert peer.drain() == []
    peer.release()
    assert peer.drain() == []


def test_a_request_of_a_node_that_is_down_is_forgotten() -> None:
    peer = Majority(3, (1, 2, 3))
    peer.receive(2, Request(1))
    peer.receive(1, Request(2))
    peer.drain()
    peer.receive(2, Down())
    assert peer.drain() == [Send(1, Locked())]
    with pytest.raises(RemoteError, match="2 is reported down twice"):
        peer.receive(2, Down())


@pytest.mark.parametrize(
    ("name", "nodes", "requests", "crashes", "coverage"),
    [
        ("majority", 3, 1, 1, (3347, 8668, 17)),
        ("weighted-majority", 3, 1, 1, (3347, 8668, 17)),
        ("majority", 5, (1, 0, 0, 0, 0), 2, (8610, 35460, 16)),
    ],
)
def test_it_holds_as_long_as_a_majority_is_left(
    name: str,
    nodes: int,
    requests: int | tuple[int, ...],
    crashes: int,
    coverage: tuple[int, ...],
) -> None:
    """Whichever nodes crash and when; with more requests in docs/checked.md."""
    report = check(model(name, nodes, requests, Network(fifo=True, crashes=crashes)))
    assert report.holds
    assert report.coverage == coverage


def test_one_crash_too_many_leaves_no_majority() -> None:
    report = check(model("majority", 3, (1, 0, 0), Network(fifo=True, crashes=2)))
    assert report.violation is not None
    assert report.violation.property == "deadlock"


@pytest.mark.parametrize("n", [3, 5, 9])
def test_the_others_go_on_when_a_minority_has_crashed(n: int) -> None:
    gone = range(1, (n - 1) // 2 + 1)
    crashes = tuple(Crash(node, at=15.0 * node) for node in gone)
    network = Wires(fifo=True, crashes=crashes)
    scenario = Scenario("majority", n, 30 * n, Level(0.1), network)
    trace = empty_trace(scenario)
    report = simulate(scenario, trace)
    assert (report.max_inside, report.remote_errors) == (1, 0)
    late = {s.node for s in trace if s.kind is Kind.ENTER and s.time > 15.0 * n + 50}
    assert late == set(range(1, n + 1)) - set(gone)
