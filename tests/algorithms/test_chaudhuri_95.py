"""Chaudhuri's mesh of 1995, with links along whole rows and columns: a claim a test."""

from __future__ import annotations

from fractions import Fraction
from math import sqrt
from random import Random

import pytest

from peerlock.algorithms.chaudhuri_91 import Call, Note, Privilege, mesh
from peerlock.algorithms.chaudhuri_95 import Chaudhuri95, Request
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.peer import NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Light, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from tests.support.chaudhuri import enter_and_leave, peers, the_home

NAME = "chaudhuri-95"


# "Requires 3√n messages under light demand"


def cost(cluster: ByHand, node: NodeId) -> int:
    """A REQUEST, the CALLs, the row that is left, a step down the column, and a round."""
    shape, home = mesh(len(cluster.members)), the_home(cluster)
    row = shape.row(node)
    if home.me == node:
        return 0
    if home.row == row:
        return 1 + shape.length(row)
    (gate,) = (p for p in peers(cluster) if p.row == row and p.gate >= 0)
    rings = [shape.length(home.row), shape.length(row)]
    asked = 0 if gate.me == node else 1
    return asked + shape.rows - 1 + 1 + sum(ring for ring in rings if ring > 1)


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 9, 12, 16, 25, 31, 50])
def test_an_entry_that_nobody_contests(n: int) -> None:
    cluster = ByHand(NAME, n)
    rng = Random(n)
    for _ in range(60):
        node = rng.randint(1, n)
        expected = cost(cluster, node)
        assert enter_and_leave(cluster, node) == expected <= 3 * mesh(n).width + 1


@pytest.mark.parametrize("n", [16, 25, 49, 100, 400])
def test_that_is_three_root_n_on_average(n: int) -> None:
    """3√n + 1, one less for the gate, √n + 1 in the privileged row, 0 at home."""
    root = sqrt(n)
    mean = (1 - 1 / root) * (3 * root + 1 - 1 / root) + (root - 1) / n * (root + 1)
    report = simulate(Scenario(NAME, n, 4000, Light()))
    assert report.messages_per_entry == pytest.approx(mean, rel=0.02)
    assert report.messages_per_entry <= 3 * root


# "And √n messages under heavy demand": no more than that


@pytest.mark.parametrize("n", [16, 25, 49, 100, 400])
def test_when_all_compete(n: int) -> None:
    report = simulate(Scenario(NAME, n, 40 * n, Heavy()))
    assert report.messages_per_entry == pytest.approx(4, abs=0.1)
    assert report.messages_per_entry <= sqrt(n) + 0.1


@pytest.mark.parametrize("n", [2, 3, 5, 7, 9, 20, 50])
def test_when_all_compete_in_small_and_odd_meshes(n: int) -> None:
    assert simulate(Scenario(NAME, n, 40 * n, Heavy())).messages_per_entry <= 4.1


# What differs from the mesh of 1991, with the rows 1 2 3, 4 5 6 and 7 8 9


def peer(node: NodeId) -> Chaudhuri95:
    return Chaudhuri95(node, tuple(range(1, 10)))


def test_a_request_goes_straight_to_the_gate_and_its_call_to_the_whole_column() -> None:
    asker, gate = peer(9), peer(8)
    asker.acquire()
    assert asker.drain() == [Send(8, Request(0))]
    gate.receive(9, Request(0))
    assert gate.drain() == [Send(2, Call(2, 0, 1)), Send(5, Call(2, 0, 1))]


def test_the_privilege_comes_to_the_gate_in_one_step() -> None:
    corner = peer(2)
    leaving = Privilege(1, (1, 0, 0), ((2, 1),), True)
    corner.receive(1, leaving)
    assert corner.drain() == [Send(8, leaving)]


def test_everyone_in_the_row_that_is_left_knows_its_new_gate() -> None:
    """By the NOTE to the PRIVILEGE, or by the PRIVILEGE on its way out."""
    cluster = ByHand(NAME, 16)
    enter_and_leave(cluster, 15)
    first_row = [cluster.peers[j] for j in (1, 2, 3, 4)]
    assert {p.front for p in first_row if isinstance(p, Chaudhuri95)} == {3}


def test_a_request_that_does_not_find_the_gate_looks_for_it_once_round() -> None:
    lost, last = peer(4), peer(6)
    lost.gate = -1
    lost.receive(6, Request(0))
    assert lost.drain() == [Send(5, Request(0, 4))]
    last.receive(5, Request(0, 4))
    assert last.drain() == []
    assert last.asked == 0


@pytest.mark.parametrize(
    ("sender", "message"),
    [
        (2, Request(0)),  # another row
        (6, Note(0, 1, 0, 0)),  # not from the left
        (1, Call(0, 1, 1)),  # not of our column
        (2, Call(0, 1, 0)),
        (4, Call(1, 0, 1)),  # our own row's
    ],
    ids=str,
)
def test_senseless_messages(sender: NodeId, message: object) -> None:
    node = peer(5)
    before = node.snapshot()
    with pytest.raises(RemoteError):
        node.receive(sender, message)
    assert (node.snapshot(), node.drain()) == (before, [])


# Every schedule; the smaller sizes are pinned with those of the other algorithms


@pytest.mark.parametrize(
    ("nodes", "requests", "counts"),
    [
        (3, 2, (7196, 18601, 35, 5, 4)),
        (5, 1, (110007, 355589, 47, 9, 4)),
        (9, (1, 0, 1, 0, 0, 0, 0, 1, 0), (7067, 23138, 31, Fraction(21, 2), 2)),
        (9, (0, 1, 2, 0, 0, 0, 0, 1, 0), (57431, 214829, 38, Fraction(21, 2), 3)),
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
