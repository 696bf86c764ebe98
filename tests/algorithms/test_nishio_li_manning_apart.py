"""Processor and controller apart, and nodes that come and go: a claim of the survey a test.

The checker lets a controller fail with its memory.  A processor that fails and a node that
leaves are timers of the peers below, which the checker lets fire at any time.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace

import pytest

from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.nishio_li_manning import Ack, Nack, Token, TokenMissing
from peerlock.algorithms.nishio_li_manning_apart import (
    Farewell,
    Leave,
    NishioLiManningApart,
    Recover,
    State,
)
from peerlock.algorithms.ricart_agrawala_token import Request
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.peer import Broadcast, Enter, RemoteError, Send
from peerlock.simulator import (
    Crash,
    Level,
    Scenario,
    Schedule,
    empty_trace,
    simulate,
)
from peerlock.simulator import Network as Wires
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

NAME = "nishio-li-manning-apart"
CALM = Network(False)


def cluster(
    nodes: int,
    requests: int | tuple[int, ...],
    network: Network,
    peer: type[NishioLiManningApart] = NishioLiManningApart,
) -> Model:
    members = tuple(range(1, nodes + 1))
    chosen = model(NAME, nodes, requests, network)
    return replace(chosen, make=lambda node: peer(node, members))


# "The number of messages exchanged for a critical section entry is N"


@pytest.mark.parametrize("n", [2, 3, 5, 20])
def test_when_nothing_fails_an_entry_costs_n_and_nothing_at_the_holder(n: int) -> None:
    for holder, node, messages in light_entries(NAME, n, entries=2 * n):
        assert messages == (0 if node == (holder or 1) else n)


# "a mechanism that uses information propagation … for the recovery from these failures"


@pytest.mark.parametrize(
    ("nodes", "requests", "network", "coverage"),
    [
        (2, 1, Network(False, crashes=1, returns=True), (7621, 24191, 19)),
        (
            2,
            1,
            Network(False, losses=1, crashes=1, returns=True),
            (17990, 70367, 20),
        ),
        (2, (2, 1), Network(False, crashes=1, returns=True), (31299, 114365, 25)),
        (3, (0, 1, 0), Network(False, crashes=1, returns=True), (20362, 85683, 18)),
    ],
    ids=str,
)
def test_it_holds_when_a_controller_loses_its_memory(
    nodes: int,
    requests: int | tuple[int, ...],
    network: Network,
    coverage: tuple[int, ...],
) -> None:
    report = check(cluster(nodes, requests, network))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage


def test_when_two_controllers_lose_their_memory_there_can_be_two_tokens() -> None:
    network = Network(False, crashes=2, returns=True)
    violation = check(cluster(2, 1, network)).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("remote error", 19)
    assert "token" in violation.text


def test_a_request_that_is_sent_again_has_a_new_number() -> None:
    peer = node_2()
    peer.acquire()
    peer.timer("token")
    peer.drain()
    peer.receive(1, Nack(2))
    assert Broadcast(Request(2)) in peer.drain()


@pytest.mark.parametrize("n", [2, 3, 5])
def test_everybody_enters_though_a_controller_loses_its_memory(n: int) -> None:
    for seed in range(5):
        crash = Crash(seed % n + 1, 5.0 + seed, 50.0)
        network = Wires(crashes=(crash,), loss=0.05)
        report = simulate(Scenario(NAME, n, 10 * n, Level(0.1), network, seed=seed))
        assert report.entries == 10 * n
        assert report.max_inside == 1
        assert report.remote_errors == 0


def test_a_lost_token_is_made_anew_and_recovery_costs_2_n_minus_1_messages() -> None:
    network = Wires(crashes=(Crash(1, 0.5, 20.0),))
    scenario = Scenario(NAME, 5, load=Schedule(((40.0, 3),)), network=network)
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    sent = Counter(type(s.message) for s in trace if s.kind is Kind.SEND)
    assert [s.node for s in trace if s.kind is Kind.ENTER] == [3]
    assert sent == {Recover: 4, State: 4, Request: 4, TokenMissing: 4, Ack: 4}


def node_2(**state: object) -> NishioLiManningApart:
    peer = NishioLiManningApart(2, (1, 2, 3))
    for name, value in state.items():
        setattr(peer, name, value)
    return peer


def test_a_controller_asks_with_a_number_above_all_that_it_is_told() -> None:
    peer = node_2()
    peer.restart()
    peer.acquire()
    assert peer.drain()[0] == Broadcast(Recover())
    peer.receive(1, State(4, (2, 5, 0), 0))
    peer.receive(1, TokenMissing(7))
    peer.receive(1, Token((0, 0, 0), 9))
    assert peer.drain() == []
    peer.receive(3, State(3, (0, 6, 1), 0))
    assert Broadcast(Request(7)) in peer.drain()
    assert (peer.age, peer.request_data) == (4, (2, 7, 1))


# "The algorithm can recover from processor failures"


@dataclass(eq=False)
class FailingProcessor(NishioLiManningApart):
    """Its processor may fail once while it waits, and asks again when it is back."""

    failed: bool = False

    def acquire(self) -> None:
        super().acquire()
        if self.token_data is None and not self.failed:
            self.set_timer("processor", 1.0)

    def enter(self, token_data: tuple[int, ...]) -> None:
        self.cancel_timer("processor")
        super().enter(token_data)

    def timer(self, name: str) -> None:
        if name == "processor":
            self.failed = True
            self.processor_fails()
            self.acquire()
        else:
            super().timer(name)


@pytest.mark.parametrize(
    ("nodes", "requests", "coverage"),
    [(2, 1, (12484, 56958, 20)), (3, (0, 1, 0), (1929, 8615, 15))],
)
def test_it_holds_when_processors_fail_while_they_wait(
    nodes: int, requests: int | tuple[int, ...], coverage: tuple[int, ...]
) -> None:
    report = check(cluster(nodes, requests, CALM, FailingProcessor))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage


def test_the_controller_of_a_failed_processor_passes_the_token_on() -> None:
    peer = node_2()
    peer.acquire()
    peer.processor_fails()
    peer.receive(3, Request(1))
    peer.drain()
    peer.receive(1, Token((0, 0, 0), 0))
    assert peer.drain() == [Send(3, Token((0, 1, 0), 0))]


def test_a_processor_that_fails_inside_has_left() -> None:
    peer = node_2(token_data=(0, 0, 0))
    peer.acquire()
    peer.receive(3, Request(1))
    assert peer.drain() == [Enter()]
    peer.processor_fails()
    assert peer.drain() == [Send(3, Token((0, 0, 0), 0))]


def test_the_controller_answers_while_its_processor_is_down() -> None:
    peer = node_2()
    peer.acquire()
    peer.processor_fails()
    peer.drain()
    peer.receive(3, TokenMissing(3))
    assert peer.drain() == [Send(3, Ack(3, 1))]


# "the recovery from a node insertion, or removal"


@dataclass(eq=False)
class Guest(NishioLiManningApart):
    """Node 1, which has the token, leaves at any time, and may come back then."""

    def start(self) -> None:
        if self.me == 1:
            self.set_timer("go", 1.0)

    def timer(self, name: str) -> None:
        if name == "go":
            self.leave()
        elif name == "back":
            self.away = False
            self.restart()
        else:
            super().timer(name)

    def receive_farewell(self, j: int, message: Farewell) -> None:
        super().receive_farewell(j, message)
        if self.away:
            self.set_timer("back", 1.0)


@pytest.mark.parametrize(
    ("nodes", "requests", "network", "coverage"),
    [
        (2, (0, 2), CALM, (1180, 3320, 16)),
        (2, (0, 1), Network(False, losses=1), (1801, 5699, 15)),
        (3, (0, 1, 0), CALM, (17722, 81616, 23)),
    ],
    ids=str,
)
def test_it_holds_when_a_node_leaves_and_comes_back(
    nodes: int,
    requests: int | tuple[int, ...],
    network: Network,
    coverage: tuple[int, ...],
) -> None:
    report = check(cluster(nodes, requests, network, Guest))
    assert report.holds
    assert report.coverage == coverage


def test_a_node_that_leaves_passes_the_token_on_and_waits_for_all() -> None:
    peer = node_2(token_data=(0, 0, 0))
    peer.leave()
    assert peer.drain()[:2] == [Send(3, Token((0, 0, 0), 0)), Broadcast(Leave())]
    peer.receive(1, Farewell())
    peer.receive(3, Token((0, 0, 0), 0))
    assert peer.drain() == [Send(3, Token((0, 0, 0), 0))]
    peer.receive(3, Farewell())
    assert peer.away
    peer.drain()
    for message in (TokenMissing(4), Recover(), Leave(), Token((0, 0, 0), 0)):
        peer.receive(1, message)
    assert peer.drain() == []


def test_a_new_token_needs_no_ack_of_a_node_that_has_left() -> None:
    peer = node_2()
    peer.receive(1, Leave())
    assert peer.drain() == [Send(1, Farewell())]
    peer.acquire()
    peer.timer("token")
    peer.drain()
    peer.receive(3, Ack(2, 0))
    assert Enter() in peer.drain()


def test_a_node_that_is_inserted_is_asked_again() -> None:
    peer = node_2(left=0b10)
    peer.receive(1, Recover())
    assert peer.drain() == [Send(1, State(0, (0, 0, 0), 0))]
    assert peer.left == 0


def test_a_controller_that_recovers_does_not_wait_for_a_node_that_has_left() -> None:
    peer = node_2()
    peer.restart()
    peer.receive(3, State(0, (0, 0, 0), 0b10))
    assert (peer.unheard, peer.left) == (0, 0b10)


def test_a_second_token_is_a_remote_error() -> None:
    peer = node_2(token_data=(0, 0, 0))
    with pytest.raises(RemoteError, match="second token"):
        peer.receive(1, Token((0, 0, 0), 0))


def test_it_serves_nothing() -> None:
    assert not algorithm(NAME).serves
