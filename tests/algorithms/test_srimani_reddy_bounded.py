"""Srimani and Reddy's bounded rounds, with LT and acknowledgements."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerlock.algorithms.srimani_reddy_bounded import (
    Ack,
    Privilege,
    Recorded,
    SrimaniReddyBounded,
)
from peerlock.algorithms.suzuki_kasami import Request
from peerlock.checker.check import check
from peerlock.checker.model import Model, model
from peerlock.core.peer import Broadcast, Enter, RemoteError, Send
from peerlock.simulator import Heavy, Scenario, simulate

NAME = "srimani-reddy-bounded"


def cluster(
    requests: tuple[int, ...] | None, nodes: int, permits: int, limit: int
) -> Model:
    members = tuple(range(1, nodes + 1))
    return replace(
        model(NAME, nodes, requests, permits=permits),
        make=lambda i: SrimaniReddyBounded(i, members, permits=permits, limit=limit),
    )


def asking(limit: int = 1) -> SrimaniReddyBounded:
    """Node 3 of three, whose round of L requests is over; tokens are at 1 and 2."""
    peer = SrimaniReddyBounded(3, (1, 2, 3), limit=limit)
    peer.acquire()
    assert peer.drain() == [Broadcast(Request(3, 1))]
    return peer


# "It waits for the acknowledgement from all other N-1 nodes"


def test_the_next_round_waits_for_acks_and_for_all_tokens() -> None:
    peer = asking()
    peer.receive(1, Privilege((), (0, 0, 0), (0, 0, 0)))  # recorded as it comes
    assert peer.drain() == [Enter()]
    peer.receive(1, Ack(0))
    peer.receive(2, Request(2, 1))
    peer.release()
    assert peer.drain() == [Send(2, Ack(1)), Send(2, Privilege((), (0, 0, 1), (0, 1, 1)))]
    peer.acquire()
    assert peer.held_back
    peer.receive(2, Ack(0))
    assert peer.drain() == []  # a token is under way that does not know
    peer.receive(1, Recorded())
    assert peer.drain() == [Broadcast(Request(3, 2))]


def test_a_node_acknowledges_a_round_with_the_tokens_it_has() -> None:
    peer = SrimaniReddyBounded(1, (1, 2, 3), permits=4, limit=1)
    assert len(peer.spare) == 2
    peer.receive(3, Request(3, 1))
    sent = peer.drain()
    assert sent[0] == Send(3, Ack(2))
    assert sent[1] == Send(3, Privilege((), (0, 0, 0), (0, 0, 1)))


def test_a_token_that_comes_later_is_brought_up_to_date() -> None:
    peer = SrimaniReddyBounded(2, (1, 2, 3), permits=1, limit=1)
    peer.receive(3, Request(3, 1))
    assert peer.drain() == [Send(3, Ack(0))]
    peer.receive(1, Privilege((), (0, 0, 1), (0, 0, 0)))
    assert peer.drain() == [Send(3, Recorded())]
    assert peer.spare == ((0, 0, 1),)


@pytest.mark.parametrize("limit", [1, 2, 5])
def test_of_two_numbers_the_later_one_is_known(limit: int) -> None:
    """Up to L+1 apart, in either direction."""
    peer = SrimaniReddyBounded(1, (1, 2), limit=limit)
    for earlier in range(peer.modulus):
        for apart in range(limit + 2):
            later = (earlier + apart) % peer.modulus
            assert peer.later(earlier, later) == later
            assert peer.later(later, earlier) == later


@pytest.mark.parametrize("message", [Ack(0), Recorded()], ids=str)
def test_what_belongs_to_no_round_is_a_remote_error(message: object) -> None:
    peer = SrimaniReddyBounded(1, (1, 2, 3))
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(2, message)
    assert peer.snapshot() == before


# Counts


def test_before_a_round_is_over_it_is_the_algorithm_without_rounds() -> None:
    """State by state."""
    bounded = check(cluster((1, 1, 1), nodes=3, permits=2, limit=2))
    plain = check(model("srimani-reddy", 3, 1))
    assert bounded.coverage == plain.coverage
    assert bounded.max_messages_per_entry == plain.max_messages_per_entry


@pytest.mark.parametrize("n", [3, 5, 10])
def test_a_round_costs_acks_and_a_notice_for_each_token_at_most(n: int) -> None:
    report = simulate(Scenario(NAME, n, 40 * n, Heavy()))
    counts = report.messages_by_type
    rounds = counts["REQUEST"] / (n - 1) / 2
    assert counts["ACK"] == pytest.approx(rounds * (n - 1), rel=0.05)
    assert counts["RECORDED"] <= 2 * rounds
    assert report.max_inside == 2
    assert report.fairness > 0.98


# Every schedule, and without end: the numbers start over


@pytest.mark.parametrize(
    ("requests", "nodes", "permits", "limit", "coverage"),
    [
        ((2, 2), 2, 1, 1, (696, 1915, 20)),
        (None, 2, 1, 1, (2014, 6791, 61)),
        (None, 2, 1, 2, (2028, 6294, 131)),
        ((1, 1, 1), 3, 2, 2, (2839, 8263, 18)),
        ((0, 2, 2), 3, 1, 1, (12228, 49998, 28)),
    ],
    ids=str,
)
def test_it_holds(
    requests: tuple[int, ...] | None,
    nodes: int,
    permits: int,
    limit: int,
    coverage: tuple[int, int, int],
) -> None:
    report = check(cluster(requests, nodes, permits, limit))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage
