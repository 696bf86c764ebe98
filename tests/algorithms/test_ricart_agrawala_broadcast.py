"""TR-869, section 6.2.2: a broadcast REPLY names its recipients; a claim a test."""

from __future__ import annotations

from fractions import Fraction

import pytest

from peerlock.algorithms.ricart_agrawala import REPLY, Request
from peerlock.algorithms.ricart_agrawala_broadcast import (
    BroadcastReply,
    RicartAgrawalaBroadcast,
)
from peerlock.checker.check import check
from peerlock.checker.model import Network, model
from peerlock.core.peer import Broadcast, Enter, RemoteError, Send
from peerlock.simulator import Heavy, Level, Light, Report, Scenario, simulate
from peerlock.simulator.latency import Constant
from peerlock.simulator.load import Load
from peerlock.simulator.network import Network as Wires
from tests.support.counts import light_entries

NAME = "ricart-agrawala-broadcast"


def on_the_medium(n: int, load: Load, name: str = NAME) -> Report:
    medium = Wires(broadcast_medium=True)
    return simulate(Scenario(name, n, 20 * n, load, network=medium))


# "Reduced to N messages, one broadcast REQUEST and (N−1) REPLYs"


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_an_entry_costs_n_on_the_medium_when_nobody_competes(n: int) -> None:
    report = on_the_medium(n, Light())
    assert report.messages_per_entry == n
    assert report.messages_by_type == {
        "REQUEST": report.entries,
        "REPLY": (n - 1) * report.entries,
        "BROADCAST_REPLY": 0,
    }


@pytest.mark.parametrize("load", [Light(), Heavy()], ids=str)
@pytest.mark.parametrize("network", [None, Wires(Constant(2.0))], ids=str)
def test_it_runs_on_a_medium_without_being_told(load: Load, network: Wires | None) -> None:
    report = simulate(Scenario(NAME, 10, 200, load, network))
    assert report.messages_by_type["REQUEST"] == report.entries


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_without_a_medium_an_entry_would_cost_2_n_minus_1_then(n: int) -> None:
    """A trace has each message to everybody once for each who gets it."""
    assert {m for *_, m in light_entries(NAME, n)} == {2 * (n - 1)}


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
def test_an_entry_costs_two_broadcasts_when_all_compete(n: int) -> None:
    """At the beginning all ask at once, and of each two nodes one replies to the other.
    From then on every REQUEST is deferred by all; the last to leave owes no REPLY."""
    report = on_the_medium(n, Heavy())
    assert report.messages_by_type == {
        "REQUEST": report.entries,
        "REPLY": n * (n - 1) // 2,
        "BROADCAST_REPLY": report.entries - 1,
    }


@pytest.mark.parametrize("n", [3, 5, 10, 25])
@pytest.mark.parametrize("level", [0.005, 0.05, 0.5])
def test_it_never_costs_more_than_single_replies(n: int, level: float) -> None:
    """ "The size of the audience depends on the degree of contention"."""
    single = on_the_medium(n, Level(level), "ricart-agrawala")
    assert single.messages_per_entry == n
    assert on_the_medium(n, Level(level)).messages_per_entry <= n


# "A broadcast REPLY message must contain a list of intended recipients"


def inside() -> RicartAgrawalaBroadcast:
    """Node 1 of four, with nodes 2 and 4 waiting for its REPLY."""
    peer = RicartAgrawalaBroadcast(1, (1, 2, 3, 4))
    peer.acquire()
    for other in (2, 3, 4):
        peer.receive(other, REPLY)
    peer.receive(4, Request(2))
    peer.receive(2, Request(2))
    assert peer.drain() == [Broadcast(Request(1)), Enter()]
    return peer


def test_all_who_were_deferred_are_answered_at_once() -> None:
    peer = inside()
    peer.release()
    assert peer.drain() == [Broadcast(BroadcastReply((2, 4)))]


def test_a_request_that_is_not_deferred_is_answered_alone() -> None:
    peer = inside()
    peer.release()
    peer.drain()
    peer.receive(3, Request(2))
    assert peer.drain() == [Send(3, REPLY)]


def test_nobody_is_told_if_nobody_waits() -> None:
    peer = RicartAgrawalaBroadcast(1, (1, 2))
    peer.acquire()
    peer.receive(2, REPLY)
    peer.drain()
    peer.release()
    assert peer.drain() == []


def test_a_reply_is_for_those_it_names() -> None:
    peer = RicartAgrawalaBroadcast(2, (1, 2, 3))
    peer.acquire()
    peer.drain()
    before = peer.snapshot()
    peer.receive(1, BroadcastReply((3,)))
    assert (peer.snapshot(), peer.drain()) == (before, [])
    peer.receive(1, BroadcastReply((2, 3)))
    peer.receive(3, REPLY)
    assert peer.drain() == [Enter()]


def test_a_reply_that_names_one_who_does_not_wait_is_a_remote_error() -> None:
    peer = RicartAgrawalaBroadcast(2, (1, 2, 3))
    with pytest.raises(RemoteError):
        peer.receive(1, BroadcastReply((2,)))


@pytest.mark.parametrize("fifo", [True, False], ids=["fifo", "any order"])
def test_it_is_not_sufficient_to_assume_that_it_applies(fifo: bool) -> None:
    """The footnote: without the list, a node enters on a REPLY that was not for it."""
    violation = check(model("ricart-agrawala-unnamed", 3, 1, Network(fifo))).violation
    assert violation is not None
    assert violation.property == "exclusion"


def test_with_two_nodes_no_list_is_needed() -> None:
    assert check(model("ricart-agrawala-unnamed", 2, 3)).holds


# Every schedule; the messages are counted one by one, as there is no medium


@pytest.mark.parametrize(
    ("requests", "fifo", "coverage", "messages", "overtaken"),
    [
        ((2, 1, 1), False, (29112, 99045, 24), Fraction(19, 4), 3),
        ((2, 1, 1), True, (12383, 33035, 26), Fraction(19, 4), 3),
        ((2, 2, 1), True, (39719, 111553, 32), Fraction(24, 5), 4),
        ((3, 3, 1), True, (144740, 416606, 45), Fraction(34, 7), 4),
    ],
    ids=str,
)
def test_it_holds(
    requests: tuple[int, ...],
    fifo: bool,
    coverage: tuple[int, int, int],
    messages: Fraction,
    overtaken: int,
) -> None:
    report = check(model(NAME, 3, requests, Network(fifo)))
    assert report.holds
    assert report.coverage == coverage
    assert report.max_messages_per_entry == messages
    assert report.max_overtaken == overtaken
