"""TR-869, section 6.1: silence within the bound is consent; a claim a test."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from peerlock.algorithms.ricart_agrawala import REPLY, Request
from peerlock.algorithms.ricart_agrawala_implicit import (
    DEFERRED,
    Deferred,
    RicartAgrawalaImplicit,
)
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, exhibit, model
from peerlock.core.bits import Nodes, bits
from peerlock.core.peer import Broadcast, Enter, NodeId, RemoteError, Send, SetTimer
from peerlock.simulator import Heavy, Level, Light, Report, Scenario, simulate
from peerlock.simulator.latency import Constant, Exponential, Latency, Uniform
from peerlock.simulator.load import Load
from peerlock.simulator.network import Network as Wires
from peerlock.simulator.violation import Violation
from tests.support.counts import light_entries

NAME = "ricart-agrawala-implicit"


def measured(n: int, load: Load, latency: Latency, seed: int = 1) -> Report:
    return simulate(Scenario(NAME, n, 20 * n, load, Wires(latency), seed=seed))


# "Between 1·(N−1) and 2·(N−1), depending on the number of DEFERRED messages sent"


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
def test_an_entry_costs_n_minus_1_when_nobody_competes(n: int) -> None:
    assert {m for *_, m in light_entries(NAME, n)} == {n - 1}


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_it_costs_two_more_for_each_that_defers(n: int) -> None:
    """Not one more: the REPLY must follow.  When all compete, all others defer."""
    report = simulate(Scenario(NAME, n, 20 * n, Heavy()))
    counts = report.messages_by_type
    assert counts["REQUEST"] == (n - 1) * report.entries
    assert counts["DEFERRED"] == counts["REPLY"]
    at_the_beginning = n * (n - 1) // 2  # of each two, one is first
    later = (n - 1) * (report.entries - n)
    assert counts["DEFERRED"] == at_the_beginning + later
    assert report.messages_per_entry > 2 * (n - 1)


@pytest.mark.parametrize("n", [2, 5, 10, 25])
def test_on_a_broadcast_medium_it_can_be_as_low_as_one(n: int) -> None:
    medium = Wires(broadcast_medium=True)
    report = simulate(Scenario(NAME, n, 20 * n, Light(), medium))
    assert report.messages_per_entry == 1


@pytest.mark.parametrize("n", [2, 5, 10])
def test_a_node_waits_for_the_maximum_roundtrip_time(n: int) -> None:
    report = simulate(Scenario(NAME, n, 20, Light()))
    assert report.response_time.mean == pytest.approx(3.0)
    assert report.response_time.max == pytest.approx(3.0)


# The two answers


def asking() -> RicartAgrawalaImplicit:
    peer = RicartAgrawalaImplicit(2, (1, 2, 3), bound=5.0)
    peer.acquire()
    assert peer.drain() == [Broadcast(Request(1)), SetTimer("silence", 10.0)]
    return peer


def test_silence_is_consent() -> None:
    peer = asking()
    peer.timer("silence")
    assert peer.drain() == [Enter()]


def test_whoever_has_deferred_must_reply() -> None:
    peer = asking()
    peer.receive(1, DEFERRED)
    peer.timer("silence")
    assert peer.drain() == []
    peer.receive(1, REPLY)
    assert peer.drain() == [Enter()]


@pytest.mark.parametrize("order", [(DEFERRED, REPLY), (REPLY, DEFERRED)], ids=str)
def test_a_reply_settles_a_deferral_in_either_order(order: tuple[object, object]) -> None:
    peer = asking()
    for message in order:
        peer.receive(3, message)
    assert peer.drain() == []  # another node may still defer
    peer.timer("silence")
    assert peer.drain() == [Enter()]


def test_who_would_reply_says_nothing() -> None:
    peer = RicartAgrawalaImplicit(2, (1, 2, 3))
    peer.receive(3, Request(4))
    assert peer.drain() == []
    peer.acquire()
    assert Broadcast(Request(5)) in peer.drain()
    peer.receive(1, Request(5))  # a tie, which the lower node wins
    assert peer.drain() == []


def test_who_would_not_reply_says_so_and_replies_later() -> None:
    peer = asking()
    peer.receive(3, Request(1))
    assert peer.drain() == [Send(3, DEFERRED)]
    peer.timer("silence")
    peer.drain()
    peer.release()
    assert peer.drain() == [Send(3, REPLY)]


def test_one_node_need_not_listen() -> None:
    peer = RicartAgrawalaImplicit(1, (1,))
    peer.acquire()
    assert peer.drain() == [Broadcast(Request(1)), Enter()]


@pytest.mark.parametrize("message", [DEFERRED, REPLY], ids=str)
def test_what_comes_too_late_is_a_remote_error(message: object) -> None:
    peer = asking()
    peer.timer("silence")
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(1, message)
    assert peer.snapshot() == before


# The bound


@pytest.mark.parametrize("latency", [Constant(1.4), Uniform(0, 1.5), Uniform(1.3, 1.5)])
@pytest.mark.parametrize("load", [Level(0.02), Level(0.3), Heavy()], ids=str)
@pytest.mark.parametrize("n", [2, 3, 7, 20])
def test_it_holds_as_long_as_no_message_takes_longer(
    latency: Latency, load: Load, n: int
) -> None:
    for seed in range(5):
        report = measured(n, load, latency, seed)
        assert report.max_inside == 1
        assert report.remote_errors == 0


@pytest.mark.parametrize("latency", [Uniform(0, 4.0), Exponential(1.0)], ids=str)
def test_it_does_not_hold_if_some_do(latency: Latency) -> None:
    with pytest.raises(Violation):  # noqa: PT012 - one of these seeds is enough
        for seed in range(10):
            measured(5, Level(0.3), latency, seed)


def test_the_checker_lets_two_in_if_the_clock_knows_no_bound() -> None:
    """Both ask, and both have waited long enough before either has heard of the other."""
    violation = check(exhibit("ricart-agrawala-untimely")).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("exclusion", 4)


# Every schedule that a bound allows, and more


@dataclass(frozen=True)
class Consent:
    """What silence says, as a message."""


@dataclass(eq=False)
class Told(RicartAgrawalaImplicit):
    """The time is over when everybody has answered, if only in thought.

    With a bound, the clock rings after every REQUEST has arrived, and every DEFERRED that
    one caused.  Here it may ring from then on: whatever a bound allows is among this.
    """

    messages = (*RicartAgrawalaImplicit.messages, Consent)  # type: ignore[assignment]

    unanswered: Nodes = 0

    def set_timer(self, name: str, delay: float) -> None:
        self.unanswered = bits(self.others())

    def receive_request(self, j: NodeId, message: Request) -> None:
        before = self.reply_deferred
        super().receive_request(j, message)
        if before == self.reply_deferred:
            self.send(j, Consent())

    def receive_consent(self, j: NodeId, message: Consent) -> None:
        self.answered(j)

    def receive_deferred(self, j: NodeId, message: Deferred) -> None:
        super().receive_deferred(j, message)
        self.answered(j)

    def answered(self, j: NodeId) -> None:
        self.unanswered ^= 1 << j
        if not self.unanswered:
            self.effects.set_timer("silence", 0.0)


@pytest.mark.parametrize(
    ("requests", "fifo", "coverage"),
    [
        ((3, 3), False, (1599, 2987, 30)),
        ((1, 1, 1), False, (14126, 50478, 21)),
        ((2, 1, 1), False, (62346, 251525, 28)),
        ((2, 2, 1), True, (55187, 168197, 39)),
    ],
    ids=str,
)
def test_it_holds_in_every_schedule_that_a_bound_allows(
    requests: tuple[int, ...], fifo: bool, coverage: tuple[int, ...]
) -> None:
    members = tuple(range(1, len(requests) + 1))
    told = Model(
        name="told",
        make=lambda node: Told(node, members),
        nodes=len(members),
        requests=requests,
        network=Network(fifo),
        fences=False,
    )
    report = check(told)
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage


def test_it_holds_if_the_clock_rings_when_nothing_is_under_way() -> None:
    report = check(model(NAME, 3, 1))
    assert report.holds
    assert report.coverage == (3765, 10277, 21)
    assert report.max_messages_per_entry == 4
    assert report.max_overtaken == 2
