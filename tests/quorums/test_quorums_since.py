"""Walls, hierarchies, cyclic sets, paths, masking and so on: theorems and brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from itertools import combinations

import pytest

from peerlock.core.bits import bits, nodes_in
from peerlock.core.errors import UsageError
from peerlock.lab.least_load import optimal_load
from peerlock.quorums.availability import availability, one_by_one
from peerlock.quorums.bicoteries import KINDS as BICOTERIES
from peerlock.quorums.bicoteries import Bicoterie
from peerlock.quorums.composition import composed
from peerlock.quorums.constructions import QuorumSystem, grid, majority, plane
from peerlock.quorums.cyclic_sets import SEARCHED, cover, covers, cyclic_sets
from peerlock.quorums.domination import is_dominated, one_more_quorum
from peerlock.quorums.hierarchical import hierarchical
from peerlock.quorums.hitting import OutOfEffort
from peerlock.quorums.masking import (
    disseminated,
    least_shared,
    masked,
    masking,
    masking_grid,
)
from peerlock.quorums.paths import Lattice, paths
from peerlock.quorums.systems import SYSTEMS, quorum_system
from peerlock.quorums.tree_quorums import tree_quorums
from peerlock.quorums.walls import crumbling_wall, wall, wheel

KNOWING = [kind for kind, make in SYSTEMS.items() if make(5).known_left is not None]
SMALL = (1, 2, 3, 4, 5, 6, 7, 9, 10)


def all_quorums(system: QuorumSystem) -> list[set[int]]:
    """The smallest sets that contain one, by looking at every set."""
    found: list[int] = []
    for up in sorted(range(0, 2 << system.nodes, 2), key=int.bit_count):
        if system.is_left(up) and not any(up & other == other for other in found):
            found.append(up)
    return [set(nodes_in(quorum)) for quorum in found]


# What constructions know beyond their tables


@pytest.mark.parametrize("kind", [*KNOWING, "majority/plane", "wall/hierarchical"])
@pytest.mark.parametrize("n", SMALL)
def test_what_is_known_is_what_every_set_of_nodes_shows(kind: str, n: int) -> None:
    system = quorum_system(kind, n)
    quorums = all_quorums(system)
    counts = one_by_one(system.is_left, n)
    assert all(a & b for a, b in combinations(quorums, 2))
    assert all(any(q <= set(own) for q in quorums) for own in system.quorums)
    assert availability(system).counts == counts
    full = one_by_one(lambda up: True, n)
    broken = next(f for f in range(1, n + 1) if counts[n - f] < full[n - f])
    assert system.resilience == broken - 1


def test_too_many_sets_are_not_looked_at() -> None:
    with pytest.raises(OutOfEffort):
        one_by_one(lambda up: True, 14)
    assert not availability(paths(25)).exact


# Walls


def test_a_quorum_of_a_wall_is_a_row_and_one_of_each_row_below() -> None:
    #  1
    #  2 3
    #  4 5 6
    made = wall((1, 2, 3))
    assert made.of(1)[0] == 1 and len(made.of(1)) == 3
    assert made.of(2)[:2] == (2, 3) and len(made.of(2)) == 3
    assert made.of(5) == (4, 5, 6)
    assert made.is_left(bits((1, 3, 6))) and not made.is_left(bits((1, 4, 5)))


def test_cwlog_has_rows_of_log_2i_and_a_quorum_of_about_log_n() -> None:
    assert crumbling_wall(18).of(18) == (15, 16, 17, 18)  # after rows of 1, 2, 2, 3, 3, 3
    assert crumbling_wall(17).of(15) == (15, 16, 17)
    for n in (50, 100, 400):
        assert crumbling_wall(n).sizes.min <= 2 * n.bit_length()


@pytest.mark.parametrize(
    ("widths", "dominated"),
    [
        *(((1,), False), ((1, 2), False), ((1, 2, 3), False), ((1, 3, 2, 2), False)),
        *(((2,), True), ((2, 2), True), ((3, 2), True), ((2, 1, 2), False)),
    ],
)
def test_a_wall_is_not_dominated_if_its_first_row_is_one_wide(
    widths: tuple[int, ...], dominated: bool
) -> None:
    assert is_dominated(availability(wall(widths))) is dominated


@pytest.mark.parametrize("widths", [(), (2, 0, 1), (-1,)])
def test_a_row_has_a_node(widths: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="rows of at least one node"):
        wall(widths)


@pytest.mark.parametrize("widths", [(4, 4), (3, 3, 3), (6, 3, 2)], ids=str)
def test_the_nodes_of_a_row_take_turns_to_be_asked_from_above(
    widths: tuple[int, ...],
) -> None:
    system = wall(widths)
    upper = range(1, widths[0] + 1)
    asked = Counter(j for i in upper for j in system.of(i) if j not in upper)
    per_row = [asked[j] for j in range(widths[0] + 1, sum(widths) + 1)]
    expected = [widths[0] // width for width in widths[1:] for _ in range(width)]
    assert per_row == expected


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_a_wheel_is_a_hub_with_spokes_and_a_rim(n: int) -> None:
    rim = set(range(2, n + 1))
    spokes = [{1, i} for i in rim]
    assert sorted(map(sorted, all_quorums(wheel(n)))) == sorted(map(sorted, [*spokes, rim]))
    assert wheel(n).resilience == 1


@pytest.mark.parametrize("n", [3, 4, 5, 8])
def test_the_load_of_a_wheel_by_linear_programming_over_all_its_quorums(n: int) -> None:
    by_program = optimal_load(as_table(all_quorums(wheel(n))))
    assert by_program.exact == optimal_load(wheel(n)).exact == Fraction(n - 1, 2 * n - 3)


def as_table(quorums: list[set[int]]) -> QuorumSystem:
    return QuorumSystem("all", tuple(tuple(sorted(q)) for q in quorums))


# Hierarchies


@pytest.mark.parametrize("m", range(5))
def test_of_3_to_the_m_nodes_2_to_the_m_are_asked(m: int) -> None:
    made = hierarchical(3**m)
    assert made.sizes.min == made.sizes.max == 2**m
    assert made.resilience == 2**m - 1
    assert optimal_load(made).exact == Fraction(2, 3) ** m


@pytest.mark.parametrize("n", range(1, 10))
def test_the_load_of_a_hierarchy_by_linear_programming(n: int) -> None:
    quorums = all_quorums(hierarchical(n))
    padded = quorums + [quorums[0]] * max(n - len(quorums), 0)
    by_program = optimal_load(as_table(padded))
    assert by_program.load == pytest.approx(optimal_load(hierarchical(n)).load)


def test_nine_nodes_of_a_hierarchy_ask_four_where_a_majority_asks_five() -> None:
    assert hierarchical(9).of(1) == (1, 2, 4, 5)
    assert hierarchical(9).sizes.max < majority(9).sizes.max


# Cyclic sets


def test_every_number_is_a_difference() -> None:
    for n in (*range(1, 120), 133, 200, 400):
        assert covers(cover(n), n)


@pytest.mark.parametrize("n", range(1, 18))
def test_no_smaller_set_will_do(n: int) -> None:
    size = len(cover(n)) - 1
    smaller = combinations(range(1, n), size - 1) if size else ()
    assert not any(covers((0, *rest), n) for rest in smaller)


def test_where_there_is_a_plane_the_set_is_a_difference_set() -> None:
    for n in (3, 7, 13, 21, 31, 57, 73, 91, 133):
        assert len(cover(n)) == plane(n).sizes.max


def test_others_have_about_root_two_root_n() -> None:
    for n in range(SEARCHED + 1, 400):
        assert len(cover(n)) ** 2 <= 2 * n + 4 * n**0.5


@pytest.mark.parametrize("n", [4, 10, 20, 33, 50])
def test_all_nodes_are_alike_whichever_n(n: int) -> None:
    assert cyclic_sets(n).symmetric


# Paths


@pytest.mark.parametrize("size", range(5))
def test_a_lattice_has_2_l_squared_and_2_l_and_1_edges(size: int) -> None:
    n = 2 * size * size + 2 * size + 1
    made = paths(n)
    assert Lattice(size).nodes == n
    assert made.resilience == size
    assert 2 * size + 1 == made.sizes.min <= made.sizes.max <= 2 * size + 2
    assert made.load <= (8 / n) ** 0.5


def test_the_drawn_lattice() -> None:
    assert paths(13).of(5) == (2, 4, 5, 6, 8)
    assert paths(13).of(10) == (1, 2, 5, 6, 8, 10)
    left = paths(13).is_left
    assert left(bits((4, 5, 6, 2, 8))) and not left(bits((1, 2, 3, 7, 8, 9)))


def test_what_breaks_all_ways_across_is_a_way_down() -> None:
    lattice = Lattice(1)
    corners, faces = lattice._corners, lattice._faces
    everybody = (2 << lattice.nodes) - 2
    for up in range(0, everybody + 1, 2):
        across = lattice._connects(up, corners, 1)
        assert across != lattice._connects(everybody & ~up, faces, 0)


def test_it_survives_better_than_a_grid_as_it_grows() -> None:
    lost_by_paths = [1 - availability(paths(n)).at(0.7) for n in (5, 13, 25)]
    lost_by_grids = [1 - availability(grid(n)).at(0.7) for n in (4, 9, 25)]
    assert lost_by_paths == sorted(lost_by_paths, reverse=True)
    assert lost_by_grids[-1] > lost_by_paths[-1]


# Liars


@pytest.mark.parametrize("make", [masking, masking_grid], ids=lambda f: f.__name__)
def test_any_two_share_2f_and_1_and_f_may_be_silent(
    make: Callable[[int, int | None], QuorumSystem],
) -> None:
    for n in (9, 16, 25, 30, 49):
        f = 0
        while True:
            try:
                made = make(n, f)
            except ValueError:
                break
            assert least_shared(made) >= 2 * f + 1
            assert made.resilience >= f
            assert masked(made) >= f
            f += 1
        assert masked(make(n, None)) >= f - 1 > 0


def test_as_many_liars_as_can_be() -> None:
    assert masked(masking(5)) == 1 and masking(5).sizes.min == 4
    assert masked(masking(9)) == 2
    assert masked(masking_grid(49)) == 3
    assert masking_grid(49).sizes.max < masking(49, 3).sizes.max


@pytest.mark.parametrize(("make", "n"), [(masking, 4), (masking_grid, 4)])
def test_four_cannot_mask_one(make: Callable[[int, int], QuorumSystem], n: int) -> None:
    with pytest.raises(ValueError, match="cannot mask 1 liars"):
        make(n, 1)


def test_signatures_help() -> None:
    """Of 3f+1 nodes any 2f+1 disseminate: a plain majority of 4 takes one liar."""
    assert (masked(majority(4)), disseminated(majority(4))) == (0, 1)
    assert masked(plane(13)) == 0


# Composition


def test_a_majority_of_majorities_is_a_hierarchy() -> None:
    made = composed(majority(3), [majority(3)] * 3, "majorities")
    assert sorted(map(sorted, all_quorums(made))) == sorted(
        map(sorted, all_quorums(hierarchical(9)))
    )
    assert availability(made).counts == availability(hierarchical(9)).counts


@pytest.mark.parametrize(
    ("outer", "inner", "dominated"),
    [
        (majority(3), [wheel(3), majority(1), majority(3)], False),
        (wheel(4), [majority(1), majority(3), majority(1), majority(1)], False),
        (majority(4), [majority(1), majority(3), majority(1), majority(1)], True),
        (majority(3), [grid(4), majority(1), majority(3)], True),
    ],
)
def test_the_whole_is_dominated_if_a_part_is(
    outer: QuorumSystem, inner: list[QuorumSystem], dominated: bool
) -> None:
    assert is_dominated(availability(composed(outer, inner, "whole"))) is dominated


def test_each_node_of_the_outer_system_is_replaced() -> None:
    with pytest.raises(ValueError, match="2 systems cannot replace 3 nodes"):
        composed(majority(3), [majority(3)] * 2, "wrong")
    with pytest.raises(ValueError, match="at most 9"):
        composed(majority(10), [majority(1)] * 10, "wrong")


def test_a_composed_system_is_chosen_by_two_names() -> None:
    assert quorum_system("majority/plane", 21).sizes.max < majority(21).sizes.max
    with pytest.raises(UsageError, match="kind of quorums 'majority/plan'"):
        quorum_system("majority/plan", 21)


# Domination


@pytest.mark.parametrize(
    ("system", "dominated"),
    [
        *((majority(n), n % 2 == 0) for n in range(1, 10)),
        *((plane(3), False), (plane(7), False), (plane(13), True), (grid(9), True)),
        *((tree_quorums(n), False) for n in (3, 7, 9)),
        *((wheel(6), False), (hierarchical(9), False), (masking(5), True)),
    ],
    ids=lambda value: f"{value.kind} {value.nodes}" if hasattr(value, "kind") else "",
)
def test_half_of_all_sets_or_one_quorum_more(system: QuorumSystem, dominated: bool) -> None:
    assert is_dominated(availability(system)) is dominated
    if system.nodes <= 9:
        more = one_more_quorum(system)
        assert (more is not None) is dominated
        if more is not None:
            quorums = [bits(quorum) for quorum in all_quorums(system)]
            assert all(more & q and more & q != q for q in quorums)


def test_what_was_not_counted_is_not_decided() -> None:
    assert is_dominated(availability(plane(57), effort=0, trials=10)) is None


# Reading and writing


@pytest.mark.parametrize("kind", BICOTERIES)
def test_reading_is_cheaper_than_writing(kind: str) -> None:
    made = BICOTERIES[kind](16)
    assert len(made.read[0]) < len(made.written[0])


def test_sets_that_do_not_meet_are_told() -> None:
    assert not Bicoterie("", ((1,), (2,)), ((1,), (1, 2))).reading
    apart = Bicoterie("", ((1, 2), (1, 2)), ((1,), (2,)))
    assert apart.reading and not apart.writing


def test_a_grid_reads_one_of_each_column() -> None:
    made = BICOTERIES["grid"](9)
    assert made.read[4] == (4, 5, 6)
    assert made.written[4] == (2, 4, 5, 6, 8)


def test_a_quorum_that_is_one_more_is_a_smallest() -> None:
    """Of five nodes on a grid {3} meets every quorum, and so do larger sets."""
    assert one_more_quorum(grid(5)) == bits((3,))


def test_a_liar_that_is_silent_must_leave_a_quorum() -> None:
    """All five nodes share enough, and none of them can be spared."""
    everybody = QuorumSystem("everybody", ((1, 2, 3, 4, 5),) * 5)
    assert (masked(everybody), disseminated(everybody)) == (0, 0)
