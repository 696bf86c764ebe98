"""Raynal's prime numbers: what is claimed of them, one test a claim."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise
from math import gcd, prod

import pytest

from peerlock.algorithms.raynal_prime import (
    Inform,
    RaynalPrime,
    RaynalPrime1989,
    Reply,
    Request,
    attributes,
    change_of,
    product_at,
)
from peerlock.checker.check import check
from peerlock.checker.model import Network, model
from peerlock.core.peer import Broadcast, Enter, RemoteError, Send, SetTimer
from peerlock.simulator import Heavy, Light, Scenario, empty_trace, simulate
from peerlock.traces.trace import Kind

NAME = "raynal-prime"


# The numbers


def test_the_attributes_are_pairwise_prime_and_different_from_1() -> None:
    assert attributes(6) == (2, 3, 5, 7, 11, 13)
    found = attributes(50)
    assert all(gcd(a, b) == 1 for i, a in enumerate(found) for b in found[:i])


@pytest.mark.parametrize("n", [1, 2, 3, 10, 50])
def test_the_product_tells_whose_turn_it_is_and_leaving_moves_it_on(n: int) -> None:
    turns = [product_at(i, n) for i in range(1, n + 1)]
    assert len(set(turns)) == n
    assert turns[0] == prod(attributes(n)) // 2
    for i, (here, onward) in enumerate(pairwise([*turns, turns[0]]), start=1):
        assert here * change_of(i, n) == onward


# The survey's form


def test_a_node_enters_when_the_product_says_so_in_whatever_order_it_is_told() -> None:
    for first, second in ((1, 2), (2, 1)):
        peer = RaynalPrime(3, (1, 2, 3))
        peer.acquire()
        peer.receive(first, Inform(change_of(first, 3)))
        assert peer.drain() == []
        peer.receive(second, Inform(change_of(second, 3)))
        assert peer.drain() == [Enter()]


def test_a_node_that_does_not_want_in_behaves_as_if_it_left() -> None:
    peer = RaynalPrime(2, (1, 2, 3))
    peer.receive(1, Inform(Fraction(2, 3)))
    assert peer.drain() == [Broadcast(Inform(Fraction(3, 5)))]


def test_a_turn_goes_to_the_next_node_only() -> None:
    peer = RaynalPrime(3, (1, 2, 3))
    with pytest.raises(RemoteError, match="not the next"):
        peer.receive(1, Inform(Fraction(2, 5)))
    peer.acquire()
    peer.receive(1, Inform(Fraction(2, 3)))
    peer.receive(2, Inform(Fraction(3, 5)))
    with pytest.raises(RemoteError, match="ours"):
        peer.receive(1, Inform(Fraction(2, 3)))


def test_entries_follow_the_ring() -> None:
    scenario = Scenario(NAME, 5, 50, Heavy())
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    entered = [step.node for step in trace if step.kind is Kind.ENTER]
    assert all(b == a % 5 + 1 for a, b in pairwise(entered))


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_when_all_compete_an_entry_costs_n_minus_1(n: int) -> None:
    """The first node passes its first turn on, before its user has asked: one in all."""
    report = simulate(Scenario(NAME, n, 20 * n, Heavy()))
    assert report.messages == (report.entries + 1) * (n - 1)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
def test_from_a_request_to_its_entry_it_takes_n_minus_1_squared_at_most(n: int) -> None:
    scenario = Scenario(NAME, n, 40, Light())
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    most = messages = 0
    for step in trace:
        if step.kind is Kind.REQUEST:
            messages = 0
        elif step.kind is Kind.ENTER:
            most = max(most, messages)
        messages += step.kind is Kind.SEND
    assert 0 < most <= (n - 1) ** 2


def test_the_values_stay_small_however_often_the_turn_goes_round() -> None:
    report = check(model(NAME, 3, None))
    assert report.holds
    assert report.coverage.states == 336


# (nodes, requests): states, transitions, depth, messages, overtaken
PINNED = {
    (3, 2): (4125, 12675, 32, None, 2),
    (4, 1): (28080, 127872, 38, None, 3),
}


@pytest.mark.parametrize(("size", "counts"), PINNED.items(), ids=str)
@pytest.mark.parametrize("fifo", [True, False], ids=["fifo", "any order"])
def test_it_holds_and_order_makes_no_difference(
    size: tuple[int, int], counts: tuple[object, ...], fifo: bool
) -> None:
    """Nobody sends a second INFORM before its first has arrived everywhere."""
    report = check(model(NAME, *size, Network(fifo)))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts


# The published form


def test_as_published_a_node_enters_if_the_product_is_its_own() -> None:
    peer = RaynalPrime1989(1, (1, 2, 3))
    peer.acquire()
    peer.receive(2, Reply(Fraction(3)))
    assert peer.drain() == [Broadcast(Request())]
    peer.receive(3, Reply(Fraction(5)))
    assert peer.drain() == [Enter()]
    peer.release()
    peer.receive(2, Request())
    assert peer.drain() == [Send(2, Reply(Fraction(2, 3)))]


def test_as_published_a_node_asks_again_if_it_is_not() -> None:
    peer = RaynalPrime1989(2, (1, 2))
    peer.acquire()
    peer.receive(1, Reply(Fraction(1)))
    assert peer.drain() == [Broadcast(Request()), SetTimer("ask again", 1.0)]
    peer.timer("ask again")
    assert peer.drain() == [Broadcast(Request())]
    peer.receive(1, Reply(Fraction(2, 3)))
    assert peer.drain() == [Enter()]


@pytest.mark.parametrize("nodes", [2, 3])
def test_as_published_a_node_that_does_not_want_in_blocks_the_others(nodes: int) -> None:
    """Node 1, whose turn it is, never asks; node 2 asks, is answered, and asks again."""
    violation = check(model("raynal-prime-1989", nodes, None)).violation
    assert violation is not None
    assert violation.property == "starvation"
    assert {s.node for s in violation.trace if s.kind is Kind.REQUEST} == {2}
    assert violation.loop_from == 1


def test_as_published_it_is_safe_and_there_is_no_bound_on_messages() -> None:
    """The 2(N−1)² of the sources counts on one attempt a turn."""
    report = check(model("raynal-prime-1989", 3, 1))
    assert report.holds
    assert report.max_messages_per_entry is None


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_as_published_an_attempt_costs_2_n_minus_1(n: int) -> None:
    report = simulate(Scenario("raynal-prime-1989", n, 10 * n, Heavy()))
    assert report.messages % (2 * (n - 1)) == 0
    assert report.messages_by_type["REQUEST"] == report.messages_by_type["REPLY"]
    assert report.messages_per_entry >= 2 * (n - 1)
