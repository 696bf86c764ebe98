"""The lecture's queue: attached in the order of increasing sequence numbers."""

from __future__ import annotations

import pytest

from peerlock.algorithms.suzuki_kasami import Privilege, Request
from peerlock.algorithms.suzuki_kasami_by_number import SuzukiKasamiByNumber
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.peer import Send
from peerlock.lab.reproduce.lecture import queue_by_number
from peerlock.simulator import Heavy, Scenario, simulate
from tests.support.counts import light_entries

NAME = "suzuki-kasami-by-number"


def test_those_that_wait_are_attached_by_their_numbers() -> None:
    """Behind those that are in the queue already, whatever their numbers are."""
    peer = SuzukiKasamiByNumber(1, (1, 2, 3, 4, 5))
    peer.privilege = Privilege((5,), (0, 7, 3, 3, 8))
    peer.acquire()
    for origin, number in ((5, 9), (2, 8), (3, 4), (4, 4)):
        peer.receive(origin, Request(origin, number))
    peer.drain()
    peer.release()
    assert peer.drain() == [Send(5, Privilege((5, 3, 4, 2), (0, 7, 3, 3, 8)))]


def test_by_node_numbers_it_would_be_another_order() -> None:
    assert queue_by_number("suzuki-kasami") == [2, 3, 4]
    assert queue_by_number(NAME) == [3, 4, 2]


@pytest.mark.parametrize("n", [2, 5, 10, 25])
def test_it_costs_as_much(n: int) -> None:
    assert {m for *_, m in light_entries(NAME, n)} <= {0, n}
    report = simulate(Scenario(NAME, n, 20 * n, Heavy()))
    assert report.messages_per_entry == pytest.approx(n, rel=0.06)
    assert report.fairness > 0.99


@pytest.mark.parametrize(
    ("nodes", "requests", "coverage"),
    [
        (2, 3, (234, 356, 24)),
        (3, 1, (727, 2080, 15)),
        (3, (2, 1, 1), (1902, 5823, 20)),
    ],
)
def test_it_holds(
    nodes: int, requests: int | tuple[int, ...], coverage: tuple[int, int, int]
) -> None:
    report = check(model(NAME, nodes, requests))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage
