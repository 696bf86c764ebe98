"""Kakugawa and others: k-coteries by brute force, their costs, and what they waste."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from fractions import Fraction
from itertools import combinations, permutations
from random import Random
from statistics import fmean

import pytest

from peerlock.algorithms.kakugawa import Kakugawa
from peerlock.algorithms.maekawa import (
    Failed,
    Inquire,
    Locked,
    Maekawa,
    Maekawa1985,
    Request,
)
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.bits import bits
from peerlock.core.demands import Permits
from peerlock.core.peer import Enter, Send, snake
from peerlock.quorums.constructions import Quorum, QuorumSystem
from peerlock.quorums.coterie import choices, k_coterie
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
from tests.support.counts import light_entries
from tests.support.systems import resilience_by_hand

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
    assert peer.drain() == [Enter()]


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


def asked_in_all(n: int, k: int) -> float:
    """How many others a node asks when it has to ask each of its choices: ks−1."""
    coterie = k_coterie(n, k)
    return fmean(
        sum(quorum.bit_count() for quorum in choices(coterie, i)) - 1
        for i in range(1, n + 1)
    )


@pytest.mark.parametrize("n", [2, 4, 6, 10, 14, 26, 50])
@pytest.mark.parametrize("k", [1, 2, 4])
def test_competition_costs_fewer_than_seven_for_each_that_is_asked(n: int, k: int) -> None:
    report = simulate(Scenario("kakugawa", n, 20 * n, Heavy(), permits=k, hold=9.0))
    assert report.messages_per_entry <= 7 * asked_in_all(n, k)
    assert report.messages_per_entry >= 3 * (k_coterie(n, k).sizes.min - 1)
    assert report.max_inside == min(n, k)


@pytest.mark.parametrize(("n", "k"), [(12, 4), (9, 3), (25, 3), (50, 3), (16, 2)])
def test_when_all_compete_all_quorums_are_asked_at_four_messages_each(
    n: int, k: int
) -> None:
    report = simulate(Scenario("kakugawa", n, 20 * n, Heavy(), permits=k, hold=9.0))
    assert report.messages_per_entry == pytest.approx(4 * asked_in_all(n, k), rel=0.03)


# "By selecting an appropriate quorum"


def test_a_node_chooses_among_its_own_group_and_one_quorum_of_each_other() -> None:
    for n, k in ((8, 4), (12, 4), (14, 2), (7, 3), (5, 2)):
        coterie = k_coterie(n, k)
        for i in range(1, n + 1):
            chosen = choices(coterie, i)
            assert chosen[0] == bits(coterie.of(i))
            assert len(chosen) == min(n, k)
            assert not any(a & b for a, b in combinations(chosen, 2))


def test_where_there_are_no_groups_a_node_chooses_among_all() -> None:
    assert choices(SURVEY, 2) == tuple(map(bits, ((1, 2), (2, 4), (3, 4), (1, 3))))


@pytest.mark.parametrize("name", ["raymond-k", "kakugawa"])
def test_of_eight_any_two_get_in_together(name: str) -> None:
    for first, second in permutations(range(1, 9), 2):
        cluster = ByHand(name, 8, permits=2)
        for node in (first, second):
            cluster.request(node)
            cluster.settle()
        assert cluster.judge.inside == {first, second}


def test_nodes_1_and_5_of_eight_share_a_group_and_get_in_with_four_permits() -> None:
    cluster = ByHand("kakugawa", 8, permits=4)
    for node in (1, 5):
        cluster.request(node)
        cluster.settle()
    assert cluster.judge.inside == {1, 5}


@pytest.mark.parametrize(("n", "k"), [(4, 2), (6, 2), (6, 3), (8, 4), (5, 3), (14, 2)])
def test_no_permit_is_refused_while_one_is_free(n: int, k: int) -> None:
    """Whichever nodes ask and leave, and in whatever order messages arrive."""
    for seed in range(25):
        rng = Random(seed)
        cluster = ByHand("kakugawa", n, permits=k)
        for _ in range(3):
            for node in rng.sample(range(1, n + 1), rng.randrange(n + 1)):
                if node in cluster.judge.inside:
                    cluster.leave(node)
                elif node not in cluster.judge.waiting:
                    cluster.request(node)
                for _ in range(rng.randrange(6)):
                    deliver_one(cluster, rng)
            while cluster.flying:
                deliver_one(cluster, rng)
            assert not cluster.judge.waiting or len(cluster.judge.inside) == k


def deliver_one(cluster: ByHand, rng: Random) -> None:
    """The first message of some link."""
    links = sorted({(f.sender, f.receiver) for f in cluster.flying})
    if links:
        link = rng.choice(links)
        first = next(f for f in cluster.flying if (f.sender, f.receiver) == link)
        cluster.deliver(*link, snake(type(first.message)).upper())


def measured(name: str, load: Load) -> Report:
    return simulate(Scenario(name, 12, 3000, load, hold=9.0, permits=4))


@pytest.mark.parametrize("load", [Level(0.05), Heavy()], ids=repr)
def test_no_permit_is_wasted(load: Load) -> None:
    """Two messages pass from entry to entry here, and one with Raymond's."""
    ours, theirs = measured("kakugawa", load), measured("raymond-k", load)
    assert ours.max_inside == theirs.max_inside == 4
    assert ours.throughput == pytest.approx(theirs.throughput, rel=0.12)


# Every schedule


@pytest.mark.parametrize(
    ("nodes", "requests", "permits", "counts"),
    [
        (2, 2, 1, (264, 393, 22, Fraction(15, 4), 2)),
        (3, 2, 3, (125, 300, 12, 0, 0)),
        (3, (1, 0, 1), 2, (1477, 4285, 20, 9, 1)),
        (3, (2, 0, 1), 2, (11441, 36996, 29, 9, 2)),
        (4, (1, 0, 0, 1), 3, (8782, 32650, 24, 11, 1)),
    ],
)
def test_it_holds_with_so_many_permits(
    nodes: int, requests: int | tuple[int, ...], permits: int, counts: tuple[object, ...]
) -> None:
    """Larger ones are in docs/checked.md."""
    report = check(model("kakugawa", nodes, requests, permits=permits))
    assert report.holds
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
        rule=Permits(2),
        fences=False,
    )


def test_it_holds_with_the_surveys_quorums() -> None:
    report = check(two_at_a_time(Kakugawa, SURVEY, asking=(1, 4)))
    assert report.holds
    assert report.coverage == (691, 1965, 17)
    assert report.max_messages_per_entry == 8


def test_it_holds_when_a_node_crashes() -> None:
    network = Network(fifo=True, crashes=1)
    report = check(model("kakugawa", 3, (1, 0, 1), network, permits=2))
    assert report.holds
    assert report.coverage == (5725, 20329, 21)


def test_four_nodes_of_a_group_of_seven_need_sanders_correction() -> None:
    asking = (1, 3, 5, 7)
    published = check(two_at_a_time(Maekawa1985, k_coterie(14, 2), asking)).violation
    assert published is not None
    assert (published.property, published.depth) == ("deadlock", 17)
    corrected = check(two_at_a_time(Maekawa, k_coterie(14, 2), asking))
    assert corrected.holds
    assert corrected.coverage == (142539, 664694, 32)


def test_a_member_inquires_once_until_it_is_answered() -> None:
    """Another one that precedes is told to wait, and gets the lock with the answer."""
    member = Kakugawa(1, (1, 2, 3, 4, 5, 6), permits=2)
    member.receive(3, Request(3))
    assert member.drain() == [Send(3, Locked())]
    member.receive(5, Request(2))
    assert member.drain() == [Send(5, Failed()), Send(3, Inquire())]
    member.receive(2, Request(1))
    assert member.drain() == [Send(2, Failed())]
