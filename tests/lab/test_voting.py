"""What weighted votes are worth, over all sets that win: by brute force, and bounded."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import combinations
from random import Random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerlock.core.peer import NodeId
from peerlock.lab.least_load import optimal_load
from peerlock.lab.linear import solve
from peerlock.lab.voting import fair_sets, grouped, voting_load
from peerlock.quorums.availability import availability
from peerlock.quorums.hitting import OutOfEffort
from peerlock.quorums.weighted import Votes, survivals, untied, weighted

ENOUGH = 800_000
SQUARES = tuple(i * i + 1 for i in range(1, 101))
LINE = tuple(range(1, 401))
NINTHS = tuple(i**9 + 1 for i in range(400))
HUGE = tuple(10**30 + i for i in range(20))

some_votes = (
    st.lists(st.integers(0, 4) | st.integers(0, 10**9), min_size=1, max_size=8)
    .map(tuple)
    .filter(any)
)


def winning(votes: Votes) -> Iterator[tuple[NodeId, ...]]:
    nodes = range(1, len(votes) + 1)
    for size in nodes:
        for some in combinations(nodes, size):
            if 2 * sum(votes[j - 1] for j in some) > sum(votes):
                yield some


def least_load(votes: Votes) -> float:
    """By the linear program over all sets that win."""
    choices = [[(j - 1, 1.0) for j in some] for some in winning(votes)]
    return solve(choices, len(votes)).load


# The least load


@pytest.mark.parametrize(
    ("votes", "load"),
    [
        (untied(4), Fraction(3, 5)),
        (untied(6), Fraction(4, 7)),
        (untied(8), Fraction(5, 9)),
        (untied(10), Fraction(6, 11)),
        (untied(400), Fraction(201, 401)),
        ((2, 2, 1, 1, 1), Fraction(4, 7)),
        ((5, 3, 3, 2, 2, 1), Fraction(4, 7)),
        ((3, 2, 2, 1), Fraction(2, 3)),
        ((3, 1, 1), Fraction(1)),
        ((2, 2, 2), Fraction(2, 3)),
        ((0, 5, 0, 0), Fraction(1)),
    ],
    ids=str,
)
def test_the_least_load_is_over_all_sets_that_win(votes: Votes, load: Fraction) -> None:
    best = optimal_load(weighted(votes))
    assert best.load == pytest.approx(float(load))
    assert (best.exact, best.at_least) == (load, None)
    if len(votes) <= 10:
        assert least_load(votes) == pytest.approx(float(load))


@given(some_votes)
def test_the_least_load_by_brute_force(votes: Votes) -> None:
    best = optimal_load(weighted(votes))
    assert best.at_least is None
    assert best.load == pytest.approx(least_load(votes), abs=1e-8)
    assert best.exact is None or float(best.exact) == pytest.approx(best.load)


@pytest.mark.parametrize("n", range(2, 30))
def test_who_survives_a_failure_does_not_always_need_the_same_node(n: int) -> None:
    system = weighted(untied(n))
    assert (optimal_load(system).load < 1) == (system.resilience > 0)


@given(some_votes)
def test_the_search_begins_with_sets_that_win_and_can_spare_nobody(votes: Votes) -> None:
    groups = grouped(votes)
    for taken in fair_sets(groups):
        got = sum(k * v for k, v in zip(taken, groups.votes, strict=True))
        used = [v for k, v in zip(taken, groups.votes, strict=True) if k]
        assert got >= groups.need > got - min(used)
        assert all(k <= m for k, m in zip(taken, groups.members, strict=True))


@pytest.mark.parametrize("votes", [SQUARES, LINE[:200]], ids=["squares", "line"])
def test_many_different_votes_are_as_good_as_exact(votes: Votes) -> None:
    """No load is less than the share of votes that is needed."""
    best = optimal_load(weighted(votes))
    assert best.at_least is None
    assert best.load == pytest.approx((sum(votes) // 2 + 1) / sum(votes), abs=2e-6)


@pytest.mark.parametrize("effort", [0, 100, 1000])
def test_a_search_that_is_cut_short_leaves_a_bound(effort: int) -> None:
    rng = Random(1)
    votes = tuple(rng.randrange(1, 50) for _ in range(9))
    truth = least_load(votes)
    best = voting_load(votes, effort=effort)
    assert best.load >= truth - 1e-9
    assert best.at_least is None or best.at_least <= truth + 1e-9


def test_votes_beyond_all_integers_leave_a_bound() -> None:
    best = optimal_load(weighted(HUGE))
    assert best.at_least == pytest.approx(0.5)
    assert best.exact is None
    assert 0.5 < best.load < 0.6


# How many sets survive


@given(some_votes)
def test_survivals_by_brute_force(votes: Votes) -> None:
    sizes = [len(some) for some in winning(votes)]
    expected = tuple(sizes.count(k) for k in range(len(votes) + 1))
    assert survivals(votes, ENOUGH) == expected


def test_large_votes_that_differ_are_counted_where_that_is_cheap() -> None:
    assert availability(weighted(LINE[:100])).exact
    assert availability(weighted(tuple(2**i for i in range(60)))).at(0.9) == pytest.approx(
        0.9  # the last node decides alone
    )


@pytest.mark.parametrize("votes", [LINE, NINTHS], ids=["line", "ninths"])
def test_counting_is_given_up_and_tried(votes: Votes) -> None:
    with pytest.raises(OutOfEffort):
        survivals(votes, ENOUGH // 10)
    found = availability(weighted(votes), effort=ENOUGH // 10, trials=200)
    assert not found.exact
    assert len(found.thresholds) == 200
    assert found.at(0.5) == pytest.approx(0.5, abs=4 * found.standard_error(0.5))


@pytest.mark.parametrize("votes", [untied(12), (5, 3, 3, 2, 2, 1)], ids=str)
def test_trials_count_every_set_that_wins(votes: Votes) -> None:
    """Not only those of the table, which may all have node 1."""
    exact = availability(weighted(votes))
    tried = availability(weighted(votes), effort=0)
    assert not tried.exact
    for p in (0.3, 0.5, 0.7, 0.9):
        assert abs(tried.at(p) - exact.at(p)) <= 4 * tried.standard_error(p)


# The command


def votes_option(votes: Votes) -> list[str]:
    return ["-n", str(len(votes)), "--votes", ",".join(map(str, votes))]


def test_squares_come_to_an_end(peerlock: Any) -> None:
    shown = peerlock("quorums", "weighted", *votes_option(SQUARES), "--json").json
    assert shown["availability"] == pytest.approx(1)
    assert shown["resilience"] == 20
    assert shown["optimal_load"] == pytest.approx(0.5, abs=1e-4)


def test_the_load_of_votes_is_told(peerlock: Any) -> None:
    out = peerlock("quorums", "weighted", "-n", 4).out
    assert "and in 60.0% if quorums are chosen optimally, 3/5" in out
    out = peerlock("quorums", "weighted", *votes_option(HUGE)).out
    assert "optimally, but in at least 50.0%: the search was cut short" in out


def test_what_is_proved_of_the_load_is_told(peerlock: Any) -> None:
    shown = peerlock("quorums", "weighted", *votes_option(HUGE), "--json").json
    assert shown["optimal_load_at_least"] == pytest.approx(0.5)
    shown = peerlock("quorums", "weighted", *votes_option((3, 2, 2, 1)), "--json").json
    assert shown["optimal_load_at_least"] == shown["optimal_load"] == pytest.approx(2 / 3)


def test_trials_of_votes_are_told(peerlock: Any) -> None:
    out = peerlock("quorums", "weighted", *votes_option(NINTHS[:100])).out
    assert "from 2,000 trials" in out
