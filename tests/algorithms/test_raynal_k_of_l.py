"""Raynal's k out of ℓ: what the others use leaves enough."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from peerlock.algorithms.raynal_k_of_l import Free, RaynalKOfL
from peerlock.algorithms.ricart_agrawala import Request
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.demands import EXCLUSIVE, Units
from peerlock.core.peer import Broadcast, Enter, Peer, RemoteError, Send
from peerlock.node.terms import blueprint, demand, settle
from peerlock.simulator import Heavy, Light, Scenario, Violation, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.judge import Judge

THREE = (1, 2, 3)


def asking(units: int) -> RaynalKOfL:
    """Node 2 of three, for so many of five."""
    peer = RaynalKOfL(2, THREE, units=5)
    peer.acquire_for(units)
    assert peer.drain() == [Broadcast(Request(1))]
    return peer


# The judge


def test_so_many_units_and_no_more() -> None:
    judge = Judge(Units(3))
    for node, units in ((1, 2), (2, 1), (3, 1)):
        judge.requested(node, units)
    judge.granted(1, fence=1)
    judge.granted(2, fence=1)
    with pytest.raises(Violation, match="1, 2 and 3 are inside together"):
        judge.granted(3, fence=1)


def test_fences_grow_where_two_do_not_fit_together() -> None:
    judge = Judge(Units(3))
    for node, units in ((1, 2), (2, 2)):
        judge.requested(node, units)
    judge.granted(1, fence=4)
    judge.left(1)
    with pytest.raises(Violation, match="2's fence 4 follows 4"):
        judge.granted(2, fence=4)


# The rules


def test_a_node_enters_when_what_others_use_leaves_enough() -> None:
    peer = asking(3)
    peer.receive(1, Free(5))
    peer.receive(3, Free(2))  # it uses three
    assert peer.drain() == []
    peer.receive(3, Free(1))
    assert peer.drain() == [Enter()]


@pytest.mark.parametrize(
    ("number", "sender", "freed"), [(1, 1, 5), (1, 3, 2), (9, 1, 2), (0, 3, 5)]
)
def test_whoever_comes_first_counts_as_what_it_asks_for(
    number: int, sender: int, freed: int
) -> None:
    peer = asking(3)
    peer.receive(sender, Request(number))
    assert peer.drain() == [Send(sender, Free(freed))]


def test_whoever_is_inside_counts_as_that_to_a_request_that_precedes_as_well() -> None:
    peer = asking(3)
    for sender in (1, 3):
        peer.receive(sender, Free(5))
    assert peer.drain() == [Enter()]
    peer.receive(1, Request(0))
    assert peer.drain() == [Send(1, Free(2))]


@pytest.mark.parametrize("numbers", [(2, 3), (3, 2)])
def test_what_is_used_counts_once_however_often_others_ask(
    numbers: tuple[int, int],
) -> None:
    """Also if their requests overtake each other."""
    peer = asking(2)
    for sender in (1, 3):
        peer.receive(sender, Free(5))
    peer.drain()
    for number, free in zip(numbers, (3, 5), strict=True):
        peer.receive(3, Request(number))
        assert peer.drain() == [Send(3, Free(free))]
    peer.release()
    assert peer.drain() == [Send(3, Free(2))]


def test_a_request_that_comes_late_takes_nothing_back() -> None:
    """Node 1 has asked twice; we come between the two, and hear the second one first."""
    peer = asking(2)
    peer.receive(1, Request(5))
    peer.receive(1, Request(0))
    assert peer.drain() == [Send(1, Free(3)), Send(1, Free(5))]


def test_units_that_are_free_are_given_to_those_that_ask_again_and_again() -> None:
    cluster = ByHand("raynal-k-of-l", 3, units=3)
    for node in (1, 2, 3):
        cluster.request(node)
        cluster.settle()
    for node in (1, 2, 1, 2, 1, 2):  # while node 3 stays
        cluster.leave(node)
        cluster.request(node)
        cluster.settle()
    assert cluster.judge.inside == {1, 2, 3}


def test_a_node_that_uses_all_has_nothing_to_say_before_it_leaves() -> None:
    peer = asking(5)
    peer.receive(3, Request(2))
    assert peer.drain() == []


def test_nobody_frees_more_than_it_uses() -> None:
    peer = asking(1)
    with pytest.raises(RemoteError):
        peer.receive(1, Free(6))


# Claims


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_2_n_minus_1_alone_and_at_most_3_n_minus_1(n: int) -> None:
    for units in (1, 2, 5):
        light = simulate(Scenario("raynal-k-of-l", n, 20, Light(), units=units))
        heavy = simulate(Scenario("raynal-k-of-l", n, 20 * n, Heavy(), units=units))
        assert light.messages_per_entry == 2 * (n - 1)
        assert 2 * (n - 1) <= heavy.messages_per_entry <= 3 * (n - 1)


def test_with_one_unit_it_is_ricart_and_agrawala() -> None:
    one = check(model("raynal-k-of-l", 3, (1, 1, 0), units=1))
    theirs = check(model("ricart-agrawala", 3, (1, 1, 0)))
    assert one.coverage.depth == theirs.coverage.depth
    assert one.max_messages_per_entry == theirs.max_messages_per_entry == 4
    assert one.max_overtaken == theirs.max_overtaken


def test_small_requests_are_inside_together() -> None:
    cluster = ByHand("raynal-k-of-l", 4, units=5)
    for node, units in ((1, 2), (2, 2), (3, 4), (4, 1)):
        cluster.request(node, units)
    cluster.settle()
    assert cluster.judge.inside == {1, 2}
    cluster.leave(1)
    cluster.settle()
    assert cluster.judge.inside == {2}  # four and one wait for the order
    cluster.leave(2)
    cluster.settle()
    assert cluster.judge.inside == {3, 4}


@dataclass(eq=False)
class AsASemaphore(RaynalKOfL):
    def acquire_for(self, units: Any) -> None:
        if units == EXCLUSIVE:
            Peer.acquire_for(self, units)
        else:
            super().acquire_for(units)


@pytest.mark.parametrize(("nodes", "permits"), [(3, 1), (3, 2), (2, 2)])
def test_as_a_semaphore_each_asks_for_one_unit(nodes: int, permits: int) -> None:
    members = tuple(range(1, nodes + 1))
    wanted = model("raymond-k", nodes, 1, permits=permits)
    made = replace(wanted, make=lambda i: AsASemaphore(i, members, units=permits))
    found = check(made)
    assert found.holds
    assert (found.max_messages_per_entry or 0) <= 3 * (nodes - 1)


def test_a_lock_node_makes_it_with_as_many_units_as_permits() -> None:
    terms = settle(demand("raynal-k-of-l", 3), 0)
    assert blueprint(terms, 2).settings == {"units": 3}
