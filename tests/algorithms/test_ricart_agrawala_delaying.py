"""TR-869, section 6.5: what it does to delay acting on the requests of low priority."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from peerlock.algorithms.ricart_agrawala import REPLY, Request
from peerlock.algorithms.ricart_agrawala_delaying import RicartAgrawalaDelaying
from peerlock.checker.check import check
from peerlock.checker.model import Network, model
from peerlock.core.peer import (
    Broadcast,
    CancelTimer,
    Enter,
    NodeId,
    RemoteError,
    Send,
    SetTimer,
)
from peerlock.simulator import Heavy, Level, Scenario, empty_trace, simulate
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

NAME = "ricart-agrawala-delaying"


def of_two() -> RicartAgrawalaDelaying:
    """Node 1 of two, where node 2 has lower priority."""
    return RicartAgrawalaDelaying(1, (1, 2), increments=(1, 4), patience=3.0)


def entered(peer: RicartAgrawalaDelaying) -> int:
    """The number of an entry from beginning to end."""
    peer.acquire()
    peer.receive(2, REPLY)
    assert Enter() in peer.drain()
    peer.release()
    assert peer.drain() == []
    return peer.our_sequence_number


# "Keep the Highest_Sequence_Number from being prematurely incremented past the one chosen"


def test_it_enters_with_all_numbers_before_it_acts() -> None:
    peer = of_two()
    peer.receive(2, Request(4))
    assert peer.drain() == [SetTimer("act", 3.0)]
    assert [entered(peer) for _ in range(4)] == [1, 2, 3, 4]
    peer.acquire()
    assert peer.drain() == [CancelTimer("act"), Send(2, REPLY), Broadcast(Request(5))]


def test_when_it_has_been_patient_it_acts() -> None:
    peer = of_two()
    peer.receive(2, Request(4))
    peer.drain()
    peer.timer("act")
    assert peer.drain() == [CancelTimer("act"), Send(2, REPLY)]
    assert entered(peer) == 5


def test_acting_while_it_is_inside_is_to_defer() -> None:
    peer = of_two()
    peer.acquire()
    peer.receive(2, Request(4))
    peer.receive(2, REPLY)
    peer.drain()
    peer.timer("act")
    assert peer.drain() == [CancelTimer("act")]
    peer.release()
    assert peer.drain() == [Send(2, REPLY)]


def test_it_acts_at_once_on_those_of_high_priority_and_of_lower_numbers() -> None:
    low = RicartAgrawalaDelaying(2, (1, 2), increments=(1, 4))
    low.receive(1, Request(9))
    assert low.drain() == [Send(1, REPLY)]
    high = of_two()
    high.receive(2, Request(1))  # (1, 1) comes before (1, 2)
    assert high.drain() == [SetTimer("act", 3.0)]
    high = RicartAgrawalaDelaying(1, (1, 2), increments=(1, 4), highest_sequence_number=4)
    high.receive(2, Request(4))
    assert high.drain() == [Send(2, REPLY)]


def test_random_steps_are_no_priorities() -> None:
    peer = RicartAgrawalaDelaying(1, (1, 2), increments=4)
    peer.receive(2, Request(40))
    assert peer.drain() == [Send(2, REPLY)]


def test_a_second_request_is_a_remote_error() -> None:
    peer = of_two()
    peer.receive(2, Request(4))
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(2, Request(5))
    assert peer.snapshot() == before


# What it does


@pytest.mark.parametrize("fifo", [True, False], ids=["fifo", "any order"])
@pytest.mark.parametrize("step", [1, 2, 3, 5])
def test_it_monopolizes_in_order_too_and_not_for_ever(step: int, fifo: bool) -> None:
    """Without the delay it is 2 in order, whatever the step."""
    chosen = model(NAME, 2, (step + 3, 1), Network(fifo), increments=f"1,{step}")
    report = check(chosen)
    assert report.holds
    assert report.max_overtaken == step + 1


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_it_costs_2_n_minus_1(n: int) -> None:
    assert {m for *_, m in light_entries(NAME, n)} == {2 * (n - 1)}
    report = simulate(Scenario(NAME, n, 20 * n, Heavy()))
    assert report.messages_per_entry == 2 * (n - 1)


def shares(name: str) -> Counter[NodeId]:
    scenario = Scenario(name, 3, 600, Heavy(), increments="1,8,8")
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    return Counter(step.node for step in trace if step.kind is Kind.ENTER)


def test_when_all_compete_it_enters_more_often() -> None:
    """By steps alone nobody does: everybody has heard of everybody."""
    even, uneven = shares("ricart-agrawala-priority"), shares(NAME)
    assert max(even.values()) - min(even.values()) <= 1
    assert uneven[1] > 1.8 * uneven[2]
    assert uneven[1] > 1.8 * uneven[3]


def test_a_node_of_low_priority_waits_longer_though_nobody_competes() -> None:
    scenario = Scenario(NAME, 2, 20, Level(0.01), increments="1,2")
    alone = replace(scenario, algorithm="ricart-agrawala-priority")
    assert simulate(scenario).response_time.max >= simulate(alone).response_time.max + 4


# Every schedule


@pytest.mark.parametrize(
    ("nodes", "requests", "coverage"),
    [(2, 2, (260, 385, 18)), (2, 3, (899, 1402, 27)), (3, 1, (6915, 23965, 21))],
)
def test_it_holds(nodes: int, requests: int, coverage: tuple[int, int, int]) -> None:
    report = check(model(NAME, nodes, requests))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage
