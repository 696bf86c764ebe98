"""Chaudhuri's mesh of 1991, rows that take turns: a claim a test."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from random import Random

import pytest

from peerlock.algorithms.chaudhuri_91 import (
    Call,
    Chaudhuri91,
    Mesh,
    Note,
    Privilege,
    Request,
    mesh,
)
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.peer import Enter, NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Light, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from tests.support.chaudhuri import enter_and_leave, peers, the_home

NAME = "chaudhuri-91"


def peer(node: NodeId) -> Chaudhuri91:
    return Chaudhuri91(node, tuple(range(1, 10)))


# The mesh, for every n


@pytest.mark.parametrize("n", [*range(1, 40), 99, 100, 101])
def test_every_row_and_column_is_a_ring(n: int) -> None:
    shape = mesh(n)
    assert shape.width**2 >= n > (shape.width - 1) ** 2
    for node in range(1, n + 1):
        row = shape.row(node)
        ring = steps(node, shape.right, shape.length(row))
        assert {shape.row(j) for j in ring} == {row}
        assert len(set(ring)) == shape.length(row)
        for column in shape.columns(node):
            assert shape.at(row, column) == node
            ring = steps(node, lambda j, q=column: shape.down(j, q), shape.rows)
            assert [shape.row(j) for j in sorted(ring)] == list(range(shape.rows))


def steps(start: NodeId, step: object, length: int) -> list[NodeId]:
    assert callable(step)
    ring = [start]
    while len(ring) < length:
        ring.append(step(ring[-1]))
    assert step(ring[-1]) == start
    return ring


@pytest.mark.parametrize("n", [1, 2, 3, 5, 7, 12, 16, 31, 50])
def test_in_each_row_but_one_a_single_token_is_0_and_no_two_in_a_column(n: int) -> None:
    cluster = ByHand(NAME, n)
    rng = Random(n)
    for _ in range(20):
        gates = [p.gate for p in peers(cluster) if p.gate >= 0]
        rows = {p.row for p in peers(cluster) if p.gate >= 0}
        home = the_home(cluster)
        assert len(gates) == len(set(gates)) == len(rows) == mesh(n).rows - 1
        assert home.row not in rows
        enter_and_leave(cluster, rng.randint(1, n))


# "This algorithm requires 3.5√n messages under light demand"


def distance(shape: Mesh, a: NodeId, b: NodeId) -> int:
    """Steps to the right."""
    return (b - a) % shape.length(shape.row(a))


def cost(cluster: ByHand, node: NodeId) -> int:
    shape, home = mesh(len(cluster.members)), the_home(cluster)
    row = shape.row(node)
    if home.me == node:
        return 0
    if home.row == row:
        return distance(shape, node, home.me) + shape.length(row)
    (gate,) = (p for p in peers(cluster) if p.row == row and p.gate >= 0)
    rings = [shape.length(home.row), shape.rows, shape.length(row)]
    return distance(shape, node, gate.me) + sum(ring for ring in rings if ring > 1)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9, 12, 16, 25, 31, 50])
def test_an_entry_that_nobody_contests_takes_three_rings_and_the_way_to_the_gate(
    n: int,
) -> None:
    cluster = ByHand(NAME, n)
    rng = Random(n)
    for _ in range(60):
        node = rng.randint(1, n)
        expected = cost(cluster, node)
        assert enter_and_leave(cluster, node) == expected <= 4 * mesh(n).width - 1


@pytest.mark.parametrize("n", [16, 25, 49, 100, 400])
def test_that_is_three_and_a_half_root_n_on_average(n: int) -> None:
    """An entry in the privileged row itself is cheaper, and free where the PRIVILEGE is."""
    root = sqrt(n)
    elsewhere = 3 * root + (root - 1) / 2
    here = (root - 1) / root * (root + root / 2)
    mean = (1 - 1 / root) * elsewhere + here / root
    report = simulate(Scenario(NAME, n, 4000, Light()))
    assert report.messages_per_entry == pytest.approx(mean, rel=0.03)
    assert elsewhere == pytest.approx(3.5 * root, abs=0.5)


# "The message requirement reduces to four messages only under heavy demand"


@pytest.mark.parametrize("n", [16, 25, 49, 100, 400])
def test_when_all_compete(n: int) -> None:
    report = simulate(Scenario(NAME, n, 40 * n, Heavy()))
    assert report.messages_per_entry == pytest.approx(4, abs=0.25)


@pytest.mark.parametrize("n", [2, 3, 5, 9, 20, 50, 90])
def test_when_all_compete_it_is_never_more(n: int) -> None:
    assert simulate(Scenario(NAME, n, 40 * n, Heavy())).messages_per_entry <= 4


# The paragraph, sentence by sentence, in a mesh of three rows: 1 2 3, 4 5 6, 7 8 9


def test_initially_the_first_row_is_privileged_and_node_i_minus_1_of_row_i_is_0() -> None:
    gates = {node: peer(node).gate for node in range(1, 10) if peer(node).gate >= 0}
    assert gates == {4: 0, 8: 1}


def test_a_request_goes_along_the_row_to_the_gate_and_down_its_column() -> None:
    asker, gate = peer(9), peer(8)
    asker.acquire()
    assert asker.drain() == [Send(7, Request(0))]
    gate.receive(7, Request(0))
    assert gate.drain() == [Send(2, Call(2, 0, 1))]


def test_a_node_that_has_asked_keeps_the_request_of_another() -> None:
    node = peer(9)
    node.acquire()
    node.drain()
    node.receive(8, Request(0))
    assert node.drain() == []


def test_in_the_privileged_row_a_call_looks_for_the_privilege() -> None:
    corner, home = peer(2), peer(1)
    corner.receive(8, Call(2, 0, 1))
    assert corner.drain() == [Send(3, Note(2, 0, 1, 1))]
    home.receive(3, Note(2, 0, 1, 1))
    assert home.drain() == [Send(2, Privilege(1, (1, 0, 0), ((2, 1),), True))]
    assert not home.home


def test_tokens_are_interchanged_and_the_gate_begins_the_round() -> None:
    corner, gate = peer(2), peer(8)
    leaving = Privilege(1, (1, 0, 0), ((2, 1),), True)
    corner.receive(1, leaving)
    assert corner.drain() == [Send(5, leaving)]
    assert corner.gate == 1
    gate.receive(5, leaving)
    assert gate.drain() == [Send(9, Privilege(2, (1, 0, 2), ()))]
    assert (gate.gate, gate.home) == (-1, True)


def test_the_privilege_goes_round_the_row() -> None:
    node = peer(9)
    node.acquire()
    node.receive(8, Privilege(2, (1, 0, 2), ()))
    node.release()
    passed_on = Send(7, Privilege(2, (1, 0, 2), ()))
    assert node.drain() == [Send(7, Request(0)), Enter(), passed_on]


def test_it_takes_the_calls_along_that_it_finds() -> None:
    node = peer(7)
    node.receive(4, Call(1, 0, 0))
    assert node.drain() == [Send(1, Call(1, 0, 0))]
    node.receive(9, Privilege(2, (1, 0, 2), ()))
    assert node.drain() == [Send(8, Privilege(2, (1, 0, 2), ((1, 0),)))]


def test_a_call_that_was_answered_is_dropped() -> None:
    node = peer(7)
    node.receive(9, Privilege(3, (1, 2, 3), ()))
    node.drain()
    node.receive(4, Call(1, 0, 0))
    assert node.drain() == []


def test_a_note_that_finds_nobody_comes_round_and_the_call_goes_on() -> None:
    corner = peer(2)
    corner.receive(8, Call(2, 0, 1))
    corner.drain()
    corner.receive(1, Note(2, 0, 1, 1))
    assert corner.drain() == [Send(5, Call(2, 0, 1))]


@pytest.mark.parametrize(
    ("sender", "message"),
    [
        (6, Request(0)),  # not from the left
        (6, Note(0, 1, 0, 0)),
        (1, Call(0, 1, 0)),  # not our column
        (8, Call(2, 0, 1)),  # not from above
        (2, Call(1, 0, 1)),  # our own row's
        (6, Privilege(2, (1, 2, 0), ())),
        (7, Privilege(2, (1, 0, 2), ((1, 1),), True)),
    ],
    ids=str,
)
def test_senseless_messages(sender: NodeId, message: object) -> None:
    must_be_refused(peer(5), sender, message)


def test_a_second_privilege() -> None:
    must_be_refused(peer(1), 3, Privilege(1, (1, 0, 0), ()))


def must_be_refused(node: Chaudhuri91, sender: NodeId, message: object) -> None:
    before = node.snapshot()
    with pytest.raises(RemoteError):
        node.receive(sender, message)
    assert (node.snapshot(), node.drain()) == (before, [])


# Every schedule; the smaller sizes are pinned with those of the other algorithms


@pytest.mark.parametrize(
    ("nodes", "requests", "counts"),
    [
        (3, 2, (8323, 22253, 37, 5, 4)),
        (5, 1, (93606, 304741, 50, Fraction(28, 3), 4)),
        (9, (0, 1, 1, 1, 0, 0, 1, 0, 0), (91977, 286517, 51, Fraction(37, 3), 3)),
    ],
)
def test_it_holds_with_the_pinned_counts(
    nodes: int, requests: int | tuple[int, ...], counts: tuple[object, ...]
) -> None:
    report = check(model(NAME, nodes, requests))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts
