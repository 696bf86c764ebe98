"""Chandy and Misra's drinking philosophers: sets of resources, without deadlock."""

import pytest

from peerlock.algorithms.chandy_misra import Ask, AskFork, Bottle, ChandyMisra, Fork
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.bits import bits
from peerlock.core.peer import Enter, RemoteError, Send
from peerlock.simulator import Heavy, Light, Scenario, empty_trace, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.traces.trace import Kind

TWO = (1, 2)
FIRST, SECOND, BOTH = bits((1,)), bits((2,)), bits((1, 2))


# The rules


def test_whoever_has_all_bottles_drinks_at_once() -> None:
    peer = ChandyMisra(1, TWO)
    peer.acquire_for(BOTH)
    assert peer.drain() == [Enter()]


def test_whoever_lacks_some_asks_for_these_and_for_the_fork() -> None:
    peer = ChandyMisra(2, TWO)
    peer.acquire_for(SECOND)
    assert peer.drain() == [Send(1, AskFork()), Send(1, Ask(2))]


def test_a_bottle_that_is_not_needed_is_given() -> None:
    peer = ChandyMisra(1, TWO)
    peer.acquire_for(FIRST)
    peer.drain()
    peer.receive(2, Ask(2))
    assert peer.drain() == [Send(2, Bottle(2))]


def test_a_bottle_that_is_drunk_from_is_given_at_the_exit() -> None:
    peer = ChandyMisra(1, TWO)
    peer.acquire_for(FIRST)
    peer.receive(2, Ask(1))
    assert peer.drain() == [Enter()]
    peer.release()
    assert peer.drain() == [Send(2, Bottle(1))]


def waiting() -> ChandyMisra:
    """Node 1 of three needs both, and lacks a bottle of node 3; it has given all away."""
    peer = ChandyMisra(1, (1, 2, 3))
    peer.receive(3, Ask(1))
    peer.receive(3, AskFork())
    peer.acquire_for(BOTH)
    assert peer.drain() == [
        Send(3, Bottle(1)),
        Send(3, Fork()),
        Send(3, AskFork()),
        Send(3, Ask(1)),
    ]
    return peer


def test_whoever_waits_keeps_what_it_needs_with_the_fork() -> None:
    peer = waiting()
    peer.receive(2, Ask(2))
    assert peer.drain() == []


def test_and_gives_it_without_the_fork() -> None:
    peer = waiting()
    peer.receive(2, AskFork())
    assert peer.drain() == [Send(2, Fork()), Send(2, AskFork())]
    peer.receive(2, Ask(2))
    assert peer.drain() == [Send(2, Bottle(2)), Send(2, Ask(2))]


def test_a_clean_fork_is_kept_until_its_node_has_eaten() -> None:
    peer = ChandyMisra(2, TWO)
    peer.acquire_for(FIRST)
    peer.drain()
    peer.receive(1, Fork())
    peer.receive(1, AskFork())
    assert peer.drain() == []
    peer.receive(1, Bottle(1))
    assert peer.drain() == [Enter(), Send(1, Fork())]


def test_whoever_has_all_forks_keeps_the_dirty_ones_until_it_has_drunk() -> None:
    peer = ChandyMisra(1, TWO)
    peer.receive(2, Ask(1))
    peer.acquire_for(FIRST)
    assert peer.drain() == [Send(2, Bottle(1)), Send(2, Ask(1))]
    peer.receive(2, AskFork())
    assert peer.drain() == []
    peer.receive(2, Bottle(1))
    assert peer.drain() == [Enter(), Send(2, Fork())]


@pytest.mark.parametrize("message", [Fork(), Bottle(1), Bottle(3), Ask(9)], ids=str)
def test_senseless_messages_are_refused(message: object) -> None:
    with pytest.raises(RemoteError):
        ChandyMisra(1, TWO).receive(2, message)


# Claims


def test_bottles_stay_where_they_were_used_last() -> None:
    cluster = ByHand("chandy-misra", 3, resources=2)
    for _ in range(2):
        before = cluster.sent
        cluster.request(3, FIRST)
        cluster.settle()
        cluster.leave(3)
        cluster.settle()
    assert cluster.sent == before


@pytest.mark.parametrize("n", [2, 3, 5, 10])
@pytest.mark.parametrize("resources", [1, 2, 3])
def test_two_messages_for_each_fork_and_bottle_at_most(n: int, resources: int) -> None:
    scenario = Scenario("chandy-misra", n, 60, Light(), resources=resources)
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    sent, needed = 0, 0
    for step in trace:
        if step.kind is Kind.REQUEST:
            assert sent <= 2 * (n - 1) * (1 + needed)
            sent, needed = 0, step.note.count("+") + 1
        sent += step.kind is Kind.SEND


@pytest.mark.parametrize("n", [2, 5, 10])
def test_when_all_compete_it_is_two_for_each_conflict(n: int) -> None:
    report = simulate(Scenario("chandy-misra", n, 40 * n, Heavy(), resources=2))
    assert report.messages_per_entry <= 2 * (n - 1) * 3
    assert report.max_inside == 2


def test_with_one_resource_these_are_the_dining_philosophers() -> None:
    report = check(model("chandy-misra", 2, 2, resources=1))
    assert report.holds
    assert report.max_messages_per_entry == 4


def test_nobody_waits_for_ever() -> None:
    assert check(model("chandy-misra", 2, None)).holds
