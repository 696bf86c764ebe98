"""Suzuki and Kasami's bounded numbers, after the survey of Velazquez: a claim a test."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import pytest

from peerlock.algorithms.suzuki_kasami import Privilege, Request
from peerlock.algorithms.suzuki_kasami_bounded import ACK, Ack, SuzukiKasamiBounded
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.peer import Broadcast, Enter, NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Level, Scenario, empty_trace, simulate
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

NAME = "suzuki-kasami-bounded"
L = 2  # unless told otherwise


def bounded(
    nodes: int,
    requests: int | tuple[int, ...] | None,
    limit: int,
    network: Network | None = None,
) -> Model:
    members = tuple(range(1, nodes + 1))

    def make(node: NodeId) -> SuzukiKasamiBounded:
        return SuzukiKasamiBounded(node, members, limit=limit)

    return replace(model(NAME, nodes, requests, network), make=make)


# "L·N + (N−1) message exchanges for L mutual exclusion entries"


@pytest.mark.parametrize("n", [2, 3, 5, 10, 20, 50])
def test_each_request_costs_n_and_every_second_one_n_minus_1_more(n: int) -> None:
    asked: Counter[NodeId] = Counter()
    counts: dict[NodeId, list[int]] = {}
    for holder, node, messages in light_entries(NAME, n, entries=8 * n):
        if node == (holder or 1):
            assert messages == 0
            continue
        asked[node] += 1
        counts.setdefault(node, []).append(messages)
        assert messages == (n if asked[node] % L else n + n - 1)
    whole_rounds = [c[: len(c) // L * L] for c in counts.values()]
    assert sum(map(len, whole_rounds)) >= L
    for c in whole_rounds:
        assert sum(c) == len(c) // L * (L * n + n - 1)


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
@pytest.mark.parametrize("load", [Heavy(), Level(0.3)], ids=["heavy", "level"])
def test_competition_does_not_change_the_formula(n: int, load: Heavy | Level) -> None:
    """N−1 messages for each request that is sent, one for each token that moves, and N−1
    for each L requests of a node."""
    scenario = Scenario(NAME, n, 20 * n, load)
    trace = empty_trace(scenario)
    report = simulate(scenario, trace)
    sent = [step for step in trace if step.kind is Kind.SEND]
    requests = Counter(s.node for s in sent if isinstance(s.message, Request))
    acks = Counter(s.peer for s in sent if isinstance(s.message, Ack))
    tokens = sum(isinstance(s.message, Privilege) for s in sent)

    assert tokens == sum(requests.values()) // (n - 1)
    for node, count in requests.items():
        assert acks[node] == count // (n - 1) // L * (n - 1)
    assert report.messages_per_entry <= (L * n + n - 1) / L


def test_numbers_are_bounded_however_often_everybody_enters() -> None:
    scenario = Scenario(NAME, 4, 400, Heavy())
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    numbers = {s.message.number for s in trace if isinstance(s.message, Request)}
    tokens = [s.message for s in trace if isinstance(s.message, Privilege)]
    granted = {number for token in tokens for number in token.granted}
    assert numbers == granted == set(range(L + 2))


# "L is a fixed integer greater than or equal to 2"; and without end of requests, the
# states have an end


@pytest.mark.parametrize(
    ("limit", "coverage"),
    [
        (1, (340, 862, 36)),
        (2, (238, 544, 41)),
        (3, (699, 1538, 135)),
        (5, (1285, 2682, 299)),
    ],
)
def test_it_holds_with_requests_without_end(
    limit: int, coverage: tuple[int, int, int]
) -> None:
    report = check(bounded(2, None, limit))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage


@pytest.mark.parametrize(
    ("requests", "limit", "counts"),
    [
        ((1, 3, 1), 2, (9746, 34999, 27, 5, 4)),
        ((5, 5, 0), 2, (38111, 154247, 55, 5, 5)),  # once round all numbers
        ((3, 3, 0), 1, (8924, 32034, 42, 5, 3)),
    ],
)
def test_it_holds_when_the_requests_of_several_rounds_overtake_one_another(
    requests: tuple[int, ...], limit: int, counts: tuple[object, ...]
) -> None:
    """With three nodes: one that the token does not need can be far behind."""
    report = check(bounded(3, requests, limit))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts


def test_in_order_it_holds_too() -> None:
    report = check(bounded(3, 2, 2, Network(fifo=True)))
    assert report.holds
    assert report.coverage[0] == 83479


def test_the_same_states_as_without_bound_before_a_round_is_over() -> None:
    """With one request each, and L = 2, nothing has to be acknowledged."""
    assert check(model(NAME, 3, 1)).coverage == check(model("suzuki-kasami", 3, 1)).coverage
    early, unbounded = check(bounded(3, 2, 3)), check(model("suzuki-kasami", 3, 2))
    assert early.coverage == unbounded.coverage


# Rounds, as they are rebuilt here


def node_2(limit: int = L) -> SuzukiKasamiBounded:
    return SuzukiKasamiBounded(2, (1, 2, 3), limit=limit)


def test_a_round_is_acknowledged_when_all_of_it_is_here_in_whatever_order() -> None:
    peer = node_2(limit=3)
    for number in (3, 1):
        peer.receive(3, Request(3, number))
    assert peer.requested == (0, 0, 3)
    assert peer.drain() == []
    peer.receive(3, Request(3, 2))
    assert peer.requested == (0, 0, 3)
    assert peer.drain() == [Send(3, ACK)]


def entered(peer: SuzukiKasamiBounded, number: int) -> None:
    """It asks with this number, enters, and leaves when node 1 waits for the token."""
    peer.acquire()
    peer.receive(3, Privilege((2, 1), peer.requested))
    peer.release()
    effects = peer.drain()
    assert effects[:2] == [Broadcast(Request(2, number)), Enter()]
    assert len(effects) == 3


def test_a_new_round_is_held_back_until_the_old_one_is_acknowledged_by_all() -> None:
    peer = node_2()
    entered(peer, 1)
    entered(peer, 2)
    peer.receive(1, ACK)
    peer.acquire()
    assert peer.drain() == []
    peer.receive(3, ACK)
    assert peer.drain() == [Broadcast(Request(2, 3))]


def test_who_has_the_token_enters_whether_the_round_is_acknowledged_or_not() -> None:
    peer = node_2()
    entered(peer, 1)
    peer.acquire()
    peer.receive(3, Privilege((2,), peer.requested))
    peer.release()
    peer.drain()
    peer.acquire()
    assert peer.drain() == [Enter()]


def test_numbers_start_over() -> None:
    peer = node_2()
    for number in (1, 2, 3, 0, 1, 2):
        entered(peer, number)
        if peer.unanswered:
            peer.receive(1, ACK)
            peer.receive(3, ACK)


@pytest.mark.parametrize(
    ("sender", "message"),
    [
        (3, Request(3, 0)),  # the last one before the round
        (3, Request(3, 3)),  # beyond the round
        (3, Request(3, 5)),  # beyond all numbers
        (3, Request(3, -2)),
        (3, Request(1, 1)),  # another node's
        (3, ACK),
        (1, Privilege((2,), (0, 0, 0))),
    ],
    ids=str,
)
def test_what_no_correct_node_sends_is_a_remote_error(
    sender: NodeId, message: object
) -> None:
    peer = node_2()
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(sender, message)
    assert (peer.snapshot(), peer.drain()) == (before, [])


def test_a_token_for_a_request_that_is_held_back_is_a_remote_error() -> None:
    peer = node_2()
    entered(peer, 1)
    entered(peer, 2)
    peer.acquire()
    with pytest.raises(RemoteError):
        peer.receive(1, Privilege((2,), peer.requested))


def test_a_second_ack_is_a_remote_error() -> None:
    peer = node_2()
    entered(peer, 1)
    entered(peer, 2)
    peer.receive(1, ACK)
    with pytest.raises(RemoteError):
        peer.receive(1, ACK)


def test_no_round_is_empty() -> None:
    with pytest.raises(AssertionError):
        node_2(limit=0)
