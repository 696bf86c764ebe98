"""TR-869, section 7.2.2: a new node that inserts itself by broadcast."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerlock.algorithms.ricart_agrawala import Request
from peerlock.algorithms.ricart_agrawala_insertion import (
    AskNames,
    Included,
    IncludeMe,
    Names,
    RicartAgrawalaIncluded,
    RicartAgrawalaInsertion,
)
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, exhibit, model
from peerlock.checker.search import Limits, Search
from peerlock.checker.starvation import starving
from peerlock.core.peer import Broadcast, NodeId, Send
from peerlock.simulator import Crash, Heavy, Scenario, simulate
from peerlock.simulator import Network as Wires
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Uniform

NAME = "ricart-agrawala-insertion"
ANY, FIFO = Network(False), Network(True)
BACK = Network(False, crashes=1, returns=True)


def cluster(
    requests: tuple[int, ...],
    network: Network,
    passing: tuple[NodeId, ...],
    peer: type[RicartAgrawalaInsertion] = RicartAgrawalaInsertion,
) -> Model:
    nodes = len(requests)
    members = tuple(range(1, nodes + 1))
    return replace(
        model(NAME, nodes, requests, network),
        make=lambda node: peer(node, members, passing=passing),
    )


# "A new node obtains a list of participants … and then sends a broadcast message"


def newcomer() -> RicartAgrawalaInsertion:
    """Node 1 of three, which has asked node 2 for its list."""
    peer = RicartAgrawalaInsertion(1, (1, 2, 3), passing=(1,))
    peer.acquire()
    assert Send(2, AskNames()) in peer.drain()
    return peer


def test_it_asks_a_nearby_node_and_then_tells_all() -> None:
    peer = newcomer()
    peer.receive(2, Names((2, 3)))
    assert Broadcast(IncludeMe(1)) in peer.drain()


def test_it_waits_for_all_it_has_heard_of_and_takes_the_highest_number() -> None:
    peer = newcomer()
    peer.receive(2, Names((2,)))
    peer.drain()
    peer.receive(2, Included(1, (1, 2, 3), 7))  # so there is node 3 as well
    assert not any(isinstance(effect, Send) for effect in peer.drain())
    peer.receive(3, Included(1, (1, 3), 9))
    sent = [effect for effect in peer.drain() if isinstance(effect, Send)]
    assert sent == [Send(2, Request(10)), Send(3, Request(10))]


def test_an_answer_to_an_earlier_broadcast_does_not_count() -> None:
    peer = newcomer()
    peer.insertions = 4
    peer.receive(2, Names((2,)))
    assert Broadcast(IncludeMe(5)) in peer.drain()
    peer.receive(2, Included(4, (1, 2), 3))
    assert peer.awaiting
    peer.receive(2, Included(5, (1, 2), 3))
    assert Send(2, Request(4)) in peer.drain()


@pytest.mark.parametrize("passing", [(), (3,)], ids=["takes part", "does not"])
def test_whoever_hears_of_it_answers(passing: tuple[NodeId, ...]) -> None:
    peer = RicartAgrawalaInsertion(3, (1, 2, 3), passing=passing)
    peer.receive(1, IncludeMe(2))
    (answer,) = peer.drain()
    assert answer == Send(1, Included(2, (1, 3) if passing else (1, 2, 3), 0))


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_an_insertion_is_a_broadcast_and_an_answer_of_each_other_node(n: int) -> None:
    run = ByHand(NAME, n, passing=(1,))
    run.request(1)
    run.settle()
    assert run.judge.inside == {1}
    list_, told, entry = 2, 2 * (n - 1), 2 * (n - 1)
    assert run.sent == list_ + told + entry


# Every schedule: with one new node, with two, and with one that fails and comes back


@pytest.mark.parametrize(
    ("requests", "network", "passing", "coverage"),
    [
        ((2, 2), ANY, (1,), (5126, 13468, 30)),
        ((1, 1, 1), FIFO, (1,), (19987, 57415, 32)),
        ((1, 1, 1), ANY, (1,), (47320, 176348, 32)),
        ((1, 1, 0), ANY, (1, 2), (37111, 120961, 37)),
        ((1, 1), BACK, (), (931, 1836, 18)),
        ((0, 1, 1), BACK, (), (12267, 37233, 25)),
    ],
    ids=str,
)
def test_nodes_may_come_and_go(
    requests: tuple[int, ...],
    network: Network,
    passing: tuple[NodeId, ...],
    coverage: tuple[int, int, int],
) -> None:
    search = Search(cluster(requests, network, passing))
    search.run(Limits())
    assert search.exhausted
    assert search.breach is None
    assert starving(search) is None
    assert search.coverage == coverage


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_whoever_fails_and_comes_back_the_others_go_on(n: int) -> None:
    for seed in range(10):
        crash = Crash(seed % n + 1, 3.7 * seed, 3.7 * seed + 40)
        wires = Wires(Uniform(0.0, 4.0), crashes=(crash,))
        report = simulate(Scenario(NAME, n, 20 * n, Heavy(), wires, seed=seed))
        assert report.max_inside == 1
        assert report.remote_errors == 0
        assert report.entries >= 20 * n - 1
        assert report.messages_by_type["INCLUDE_ME"] >= n - 1


# The report's own words: nobody answers


def test_if_nobody_answers_two_get_in() -> None:
    violation = check(exhibit("ricart-agrawala-included")).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("exclusion", 16)


def test_in_order_that_takes_two_new_nodes() -> None:
    """One is safe: its question for the highest number comes after its broadcast."""
    one = check(cluster((1, 1, 1), FIFO, (1,), RicartAgrawalaIncluded))
    assert one.holds
    two = check(cluster((1, 1, 1), FIFO, (1, 2), RicartAgrawalaIncluded)).violation
    assert two is not None
    assert (two.property, two.depth) == ("exclusion", 20)
