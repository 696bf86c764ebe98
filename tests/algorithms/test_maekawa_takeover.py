"""Maekawa, section 9: another node takes over a failed node's part; a claim a test."""

from __future__ import annotations

from collections import Counter

import pytest

from peerlock.algorithms.maekawa_takeover import (
    Failed,
    Inquire,
    Locked,
    MaekawaTakeover,
    Release,
    Report,
    Request,
)
from peerlock.checker.check import check
from peerlock.checker.model import Network, model
from peerlock.core.peer import Down, RemoteError, Send
from peerlock.quorums.systems import quorum_system
from peerlock.simulator import (
    Crash,
    Heavy,
    Level,
    Light,
    Scenario,
    Schedule,
    empty_trace,
    simulate,
)
from peerlock.simulator import Network as Wires
from peerlock.simulator.latency import Uniform
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

NAME = "maekawa-takeover"


# Nothing fails


@pytest.mark.parametrize("n", [3, 7, 13, 21, 31, 50])
def test_an_entry_that_nobody_contests_costs_3_k_1(n: int) -> None:
    sizes = [len(s) for s in quorum_system("plane", n).quorums]
    for _, node, messages in light_entries(NAME, n, entries=10):
        inside = node in quorum_system("plane", n).of(node)
        assert messages == 3 * (sizes[node - 1] - inside)


@pytest.mark.parametrize("n", [2, 4, 7, 13, 25])
@pytest.mark.parametrize("load", [Light(), Heavy(), Level(0.3)], ids=str)
def test_when_nothing_fails_it_is_maekawas_algorithm(
    n: int, load: Light | Heavy | Level
) -> None:
    ours = simulate(Scenario(NAME, n, 10 * n, load))
    theirs = simulate(Scenario("maekawa", n, 10 * n, load))
    assert ours.messages == theirs.messages


# Every schedule


@pytest.mark.parametrize(
    ("nodes", "requests", "crashes", "coverage"),
    [
        (2, 2, 1, (198, 474, 15)),
        (3, 1, 0, (592, 1207, 16)),
        (3, 1, 1, (4353, 11153, 18)),
        (3, 1, 2, (7206, 24080, 20)),
        (3, 2, 1, (65972, 191559, 33)),
    ],
)
def test_nodes_may_fail_at_any_time(
    nodes: int, requests: int, crashes: int, coverage: tuple[int, int, int]
) -> None:
    report = check(model(NAME, nodes, requests, Network(True, crashes=crashes)))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage


# Runs


@pytest.mark.parametrize("n", [2, 3, 7, 13])
@pytest.mark.parametrize("load", [Heavy(), Level(0.1)], ids=["heavy", "level"])
def test_whoever_fails_whenever_the_others_go_on(n: int, load: Heavy | Level) -> None:
    for seed in range(30):
        crash = Crash(seed % n + 1, 1.7 * seed)
        network = Wires(Uniform(0.0, 4.0), fifo=True, crashes=(crash,))
        report = simulate(Scenario(NAME, n, 20 * n, load, network, seed=seed))
        assert report.max_inside == 1
        assert report.remote_errors == 0
        assert report.entries >= 20 * n - 1  # all but what the failed node had asked for


def test_they_may_fail_one_after_the_other_until_one_is_left() -> None:
    for seed in range(50):
        crashes = tuple(Crash(i % 7 + 1, (3.0 + seed) * i) for i in range(seed, seed + 6))
        network = Wires(Uniform(0.0, 4.0), fifo=True, crashes=crashes)
        report = simulate(Scenario(NAME, 7, 200, Level(0.2), network, seed=seed))
        assert report.max_inside == 1
        assert report.remote_errors == 0
        assert report.entries >= 194


@pytest.mark.parametrize("n", [7, 13, 31])
def test_what_is_lost_is_regained_with_a_report_from_each_in_whose_set_it_was(
    n: int,
) -> None:
    """O(√N), as the paper expects: K−1 others, and the new node if it is one of them."""
    crash = Crash(2, 20.0)
    network = Wires(fifo=True, crashes=(crash,))
    scenario = Scenario(NAME, n, load=Schedule(((50.0, 1),)), network=network)
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    sent = Counter(type(s.message) for s in trace if s.kind is Kind.SEND)
    others = [i for i in range(1, n + 1) if i not in (2, 3)]
    asked = sum(2 in quorum_system("plane", n).of(i) for i in others)
    assert sent[Report] == asked
    assert asked <= len(quorum_system("plane", n).of(1))


# Beyond what it survives


def test_it_needs_messages_in_order() -> None:
    """A report that a node is down must not overtake what the node has sent."""
    assert check(model(NAME, 3, 1, Network(False, crashes=1))).violation is not None


def test_a_node_that_comes_back_has_forgotten_too_much() -> None:
    network = Network(True, crashes=1, returns=True)
    assert check(model(NAME, 3, 2, network)).violation is not None


# What a node does.  The sets are those of the 2×2 grid; each node is in its own.


def node_3() -> MaekawaTakeover:
    return MaekawaTakeover(3, (1, 2, 3, 4), quorums=quorum_system("grid", 4))


def test_the_next_node_takes_over_and_waits_for_all_reports() -> None:
    """Seat 2 is in the sets of nodes 1, 2 and 4."""
    peer = node_3()
    peer.receive(2, Down())
    peer.receive(1, Report(2, 7, True))
    assert peer.drain() == []
    peer.receive(4, Report(2, 5, False))
    assert peer.drain() == [Send(1, Inquire(2))]
    peer.receive(1, Release(2))
    assert peer.drain() == [Send(4, Locked(2))]


def test_if_it_was_locked_for_nobody_the_first_that_waits_gets_it() -> None:
    peer = node_3()
    peer.receive(1, Report(2, 7, False))
    peer.receive(4, Report(2, 5, False))
    peer.receive(2, Down())  # the others were quicker to hear of it
    assert peer.drain() == [Send(4, Locked(2)), Send(1, Failed(2))]


def test_a_request_that_comes_before_all_have_reported_waits() -> None:
    peer = node_3()
    peer.receive(2, Down())
    peer.receive(1, Report(2, 0, False))
    peer.receive(1, Request(9, 2))
    assert peer.drain() == []
    peer.receive(4, Report(2, 5, True))
    assert peer.drain() == [Send(1, Failed(2))]


def test_its_own_part_is_apart_from_the_one_it_took_over() -> None:
    peer = node_3()
    peer.receive(2, Down())
    peer.receive(1, Request(1, 3))
    assert peer.drain() == [Send(1, Locked(3))]
    peer.receive(1, Report(2, 0, False))
    peer.receive(4, Report(2, 1, True))
    peer.receive(4, Release(2))
    assert peer.drain() == []


def test_if_it_fails_too_the_next_one_has_both() -> None:
    peer = MaekawaTakeover(4, (1, 2, 3, 4), quorums=quorum_system("grid", 4))
    peer.receive(2, Down())
    assert peer.drain() == [Send(3, Report(2, 0, False))]
    peer.receive(3, Down())
    assert [seat for seat, _ in peer.seats] == [2, 3, 4]


def test_a_second_report_is_a_remote_error() -> None:
    peer = node_3()
    peer.receive(2, Down())
    peer.receive(1, Report(2, 0, False))
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(1, Report(2, 0, False))
    with pytest.raises(RemoteError):
        peer.receive(2, Down())
    assert peer.snapshot() == before
