"""Mishra and Srimani's moving coordinator, rebuilt from two sentences: a claim a test.

What the checker shows here it shows for time-outs that outlast all that is under way; the
runs with crashes have delays with a bound, and the file's own time-outs.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerlock.algorithms.mishra_srimani import (
    CreatePrivilege,
    Privilege,
    RepCritical,
    SystemRecovered,
)
from peerlock.algorithms.mishra_srimani_coordinator import MishraSrimaniCoordinator
from peerlock.algorithms.suzuki_kasami import Request
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.checker.search import Limits, Search
from peerlock.checker.starvation import starving
from peerlock.core.peer import Enter, Send
from peerlock.simulator import Crash, Heavy, Level, Scenario, simulate
from peerlock.simulator import Network as Wires
from peerlock.simulator.latency import Uniform
from tests.support.counts import light_entries

NAME = "mishra-srimani-coordinator"


# "A central coordination control for mutual exclusion is moved among the nodes"


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_an_entry_costs_up_to_n_and_nothing_at_the_coordinator(n: int) -> None:
    for coordinator, node, messages in light_entries(NAME, n, entries=4 * n):
        if node == (coordinator or 1):
            assert messages == 0
        else:
            assert 2 <= messages <= n


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
def test_when_all_compete_two_messages_are_enough(n: int) -> None:
    """One to ask the node that one has made the coordinator, which waits or is it."""
    report = simulate(Scenario(NAME, n, 20 * n, Heavy()))
    assert report.messages_per_entry <= 2.0


def test_with_50_nodes_it_takes_far_less_than_the_first_algorithm() -> None:
    ours = simulate(Scenario(NAME, 50, 500, Level(0.01)))
    theirs = simulate(Scenario("mishra-srimani", 50, 500, Level(0.01)))
    assert 4 * ours.messages < theirs.messages


# Every schedule: nothing fails, or one node does


@pytest.mark.parametrize(
    ("nodes", "requests", "crashes", "coverage"),
    [
        (2, 2, 0, (1980, 5115, 28)),
        (2, 2, 1, (2383, 9223, 27)),
        (3, 1, 0, (81220, 321896, 48)),
        (3, 1, 1, (107925, 608346, 47)),
    ],
)
def test_one_node_may_fail_at_any_time(
    nodes: int, requests: int, crashes: int, coverage: tuple[int, int, int]
) -> None:
    """Some node's time-out is always set, so nothing is ever stuck: look for circles."""
    search = searched(cluster(nodes, requests, crashes))
    assert search.breach is None
    assert search.coverage == coverage
    assert starving(search) is None


def cluster(nodes: int, requests: int | tuple[int, ...], crashes: int) -> Model:
    return model(NAME, nodes, requests, Network(False, crashes=crashes))


def searched(chosen: Model) -> Search:
    search = Search(chosen)
    search.run(Limits())
    assert search.exhausted
    return search


# Runs with a bound on delay


@pytest.mark.parametrize("n", [2, 3, 5, 8])
@pytest.mark.parametrize("load", [Heavy(), Level(0.1)], ids=["heavy", "level"])
def test_whoever_fails_whenever_the_others_go_on(n: int, load: Heavy | Level) -> None:
    made = 0
    for seed in range(30):
        network = Wires(Uniform(0.0, 4.0), crashes=(Crash(seed % n + 1, 3.7 * seed),))
        report = simulate(Scenario(NAME, n, 20 * n, load, network, seed=seed))
        assert report.max_inside == 1
        assert report.remote_errors == 0
        assert report.entries >= 20 * n - 1  # all but what the failed node had asked for
        made += report.messages_by_type["SYSTEM_RECOVERED"] // (n - 1)
    assert made > 3


# Beyond what it survives


def test_a_second_failure_stops_it_for_ever() -> None:
    search = searched(cluster(3, (0, 0, 1), 2))
    assert search.breach is None
    assert starving(search) is not None


@pytest.mark.parametrize("outlasting", [(), ("token",)], ids=str)
def test_time_outs_that_are_too_short_let_two_in(outlasting: tuple[str, ...]) -> None:
    chosen = replace(cluster(2, 1, 0), outlasting=outlasting)
    violation = check(chosen).violation
    assert violation is not None
    assert violation.property == "exclusion"


def test_a_lost_message_lets_two_in() -> None:
    violation = check(model(NAME, 2, 1, Network(False, losses=1))).violation
    assert violation is not None
    assert violation.property == "exclusion"


# What a node does

TOKEN = Privilege((2,), (0, 0, 0), (0, 0))


def sent(peer: MishraSrimaniCoordinator) -> list[Send]:
    return [effect for effect in peer.drain() if isinstance(effect, Send)]


def node(me: int) -> MishraSrimaniCoordinator:
    return MishraSrimaniCoordinator(me, (1, 2, 3))


def test_who_was_coordinator_passes_requests_on_to_whom_it_made_it() -> None:
    peer = node(1)
    peer.receive(2, Request(2, 1))
    assert sent(peer) == [Send(2, TOKEN)]
    peer.receive(3, Request(3, 1))
    assert sent(peer) == [Send(2, Request(3, 1))]


def test_who_waits_to_be_coordinator_keeps_requests_until_then() -> None:
    peer = node(2)
    peer.acquire()
    assert sent(peer) == [Send(1, Request(2, 1))]
    peer.receive(1, Request(3, 1))
    assert sent(peer) == []
    peer.receive(1, TOKEN)
    assert Enter() in peer.drain()
    peer.release()
    assert sent(peer) == [Send(3, Privilege((3,), (0, 1, 0), (0, 0)))]
    assert peer.coordinator == 3


def test_who_finds_the_coordinator_asks_it_directly() -> None:
    peer = node(2)
    peer.acquire()
    peer.timer("token")
    peer.receive(3, RepCritical())
    peer.drain()
    peer.timer("answers")
    assert sent(peer) == [Send(3, Request(2, 1))]


def test_all_learn_of_a_new_coordinator() -> None:
    peer = node(2)
    peer.receive(3, CreatePrivilege((1, 3)))
    assert peer.coordinator == 3
    other = node(2)
    other.receive(3, SystemRecovered())
    assert other.coordinator == 3
