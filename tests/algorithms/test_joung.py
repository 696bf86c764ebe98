"""Joung's: those of one group together, those of two groups never."""

from dataclasses import dataclass, replace
from typing import Any

import pytest

from peerlock.algorithms.joung import Joung, Request
from peerlock.algorithms.ricart_agrawala import REPLY
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.cli.advise import candidates
from peerlock.core.demands import Groups
from peerlock.core.peer import Broadcast, Peer, Send
from peerlock.simulator import Heavy, Light, Scenario, Violation, empty_trace, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.judge import Judge
from peerlock.traces.trace import Kind

THREE = (1, 2, 3)


# The judge


def test_a_group_may_be_inside_and_no_other_may_join_it() -> None:
    judge = Judge(Groups(2))
    for node, group in ((1, 2), (2, 2), (3, 1)):
        judge.requested(node, group)
    judge.granted(1, fence=1)
    judge.granted(2, fence=1)
    with pytest.raises(Violation, match="1, 2 and 3 are inside together"):
        judge.granted(3, fence=2)


def test_the_fence_of_a_group_is_above_those_of_all_others() -> None:
    judge = Judge(Groups(3))
    for node, group, fence in ((1, 1, 5), (2, 2, 6)):
        judge.requested(node, group)
        judge.granted(node, fence)
        judge.left(node)
    judge.requested(3, 3)
    with pytest.raises(Violation, match="3's fence 6 follows 6"):
        judge.granted(3, fence=6)


# The rules


@pytest.mark.parametrize("inside", [False, True])
def test_a_node_never_defers_its_own_group(inside: bool) -> None:
    peer = Joung(1, THREE)
    peer.acquire_for(2)
    assert peer.drain() == [Broadcast(Request(1, 2))]
    if inside:
        peer.receive(2, REPLY)
        peer.receive(3, REPLY)
    peer.drain()
    peer.receive(3, Request(1, 2))
    assert peer.drain() == [Send(3, REPLY)]
    peer.receive(2, Request(1, 1))
    assert peer.drain() == []  # another group follows the order


def test_as_a_lock_each_node_is_a_group_and_readers_are_one() -> None:
    one, two = Joung(1, THREE), Joung(2, THREE)
    one.acquire()
    two.acquire()
    assert one.drain() == [Broadcast(Request(1, -1))]
    assert two.drain() == [Broadcast(Request(1, -2))]
    one.receive(2, Request(1, -2))
    assert one.drain() == []
    assert one.others_may_wait
    reader = Joung(3, THREE)
    reader.acquire_shared()
    reader.drain()
    reader.receive(2, Request(2, 1))
    assert reader.drain() == [Send(2, REPLY)]
    assert not reader.others_may_wait


@dataclass(eq=False)
class AsALock(Joung):
    def acquire_for(self, demand: Any) -> None:
        if isinstance(demand, str):  # a reader's, or not
            Peer.acquire_for(self, demand)
        else:
            super().acquire_for(demand)


@pytest.mark.parametrize(("nodes", "requests"), [(2, 2), (3, 1)])
def test_as_a_lock_it_has_readers_and_writers_in_every_schedule(
    nodes: int, requests: int
) -> None:
    """As many states as Ricart and Agrawala's readers and writers."""
    members = tuple(range(1, nodes + 1))
    theirs = model("ricart-agrawala-readers-writers", nodes, requests)
    ours = replace(theirs, make=lambda node: AsALock(node, members))
    found, expected = check(ours), check(theirs)
    assert found.holds
    assert found.coverage.states == expected.coverage.states
    assert found.max_overtaken == expected.max_overtaken


def test_a_node_that_has_left_defers_nobody() -> None:
    peer = Joung(1, (1,))
    peer.acquire_for(2)
    peer.release()
    assert peer.group == 0


def test_two_of_a_group_enter_without_waiting_for_each_other() -> None:
    cluster = ByHand("joung", 3, groups=2)
    cluster.request(1, 2)
    cluster.request(3, 2)
    cluster.settle()
    assert cluster.judge.inside == {1, 3}
    cluster.request(2, 1)
    cluster.settle()
    cluster.leave(1)
    cluster.settle()
    assert cluster.judge.waiting == {2}
    cluster.leave(3)
    cluster.settle()
    assert cluster.judge.inside == {2}


# Claims


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
@pytest.mark.parametrize("groups", [1, 2, 5])
def test_an_entry_costs_2_n_minus_1(n: int, groups: int) -> None:
    for load in (Light(), Heavy()):
        report = simulate(Scenario("joung", n, 5 * n, load, groups=groups))
        assert report.messages_per_entry == 2 * (n - 1)


def test_with_one_group_nobody_waits() -> None:
    assert simulate(Scenario("joung", 8, 200, groups=1, hold=9.0)).max_inside == 8


def test_many_groups_that_alternate_spoil_it() -> None:
    """What Joung shows of RA1: the more groups, the fewer are inside together."""
    together = [
        simulate(Scenario("joung", 10, 300, groups=groups)).throughput
        for groups in (1, 2, 10)
    ]
    assert together == sorted(together, reverse=True)


def test_a_group_for_each_is_ricart_and_agrawala() -> None:
    ours = check(model("joung", 2, 2, groups=2))
    assert ours.holds
    assert ours.max_messages_per_entry == ours.max_overtaken == 2


def test_a_trace_tells_the_groups() -> None:
    scenario = Scenario("joung", 4, 40, groups=2)
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    notes = {step.note for step in trace if step.kind is Kind.REQUEST}
    assert notes == {"group 1", "group 2"}


def test_groups_are_no_semaphores() -> None:
    for use in ("lock", "shared lock"):
        assert "joung" not in candidates(use, everything=False)
    for everything in (True, False):
        assert not {"joung", "raynal-k-of-l"} & set(candidates("semaphore", everything))
    assert {"raymond-k", "srimani-reddy", "kakugawa"} <= set(candidates("semaphore", True))
