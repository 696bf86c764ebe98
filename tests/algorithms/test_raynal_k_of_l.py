"""Raynal's k out of ℓ: what the others use leaves enough."""

import pytest

from peerlock.algorithms.raynal_k_of_l import Free, RaynalKOfL
from peerlock.algorithms.ricart_agrawala import Request
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.demands import Units
from peerlock.core.peer import Broadcast, Enter, RemoteError, Send
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


def test_the_rest_is_freed_at_the_exit_for_all_requests_together() -> None:
    peer = asking(2)
    for sender in (1, 3):
        peer.receive(sender, Free(5))
    for number in (2, 3):
        peer.receive(3, Request(number))
    peer.drain()
    peer.release()
    assert peer.drain() == [Send(3, Free(4))]


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
