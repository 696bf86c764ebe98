"""Banerjee and Chrysanthis: a collector that moves with the token, a claim a test."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

import pytest

from peerlock.algorithms.banerjee_chrysanthis import BanerjeeChrysanthis
from peerlock.algorithms.chaudhuri_edward import (
    ChaudhuriEdward,
    LrCollector,
    Request,
    Token,
)
from peerlock.checker.check import check
from peerlock.checker.model import Network, exhibit, model
from peerlock.core.peer import Broadcast, Enter, NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from tests.support.counts import light_entries

NAME = "banerjee-chrysanthis"


# "The message complexity is O(n) under light load and tends to 3 … under heavy load"


@pytest.mark.parametrize("n", [1, 2, 3, 5, 10, 20, 50])
def test_an_entry_that_nobody_contests(n: int) -> None:
    """REQUEST, TOKEN, and the news to all others."""
    for holder, node, messages in light_entries(NAME, n, entries=40):
        assert messages == (0 if node == (holder or 1) else n + 1)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50, 100])
def test_when_all_compete(n: int) -> None:
    """One REQUEST, one TOKEN, and in each queue of N−1 the news to N−1 others.  What is
    below 3 is the first entry, and the last queue, which nobody asks after."""
    report = simulate(Scenario(NAME, n, 60 * n, Heavy()))
    assert report.messages_per_entry == pytest.approx(3, abs=0.06)


@pytest.mark.parametrize("n", [2, 5, 12])
def test_the_token_may_start_anywhere(n: int) -> None:
    for holder in range(1, n + 1):
        cluster = ByHand(NAME, n, first_holder=holder)
        node = holder % n + 1
        cluster.request(node)
        cluster.settle()
        assert cluster.judge.inside == {node}
        assert cluster.sent == n + 1


# The paragraph, sentence by sentence


def peer(node: NodeId, holder: NodeId = 1) -> BanerjeeChrysanthis:
    return BanerjeeChrysanthis(node, (1, 2, 3, 4), first_holder=holder)


def test_requests_are_sent_to_the_collector_who_has_the_token() -> None:
    node = peer(3, holder=2)
    node.acquire()
    assert node.drain() == [Send(2, Request((3,), 0))]


def test_the_queue_is_copied_to_the_token_and_its_rear_announced() -> None:
    collector = peer(1)
    collector.acquire()
    for j in (4, 2):
        collector.receive(j, Request((j,), 0))
    assert collector.drain() == [Enter()]
    collector.release()
    news, token = Broadcast(LrCollector(1, 2)), Send(4, Token((4, 2), 1))
    assert collector.drain() == [news, token]


def test_the_token_is_passed_in_the_order_of_its_queue() -> None:
    node = peer(4)
    node.acquire()
    node.receive(1, Token((4, 2, 3), 1))
    node.release()
    assert node.drain()[1:] == [Enter(), Send(2, Token((2, 3), 1))]


def test_the_last_one_repeats_the_process_with_its_own_queue() -> None:
    last = peer(2)
    last.acquire()
    last.receive(3, Request((3,), 1))
    last.receive(4, Token((2,), 1))
    last.drain()
    last.release()
    assert last.drain() == [Broadcast(LrCollector(2, 3)), Send(3, Token((3,), 2))]


def test_a_late_request_is_transferred_to_the_new_collector() -> None:
    old = peer(1)
    old.receive(2, Request((2,), 0))
    old.drain()
    old.receive(3, Request((3,), 0))
    assert old.drain() == [Send(2, Request((3,), 1))]


@pytest.mark.parametrize(
    ("sender", "message"),
    [(1, Token((2,), 1)), (1, Token((3,), 1)), (1, Request((2,), 0))],
    ids=str,
)
def test_senseless_messages(sender: NodeId, message: object) -> None:
    node = peer(2)
    before = node.snapshot()
    with pytest.raises(RemoteError):
        node.receive(sender, message)
    assert (node.snapshot(), node.drain()) == (before, [])


# Every schedule; the smaller sizes are pinned with those of the other algorithms


@pytest.mark.parametrize(
    ("nodes", "requests", "counts"),
    [
        (3, (1, 2, 1), (14852, 62532, 24, Fraction(19, 4), 3)),
        (4, (0, 1, 1, 1), (19550, 91647, 21, 6, 2)),
    ],
)
def test_it_holds_with_the_pinned_counts(
    nodes: int, requests: tuple[int, ...], counts: tuple[object, ...]
) -> None:
    report = check(model(NAME, nodes, requests))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts


def test_it_is_chaudhuri_and_edwards_algorithm_with_one_group() -> None:
    ours = model(NAME, 3, 1)
    theirs = replace(ours, make=lambda i: ChaudhuriEdward(i, (1, 2, 3), groups=1))
    assert check(ours).coverage == check(theirs).coverage


def test_in_order_it_needs_the_count_too() -> None:
    """The museum's cluster, which deadlocks without."""
    shown = exhibit("banerjee-chrysanthis-uncounted")
    assert shown.requests == (1, 2, 2)
    violation = check(shown).violation
    assert violation is not None
    assert violation.depth == 19
    report = check(model(NAME, shown.nodes, shown.requests, Network(fifo=True)))
    assert report.holds
    assert report.coverage.states == 9490
