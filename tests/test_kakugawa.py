"""Kakugawa and others: k-coteries by brute force, their costs, and what they waste."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from itertools import combinations, permutations

import pytest

from peerlock.algorithms.kakugawa import Kakugawa
from peerlock.algorithms.maekawa import Locked, Maekawa, Maekawa1985, Request
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.peer import Grant, Send
from peerlock.quorums.constructions import Quorum, QuorumSystem
from peerlock.quorums.coterie import k_coterie
from peerlock.simulator import (
    Heavy,
    Level,
    Light,
    Report,
    Scenario,
    empty_trace,
    simulate,
)
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.load import Load
from peerlock.traces.trace import Kind
from tests.test_counts import light_entries
from tests.test_quorums import resilience_by_hand

# Node 2 has the survey's q1 and node 4 its q4, as in its example.
SURVEY = QuorumSystem("survey", ((1, 3), (1, 2), (2, 4), (3, 4)))

SMALL = [(n, k) for n in range(1, 11) for k in range(1, n + 1)]


# The three conditions, by brute force


def meet(a: Quorum, b: Quorum) -> bool:
    return not set(a).isdisjoint(b)


def disjoint(quorums: Iterable[Quorum]) -> bool:
    return not any(meet(a, b) for a, b in combinations(quorums, 2))


def leaves_room(quorums: Collection[Quorum], k: int) -> bool:
    """Non-intersection: to fewer than k that do not meet there is always one more."""
    return all(
        any(not any(meet(one_more, q) for q in chosen) for one_more in quorums)
        for h in range(k)
        for chosen in combinations(quorums, h)
        if disjoint(chosen)
    )


def leaves_room_as_the_survey_has_it(quorums: Collection[Quorum], k: int) -> bool:
    """The same, but the one more need miss only one of them."""
    return all(
        any(not meet(one_more, q) for one_more in quorums for q in chosen)
        for h in range(1, k)
        for chosen in combinations(quorums, h)
        if disjoint(chosen)
    )


def holds_back(quorums: Collection[Quorum], k: int) -> bool:
    """Intersection: of any k+1 two meet."""
    return not any(map(disjoint, combinations(quorums, k + 1)))


@pytest.mark.parametrize(("n", "k"), SMALL)
def test_ours_are_k_coteries(n: int, k: int) -> None:
    coterie = k_coterie(n, k)
    distinct = set(coterie.quorums)
    assert leaves_room(distinct, k)
    assert holds_back(distinct, k)
    assert coterie.minimal


def test_the_surveys_example_is_a_2_coterie() -> None:
    assert leaves_room(SURVEY.quorums, 2)
    assert holds_back(SURVEY.quorums, 2)
    assert SURVEY.minimal


def test_the_surveys_first_condition_does_not_leave_room_for_three() -> None:
    quorums = QuorumSystem("", ((1,), (2, 3), (2, 4), (3, 4)))
    assert leaves_room_as_the_survey_has_it(quorums.quorums, 3)
    assert holds_back(quorums.quorums, 3)
    assert quorums.minimal
    assert not any(map(disjoint, combinations(quorums.quorums, 3)))
    assert not leaves_room(quorums.quorums, 3)


def test_k_majorities_are_not_always_k_coteries() -> None:
    for n, k, right in ((4, 2, True), (6, 3, True), (6, 2, True), (8, 3, False)):
        size = -(-(n + 1) // (k + 1))
        quorums = list(combinations(range(1, n + 1), size))
        assert holds_back(quorums, k)
        assert leaves_room(quorums, k) == right


# The construction, for every N and k


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 40])
def test_a_node_asks_itself_and_others_of_its_group(k: int) -> None:
    for n in range(1, 61):
        coterie = k_coterie(n, k)
        assert coterie.nodes == n
        for i, quorum in enumerate(coterie.quorums, start=1):
            assert i in quorum
            assert list(quorum) == sorted(set(quorum))
            assert 1 <= quorum[0] <= quorum[-1] <= n
            assert {j % k for j in quorum} == {i % k}


@pytest.mark.parametrize("k", [1, 2, 3, 5, 8, 40])
def test_two_quorums_meet_if_and_only_if_they_are_of_one_group(k: int) -> None:
    """From which the conditions follow; the groups differ by one node at most."""
    for n in (1, 2, 7, 16, 33, 60):
        coterie = k_coterie(n, k)
        for i, j in combinations(range(1, n + 1), 2):
            assert meet(coterie.of(i), coterie.of(j)) == (i % k == j % k)
        assert coterie.minimal


@pytest.mark.parametrize(
    ("n", "k", "size"), [(6, 2, 2), (14, 2, 3), (26, 2, 4), (21, 3, 3), (52, 4, 4)]
)
def test_groups_that_are_planes_make_all_equal(n: int, k: int, size: int) -> None:
    assert k_coterie(n, k).symmetric
    assert k_coterie(n, k).sizes.max == size


@pytest.mark.parametrize(("n", "k"), [(5, 7), (3, 3), (1, 9)])
def test_with_a_permit_for_everybody_nobody_is_asked(n: int, k: int) -> None:
    assert k_coterie(n, k).quorums == tuple((i,) for i in range(1, n + 1))


@pytest.mark.parametrize(("n", "k"), SMALL)
def test_a_quorum_is_left_until_every_group_is_broken(n: int, k: int) -> None:
    assert k_coterie(n, k).resilience == resilience_by_hand(k_coterie(n, k))


@pytest.mark.parametrize(("n", "k"), [(0, 1), (3, 0), (-1, 2)])
def test_senseless_sizes_are_refused(n: int, k: int) -> None:
    with pytest.raises(ValueError, match="at least"):
        k_coterie(n, k)


def test_all_peers_share_one_coterie() -> None:
    one, other = (Kakugawa(node, tuple(range(1, 30)), permits=3) for node in (1, 2))
    assert one.quorums is other.quorums


# The algorithm


def test_all_members_of_the_quorum_must_be_locked() -> None:
    peer = Kakugawa(3, tuple(range(1, 15)), permits=2)
    assert len(peer.quorum) == 3
    peer.acquire()
    first, last = (j for j in peer.quorum if j != 3)
    assert peer.drain() == [Send(first, Request(1)), Send(last, Request(1))]
    peer.receive(first, Locked())
    assert peer.drain() == []
    peer.receive(last, Locked())
    assert peer.drain() == [Grant()]


def test_one_permit_makes_it_maekawas() -> None:
    ours, theirs = check(model("kakugawa", 3, 2, permits=1)), check(model("maekawa", 3, 2))
    assert ours.coverage == theirs.coverage
    assert ours.max_messages_per_entry == theirs.max_messages_per_entry


# Messages


@pytest.mark.parametrize("n", [2, 3, 4, 5, 8, 14, 25, 50])
def test_an_entry_costs_three_for_each_other_member(n: int) -> None:
    for _, node, messages in light_entries("kakugawa", n):
        assert messages == 3 * (len(k_coterie(n, 2).of(node)) - 1)


@pytest.mark.parametrize("n", [2, 5, 10, 25, 50])
@pytest.mark.parametrize("k", [1, 3, 7])
def test_the_same_with_any_number_of_permits(n: int, k: int) -> None:
    scenario = Scenario("kakugawa", n, 60, Light(), permits=k)
    trace = empty_trace(scenario)
    report = simulate(scenario, trace)
    entered = [step.node for step in trace if step.kind is Kind.ENTER]
    coterie = k_coterie(n, k)
    assert report.messages == sum(3 * (len(coterie.of(i)) - 1) for i in entered)
    assert report.messages <= 3 * coterie.sizes.max * report.entries  # the survey's 3s


@pytest.mark.parametrize("n", [2, 4, 6, 10, 14, 26, 50])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_competition_costs_at_most_five_for_each(n: int, k: int) -> None:
    coterie = k_coterie(n, k)
    others = coterie.sizes.max - 1
    for seed in range(3):
        report = simulate(Scenario("kakugawa", n, 20 * n, Heavy(), permits=k, seed=seed))
        assert report.messages_per_entry <= 5 * others
        assert report.messages_per_entry >= 3 * (coterie.sizes.min - 1)
        assert report.max_inside == min(n, k)


# What a fixed quorum wastes


@pytest.mark.parametrize(("name", "together"), [("raymond-k", 56), ("kakugawa", 32)])
def test_who_of_eight_gets_in_when_one_of_two_permits_is_taken(
    name: str, together: int
) -> None:
    """A node of the same group waits, though a quorum of the other group is free."""
    joined = 0
    for first, second in permutations(range(1, 9), 2):
        cluster = ByHand(name, 8, permits=2)
        for node in (first, second):
            cluster.request(node)
            cluster.settle()
        joined += cluster.judge.inside == {first, second}
        if name == "kakugawa":
            assert (second in cluster.judge.inside) == ((first - second) % 2 == 1)
    assert joined == together


def measured(name: str, load: Load) -> Report:
    return simulate(Scenario(name, 12, 3000, load, hold=9.0, permits=4))


def test_at_a_moderate_load_a_request_waits_half_as_long_again_as_raymonds() -> None:
    """7.3 against 4.9 units of time, for a sixth of the messages."""
    ours, theirs = measured("kakugawa", Level(0.05)), measured("raymond-k", Level(0.05))
    assert 1.3 < ours.response_time.mean / theirs.response_time.mean < 1.7
    assert ours.messages < theirs.messages / 6


def test_when_all_compete_no_permit_is_wasted() -> None:
    ours, theirs = measured("kakugawa", Heavy()), measured("raymond-k", Heavy())
    assert ours.max_inside == theirs.max_inside == 4
    assert ours.throughput == pytest.approx(theirs.throughput, rel=0.01)
    assert ours.response_time.mean == pytest.approx(theirs.response_time.mean, rel=0.01)


# Every schedule


@pytest.mark.parametrize(
    ("nodes", "requests", "permits", "counts"),
    [
        (2, 2, 1, (264, 393, 22, Fraction(15, 4), 2)),
        (3, 2, 3, (125, 300, 12, 0, 0)),
        (5, 1, 2, (22393, 74753, 27, Fraction(11, 3), 4)),
        (5, 1, 3, (7203, 23324, 24, Fraction(7, 2), 4)),
    ],
)
def test_it_holds_with_so_many_permits(
    nodes: int, requests: int, permits: int, counts: tuple[object, ...]
) -> None:
    report = check(model("kakugawa", nodes, requests, permits=permits))
    assert report.holds
    assert report.everyone_entered
    found = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *found) == counts


def two_at_a_time(
    peer: type[Maekawa], quorums: QuorumSystem, asking: Collection[int]
) -> Model:
    members = tuple(range(1, quorums.nodes + 1))
    return Model(
        name=f"{peer.__name__} on a {quorums.kind}",
        make=lambda node: peer(node, members, quorums=quorums),
        nodes=quorums.nodes,
        requests=tuple(int(node in asking) for node in members),
        network=Network(fifo=True),
        capacity=2,
        fences=False,
    )


def test_it_holds_with_the_surveys_quorums() -> None:
    report = check(two_at_a_time(Kakugawa, SURVEY, asking=(1, 2, 3, 4)))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == (14345, 44019, 23)
    assert report.max_messages_per_entry == 6


def test_four_nodes_of_a_group_of_seven_need_sanders_correction() -> None:
    asking = (1, 3, 5, 7)
    published = check(two_at_a_time(Maekawa1985, k_coterie(14, 2), asking)).violation
    assert published is not None
    assert (published.property, published.depth) == ("deadlock", 17)
    corrected = check(two_at_a_time(Kakugawa, k_coterie(14, 2), asking))
    assert corrected.holds
    assert corrected.coverage == (142539, 664694, 32)
