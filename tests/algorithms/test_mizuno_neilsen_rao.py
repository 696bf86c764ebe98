"""Mizuno, Neilsen and Rao's quorum agreements: what is claimed, one test a claim."""

from __future__ import annotations

from fractions import Fraction
from math import log2, sqrt

import pytest

from peerlock.algorithms.mizuno_neilsen_rao import Acquired, MizunoNeilsenRao, Requests
from peerlock.algorithms.suzuki_kasami import Privilege, Request
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, exhibit, model
from peerlock.core.peer import Enter, RemoteError, Send
from peerlock.quorums.agreements import (
    KINDS,
    QuorumAgreement,
    grid_set,
    suzuki_kasami,
    twice,
)
from peerlock.quorums.constructions import grid, majority, plane
from peerlock.quorums.tree_quorums import tree_quorums
from peerlock.simulator import Heavy, Level, Light, Report, Scenario, simulate
from peerlock.simulator.load import Load
from tests.support.counts import light_entries

NAME = "mizuno-neilsen-rao"
ZEROS = (0,) * 8


def measured(n: int, load: Load, quorums: str | None = None) -> Report:
    return simulate(Scenario(NAME, n, 20 * n, load, quorums=quorums))


# "Every member of Q intersects with every member of Q⁻¹"


@pytest.mark.parametrize("kind", KINDS)
def test_each_request_set_meets_each_acquired_set(kind: str) -> None:
    for n in (*range(1, 61), *range(67, 401, 9)):
        agreement = KINDS[kind](n)
        assert agreement.nodes == n
        assert agreement.agreeing, f"{kind} of {n} nodes"


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [1, 2, 5, 12, 30])
def test_agreeing_by_brute_force(kind: str, n: int) -> None:
    agreement = KINDS[kind](n)
    members = range(1, n + 1)
    for i in members:
        for sets in (agreement.request_set(i), agreement.acquired_set(i)):
            assert list(sets) == sorted(set(sets))
            assert set(sets) <= set(members)
        for j in members:
            if i != j:
                assert set(agreement.request_set(i)) & set(agreement.acquired_set(j))


def test_an_agreement_that_is_none() -> None:
    assert not QuorumAgreement("none", ((1,), (2,)), ((1,), (2,))).agreeing


@pytest.mark.parametrize("kind", ["grid-set", "suzuki-kasami"])
def test_there_is_at_least_one_node(kind: str) -> None:
    with pytest.raises(ValueError, match="at least one node, not 0"):
        KINDS[kind](0)


def test_rows_of_a_grid_set_do_not_meet() -> None:
    agreement = grid_set(8)
    assert agreement.request_set(6) == (5, 6, 7, 8)
    assert agreement.acquired_set(6) == (2, 6)
    assert agreement.request_set(1) == (1, 2, 3, 4)


def test_a_short_last_row_is_completed_from_the_row_above() -> None:
    assert grid_set(7).request_set(7) == (4, 5, 6, 7)  # of (5, 6, 7) and a gap below 4


# "2√2·√N − 2", and 3√N, and log N


@pytest.mark.parametrize("n", [2, 8, 18, 32, 50])
def test_grid_set_meets_the_figure_where_the_grid_is_full(n: int) -> None:
    """A row of √(2N) and a column of √(N/2), and N is twice a square."""
    figure = 2 * sqrt(2) * sqrt(n) - 2
    agreement = grid_set(n)
    row, column = len(agreement.request_set(1)), len(agreement.acquired_set(1))
    assert (row - 1) + 1 + 2 * (column - 1) == pytest.approx(figure)
    report = measured(n, Heavy())
    assert report.messages_per_entry <= figure + 0.5
    assert measured(n, Light()).messages_per_entry <= figure


@pytest.mark.parametrize("n", [3, 5, 10, 25, 47])
def test_grid_set_is_near_the_figure_elsewhere(n: int) -> None:
    assert measured(n, Heavy()).messages_per_entry <= 2 * sqrt(2) * sqrt(n) - 2 + 1.5


@pytest.mark.parametrize("n", [7, 13, 21, 31, 57])
def test_plane_costs_three_times_the_root(n: int) -> None:
    k = plane(n).sizes.max
    assert 3 * k - 2 <= 3 * sqrt(n) + 1
    for load in (Light(), Heavy()):
        report = measured(n, load, "plane")
        assert 2 * k - 2 <= report.messages_per_entry <= 3 * k - 2


@pytest.mark.parametrize("n", [3, 7, 15, 31, 63])
def test_tree_costs_the_order_of_log_n(n: int) -> None:
    agreement = twice(tree_quorums(n))
    members = tuple(range(1, n + 1))
    peer = MizunoNeilsenRao(n, members, agreement=agreement)
    peer.acquire()
    assert len(peer.drain()) == int(log2(n))
    for _, _, messages in light_entries(NAME, n, 40, quorums="tree"):
        assert messages <= 3 * int(log2(n)) + 1


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25, 50])
@pytest.mark.parametrize("load", [Light(), Level(0.05), Heavy()], ids=str)
def test_the_most_that_an_entry_costs(n: int, load: Load) -> None:
    """REQUESTS are sent once for an ACQUIRED, and once at the beginning in column 1."""
    report = measured(n, load)
    counts = report.messages_by_type
    first = len(grid_set(n).acquired_set(1)) - 1
    assert counts["REQUESTS"] <= counts["ACQUIRED"] + first
    assert counts["PRIVILEGE"] <= report.entries


@pytest.mark.parametrize("n", [2, 3, 8, 20, 50])
def test_it_costs_nothing_where_the_token_is(n: int) -> None:
    for holder, node, messages in light_entries(NAME, n, 40):
        agreement = grid_set(n)
        asked = len(agreement.request_set(node)) - 1
        told = len(agreement.acquired_set(node)) - 1
        if node == holder:
            assert messages == 0
        elif holder:
            assert asked + told + 1 <= messages


# "Suzuki and Kasami's is a special case"


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_suzuki_kasami_is_one_of_its_settings(n: int) -> None:
    members = tuple(range(1, n + 1))
    peer = MizunoNeilsenRao(2, members, agreement=suzuki_kasami(n))
    peer.acquire()
    assert peer.drain() == [Send(j, Request(2, 1)) for j in members if j != 2]
    peer.receive(1, Privilege((2,), (0,) * n))
    assert peer.drain() == [Enter()]


# The node in between


def between() -> MizunoNeilsenRao:
    """Node 5 of eight, which knows that node 1 has the token."""
    return MizunoNeilsenRao(5, tuple(range(1, 9)))


def numbers(**of: int) -> tuple[int, ...]:
    return tuple(of.get(f"n{i}", 0) for i in range(1, 9))


def test_a_request_that_comes_first_is_passed_on_when_the_holder_is_known() -> None:
    peer = MizunoNeilsenRao(6, tuple(range(1, 9)))  # does not know
    peer.receive(7, Request(7, 1))
    assert peer.drain() == []
    peer.receive(2, Acquired(ZEROS))
    assert peer.drain() == [Send(2, Requests(numbers(n7=1)))]


def test_a_request_that_comes_later_is_passed_on_at_once() -> None:
    peer = between()
    peer.receive(7, Request(7, 1))
    assert peer.drain() == [Send(1, Requests(numbers(n7=1)))]


def test_so_is_one_that_is_known_from_an_array_that_came_late() -> None:
    peer = between()
    peer.receive(6, Requests(numbers(n7=1)))
    assert peer.drain() == []
    peer.receive(7, Request(7, 1))
    assert peer.drain() == [Send(1, Requests(numbers(n7=1)))]


def test_one_array_is_enough_for_each_holder() -> None:
    peer = between()
    peer.receive(7, Request(7, 1))
    peer.drain()
    peer.receive(8, Request(8, 1))
    assert peer.drain() == []
    peer.receive(1, Acquired(numbers(n7=1)))
    assert peer.drain() == [Send(1, Requests(numbers(n7=1, n8=1)))]


def test_an_earlier_holder_does_not_hide_a_later_one() -> None:
    peer = MizunoNeilsenRao(6, tuple(range(1, 9)))
    peer.receive(2, Acquired(numbers(n1=1)))
    peer.receive(2, Acquired(ZEROS))
    assert (peer.holder, peer.granted) == (2, numbers(n1=1))


def test_it_asks_for_itself_too() -> None:
    peer = between()
    peer.acquire()
    asked = [Send(j, Request(5, 1)) for j in (6, 7, 8)]
    assert peer.drain() == [*asked, Send(1, Requests(numbers(n5=1)))]


def test_it_says_nothing_if_the_holder_is_asked_anyway() -> None:
    peer = between()
    peer.receive(6, Acquired(numbers(n2=1)))
    peer.receive(7, Request(7, 1))
    assert peer.drain() == []


def test_numbers_that_come_late_are_kept() -> None:
    peer = between()
    peer.receive(1, Requests(numbers(n3=1)))
    peer.acquire()
    peer.drain()
    peer.receive(1, Privilege((5,), ZEROS))
    peer.drain()
    peer.release()
    assert peer.drain() == [Send(3, Privilege((3,), numbers(n5=1)))]


# Nonsense


def test_a_token_that_was_not_requested_is_refused() -> None:
    peer = between()
    before = peer.snapshot()
    with pytest.raises(RemoteError, match="did not request"):
        peer.receive(1, Privilege((), ZEROS))
    assert peer.snapshot() == before


def test_a_second_holder_is_refused() -> None:
    peer = MizunoNeilsenRao(1, tuple(range(1, 9)))
    with pytest.raises(RemoteError, match="that we have"):
        peer.receive(5, Acquired(numbers(n5=1)))


# Every schedule


def agreeing(agreement: QuorumAgreement, requests: tuple[int, ...], fifo: bool) -> Model:
    members = tuple(range(1, agreement.nodes + 1))
    return Model(
        name=agreement.kind,
        make=lambda node: MizunoNeilsenRao(node, members, agreement=agreement),
        nodes=agreement.nodes,
        requests=requests,
        network=Network(fifo),
    )


@pytest.mark.parametrize(
    ("agreement", "requests", "counts"),
    [
        (twice(tree_quorums(3)), (2, 2, 2), (68265, 245073, 33, 4, 4)),
        (twice(plane(3)), (2, 1, 1), (4582, 13816, 23, Fraction(9, 2), 3)),
        (suzuki_kasami(3), (2, 2, 1), (10681, 39172, 25, 3, 4)),
        (twice(majority(4)), (0, 1, 1, 0), (5202, 22471, 16, 7, 1)),
        (twice(grid(4)), (0, 0, 1, 1), (2184, 8467, 15, 7, 1)),
        (grid_set(6), (0, 1, 0, 0, 1, 0), (1129, 4418, 16, 7, 1)),
        (grid_set(8), (0, 1, 0, 0, 0, 0, 1, 0), (725, 2550, 16, 7, 1)),
    ],
    ids=lambda value: value.kind if isinstance(value, QuorumAgreement) else str(value),
)
def test_it_holds_with_these_agreements(
    agreement: QuorumAgreement, requests: tuple[int, ...], counts: tuple[object, ...]
) -> None:
    report = check(agreeing(agreement, requests, fifo=False))
    assert report.holds
    assert report.everyone_entered
    found = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *found) == counts


def test_as_the_survey_tells_it_a_request_can_wait_for_want_of_another() -> None:
    violation = check(exhibit("mizuno-neilsen-rao-survey")).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("starvation", 10)


def test_in_order_it_does_so_as_well() -> None:
    chosen = model("mizuno-neilsen-rao-survey", 4, 1, Network(fifo=True))
    violation = check(chosen).violation
    assert violation is not None
    assert violation.property == "starvation"
