"""TR-869, section 6.5: steps other than one, and what they do to priority."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise, permutations

import pytest

from peerlock.algorithms.ricart_agrawala import REPLY, Request
from peerlock.algorithms.ricart_agrawala_priority import RicartAgrawalaPriority
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.peer import Broadcast, NodeId, Send
from peerlock.simulator import Heavy, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

NAME = "ricart-agrawala-priority"


def stepping(increments: tuple[int, ...], requests: tuple[int, ...], fifo: bool) -> Model:
    nodes = len(increments)
    members = tuple(range(1, nodes + 1))

    def make(node: NodeId) -> RicartAgrawalaPriority:
        return RicartAgrawalaPriority(node, members, increments=increments)

    return replace(model(NAME, nodes, requests, Network(fifo)), make=make)


def order_of_entry(increments: tuple[int, ...]) -> list[NodeId]:
    """Of nodes that all ask before any of them has heard of another."""
    cluster = ByHand(NAME, len(increments), increments=increments)
    for node in cluster.members:
        cluster.request(node)
    cluster.settle()
    while cluster.judge.inside:
        for node in list(cluster.judge.inside):
            cluster.leave(node)
        cluster.settle()
    return [step.node for step in cluster.trace if step.kind is Kind.ENTER]


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_it_costs_2_n_minus_1(n: int) -> None:
    assert {m for *_, m in light_entries(NAME, n)} == {2 * (n - 1)}


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_when_all_compete_steps_change_neither_count_nor_shares(n: int) -> None:
    """Everybody has heard of everybody, and asks behind them all."""
    report = simulate(Scenario(NAME, n, 20 * n, Heavy()))
    assert report.messages_per_entry == 2 * (n - 1)
    assert report.fairness == 1
    assert report.max_overtaken == n - 1


# "High priority nodes use small increments, low priority nodes use large increments"


@pytest.mark.parametrize("increments", list(permutations((1, 2, 5, 9))), ids=str)
def test_of_requests_made_in_ignorance_the_smallest_step_goes_first(
    increments: tuple[int, ...],
) -> None:
    order = order_of_entry(increments)
    assert [increments[node - 1] for node in order] == [1, 2, 5, 9]


def test_unless_told_otherwise_the_lower_node_has_the_smaller_step() -> None:
    for node in (1, 2, 3):
        peer = RicartAgrawalaPriority(node, (1, 2, 3), highest_sequence_number=10)
        peer.acquire()
        assert peer.drain() == [Broadcast(Request(10 + node))]


def test_the_step_is_from_the_highest_number_seen() -> None:
    peer = RicartAgrawalaPriority(2, (1, 2), increments=(1, 7))
    peer.receive(1, Request(41))
    peer.acquire()
    assert peer.drain() == [Send(1, REPLY), Broadcast(Request(48))]


# "The tie-breaking node number is still required in case the integers were equal"


def test_equal_steps_leave_ties_to_the_lower_node() -> None:
    assert order_of_entry((4, 4, 4)) == [1, 2, 3]


@pytest.mark.parametrize("increments", [(0, 1, 1), (1, 2), (1, 2, 3, 4), (1, -1, 1)])
def test_senseless_steps_are_refused(increments: tuple[int, ...]) -> None:
    with pytest.raises(AssertionError):
        RicartAgrawalaPriority(1, (1, 2, 3), increments=increments)


# "There is no reason for incrementing sequence numbers in unit steps"


@pytest.mark.parametrize(
    ("increments", "coverage"),
    [
        ((1, 2, 3), (3361, 10451, 18)),
        ((3, 2, 1), (3361, 10451, 18)),
        ((2, 2, 2), (2935, 9182, 18)),
    ],
    ids=str,
)
def test_whatever_the_steps_it_holds(
    increments: tuple[int, ...], coverage: tuple[int, int, int]
) -> None:
    report = check(stepping(increments, (1, 1, 1), fifo=False))
    assert report.holds
    assert report.coverage == coverage


def test_three_nodes_that_ask_twice() -> None:
    report = check(model(NAME, 3, 2))
    assert report.holds
    assert report.coverage == (103977, 340653, 36)
    assert report.max_messages_per_entry == 4
    assert report.max_overtaken == 4


# "Allowed to monopolize … until forced past the number chosen by a lower priority node"


@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_node_1_may_enter_once_for_each_number_up_to_that_of_node_2(step: int) -> None:
    """And once with what was granted before node 2 chose."""
    requests = (step + 3, 1)
    out_of_order = check(stepping((1, step), requests, fifo=False))
    assert out_of_order.holds
    assert out_of_order.max_overtaken == step + 1
    in_order = check(stepping((1, step), requests, fifo=True))
    assert in_order.holds
    assert in_order.max_overtaken == 2


@pytest.mark.parametrize("increments", [(1, 1, 1), (1, 1, 4)], ids=str)
def test_in_order_the_bound_of_the_appendix_does_not_depend_on_steps(
    increments: tuple[int, ...],
) -> None:
    report = check(stepping(increments, (3, 3, 1), fifo=True))
    assert report.holds
    assert report.max_overtaken == 4


# "This favoritism can be reduced by incrementing the sequence number by a random integer"


def test_random_steps_are_drawn_anew_and_can_be_repeated() -> None:
    def numbers() -> list[int]:
        peer = RicartAgrawalaPriority(1, (1,), increments=6)
        found = []
        for _ in range(300):
            peer.acquire()
            found.append(peer.our_sequence_number)
            peer.release()
        return found

    drawn = numbers()
    steps = [b - a for a, b in pairwise([0, *drawn])]
    assert drawn == numbers()
    assert set(steps) == set(range(1, 7))
    assert all(30 <= steps.count(step) <= 70 for step in range(1, 7))


def test_each_node_draws_steps_of_its_own() -> None:
    members = tuple(range(1, 41))
    peers = [RicartAgrawalaPriority(node, members, increments=8) for node in members]
    for peer in peers:
        peer.acquire()
    assert {peer.our_sequence_number for peer in peers} == set(range(1, 9))


def test_the_seed_is_part_of_the_state() -> None:
    peer = RicartAgrawalaPriority(1, (1,), increments=1000)
    before = peer.snapshot()
    peer.acquire()
    chosen = peer.our_sequence_number
    peer.restore(before)
    peer.acquire()
    assert peer.our_sequence_number == chosen


@pytest.mark.parametrize("most", [1, 2, 5])
def test_with_random_steps_every_schedule_holds(most: int) -> None:
    members = (1, 2, 3)
    chosen = replace(
        model(NAME, 3, 1),
        make=lambda node: RicartAgrawalaPriority(node, members, increments=most),
    )
    report = check(chosen)
    assert report.holds
    assert report.everyone_entered
    assert report.max_messages_per_entry == 4
