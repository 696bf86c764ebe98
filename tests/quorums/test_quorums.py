"""Quorum systems against Maekawa's figure and tables, theorems, and brute force."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given

from peerlock.core.bits import bits
from peerlock.quorums.constructions import (
    KINDS,
    QuorumSystem,
    grid,
    majority,
    plane,
    projective_plane,
)
from peerlock.quorums.hitting import smallest_hitting_set
from tests.support.systems import any_system, resilience_by_hand

every_kind = pytest.mark.parametrize("kind", KINDS)
DEGENERATE = [*range(4, 92), 100, 134, 184, 220, 274, 308, 382, 400]

FIGURE_1 = {
    2: "1 2, 2 3, 1 3",
    3: "1 2 3, 2 4 6, 3 5 6, 1 4 5, 2 5 7, 1 6 7, 3 4 7",
    4: (
        "1 2 3 4, 2 5 8 11, 3 6 8 13, 4 6 10 11, 1 5 6 7, 2 6 9 12, 2 7 10 13,"
        " 1 8 9 10, 3 7 9 11, 3 5 10 12, 1 11 12 13, 4 7 8 12, 4 5 9 13"
    ),
    5: (
        "1 2 3 4 5, 2 6 10 14 18, 3 7 10 16 21, 4 7 13 14 20, 5 7 12 17 18,"
        " 1 6 7 8 9, 2 7 11 15 19, 2 8 12 16 20, 2 9 13 17 21, 1 10 11 12 13,"
        " 3 6 11 17 20, 3 9 12 14 19, 3 8 13 15 18, 1 14 15 16 17, 4 6 12 15 21,"
        " 4 9 11 16 18, 4 8 10 17 19, 1 18 19 20 21, 5 6 13 16 19, 5 9 10 15 20,"
        " 5 8 11 14 21"
    ),
}


def figure(k: int) -> QuorumSystem:
    sets = FIGURE_1[k].split(",")
    return QuorumSystem("figure 1", tuple(tuple(map(int, s.split())) for s in sets))


def searched(system: QuorumSystem) -> QuorumSystem:
    """The same system, with its resilience to be found by the search."""
    return replace(system, known_resilience=None)


# Every kind, every N


@every_kind
def test_any_two_quorums_meet_and_each_holds_its_node(kind: str) -> None:
    for n in range(1, 401):
        system = KINDS[kind](n)
        assert system.nodes == n
        assert system.kind == kind
        assert system.intersecting, f"{kind} of {n} nodes"
        assert all(i in system.of(i) for i in range(1, n + 1))


@every_kind
def test_quorums_are_ascending_and_name_no_strangers(kind: str) -> None:
    for n in range(1, 60):
        for quorum in KINDS[kind](n).quorums:
            assert list(quorum) == sorted(set(quorum))
            assert quorum[0] >= 1
            assert quorum[-1] <= n


@every_kind
@pytest.mark.parametrize("n", [0, -7])
def test_there_is_at_least_one_node(kind: str, n: int) -> None:
    with pytest.raises(ValueError, match=f"at least one node, not {n}"):
        KINDS[kind](n)


@every_kind
def test_all_peers_share_one_system(kind: str) -> None:
    assert KINDS[kind](57) is KINDS[kind](57)


@every_kind
def test_one_node_asks_itself(kind: str) -> None:
    assert KINDS[kind](1).quorums == ((1,),)
    assert KINDS[kind](1).resilience == 0


# Projective planes


@pytest.mark.parametrize("order", [2, 3, 4, 5, 7, 8, 9, 11, 13, 16])
def test_any_two_lines_of_a_plane_share_exactly_one_point(order: int) -> None:
    lines = [bits(quorum) for quorum in projective_plane(order).quorums]
    assert len(set(lines)) == order * order + order + 1
    assert all((a & b).bit_count() == 1 for a, b in combinations(lines, 2))


@pytest.mark.parametrize(
    ("n", "k"), [(3, 2), (7, 3), (13, 4), (21, 5), (133, 12), (381, 20)]
)
def test_table_1_planes_are_symmetric_with_k_nodes_each(n: int, k: int) -> None:
    assert plane(n).sizes.min == plane(n).sizes.mean == plane(n).sizes.max == k
    assert plane(n).symmetric
    assert plane(n).minimal


@pytest.mark.parametrize("k", FIGURE_1)
def test_figure_1_is_as_good_as_ours(k: int) -> None:
    theirs, ours = figure(k), projective_plane(k - 1)
    assert theirs.intersecting
    assert theirs.symmetric
    assert theirs.minimal
    assert all(i in theirs.of(i) for i in range(1, theirs.nodes + 1))
    assert (theirs.nodes, theirs.sizes) == (ours.nodes, ours.sizes)
    assert (theirs.load, theirs.resilience) == (ours.load, ours.resilience)


@pytest.mark.parametrize("order", [-2, 0, 6, 10])
def test_an_order_that_is_no_prime_power_is_refused(order: int) -> None:
    with pytest.raises(ValueError, match=f"order {order}: .* prime power"):
        projective_plane(order)


# Method 1


@pytest.mark.parametrize(("n", "messages"), [(5, 4.8), (6, 5.5), (10, 8.1), (18, 11.7)])
def test_table_2_is_met_or_beaten(n: int, messages: float) -> None:
    assert round(3 * (plane(n).sizes.mean - 1), 1) <= messages


def test_each_node_that_is_replaced_shrinks_a_quorum() -> None:
    for n in DEGENERATE:
        order = plane(n).sizes.max - 1
        replaced = order * order + order + 1 - n
        total = sum(len(quorum) for quorum in plane(n).quorums)
        assert total == n * (order + 1) - replaced


def test_no_node_stands_in_for_two() -> None:
    """A point is on q + 1 lines, so who stood in for two could be on 3(q + 1)."""
    for n in DEGENERATE:
        system = plane(n)
        assert system.load * n <= 2 * system.sizes.max


@pytest.mark.parametrize("order", [2, 3, 4, 5, 7, 8, 9])
def test_above_q_squared_a_plane_loses_one_failure(order: int) -> None:
    for n in range(order * order + 1, order * order + order + 1):
        assert plane(n).resilience == order - 1
        assert searched(plane(n)).resilience == order - 1


# Method 2


def test_two_by_two() -> None:
    assert grid(4).quorums == ((1, 2, 3), (1, 2, 4), (1, 3, 4), (2, 3, 4))


def test_a_short_last_row_is_completed_from_the_row_above() -> None:
    #  1  2  3
    #  4  5  6
    #  7 (5)(6)
    assert grid(7).of(7) == (1, 4, 5, 6, 7)
    assert grid(7).of(5) == (2, 4, 5, 6)


@pytest.mark.parametrize("width", range(1, 21))
def test_a_square_grid_is_symmetric(width: int) -> None:
    square = grid(width * width)
    assert square.symmetric
    assert square.sizes.max == 2 * width - 1
    assert square.resilience == width - 1


def test_the_resilience_of_a_grid_is_what_a_search_finds() -> None:
    for n in range(1, 37):
        assert grid(n).resilience == searched(grid(n)).resilience


# Majority


@pytest.mark.parametrize("n", [1, 2, 5, 8])
def test_a_majority_is_more_than_half_from_the_node_on(n: int) -> None:
    size = n // 2 + 1
    for i in range(1, n + 1):
        expected = {(i - 1 + k) % n + 1 for k in range(size)}
        assert set(majority(n).of(i)) == expected
        assert 2 * size > n


@pytest.mark.parametrize("n", range(1, 9))
def test_a_majority_survives_what_the_system_of_all_majorities_does(n: int) -> None:
    everyone = combinations(range(1, n + 1), n // 2 + 1)
    assert majority(n).resilience == resilience_by_hand(
        QuorumSystem("all majorities", tuple(everyone))
    )


# Properties


def test_load_is_that_of_the_busiest_node() -> None:
    centralized = QuorumSystem("centre", ((1,), (1, 2), (1, 3), (1, 4)))
    assert centralized.load == 1
    assert grid(9).load == 5 / 9
    assert plane(13).load == 4 / 13


@given(any_system())
def test_intersecting_by_brute_force(system: QuorumSystem) -> None:
    pairs = combinations(map(set, system.quorums), 2)
    assert system.intersecting == all(a & b for a, b in pairs)


@given(any_system())
def test_minimal_by_brute_force(system: QuorumSystem) -> None:
    distinct = [set(quorum) for quorum in set(system.quorums)]
    assert system.minimal == (not any(a < b for a in distinct for b in distinct))


@given(any_system())
def test_symmetric_by_brute_force(system: QuorumSystem) -> None:
    sizes = {len(quorum) for quorum in system.quorums}
    duties = {
        sum(j in quorum for quorum in system.quorums) for j in range(1, system.nodes + 1)
    }
    assert system.symmetric == (len(sizes) == len(duties) == 1)


@given(any_system())
def test_resilience_by_brute_force(system: QuorumSystem) -> None:
    assert system.resilience == resilience_by_hand(system)
    assert system.resilience_exact


@every_kind
def test_resilience_of_small_systems_by_brute_force(kind: str) -> None:
    for n in range(1, 19):
        system = searched(KINDS[kind](n))
        assert system.resilience == resilience_by_hand(system)


@pytest.mark.parametrize("order", [1, 2, 3, 4, 5, 7, 8, 9, 11, 13, 16, 17, 19])
def test_a_plane_survives_as_many_failures_as_its_order(order: int) -> None:
    assert projective_plane(order).resilience == order
    assert searched(projective_plane(order)).resilience == order


def test_a_search_that_is_given_up_says_so_and_claims_no_more_than_it_proved() -> None:
    quorums = [bits(quorum) for quorum in plane(60).quorums]
    assert smallest_hitting_set(quorums) == (8, True)
    for effort in (10, 100, 1000, 5000):
        proved, exact = smallest_hitting_set(quorums, effort)
        assert not exact
        assert proved <= 8
