"""Lodha and Kshemkalyani's: requests that cross are replies."""

import pytest

from peerlock.algorithms.lodha_kshemkalyani import Flush, LodhaKshemkalyani, Reply, Request
from peerlock.core.peer import Broadcast, Enter, NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Level, Scenario, empty_trace, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.load import Schedule
from peerlock.traces.trace import Kind
from tests.support.counts import SIZES, light_entries

THREE = (1, 2, 3)


def asking(me: NodeId = 2) -> LodhaKshemkalyani:
    peer = LodhaKshemkalyani(me, THREE)
    peer.acquire()
    assert peer.drain() == [Broadcast(Request(1, 0))]
    return peer


def test_a_request_that_crosses_is_a_reply() -> None:
    peer = asking(1)
    peer.receive(2, Request(1, 0))
    peer.receive(3, Request(1, 0))
    assert peer.drain() == [Enter()]  # nobody was sent a reply


def test_one_that_precedes_goes_first() -> None:
    peer = asking()
    peer.receive(1, Request(1, 0))
    peer.receive(3, Reply(0))
    assert peer.drain() == []
    peer.receive(1, Flush(1))
    assert peer.drain() == [Enter()]


def test_the_next_is_flushed_and_only_the_next() -> None:
    peer = asking(1)
    peer.receive(2, Request(1, 0))
    peer.receive(3, Request(1, 0))
    peer.drain()
    peer.release()
    assert peer.drain() == [Send(2, Flush(1))]


def test_a_request_after_a_reply_is_answered_at_the_exit() -> None:
    peer = asking(1)
    peer.receive(2, Reply(0))
    peer.receive(2, Request(2, 0))
    peer.receive(3, Reply(0))
    assert peer.drain() == [Enter()]
    peer.release()
    assert peer.drain() == [Send(2, Reply(1))]


def test_a_node_that_does_not_ask_replies_at_once_with_what_it_has_finished() -> None:
    peer = LodhaKshemkalyani(1, THREE, our_sequence_number=4)
    peer.receive(2, Request(7, 0))
    assert peer.drain() == [Send(2, Reply(4))]


@pytest.mark.parametrize("message", [Reply(4), Request(6, 4), Flush(4)], ids=str)
def test_all_that_precede_what_is_finished_are_finished(message: object) -> None:
    """Node 1 has told its next, 3, and not us; from 3 we hear of both."""
    peer = LodhaKshemkalyani(2, THREE, highest_sequence_number=4)
    peer.acquire()
    peer.receive(1, Request(4, 0))
    if isinstance(message, Flush):
        peer.receive(3, Request(4, 0))
    peer.drain()
    peer.receive(3, message)
    assert peer.drain() == [Enter()]


def test_a_request_that_is_known_to_be_finished_is_not_waited_for() -> None:
    peer = asking(3)
    peer.receive(2, Request(1, 0))
    peer.receive(2, Flush(1))
    peer.receive(1, Request(1, 0))
    assert peer.drain() == [Enter()]


def test_a_late_flush_answers_nothing() -> None:
    peer = LodhaKshemkalyani(1, THREE)
    peer.receive(2, Flush(1))
    assert (peer.heard, peer.drain()) == (0, [])


def test_senseless_messages_are_refused() -> None:
    peer = asking()
    peer.receive(3, Reply(0))
    with pytest.raises(RemoteError):
        peer.receive(3, Reply(0))
    peer.receive(3, Request(2, 0))
    with pytest.raises(RemoteError):
        peer.receive(3, Request(3, 0))


@pytest.mark.parametrize("message", [Request(9, 8), Reply(8), Flush(8)], ids=str)
def test_no_request_after_ours_is_finished_before_it(message: object) -> None:
    peer = asking()
    before = peer.snapshot()
    with pytest.raises(RemoteError, match="3 has finished a request that follows ours"):
        peer.receive(3, message)
    assert peer.snapshot() == before


# Claims


@pytest.mark.parametrize("n", SIZES)
def test_alone_it_costs_2_n_minus_1(n: int) -> None:
    assert {m for *_, m in light_entries("lodha-kshemkalyani", n, 4)} == {2 * (n - 1)}


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_if_all_ask_at_once_it_costs_n_and_n_minus_1_for_the_last(n: int) -> None:
    """N-1 REQUESTs each, and a FLUSH from each to the next."""
    everybody = Schedule(tuple((0.0, node) for node in range(1, n + 1)))
    report = simulate(Scenario("lodha-kshemkalyani", n, n, everybody))
    assert report.messages_per_entry * n == pytest.approx(n * (n - 1) + n - 1)


@pytest.mark.parametrize("load", [Heavy(), Level(0.02), Level(0.3)], ids=str)
def test_never_more_than_ricart_and_agrawala(load: Heavy | Level) -> None:
    for n in (2, 5, 10):
        report = simulate(Scenario("lodha-kshemkalyani", n, 20 * n, load))
        assert n - 1 <= report.messages_per_entry <= 2 * (n - 1)


def test_entries_follow_the_order_of_requests() -> None:
    scenario = Scenario("lodha-kshemkalyani", 6, 200, Level(0.3))
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    ours: dict[NodeId, tuple[int, NodeId]] = {}
    order = []
    for step in trace:
        if step.kind is Kind.SEND and isinstance(step.message, Request):
            ours[step.node] = (step.message.sequence_number, step.node)
        elif step.kind is Kind.ENTER:
            order.append(ours[step.node])
    assert order == sorted(order)


def test_the_delay_is_one_message() -> None:
    cluster = ByHand("lodha-kshemkalyani", 3)
    for node in THREE:
        cluster.request(node)
    cluster.settle()
    assert cluster.judge.inside == {1}
    cluster.leave(1)
    cluster.deliver(1, 2, "FLUSH")
    assert cluster.judge.inside == {2}
