"""TR-869, section 6.3: the REQUEST goes round a ring, held or noted; a claim a test."""

from __future__ import annotations

from fractions import Fraction
from itertools import groupby

import pytest

from peerlock.algorithms import ricart_agrawala_ring as held
from peerlock.algorithms import ricart_agrawala_ring_notes as noted
from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.ricart_agrawala import REPLY
from peerlock.checker.check import check
from peerlock.checker.model import Network, model
from peerlock.core.peer import Enter, NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Level, Scenario, empty_trace, simulate
from peerlock.simulator.latency import Constant
from peerlock.simulator.load import Light, Schedule
from peerlock.simulator.network import Network as Wires
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

HELD, NOTED = "ricart-agrawala-ring", "ricart-agrawala-ring-notes"

both = pytest.mark.parametrize("name", [HELD, NOTED])


# "The number of messages can be cut to N"


@both
@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_an_entry_costs_n_when_nobody_competes(name: str, n: int) -> None:
    assert {m for *_, m in light_entries(name, n)} == {n}


@both
def test_a_ring_of_one_node_needs_no_message(name: str) -> None:
    report = simulate(Scenario(name, 1, 5, Light()))
    assert (report.entries, report.messages) == (5, 0)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_competition_does_not_change_the_count_of_the_held(n: int) -> None:
    assert simulate(Scenario(HELD, n, 20 * n, Heavy())).messages_per_entry == n


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_each_note_costs_a_reply(n: int) -> None:
    """When all compete, nearly every node defers every request."""
    report = simulate(Scenario(NOTED, n, 20 * n, Heavy()))
    assert report.messages_by_type["REQUEST"] == n * report.entries
    assert 2 * n - 2 < report.messages_per_entry <= 2 * n - 1


@pytest.mark.parametrize("n", [5, 10, 25])
def test_with_little_contention_the_noted_come_close_to_n(n: int) -> None:
    report = simulate(Scenario(NOTED, n, 20 * n, Level(0.1 / n**2)))
    assert n <= report.messages_per_entry < 1.05 * n


# "Eliminating the cumulative delays at each stop"


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
@both
def test_a_hand_over_takes_one_reply_or_the_rest_of_the_ring(name: str, n: int) -> None:
    """Node 2 is inside when node 1 asks, whose REQUEST has the whole ring before it."""
    load, steady = Schedule(((0.0, 2), (2.0 * n, 1))), Wires(Constant(1.0))
    report = simulate(Scenario(name, n, 2, load, steady, hold=4.0 * n))
    assert report.synchronisation_delay.mean == (n - 1 if name == HELD else 1)


@both
def test_when_all_compete_they_enter_in_the_order_of_the_ring(name: str) -> None:
    """So that even a REQUEST that was held has one more message to go only."""
    steady = Wires(Constant(1.0))
    report = simulate(Scenario(name, 10, 200, Heavy(), network=steady))
    assert report.synchronisation_delay.mean == 1


# The order of entries is that of the algorithm without a ring


@both
def test_entries_follow_the_order_of_numbers(name: str) -> None:
    scenario = Scenario(name, 6, 200, Level(0.3))
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    numbers: dict[NodeId, int] = {}
    order = []
    for step in trace:
        if step.kind is Kind.SEND and getattr(step.message, "origin", 0) == step.node:
            numbers[step.node] = step.message.sequence_number
        elif step.kind is Kind.ENTER:
            order.append((numbers[step.node], step.node))
    assert len(order) == 200
    assert [entry for entry, _ in groupby(sorted(order))] == order


@both
@pytest.mark.parametrize(("fifo", "bound"), [(True, 4), (False, 5)])
def test_the_bounds_of_the_appendix_hold_on_a_ring_too(
    name: str, fifo: bool, bound: int
) -> None:
    """2(N−1) in order, N(N+1)/2 − 1 out of order, both reached."""
    report = check(model(name, 3, (3, 3, 1), Network(fifo)))
    assert report.holds
    assert report.max_overtaken == bound


@pytest.mark.parametrize(
    ("name", "coverage", "messages"),
    [
        (HELD, (6696, 14223, 30), Fraction(3)),
        (NOTED, (85157, 252621, 31), Fraction(9, 2)),
    ],
)
def test_three_nodes_that_ask_twice(
    name: str, coverage: tuple[int, int, int], messages: Fraction
) -> None:
    report = check(model(name, 3, 2))
    assert report.holds
    assert report.coverage == coverage
    assert report.max_messages_per_entry == messages
    assert report.max_overtaken == 4


# Step by step


def test_a_request_is_held_until_we_have_left() -> None:
    peer = held.RicartAgrawalaRing(1, (1, 2, 3))
    peer.acquire()
    peer.receive(3, held.Request(1, 3))
    peer.receive(3, held.Request(1, 2))
    assert peer.drain() == [Send(2, held.Request(1, 1))]
    peer.receive(3, held.Request(1, 1))
    assert peer.drain() == [Enter()]
    peer.release()
    assert peer.drain() == [Send(2, held.Request(1, 2)), Send(2, held.Request(1, 3))]


def test_a_request_that_came_first_is_passed_on() -> None:
    peer = held.RicartAgrawalaRing(2, (1, 2, 3))
    peer.acquire()
    peer.drain()
    peer.receive(1, held.Request(1, 1))
    assert peer.drain() == [Send(3, held.Request(1, 1))]


def test_a_node_that_defers_notes_it_and_passes_on() -> None:
    peer = noted.RicartAgrawalaRingNotes(2, (1, 2, 3, 4))
    peer.acquire()
    peer.drain()
    peer.receive(1, noted.Request(1, 3, (1,)))
    assert peer.drain() == [Send(3, noted.Request(1, 3, (1, 2)))]
    peer.receive(1, noted.Request(1, 2))
    peer.release()
    assert peer.drain() == [Enter(), Send(3, REPLY)]


@pytest.mark.parametrize("early", [True, False])
def test_a_reply_counts_whether_it_or_the_request_comes_first(early: bool) -> None:
    peer = noted.RicartAgrawalaRingNotes(3, (1, 2, 3))
    peer.acquire()
    peer.drain()
    if early:
        peer.receive(2, REPLY)
    peer.receive(2, noted.Request(1, 3, (2,)))
    if not early:
        assert peer.drain() == []
        peer.receive(2, REPLY)
    assert peer.drain() == [Enter()]


@pytest.mark.parametrize(("n", "fifo"), [(2, False), (3, False), (3, True)])
def test_to_set_the_count_by_the_notes_forgets_an_early_reply(n: int, fifo: bool) -> None:
    """With three nodes the REPLY has a shorter way, so that order is of no help."""
    violation = check(model(f"{NOTED}-1980", n, 1, Network(fifo))).violation
    assert violation is not None
    assert violation.property == "deadlock"


@both
def test_what_makes_no_sense_is_refused(name: str) -> None:
    peer = algorithm(name).peer(1, (1, 2, 3))
    request = peer.messages[0]
    peer.acquire()
    peer.receive(3, request(1, 2))
    peer.drain()
    before = peer.snapshot()
    for sender, number, origin in (
        (2, 1, 3),  # not from before us on the ring
        (3, 1, 4),  # by nobody
        (3, 2, 1),  # by us, but we made no such request
        (3, 1, 2),  # once more
    ):
        with pytest.raises(RemoteError):
            peer.receive(sender, request(number, origin))
    assert (peer.snapshot(), peer.drain()) == (before, [])
    peer.receive(3, request(1, 1))
    with pytest.raises(RemoteError):
        peer.receive(3, request(1, 1))
