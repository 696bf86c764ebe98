"""Ricart and Agrawala's token, sought round a circle, a claim a test."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise

import pytest

from peerlock.algorithms.ricart_agrawala_token import (
    Request,
    RicartAgrawalaToken,
    Token,
)
from peerlock.checker.check import check
from peerlock.checker.model import Network, exhibit, model
from peerlock.core.peer import Broadcast, Enter, NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Level, Scenario, empty_trace, simulate
from peerlock.traces.trace import Kind, Trace
from tests.support.counts import light_entries

NAME = "ricart-agrawala-token"


def holder(n: int) -> RicartAgrawalaToken:
    return RicartAgrawalaToken(1, tuple(range(1, n + 1)))


# "N messages … or 0 messages if the requesting node is holding an idle token"


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_an_entry_costs_n_and_nothing_at_the_holder(n: int) -> None:
    for before, node, messages in light_entries(NAME, n, 40):
        assert messages == (0 if node == (before or 1) else n)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_no_more_than_n_when_all_compete(n: int) -> None:
    report = simulate(Scenario(NAME, n, 20 * n, Heavy()))
    assert n - 1 <= report.messages_per_entry <= n


# "REQUEST(my_sequence_number, my_id), to all other N-1 nodes"


def test_who_has_no_token_asks_everyone_and_counts_its_requests() -> None:
    peer = RicartAgrawalaToken(2, (1, 2, 3))
    for number in (1, 2):
        peer.acquire()
        assert peer.drain() == [Broadcast(Request(number))]
        peer.receive(1, Token((0, number - 1, 0)))
        assert peer.drain() == [Enter()]
        peer.receive(3, Request(number))  # so that the token goes away again
        peer.release()
        assert peer.drain() == [Send(3, Token((0, number, 0)))]


def test_who_has_the_token_asks_nobody() -> None:
    peer = holder(3)
    peer.acquire()
    assert peer.drain() == [Enter()]
    peer.release()
    assert peer.drain() == []
    assert peer.token_data == (0, 0, 0)


# "Searches a logical circular list for the first node whose last request has not been
# granted yet"


@pytest.mark.parametrize(
    ("waiting", "next_one"), [((1, 3, 5), 5), ((1, 3), 1), ((3,), 3), ((6, 5, 1), 5)]
)
def test_the_search_begins_at_the_successor(
    waiting: tuple[NodeId, ...], next_one: NodeId
) -> None:
    peer = RicartAgrawalaToken(4, (1, 2, 3, 4, 5, 6), first_holder=4)
    peer.acquire()
    for j in waiting:
        peer.receive(j, Request(1))
    peer.drain()
    peer.release()
    assert peer.drain() == [Send(next_one, Token((0,) * 6))]


@pytest.mark.parametrize("n", [2, 5, 9])
def test_when_all_compete_the_token_goes_round(n: int) -> None:
    scenario = Scenario(NAME, n, 10 * n, Heavy())
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    entered = [step.node for step in trace if step.kind is Kind.ENTER]
    assert all(b == a % n + 1 for a, b in pairwise(entered))


@pytest.mark.parametrize("n", [3, 6, 9])
def test_a_node_that_everyone_knows_to_wait_waits_for_each_other_once(n: int) -> None:
    for seed in range(10):
        scenario = Scenario(NAME, n, 40 * n, Level(0.5), seed=seed)
        trace = empty_trace(scenario)
        simulate(scenario, trace)
        assert max(overtaken_when_known(trace, n)) <= n - 1


def overtaken_when_known(trace: Trace, n: int) -> Iterator[int]:
    """For each entry: those of others after the REQUEST had arrived everywhere."""
    unaware: dict[NodeId, int] = {}
    overtaken: dict[NodeId, int] = {}
    for step in trace:
        if step.kind is Kind.REQUEST:
            unaware[step.node], overtaken[step.node] = n - 1, 0
        elif step.kind is Kind.RECEIVE and isinstance(step.message, Request):
            assert step.peer is not None
            unaware[step.peer] -= 1
        elif step.kind is Kind.ENTER:
            yield overtaken.pop(step.node)
            for j in overtaken:
                overtaken[j] += unaware[j] == 0


def test_first_come_first_served_is_not_guaranteed() -> None:
    """Node 3 asked first, and node 2 is nearer."""
    peer = holder(3)
    peer.acquire()
    peer.receive(3, Request(1))
    peer.receive(2, Request(1))
    peer.drain()
    peer.release()
    assert peer.drain() == [Send(2, Token((0, 0, 0)))]


# "Takes care of out-of-order request messages and old requests already granted"


def test_a_request_that_was_overtaken_changes_nothing() -> None:
    peer = holder(3)
    peer.acquire()
    peer.receive(3, Request(2))
    peer.receive(3, Request(1))
    assert peer.request_data == (0, 0, 2)


def test_a_request_that_was_granted_does_not_move_the_token() -> None:
    peer = RicartAgrawalaToken(3, (1, 2, 3))
    peer.acquire()
    peer.receive(1, Token((0, 1, 0)))
    peer.release()
    peer.drain()
    peer.receive(2, Request(1))
    assert peer.drain() == []
    peer.receive(2, Request(2))
    assert peer.drain() == [Send(2, Token((0, 1, 1)))]


def test_if_it_does_a_request_is_missed() -> None:
    violation = check(exhibit("ricart-agrawala-token-unchecked")).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("starvation", 14)


@pytest.mark.parametrize(("requests", "depth"), [((2, 1, 1), 19), ((1, 1, 1, 1), 23)])
def test_messages_in_order_do_not_mend_that(requests: tuple[int, ...], depth: int) -> None:
    """The granted REQUEST and the token come to the idle holder from different nodes."""
    name = "ricart-agrawala-token-unchecked"
    found = check(model(name, len(requests), requests, Network(fifo=True))).violation
    assert found is not None
    assert (found.property, found.depth) == ("starvation", depth)


# Invalid messages


def test_a_token_that_was_not_asked_for() -> None:
    peer = RicartAgrawalaToken(2, (1, 2, 3))
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(1, Token((0, 0, 0)))
    assert (peer.snapshot(), peer.drain()) == (before, [])


def test_a_second_token() -> None:
    peer = holder(3)
    peer.acquire()
    peer.drain()
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(2, Token((0, 0, 0)))
    assert (peer.snapshot(), peer.drain()) == (before, [])


# Every schedule; the smaller sizes are pinned with those of the other algorithms


@pytest.mark.parametrize(
    ("nodes", "requests", "counts"),
    [
        (3, 2, (40445, 171148, 30, 3, 4)),
        (4, 1, (89839, 502625, 24, 4, 3)),
    ],
)
def test_it_holds_with_the_pinned_counts(
    nodes: int, requests: int, counts: tuple[object, ...]
) -> None:
    report = check(model(NAME, nodes, requests))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts
