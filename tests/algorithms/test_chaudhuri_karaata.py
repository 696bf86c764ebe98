"""Chaudhuri and Karaata: a mesh in space, a claim a test."""

from __future__ import annotations

from itertools import count
from math import ceil

import pytest

from peerlock.algorithms.chaudhuri_karaata import (
    ChaudhuriKaraata,
    Permit,
    Release,
    Request,
    Token,
    side,
    ways,
)
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.peer import Enter, NodeId, RemoteError, Send
from peerlock.simulator import Heavy, Light, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from tests.support.counts import light_entries

NAME = "chaudhuri-karaata"


def coordinates(node: NodeId, n: int) -> tuple[int, int, int]:
    m = next(m for m in count(1) if m**3 >= n)
    return (node - 1) % m, (node - 1) // m % m, (node - 1) // m**2


# The mesh, for every n


@pytest.mark.parametrize("n", [*range(1, 40), 64, 65, 100, 125])
def test_messages_take_links_of_the_mesh(n: int) -> None:
    tree = ways(n)
    for node in range(1, n + 1):
        for other in tree.neighbours(node):
            here, there = coordinates(node, n), coordinates(other, n)
            assert sum(abs(a - b) for a, b in zip(here, there, strict=True)) == 1


@pytest.mark.parametrize(("n", "edge"), [(1, 1), (2, 2), (8, 2), (9, 3), (27, 3), (28, 4)])
def test_the_cube_is_the_smallest_with_room_for_all(n: int, edge: int) -> None:
    assert side(n) == edge


# "An O(n^1/3) distributed mutual exclusion algorithm"


@pytest.mark.parametrize("n", [1, 2, 3, 5, 8, 12, 20, 27, 50, 64, 125])
def test_an_entry_that_nobody_contests(n: int) -> None:
    """REQUEST, PERMIT and RELEASE between node and corner, and 2 for each plane between."""
    for before, node, messages in light_entries(NAME, n, entries=80):
        x, y, z = coordinates(node, n)
        height = abs(z - coordinates(before or 1, n)[2])
        assert messages == 3 * (x + y) + 2 * height <= 8 * (side(n) - 1)


@pytest.mark.parametrize("n", [8, 27, 64, 125])
def test_the_bound_is_reached_from_one_end_of_the_cube_to_the_other(n: int) -> None:
    cluster = ByHand(NAME, n)
    cluster.request(n)
    cluster.settle()
    cluster.leave(n)
    cluster.settle()
    assert cluster.sent == 8 * (side(n) - 1)


@pytest.mark.parametrize("n", [8, 27, 64, 125, 216, 512])
def test_on_average(n: int) -> None:
    """Two coordinates of (m−1)/2 on average, and two heights (m²−1)/3m apart."""
    m = side(n)
    mean = 3 * (m - 1) + 2 * (m * m - 1) / (3 * m)
    report = simulate(Scenario(NAME, n, 3000, Light()))
    assert report.messages_per_entry == pytest.approx(mean, rel=0.05)


@pytest.mark.parametrize("n", [8, 27, 64, 125, 216])
def test_when_all_compete_the_token_hardly_moves(n: int) -> None:
    """Up the z-axis and down again, asked for at every step, while everybody enters."""
    m = side(n)
    report = simulate(Scenario(NAME, n, 40 * n, Heavy()))
    mean = 3 * (m - 1) + 4 * (m - 1) / n
    assert report.messages_per_entry == pytest.approx(mean, rel=0.02)


@pytest.mark.parametrize("n", [2, 3, 5, 9, 20, 50])
def test_when_all_compete_and_n_is_no_cube(n: int) -> None:
    report = simulate(Scenario(NAME, n, 40 * n, Heavy()))
    assert report.messages_per_entry <= 8 * (ceil(n ** (1 / 3)) - 1)


# The paragraph, in a cube of eight: 1 and 5 are the corners


def peer(node: NodeId) -> ChaudhuriKaraata:
    return ChaudhuriKaraata(node, tuple(range(1, 9)))


def test_a_request_is_propagated_to_the_corner() -> None:
    asker, between = peer(8), peer(7)
    asker.acquire()
    assert asker.drain() == [Send(7, Request(8))]
    between.receive(8, Request(8))
    assert between.drain() == [Send(5, Request(8))]


def test_a_corner_asks_for_the_token_along_the_z_axis_once() -> None:
    corner = peer(5)
    corner.receive(7, Request(8))
    corner.receive(6, Request(6))
    assert corner.drain() == [Send(1, Request(5))]


def test_a_permit_is_sent_if_the_token_is_present_and_not_in_use() -> None:
    corner = peer(1)
    corner.receive(3, Request(4))
    corner.receive(2, Request(2))
    assert corner.drain() == [Send(3, Permit(4))]
    corner.receive(3, Release(4))
    assert corner.drain() == [Send(2, Permit(2))]


def test_the_token_goes_where_it_was_asked_for_when_it_is_not_in_use() -> None:
    corner = peer(1)
    corner.acquire()
    corner.receive(5, Request(5))
    assert corner.drain() == [Enter()]
    corner.release()
    assert corner.drain() == [Send(5, Token())]


def test_a_release_is_sent_back_to_the_corner() -> None:
    asker = peer(8)
    asker.acquire()
    asker.receive(7, Permit(8))
    asker.release()
    assert asker.drain()[1:] == [Enter(), Send(7, Release(8))]


def test_a_request_may_overtake_the_release_before_it() -> None:
    corner = peer(1)
    corner.receive(2, Request(2))
    corner.drain()
    corner.receive(2, Request(2))
    assert corner.drain() == []
    corner.receive(2, Release(2))
    assert corner.drain() == [Send(2, Permit(2))]


@pytest.mark.parametrize(
    ("node", "sender", "message"),
    [
        (7, 5, Request(8)),  # not from that direction
        (7, 8, Request(4)),  # another plane
        (7, 8, Request(9)),  # nobody
        (7, 8, Permit(7)),  # not from the corner
        (7, 5, Permit(7)),  # not asked for
        (5, 1, Permit(5)),  # to a corner
        (5, 1, Token()),  # not asked for
        (5, 6, Release(6)),  # not permitted
        (5, 1, Request(2)),  # not in its own name
        (7, 5, Release(8)),
    ],
    ids=str,
)
def test_senseless_messages(node: NodeId, sender: NodeId, message: object) -> None:
    refusing = peer(node)
    before = refusing.snapshot()
    with pytest.raises(RemoteError):
        refusing.receive(sender, message)
    assert (refusing.snapshot(), refusing.drain()) == (before, [])


# Every schedule; the smaller sizes are pinned with those of the other algorithms


@pytest.mark.parametrize(
    ("nodes", "requests", "counts"),
    [
        (3, 2, (1054, 2149, 24, 3, 4)),
        (4, 2, (22086, 55376, 40, 6, 6)),
        (5, 1, (7688, 19359, 26, 8, 4)),
        (6, 1, (52336, 153131, 31, 8, 5)),
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


@pytest.mark.parametrize(("nodes", "states"), [(3, 152), (5, 10782)])
def test_nobody_waits_for_ever(nodes: int, states: int) -> None:
    report = check(model(NAME, nodes, None))
    assert report.holds
    assert report.coverage.states == states
