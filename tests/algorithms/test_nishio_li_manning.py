"""Nishio, Li and Manning's algorithm, after the survey of Velazquez: a claim a test.

That no two are inside does not hang on any time-out, so the checker lets timers fire at
any time; ages have no end, so it stops at one.  That everybody enters in the end is shown
by seeded runs with losses, broken links and nodes that are away for a while.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from itertools import pairwise

import pytest

from peerlock.algorithms.entry import Bound
from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.nishio_li_manning import (
    Ack,
    Nack,
    NishioLiManning,
    Token,
    TokenMissing,
)
from peerlock.algorithms.ricart_agrawala_token import Request
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model, within
from peerlock.core.peer import Broadcast, Enter, NodeId, RemoteError, Send, SetTimer
from peerlock.simulator import (
    Crash,
    Heavy,
    Level,
    Partition,
    Scenario,
    Schedule,
    Violation,
    empty_trace,
    simulate,
)
from peerlock.simulator import Network as Wires
from peerlock.simulator.latency import Uniform
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

NAME = "nishio-li-manning"


def cluster(
    nodes: int, requests: int | tuple[int, ...], network: Network, ages: int
) -> Model:
    """Searched as far as tokens of that age are proposed."""
    bound = Bound("age", ages)
    chosen = model(NAME, nodes, requests, network)
    return replace(chosen, within=within(algorithm(NAME), bound), bound=bound)


# "The number of messages exchanged for a critical section entry is N"


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_when_nothing_fails_an_entry_costs_n_and_nothing_at_the_holder(n: int) -> None:
    for holder, node, messages in light_entries(NAME, n, entries=2 * n):
        assert messages == (0 if node == (holder or 1) else n)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
def test_when_all_compete_it_needs_what_the_circle_needs(n: int) -> None:
    ours = simulate(Scenario(NAME, n, 10 * n, Heavy()))
    theirs = simulate(Scenario("ricart-agrawala-token", n, 10 * n, Heavy()))
    assert ours.messages == theirs.messages
    assert ours.messages_per_entry <= n


# No two are inside, whatever is lost and whenever time-outs run out


@pytest.mark.parametrize(
    ("nodes", "requests", "network", "ages", "coverage"),
    [
        (2, 1, Network(False), 2, (451, 1441, 14)),
        (2, 1, Network(False, losses=2), 4, (63491, 426618, 21)),
        (2, 2, Network(False, losses=1), 3, (84466, 457499, 25)),
        (2, 2, Network(False, crashes=1), 3, (38090, 218161, 25)),
        (3, 1, Network(True), 2, (29576, 152266, 28)),
        (3, (0, 1, 1), Network(False, losses=1), 3, (367320, 2650017, 22)),
    ],
    ids=str,
)
def test_it_holds_with_losses_and_early_time_outs(
    nodes: int,
    requests: int | tuple[int, ...],
    network: Network,
    ages: int,
    coverage: tuple[int, int, int],
) -> None:
    report = check(cluster(nodes, requests, network, ages))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage


def test_fences_grow_though_tokens_are_made_anew() -> None:
    chosen = cluster(2, 2, Network(False, losses=1), 2)
    assert chosen.fences
    assert check(chosen).holds


# Link failures: a lost token is made anew


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("loss", [0.05, 0.2])
def test_everybody_enters_though_messages_are_lost(n: int, loss: float) -> None:
    made = 0
    for seed in range(10):
        network = Wires(Uniform(0.0, 4.0), loss=loss)
        report = simulate(Scenario(NAME, n, 10 * n, Level(0.1), network, seed=seed))
        assert report.entries == 10 * n
        assert report.max_inside == 1
        assert report.remote_errors == 0
        made += report.messages_by_type["ACK"] >= n - 1
    assert made


def test_a_new_token_costs_2_n_minus_1_messages_and_knows_who_waits() -> None:
    """The token to node 3 is lost; node 5 has asked as well, and is served after it."""
    scenario = Scenario(
        NAME,
        6,
        load=Schedule(((1.0, 3), (100.0, 5))),
        network=Wires(partitions=(Partition(2.5, 4.5, (frozenset({1}),)),)),
    )
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    sent = Counter(type(s.message) for s in trace if s.kind is Kind.SEND)
    assert [s.node for s in trace if s.kind is Kind.ENTER] == [3, 5]
    assert sent[TokenMissing] == sent[Ack] == 5
    assert sent[Nack] == 0
    assert sent[Request] == 2 * 5


# Controller failures: a node is away, and comes back with what it knew


@pytest.mark.parametrize("n", [2, 3, 5])
def test_a_node_that_is_away_holds_up_the_others_at_most_until_it_is_back(n: int) -> None:
    held_up = 0
    for seed in range(20):
        away = Partition(5.0 + seed, 600.0, (frozenset({seed % n + 1}),))
        network = Wires(partitions=(away,))
        scenario = Scenario(NAME, n, 40, Level(0.2), network, seed=seed)
        trace = empty_trace(scenario)
        report = simulate(scenario, trace)
        assert report.entries == 40
        assert report.max_inside == 1
        times = [0.0, *(s.time for s in trace if s.kind is Kind.ENTER)]
        held_up += any(a < 600.0 - 100.0 and b > 600.0 for a, b in pairwise(times))
    assert held_up


def test_while_a_node_is_away_no_token_is_made() -> None:
    scenario = Scenario(
        NAME,
        3,
        load=Schedule(((1.0, 2),)),
        network=Wires(partitions=(Partition(0.0, 500.0, (frozenset({1}),)),)),
    )
    trace = empty_trace(scenario)
    assert simulate(scenario, trace).entries == 1
    assert all(s.time > 500.0 for s in trace if s.kind is Kind.ENTER)


# Beyond what it survives


def test_a_node_that_never_comes_back_stops_it_if_it_had_the_token() -> None:
    network = Wires(crashes=(Crash(1, 0.5),))
    with pytest.raises(Violation, match="no node entered"):
        simulate(Scenario(NAME, 3, load=Schedule(((1.0, 2),)), network=network))


def test_a_node_that_has_nothing_and_wants_nothing_may_stay_away() -> None:
    network = Wires(crashes=(Crash(3, 0.5),))
    wishes = tuple((10.0 * at, at % 2 + 1) for at in range(1, 20))
    report = simulate(Scenario(NAME, 3, load=Schedule(wishes), network=network))
    assert report.entries == 19


def test_a_duplicate_is_refused_or_lets_two_in() -> None:
    violation = check(cluster(2, 2, Network(False, duplications=1), 2)).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("remote error", 5)


# Ages


def node_2(**state: object) -> NishioLiManning:
    peer = NishioLiManning(2, (1, 2, 3))
    for name, value in state.items():
        setattr(peer, name, value)
    return peer


def waiting() -> NishioLiManning:
    peer = node_2()
    peer.acquire()
    assert peer.drain() == [Broadcast(Request(1)), SetTimer("token", 60.0)]
    return peer


def proposing() -> NishioLiManning:
    peer = waiting()
    peer.timer("token")
    assert peer.drain() == [Broadcast(TokenMissing(2)), SetTimer("answers", 15.0)]
    return peer


def test_with_ack_from_all_a_token_of_the_proposed_age_is_made() -> None:
    peer = proposing()
    peer.receive(3, Ack(2, 7))
    assert Enter() not in peer.drain()
    peer.receive(1, Ack(2, 4))
    assert Enter() in peer.drain()
    peer.receive(3, Request(8))
    peer.release()
    assert peer.drain() == [Send(3, Token((4, 1, 7), 2))]


def test_a_single_nack_ends_it_and_the_request_is_sent_again() -> None:
    peer = proposing()
    peer.receive(3, Ack(2, 0))
    peer.drain()
    peer.receive(1, Nack(2))
    assert Broadcast(Request(1)) in peer.drain()
    peer.receive(3, Ack(2, 0))
    assert peer.drain() == []


def test_who_does_not_get_all_answers_begins_anew_with_a_higher_age() -> None:
    peer = proposing()
    peer.receive(3, Ack(2, 0))
    peer.timer("answers")
    assert Broadcast(TokenMissing(5)) in peer.drain()
    peer.receive(1, Ack(2, 0))  # late
    assert peer.drain() == []
    assert peer.unanswered == 0b1010


def test_a_token_below_the_age_we_know_is_discarded_and_asked_for_again() -> None:
    peer = waiting()
    peer.receive(3, TokenMissing(3))
    assert peer.drain()[0] == Send(3, Ack(3, 0))
    peer.receive(1, Token((0, 0, 0), 0))
    assert peer.drain() == [Broadcast(Request(1)), SetTimer("token", 60.0)]
    peer.receive(3, Token((0, 0, 0), 3))
    assert Enter() in peer.drain()


def test_the_token_is_not_missing_and_takes_over_the_proposed_age() -> None:
    peer = node_2(token_data=(0, 0, 0))
    peer.receive(1, TokenMissing(4))
    assert peer.drain() == [Send(1, Nack(4))]
    peer.receive(3, Request(1))
    assert peer.drain() == [Send(3, Token((0, 0, 0), 4))]


@pytest.mark.parametrize(("age", "answer"), [(1, Nack(2)), (3, Ack(3, 0))])
def test_of_two_that_propose_the_higher_age_stands(age: int, answer: object) -> None:
    peer = proposing()
    sender = age
    peer.receive(sender, TokenMissing(age))
    assert Send(sender, answer) in peer.drain()
    assert bool(peer.unanswered) == isinstance(answer, Nack)


def test_no_two_nodes_propose_the_same_age() -> None:
    members = tuple(range(1, 6))
    ages = {i: NishioLiManning(i, members, age=11).next_age() for i in members}
    assert ages == {1: 16, 2: 12, 3: 13, 4: 14, 5: 15}


@pytest.mark.parametrize(
    ("sender", "message"),
    [(1, Ack(1, 0)), (1, Nack(1)), (1, Token((0, 0, 0), 0)), (1, Token((0, 0, 0), 5))],
    ids=str,
)
def test_what_no_correct_node_sends_is_a_remote_error(
    sender: NodeId, message: object
) -> None:
    peer = node_2()
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(sender, message)
    assert (peer.snapshot(), peer.drain()) == (before, [])
