"""Mishra and Srimani's algorithm with bounded numbers: L·N + (N-1) messages."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerlock.algorithms.mishra_srimani_bounded import MishraSrimaniBounded
from peerlock.checker.check import check
from peerlock.checker.model import Network, model
from peerlock.checker.search import Limits, Search
from peerlock.checker.starvation import starving
from peerlock.simulator import Crash, Heavy, Level, Scenario, simulate
from peerlock.simulator import Network as Wires
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Uniform

NAME = "mishra-srimani-bounded"


# "L*N+(N-1) under the absence of failures"


@pytest.mark.parametrize("limit", [1, 2, 5])
@pytest.mark.parametrize("n", [2, 5, 10])
def test_l_entries_cost_l_times_n_and_the_acks(n: int, limit: int) -> None:
    report = simulate(Scenario(NAME, n, 40 * n, Heavy(), limit=limit))
    assert report.messages_per_entry == pytest.approx(n + (n - 1) / limit, rel=0.05)
    assert report.messages_by_type["PRIVILEGE_CHECK"] == 0


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_numbers_stay_below_the_modulus(limit: int) -> None:
    run = ByHand(NAME, 3, limit=limit)
    for turn in range(9 * limit):
        node = turn % 3 + 1
        run.request(node)
        run.settle()
        run.leave(node)
        run.settle()
    for peer in run.peers.values():
        assert isinstance(peer, MishraSrimaniBounded)
        assert max(peer.requested) < peer.modulus == 2 * limit + 2


def test_of_two_numbers_the_later_one_is_known() -> None:
    """They are up to L apart, in either direction; modulo L+2 that could not be told."""
    for limit in (1, 2, 5):
        peer = MishraSrimaniBounded(1, (1, 2), limit=limit)
        for earlier in range(peer.modulus):
            for apart in range(limit + 1):
                later = (earlier + apart) % peer.modulus
                assert peer.later(earlier, later) == later
                assert peer.later(later, earlier) == later


# Failures


def held_back(gone: int) -> ByHand:
    """Node 1 wants in and waits for the ACK of a node that has failed."""
    run = ByHand(NAME, 3, limit=1, first_holder=2)
    run.crash(gone)
    for node in (1, 2):
        run.request(node)
        run.settle()
        run.leave(node)
        run.settle()
    run.request(1)
    run.settle()
    assert run.judge.waiting == {1}
    return run


def test_a_node_whose_ack_does_not_come_in_time_is_not_waited_for() -> None:
    run = held_back(gone=3)
    run.fire(1, "acks")
    run.settle()
    assert run.judge.inside == {1}


def test_a_token_may_be_lost_while_a_request_is_held_back() -> None:
    """Node 2 fails inside, and has not heard of the last request of node 1."""
    run = ByHand(NAME, 3, limit=1, first_holder=3)
    run.request(1)
    run.deliver(1, 3, "REQUEST")
    run.deliver(3, 1, "PRIVILEGE")
    run.deliver(3, 1, "ACK")
    run.request(2)
    run.deliver(2, 1, "REQUEST")
    run.deliver(2, 3, "REQUEST")
    run.leave(1)
    run.deliver(1, 2, "PRIVILEGE")
    assert run.judge.inside == {2}
    run.crash(2)
    run.request(1)
    assert run.peers[1].held_back  # type: ignore[attr-defined]
    run.settle()
    run.fire(1, "token")
    run.settle()
    run.fire(1, "answers")
    run.settle()
    assert run.judge.inside == {1}
    assert not run.peers[1].held_back  # type: ignore[attr-defined]


@pytest.mark.parametrize("n", [3, 5, 8])
def test_whoever_fails_whenever_the_others_go_on(n: int) -> None:
    for seed in range(8):
        wires = Wires(Uniform(0.0, 4.0), crashes=(Crash(seed % n + 1, 7.3 * seed),))
        for load in (Heavy(), Level(0.1)):
            scenario = Scenario(NAME, n, 20 * n, load, wires, limit=1, seed=seed)
            report = simulate(scenario)
            assert report.max_inside == 1
            assert report.entries >= 20 * n - 1


# Every schedule, and without end: the numbers start over


@pytest.mark.parametrize(
    ("requests", "limit", "crashes", "coverage"),
    [
        ((2, 2), 1, 0, (2873, 8491, 29)),
        ((3, 3), 1, 1, (15936, 81546, 39)),
        ((3, 3), 2, 1, (12141, 59890, 35)),
        ((2, 1, 0), 1, 1, (8777, 43081, 31)),
    ],
    ids=str,
)
def test_one_node_may_fail_at_any_time(
    requests: tuple[int, ...], limit: int, crashes: int, coverage: tuple[int, int, int]
) -> None:
    network = Network(False, crashes=crashes)
    search = Search(model(NAME, len(requests), requests, network, limit=limit))
    search.run(Limits())
    assert search.exhausted
    assert search.breach is None
    assert starving(search) is None
    assert search.coverage == coverage


@pytest.mark.parametrize(("limit", "states"), [(1, 24024), (2, 19446)])
def test_with_requests_without_end_there_is_an_end_of_states(
    limit: int, states: int
) -> None:
    chosen = replace(model(NAME, 2, None, Network(False), limit=limit), fences=False)
    report = check(chosen)
    assert report.holds
    assert report.coverage.states <= states
