"""Singhal's dynamic information structure: what is claimed of it, one test a claim."""

from __future__ import annotations

from random import Random

import pytest

from peerlock.algorithms.ricart_agrawala import Reply, Request
from peerlock.algorithms.singhal_dynamic import SinghalDynamic
from peerlock.checker.check import check
from peerlock.checker.model import Network, model
from peerlock.core.bits import bits, nodes_in
from peerlock.core.peer import Enter, NodeId, Send
from peerlock.simulator import Heavy, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from tests.support.counts import light_entries

NAME = "singhal-dynamic"


def request_set(cluster: ByHand, node: NodeId) -> set[NodeId]:
    peer = cluster.peers[node]
    assert isinstance(peer, SinghalDynamic)
    return set(nodes_in(peer.missing()))


# The request set


@pytest.mark.parametrize("n", [1, 2, 5, 9])
def test_the_request_sets_begin_as_a_staircase(n: int) -> None:
    cluster = ByHand(NAME, n)
    for i in cluster.members:
        assert request_set(cluster, i) == set(range(1, i))


def test_of_two_nodes_exactly_one_asks_the_other_when_all_is_quiet() -> None:
    """So the request sets of any two have a node in common, each counted with itself."""
    cluster = ByHand(NAME, 6)
    for node in (4, 6, 1, 4, 5, 2):
        cluster.request(node)
        cluster.settle()
        cluster.leave(node)
        cluster.settle()
        for i in cluster.members:
            for j in range(1, i):
                asks = (j in request_set(cluster, i), i in request_set(cluster, j))
                assert sum(asks) == 1


def test_who_replies_leaves_the_request_set() -> None:
    peer = SinghalDynamic(3, (1, 2, 3))
    peer.acquire()
    peer.receive(2, Reply())
    assert list(nodes_in(peer.missing())) == [1]


def test_an_idle_node_replies_and_will_ask() -> None:
    peer = SinghalDynamic(1, (1, 2, 3))
    peer.receive(3, Request(1))
    assert peer.drain() == [Send(3, Reply())]
    assert list(nodes_in(peer.missing())) == [3]


# The informing set


def waiting_node() -> SinghalDynamic:
    """Node 2 of four, which waits for node 1 with number 1 and need not ask 3 and 4."""
    peer = SinghalDynamic(2, (1, 2, 3, 4))
    peer.acquire()
    assert peer.drain() == [Send(1, Request(1))]
    return peer


def test_a_later_request_waits_in_the_informing_set_until_we_leave() -> None:
    peer = waiting_node()
    peer.receive(4, Request(1))
    assert peer.drain() == []
    peer.receive(1, Reply())
    peer.receive(3, Request(1))
    assert peer.drain() == [Enter()]
    assert list(nodes_in(peer.reply_deferred)) == [3, 4]
    peer.release()
    assert peer.drain() == [Send(3, Reply()), Send(4, Reply())]
    assert list(nodes_in(peer.reply_deferred)) == []
    assert list(nodes_in(peer.missing())) == [3, 4]


def test_who_gives_way_to_a_node_outside_its_request_set_asks_it() -> None:
    peer = waiting_node()
    peer.receive(1, Request(1))  # it precedes, and we have asked it
    assert peer.drain() == [Send(1, Reply())]
    peer.receive(3, Request(0))  # it precedes, and we have not
    assert peer.drain() == [Send(3, Reply()), Send(3, Request(1))]


# Messages


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
def test_an_entry_costs_two_for_each_node_that_entered_since_our_last(n: int) -> None:
    """As long as nobody competes; the staircase is as if 1 had entered last, then 2, …"""
    latest_first = list(range(1, n + 1))
    for _, node, messages in light_entries(NAME, n, entries=200):
        assert messages == 2 * latest_first.index(node)
        latest_first.remove(node)
        latest_first.insert(0, node)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
def test_that_is_n_minus_1_on_average(n: int) -> None:
    counts = [messages for *_, messages in light_entries(NAME, n, entries=2000)]
    assert sum(counts) / len(counts) == pytest.approx(n - 1, rel=0.07)


@pytest.mark.parametrize("n", [10, 20, 40])
def test_three_halves_if_it_is_chance_whether_the_holder_comes_first(n: int) -> None:
    """All ask at once; the staircase has been put in a random order of the nodes."""
    rng, rounds = Random(n), 40
    sent = sum(messages_of_a_burst(n, rng) for _ in range(rounds))
    assert sent / (rounds * n) == pytest.approx(3 * (n - 1) / 2, rel=0.1)


def messages_of_a_burst(n: int, rng: Random) -> int:
    cluster = ByHand(NAME, n)
    order = rng.sample(cluster.members, n)
    for step, node in enumerate(order):
        peer = cluster.peers[node]
        assert isinstance(peer, SinghalDynamic)
        peer.authorized = bits(order[step + 1 :])
    for node in cluster.members:
        cluster.request(node)
    while cluster.judge.waiting or cluster.judge.inside:
        cluster.settle()
        for node in list(cluster.judge.inside):
            cluster.leave(node)
    cluster.settle()
    return cluster.sent


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_saturation_costs_2_n_minus_1(n: int) -> None:
    """A node that has just left has given way to all that wait, and asks them all again."""
    report = simulate(Scenario(NAME, n, 40 * n, Heavy()))
    assert report.messages_per_entry <= 2 * (n - 1)
    assert report.messages_per_entry == pytest.approx(2 * (n - 1), rel=0.05)


# Every schedule

# (nodes, requests, in order): states, transitions, depth, messages, overtaken
PINNED = {
    (3, 2, True): (7999, 18748, 36, 4, 4),
    (2, 3, False): (295, 422, 24, 2, 3),
    (3, 2, False): (11098, 30184, 36, 4, 4),
    (4, 1, True): (34241, 140053, 32, 6, 3),
}


@pytest.mark.parametrize(("size", "counts"), PINNED.items(), ids=str)
def test_it_holds_in_order_and_also_out_of_order(
    size: tuple[int, int, bool], counts: tuple[object, ...]
) -> None:
    nodes, requests, fifo = size
    report = check(model(NAME, nodes, requests, Network(fifo)))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts
