"""Triangles, availability and optimal load, against the lecture, theorems, brute force."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable
from fractions import Fraction
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerlock.cli.quorums import KINDS as NAMES
from peerlock.core.peer import NodeId
from peerlock.lab import least_load
from peerlock.lab.least_load import optimal_load
from peerlock.quorums.agreements import KINDS as AGREEMENTS
from peerlock.quorums.agreements import QuorumAgreement, entries, grid_set, half
from peerlock.quorums.availability import Counting, availability, by_trial
from peerlock.quorums.bicoteries import KINDS as BICOTERIES
from peerlock.quorums.bicoteries import Bicoterie
from peerlock.quorums.constructions import KINDS, QuorumSystem, grid, majority, plane
from peerlock.quorums.coterie import k_coterie, most_disjoint
from peerlock.quorums.hitting import OutOfEffort
from peerlock.quorums.information import KINDS as STRUCTURES
from peerlock.quorums.information import InformationStructure
from peerlock.quorums.systems import SYSTEMS
from peerlock.quorums.tree_quorums import tree_quorums
from peerlock.quorums.triangle import place, triangle, triangle_columns, triangle_rows
from peerlock.quorums.weighted import untied, weighted
from tests.support.systems import any_system, resilience_by_hand
from tests.support.tree_quorums import all_quorums

MORE_THAN_THE_TABLE = ("majority", "tree", "weighted", "hierarchical")  # with known loads
every_kind = pytest.mark.parametrize("kind", SYSTEMS)
TRIANGLES = (triangle, triangle_columns, triangle_rows)
each_triangle = pytest.mark.parametrize("make", TRIANGLES, ids=lambda f: f.__name__)


def duties(system: QuorumSystem) -> Counter[NodeId]:
    return Counter(j for quorum in system.quorums for j in quorum)


# Every kind, every N


@pytest.mark.parametrize("kind", [kind for kind in SYSTEMS if kind not in KINDS])
def test_any_two_quorums_meet_and_each_holds_its_node(kind: str) -> None:
    for n in (*range(1, 101), *range(103, 401, 7), 400):
        system = SYSTEMS[kind](n)
        assert (system.kind, system.nodes) == (kind, n)
        assert system.intersecting, f"{kind} of {n} nodes"
        assert all(i in system.of(i) for i in range(1, n + 1))
        assert all(list(q) == sorted(set(q)) for q in system.quorums)
        assert system.sizes.max <= n


@every_kind
@pytest.mark.parametrize("n", [0, -7])
def test_there_is_at_least_one_node(kind: str, n: int) -> None:
    with pytest.raises(ValueError, match="at least one"):
        SYSTEMS[kind](n)


# The lecture's triangle


@pytest.mark.parametrize("rows", [1, 2, 3, 5, 10, 27])
@each_triangle
def test_a_full_triangle_has_quorums_of_root_two_root_n(
    make: Callable[[int], QuorumSystem], rows: int
) -> None:
    n = rows * (rows + 1) // 2
    assert make(n).sizes.min == make(n).sizes.max == rows
    assert rows <= (2 * n) ** 0.5 <= rows + 1


@pytest.mark.parametrize("rows", [2, 3, 5, 10])
def test_two_quorums_share_a_single_node(rows: int) -> None:
    n = rows * (rows + 1) // 2
    sets = {*triangle_columns(n).quorums, *triangle_rows(n).quorums}
    assert len(sets) == rows + 1
    assert all(len(set(a) & set(b)) == 1 for a, b in combinations(sets, 2))


def test_process_1_occurs_in_nine_granting_sets_and_process_15_in_one() -> None:
    found = duties(triangle_columns(15))
    assert (found[1], found[15]) == (9, 1)


def test_up_and_left_right_and_down() -> None:
    assert place(9) == (4, 3)
    assert triangle_columns(15).of(9) == (2, 3, 6, 9, 13)
    assert triangle_rows(15).of(9) == (7, 8, 9, 10, 15)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 5, 8])
def test_in_both_schemes_together_all_occur_equally_often(rows: int) -> None:
    n = rows * (rows + 1) // 2
    together = duties(triangle_columns(n)) + duties(triangle_rows(n))
    assert set(together.values()) == {2 * rows}


@pytest.mark.parametrize("rows", [2, 4, 6, 10, 26])
def test_half_of_the_nodes_by_either_scheme_are_balanced(rows: int) -> None:
    """With an even number of rows there is an odd number of sets, each asked as often."""
    n = rows * (rows + 1) // 2
    assert triangle(n).symmetric
    assert triangle(n).load == rows / n < triangle_columns(n).load


@pytest.mark.parametrize("rows", [3, 5, 9, 27])
def test_with_an_odd_number_of_rows_nearly(rows: int) -> None:
    n = rows * (rows + 1) // 2
    assert triangle(n).load == (rows + 1) / n


@pytest.mark.parametrize("rows", [2, 3, 4, 5, 9, 20])
def test_each_node_that_fails_breaks_two_sets(rows: int) -> None:
    n = rows * (rows + 1) // 2
    assert triangle(n).resilience == (rows + 2) // 2 - 1


@each_triangle
def test_resilience_of_small_triangles_by_brute_force(
    make: Callable[[int], QuorumSystem],
) -> None:
    for n in range(1, 17):
        assert make(n).resilience == resilience_by_hand(make(n))


# Availability


def survivals(n: int, family: Iterable[Collection[NodeId]]) -> tuple[int, ...]:
    sets = [set(quorum) for quorum in family]
    members = range(1, n + 1)
    return tuple(
        sum(any(q <= set(up) for q in sets) for up in combinations(members, k))
        for k in range(n + 1)
    )


@given(any_system())
def test_counting_by_brute_force(system: QuorumSystem) -> None:
    assert availability(system).counts == survivals(system.nodes, system.quorums)


@pytest.mark.parametrize("n", range(1, 10))
def test_what_constructions_know_by_brute_force(n: int) -> None:
    """Any majority will do, any votes that win, any tree quorum."""
    members = range(1, n + 1)
    votes = untied(n)
    wins = [
        up
        for k in range(n + 1)
        for up in combinations(members, k)
        if 2 * sum(votes[j - 1] for j in up) > sum(votes)
    ]
    halves = combinations(members, n // 2 + 1)
    assert availability(majority(n)).counts == survivals(n, halves)
    assert availability(weighted(votes)).counts == survivals(n, wins)
    assert availability(tree_quorums(n)).counts == survivals(n, all_quorums(n))


@every_kind
@pytest.mark.parametrize("n", [1, 5, 12])
def test_it_grows_from_nothing_to_certainty(kind: str, n: int) -> None:
    found = availability(SYSTEMS[kind](n))
    values = [found.at(k / 20) for k in range(21)]
    assert found.exact
    assert values == sorted(values)
    assert (values[0], values[-1]) == (0, 1)


def test_a_majority_of_five() -> None:
    found = availability(majority(5)).at(0.9)
    assert found == pytest.approx(
        sum(comb(5, k) * 0.9**k * 0.1 ** (5 - k) for k in (3, 4, 5))
    )


def test_no_system_is_better_than_majorities() -> None:
    """With p > 1/2 and an odd number of nodes."""
    for make in (plane, grid, triangle, tree_quorums):
        for p in (0.6, 0.9):
            assert availability(make(9)).at(p) <= availability(majority(9)).at(p)


@pytest.mark.parametrize("make", [plane, grid, triangle], ids=lambda f: f.__name__)
def test_trials_agree_with_counting(make: Callable[[int], QuorumSystem]) -> None:
    system = make(13)
    exact = availability(system)
    tried = availability(system, effort=0)
    assert exact.exact
    assert not tried.exact
    for p in (0.3, 0.5, 0.7, 0.9):
        assert abs(tried.at(p) - exact.at(p)) <= 4 * tried.standard_error(p)


def test_trials_are_repeated_by_their_seed() -> None:
    assert by_trial(grid(30), 50, seed=7) == by_trial(grid(30), 50, seed=7)
    assert by_trial(grid(30), 50, seed=7) != by_trial(grid(30), 50, seed=8)


def test_trials_that_all_come_out_alike_are_no_certainty() -> None:
    tried = availability(plane(57), effort=0, trials=100)
    assert tried.at(1.0) == 1
    assert tried.standard_error(1.0) > 0


def test_counting_is_given_up() -> None:
    with pytest.raises(OutOfEffort):
        Counting(effort=1000).count(plane(31))


# Optimal load


@pytest.mark.parametrize("order_n", [3, 7, 13, 21, 31, 57, 133])
def test_the_load_of_a_plane_cannot_be_less(order_n: int) -> None:
    best = optimal_load(plane(order_n))
    assert best.load == pytest.approx(plane(order_n).load)
    assert best.exact == Fraction(plane(order_n).sizes.max, order_n)


def test_the_load_of_a_large_system_is_bounded_without_the_program(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    best = optimal_load(plane(12)).load
    monkeypatch.setattr(least_load, "LARGE", 11)
    monkeypatch.setattr(least_load, "solve", None)
    found = optimal_load(plane(12))
    assert found.at_least is not None
    assert found.at_least <= best <= found.load == plane(12).load


@pytest.mark.parametrize("height", range(6))
def test_the_load_of_a_tree_is_two_in_height_and_two(height: int) -> None:
    """Naor and Wool, 1998."""
    n = 2 ** (height + 1) - 1
    assert optimal_load(tree_quorums(n)).exact == Fraction(2, height + 2)


@pytest.mark.parametrize("n", range(3, 10))
def test_the_load_of_a_tree_by_linear_programming_over_all_its_quorums(n: int) -> None:
    quorums = tuple(tuple(sorted(q)) for q in all_quorums(n))
    padded = (*quorums, *[quorums[0]] * max(n - len(quorums), 0))
    by_program = optimal_load(QuorumSystem("all", padded))
    assert by_program.load == pytest.approx(float(tree_quorums(n).known_optimal_load or 0))


@pytest.mark.parametrize("n", [3, 4, 5, 6])
def test_the_load_of_majorities_by_linear_programming(n: int) -> None:
    halves = tuple(combinations(range(1, n + 1), n // 2 + 1))
    assert optimal_load(QuorumSystem("all", halves)).load == pytest.approx(
        optimal_load(majority(n)).load
    )


@pytest.mark.parametrize(("n", "load"), [(6, Fraction(1, 2)), (15, Fraction(1, 3))])
def test_a_triangle_by_both_schemes_in_turn(n: int, load: Fraction) -> None:
    """Each of its m + 1 sets equally often, and a node is in two."""
    assert optimal_load(triangle(n)).exact == load


@every_kind
@pytest.mark.parametrize("n", [1, 2, 4, 11, 19, 26, 50, 100])
def test_it_lies_between_what_must_be_done_and_what_is_done(kind: str, n: int) -> None:
    system = SYSTEMS[kind](n)
    best = optimal_load(system)
    assert best.load <= system.load + 1e-9
    if kind not in MORE_THAN_THE_TABLE:
        fewest = system.sizes.min
        assert best.load >= max(fewest / n, 1 / fewest) - 1e-9


@given(st.integers(1, 25), st.sampled_from([plane, grid, *TRIANGLES]))
def test_small_systems_are_solved_exactly(
    n: int, make: Callable[[int], QuorumSystem]
) -> None:
    best = optimal_load(make(n))
    assert best.exact is None or float(best.exact) == pytest.approx(best.load)
    if n <= 12:
        assert best.exact is not None


# k-coteries


@pytest.mark.parametrize("k", [1, 2, 3, 5])
def test_of_k_and_one_quorums_two_meet(k: int) -> None:
    for n in (1, 2, 4, 9, 20, 57, 400):
        assert most_disjoint(k_coterie(n, k)) == min(n, k)


@given(any_system())
def test_most_disjoint_by_brute_force(system: QuorumSystem) -> None:
    sets = [set(quorum) for quorum in set(system.quorums)]
    most = max(
        k
        for k in range(1, len(sets) + 1)
        for some in combinations(sets, k)
        if all(not a & b for a, b in combinations(some, 2))
    )
    assert most_disjoint(system) == most


# Two sets for each node


def paired(kind: str, n: int) -> QuorumAgreement | InformationStructure | Bicoterie:
    of, _, name = kind.partition(":")
    if of == "bicoterie":
        return BICOTERIES[name](n)
    return AGREEMENTS[name](n) if of == "agreement" else STRUCTURES[name](n)


def both(made: QuorumAgreement | InformationStructure | Bicoterie) -> tuple[Any, Any]:
    if isinstance(made, Bicoterie):
        return made.read, made.written
    told = made.acquired if isinstance(made, QuorumAgreement) else made.informing
    return made.request, told


def brute_survivals(n: int, *halves: QuorumSystem) -> tuple[int, ...]:
    """Sets of nodes that contain a quorum of each half."""
    families = [[set(quorum) for quorum in one.quorums] for one in halves]
    members = range(1, n + 1)
    return tuple(
        sum(
            all(any(q <= set(up) for q in family) for family in families)
            for up in combinations(members, k)
        )
        for k in range(n + 1)
    )


PAIRED = [name for name in NAMES if ":" in name]
each_pair = pytest.mark.parametrize("kind", PAIRED)


def test_each_agreement_and_each_structure_has_a_name() -> None:
    names = [f"agreement:{name}" for name in AGREEMENTS]
    names += [f"sanders:{name}" for name in STRUCTURES]
    assert [*names, *(f"bicoterie:{name}" for name in BICOTERIES)] == PAIRED


@each_pair
@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 7, 9, 10])
def test_an_entry_takes_a_set_of_either_half_by_brute_force(kind: str, n: int) -> None:
    made = paired(kind, n)
    entry = made.entry
    assert (entry.kind, entry.nodes) == (kind, n)
    assert entry.intersecting
    if kind == "agreement:tree":  # there are more than those of the table
        assert entry.resilience == tree_quorums(n).resilience
        return
    counts = brute_survivals(n, *map(half, both(made)))
    assert availability(entry).counts == counts
    broken = next(f for f in range(1, n + 1) if counts[n - f] < comb(n, f))
    assert entry.resilience == broken - 1


def test_the_resilience_of_a_grid_set_is_what_a_search_finds() -> None:
    for n in range(1, 37):
        agreement = grid_set(n)
        found = entries(agreement.request, agreement.acquired)
        assert found.known_resilience is None
        assert agreement.entry.resilience == found.resilience


@pytest.mark.parametrize(("n", "load"), [(8, "5/8"), (18, "4/9")])
def test_the_load_of_a_full_grid_set(n: int, load: str) -> None:
    """One row in h and one column in w: 1/h + 1/w - 1/(hw)."""
    assert optimal_load(grid_set(n).entry).exact == Fraction(load)


@each_pair
def test_every_pair_of_every_size_holds(kind: str) -> None:
    for n in (*range(1, 30), 57, 100, 399, 400):
        made = paired(kind, n)
        if isinstance(made, Bicoterie):
            assert made.reading and made.writing
        else:
            assert made.agreeing if isinstance(made, QuorumAgreement) else made.excluding


def test_what_excludes_nobody_is_told_apart() -> None:
    informed_unasked = InformationStructure("", ((1, 2), (1, 2)), ((1,), (1, 2)))
    assert (informed_unasked.asked_first, informed_unasked.learning) == (False, True)
    uninformed = InformationStructure("", ((), ()), ((1, 2), (1, 2)))
    assert (uninformed.asked_first, uninformed.learning) == (True, False)


# The command


KEYS = [
    *("kind", "nodes", "quorums", "intersecting", "disjoint"),
    *("dominated", "masked", "minimal", "symmetric"),
    *("sizes", "load", "optimal_load", "optimal_load_at_least", "optimal_load_exact"),
    *("resilience", "resilience_exact"),
    *("p", "availability", "availability_exact", "availability_error"),
]


@pytest.mark.parametrize(
    ("kind", "n"),
    [
        *((kind, n) for kind in (*SYSTEMS, "k-coterie") for n in (1, 2, 7, 31)),
        *((kind, 400) for kind in ("grid", "triangle", "tree", "weighted")),
    ],
)
def test_every_kind_is_described(peerlock: Any, kind: str, n: int) -> None:
    shown = peerlock("quorums", kind, "-n", n, "--p", 0.95, "--json").json
    assert list(shown) == KEYS
    assert shown["p"] == 0.95
    assert 0 <= shown["availability"] <= 1
    assert shown["optimal_load"] <= shown["load"] + 1e-9
    assert (shown["availability_error"] == 0) == shown["availability_exact"]
    assert shown["disjoint"] == (min(n, 2) if kind == "k-coterie" else 1)


PAIR_KEYS = {
    "agreement": ["kind", "nodes", "request", "acquired", "agreeing"],
    "sanders": [
        *("kind", "nodes", "request", "informing"),
        *("asked_first", "learning", "excluding", "messages"),
    ],
    "bicoterie": ["kind", "nodes", "read", "written", "reading", "writing"],
}


@each_pair
@pytest.mark.parametrize("n", [1, 2, 7, 31, 100])
def test_every_pair_is_described(peerlock: Any, kind: str, n: int) -> None:
    shown = peerlock("quorums", kind, "-n", n, "--json").json
    assert list(shown) == PAIR_KEYS[kind.partition(":")[0]] + KEYS[KEYS.index("minimal") :]
    holds = ("agreeing", "excluding", "reading", "writing")
    assert all(shown.get(condition, True) for condition in holds)
    assert 0 <= shown["availability"] <= 1
    assert shown["optimal_load"] <= shown["load"] + 1e-9
    for name in {"request", "acquired", "informing", "read", "written"} & set(shown):
        assert len(shown[name]["sets"]) == n
        assert shown[name]["sizes"]["max"] <= shown["sizes"]["max"]


def test_both_halves_are_told_in_words(peerlock: Any) -> None:
    out = peerlock("quorums", "agreement:grid-set", "-n", 8).out
    assert "each set that is asked meets each that another node tells" in out
    assert "sets asked, with the node itself: sizes 4 to 4" in out
    assert "sets told, with the node itself: sizes 2 to 2" in out
    assert "62.5% of all requests, and in 62.5% if" in out
    assert "a set to ask and one to tell are left after any 1 failure" in out
    out = peerlock("quorums", "sanders:ricart-agrawala", "-n", 7).out
    assert "each node that is informed was asked" in out
    assert "costs 12 messages" in out
    assert "with 0.478297" in out


def test_the_help_names_every_kind(peerlock: Any) -> None:
    words = peerlock("quorums", "--help").out.split()
    assert set(NAMES) <= set(words)


@each_pair
def test_the_availability_of_pairs_is_drawn(
    peerlock: Any,
    tmp_path: Path,
    kind: str,
) -> None:
    path = tmp_path / "figure.svg"
    assert peerlock("quorums", kind, "-n", 7, "--plot", path).code == 0
    assert path.stat().st_size > 5000


def test_it_is_told_in_words(peerlock: Any) -> None:
    out = peerlock("quorums", "tree", "-n", 7, "--p", 0.8).out
    assert "100.0% of all requests, and in 50.0% if" in out
    assert "with 0.95191" in out
    assert "± " in peerlock("quorums", "grid", "-n", 64).out
    several = peerlock("quorums", "k-coterie", "-n", 8, "--permits", 3).out
    assert "of any 4 two meet" in several


def test_votes_can_be_given(peerlock: Any) -> None:
    shown = peerlock("quorums", "weighted", "-n", 3, "--votes", "3,1,1", "--json").json
    assert shown["quorums"] == {"1": [1], "2": [1, 2], "3": [1, 3]}
    assert shown["availability"] == pytest.approx(0.9)


@pytest.mark.parametrize("ending", ["svg", "pdf", "png"])
@pytest.mark.parametrize("n", [7, 64])
def test_availability_is_drawn(
    peerlock: Any,
    tmp_path: Path,
    ending: str,
    n: int,
) -> None:
    path = tmp_path / f"figure.{ending}"
    assert peerlock("quorums", "grid", "-n", n, "--plot", path).code == 0
    assert path.stat().st_size > 5000


@pytest.mark.parametrize(
    ("arguments", "complaint"),
    [
        (["weighted", "-n", "3", "--votes", "1,1"], "2 votes for 3 nodes"),
        (["weighted", "-n", "2", "--votes", "1,x"], "invalid votes"),
        (["weighted", "-n", "2", "--votes", "0,0"], "at least one node must have a vote"),
        (["grid", "--votes", "1,1"], "needs the kind weighted"),
        (["grid", "--permits", "2"], "needs the kind k-coterie"),
        (["k-coterie", "--permits", "0"], "a permit at least"),
        (["grid", "--p", "1.5"], "0<=x<=1"),
        (["grid", "--p", "-0.1"], "0<=x<=1"),
        (["grid", "--p", "nan"], "'nan' is not a valid number"),
        (["sanders"], "did you mean sanders:"),
        (["agreements"], "did you mean agreement:"),
        (["agreement:grid-set", "-n", "0"], "at least one node"),
        (["sanders:maekawa", "-n", "0"], "at least one node"),
        (["sanders:ricart-agrawala", "-n", "0"], "at least one node"),
        (["agreement:tree", "--votes", "1,1"], "needs the kind weighted"),
        (["grid", "--plot", "/nowhere/f.pdf"], "cannot write"),
        (["grid", "--plot", "figure.gif"], "figure.gif"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_wrong_input_is_one_line(
    peerlock: Any,
    arguments: list[str],
    complaint: str,
) -> None:
    done = peerlock("quorums", *arguments)
    assert done.code == 2
    assert complaint in done.err
    assert len(done.err.splitlines()) == 1
