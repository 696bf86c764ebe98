"""TR-869, sections 6.1 and 6.2 together: "the message count can be as low as one"."""

from __future__ import annotations

import pytest

from peerlock.algorithms.ricart_agrawala import Request
from peerlock.algorithms.ricart_agrawala_broadcast import BroadcastReply
from peerlock.algorithms.ricart_agrawala_implicit import DEFERRED
from peerlock.algorithms.ricart_agrawala_implicit_broadcast import (
    RicartAgrawalaImplicitBroadcast,
)
from peerlock.checker.check import check
from peerlock.checker.model import Network, model
from peerlock.core.peer import Broadcast, Enter, Send, SetTimer
from peerlock.simulator import Heavy, Level, Light, Scenario, simulate
from peerlock.simulator import Network as Wires
from peerlock.simulator.latency import Uniform

NAME = "ricart-agrawala-implicit-broadcast"


@pytest.mark.parametrize("n", [2, 5, 10, 25, 50])
def test_it_can_be_as_low_as_one(n: int) -> None:
    report = simulate(Scenario(NAME, n, 50, Light()))
    assert report.messages_by_type["REQUEST"] == report.messages == report.entries


@pytest.mark.parametrize("n", [2, 5, 10, 25])
def test_when_all_compete_each_deferral_is_one_more(n: int) -> None:
    report = simulate(Scenario(NAME, n, 20 * n, Heavy()))
    counts = report.messages_by_type
    assert counts["REQUEST"] == report.entries
    assert counts["BROADCAST_REPLY"] == report.entries - 1  # none waits for the last
    at_the_beginning = n * (n - 1) // 2  # of each two, one is first
    assert counts["DEFERRED"] == at_the_beginning + (n - 1) * (report.entries - n)
    assert report.messages_per_entry < n + 1


def test_silence_is_consent_and_a_broadcast_settles_a_deferral() -> None:
    peer = RicartAgrawalaImplicitBroadcast(2, (1, 2, 3), bound=5.0)
    peer.acquire()
    assert peer.drain() == [Broadcast(Request(1)), SetTimer("silence", 10.0)]
    peer.receive(1, DEFERRED)
    peer.receive(3, Request(1))
    assert peer.drain() == [Send(3, DEFERRED)]
    peer.receive(1, BroadcastReply((3,)))  # not for us
    peer.timer("silence")
    assert peer.drain() == []
    peer.receive(1, BroadcastReply((2, 3)))
    assert peer.drain() == [Enter()]
    peer.release()
    assert peer.drain() == [Broadcast(BroadcastReply((3,)))]


@pytest.mark.parametrize("load", [Level(0.02), Level(0.3), Heavy()], ids=str)
def test_it_holds_as_long_as_no_message_takes_longer(load: Level | Heavy) -> None:
    for seed in range(5):
        wires = Wires(Uniform(0.0, 1.5))
        report = simulate(Scenario(NAME, 7, 100, load, wires, seed=seed))
        assert report.max_inside == 1
        assert report.remote_errors == 0


@pytest.mark.parametrize(
    ("nodes", "requests", "fifo", "coverage"),
    [
        (2, 3, False, (1089, 1784, 30)),
        (3, 1, False, (5169, 14525, 22)),
        (3, (2, 1, 1), True, (12615, 32723, 29)),
    ],
)
def test_every_schedule_holds(
    nodes: int,
    requests: int | tuple[int, ...],
    fifo: bool,
    coverage: tuple[int, int, int],
) -> None:
    report = check(model(NAME, nodes, requests, Network(fifo)))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage
