"""Voting with spare votes: what is claimed of it, one test a claim."""

from __future__ import annotations

from collections.abc import Callable
from fractions import Fraction
from functools import partial
from itertools import combinations
from typing import Any, cast

import pytest

from peerlock.algorithms.any_quorum import Withdraw, Withdrawn
from peerlock.algorithms.maekawa import Locked, Release, Request
from peerlock.algorithms.majority import Majority
from peerlock.algorithms.majority_spare import MajoritySpare
from peerlock.algorithms.weighted_majority import WeightedMajority
from peerlock.algorithms.weighted_majority_spare import WeightedMajoritySpare
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.bits import nodes_in
from peerlock.core.peer import Down, Enter, NodeId, Send
from peerlock.quorums.weighted import Votes
from peerlock.simulator import Heavy, Light, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Matrix
from peerlock.simulator.network import Network as Wires

FIVE = (1, 2, 3, 4, 5)


class Still(MajoritySpare):
    """A node that stands still: it hears and says nothing."""

    def receive(self, sender: NodeId, message: Any) -> None:
        pass


def half(n: int) -> int:
    return -(-(n - 1) // 2)


def last_stands_still(
    make: Callable[[NodeId, tuple[NodeId, ...]], WeightedMajority], *requests: int
) -> Model:
    nodes = len(requests)
    members = tuple(range(1, nodes + 1))
    return Model(
        name="one stands still",
        make=lambda node: (Still if node == nodes else make)(node, members),
        nodes=nodes,
        requests=requests,
        network=Network(fifo=True),
    )


# Whom it asks


def test_it_enters_with_the_first_majority_and_withdraws_the_rest() -> None:
    peer = MajoritySpare(1, FIVE)
    peer.acquire()
    assert peer.drain() == [Send(j, Request(1)) for j in (2, 3, 4)]
    peer.receive(4, Locked())
    assert peer.drain() == []
    peer.receive(2, Locked())
    assert peer.drain() == [Send(3, Withdraw()), Enter()]
    peer.release()
    assert peer.drain() == [Send(2, Release()), Send(4, Release())]


def test_a_node_that_has_not_answered_is_not_asked_again_before_it_has() -> None:
    peer = MajoritySpare(1, FIVE)
    peer.acquire()
    for member in (2, 4):
        peer.receive(member, Locked())
    peer.release()
    peer.drain()
    peer.acquire()
    assert peer.drain() == [Send(j, Request(2)) for j in (2, 4, 5)]
    for member in (2, 5):
        peer.receive(member, Locked())
    peer.release()
    peer.receive(3, Withdrawn())
    peer.drain()
    peer.acquire()
    assert peer.drain() == [Send(j, Request(3)) for j in (2, 3, 5)]


def test_one_that_answers_late_is_asked_then_if_a_spare_is_missing() -> None:
    peer = MajoritySpare(1, (1, 2, 3))
    peer.acquire()
    peer.receive(2, Locked())
    peer.release()
    peer.drain()
    peer.acquire()
    assert peer.drain() == [Send(2, Request(2))]
    peer.receive(3, Withdrawn())
    assert peer.drain() == [Send(3, Request(2))]


def test_another_is_asked_in_the_place_of_one_that_is_down() -> None:
    peer = MajoritySpare(1, FIVE)
    peer.acquire()
    peer.drain()
    peer.receive(3, Down())
    assert peer.drain() == [Send(5, Request(1))]
    peer.receive(2, Down())
    assert peer.drain() == []  # 4, 5 and itself are all that is left


def test_once_inside_it_asks_nobody() -> None:
    peer = MajoritySpare(1, FIVE)
    peer.acquire()
    for member in (2, 4):
        peer.receive(member, Locked())
    peer.drain()
    peer.receive(2, Down())
    assert peer.drain() == []


@pytest.mark.parametrize("spare", [0, 1, 2])
@pytest.mark.parametrize(
    "votes",
    [(1,) * 5, (1,) * 6, (2, 1, 1, 1), (3, 1, 1), (2, 2, 1, 1, 1), (4, 3, 2, 1, 0, 1)],
    ids=str,
)
def test_a_majority_is_left_if_any_of_so_many_are_silent(votes: Votes, spare: int) -> None:
    """Or of as many as these votes allow."""
    need = sum(votes) // 2 + 1
    members = tuple(range(1, len(votes) + 1))

    def survives(node: NodeId, asked: tuple[NodeId, ...], silent: int) -> bool:
        others = [j for j in asked if j != node]
        return all(
            sum(votes[j - 1] for j in asked if j not in gone) >= need
            for gone in combinations(others, min(silent, len(others)))
        )

    for node in members:
        peer = WeightedMajoritySpare(node, members, votes=votes, spare=spare)
        peer.acquire()
        asked = tuple(nodes_in(peer.asked | peer.locked_members))
        if peer.inside:  # with its own votes
            continue
        possible = max(s for s in range(spare + 1) if survives(node, members, s))
        assert survives(node, asked, possible)


def test_votes_of_its_own_that_are_enough_need_no_others() -> None:
    peer = WeightedMajoritySpare(1, (1, 2, 3), votes=(3, 1, 1))
    peer.acquire()
    assert peer.drain() == [Enter()]


# Messages


@pytest.mark.parametrize("n", [3, 5, 6, 10, 25])
@pytest.mark.parametrize("spare", [0, 1, 2])
def test_a_spare_node_costs_four_messages(n: int, spare: int) -> None:
    report = simulate(Scenario("majority-spare", n, 12, Light(), spare=spare))
    assert report.messages_per_entry == 3 * half(n) + 4 * min(spare, n - 1 - half(n))


@pytest.mark.parametrize("votes", [(2, 1, 1, 1), (2, 2, 1, 1, 1), (3, 1, 1, 1, 1)], ids=str)
def test_with_votes_the_spare_nodes_may_be_more_than_one(votes: Votes) -> None:
    """3(K-1) + 4m, where m more are asked than the K that have been enough."""
    members = range(1, len(votes) + 1)
    more = set()
    for node in members:
        run = ByHand("weighted-majority-spare", len(votes), votes=votes)
        peer = cast(WeightedMajoritySpare, run.peers[node])
        run.request(node)
        asked = peer.asked.bit_count()
        run.settle()
        k = peer.locked_members.bit_count()
        run.leave(node)
        run.settle()
        assert run.sent == 3 * (k - 1) + 4 * (asked - k)
        more.add(asked - k)
    assert max(more) > 1


@pytest.mark.parametrize("n", [3, 5, 9, 25])
def test_competition_costs_fewer_than_six_and_seven_for_a_spare_one(n: int) -> None:
    report = simulate(Scenario("majority-spare", n, 20 * n, Heavy()))
    assert 3 * half(n) + 4 < report.messages_per_entry < 6 * half(n) + 7


def test_one_that_stands_still_costs_two_messages_once() -> None:
    peer = MajoritySpare(1, (1, 2, 3))
    sent = []
    for _ in range(3):
        peer.acquire()
        peer.receive(2, Locked())
        peer.release()
        sent.append(len([e for e in peer.drain() if isinstance(e, Send)]))
    assert sent == [4, 2, 2]


# Slow and silent nodes


def test_it_does_not_wait_for_nodes_that_are_far_away() -> None:
    """Without a spare, 3 and 4 wait for node 5, which is ten times as far."""
    delays = [[10.0 if 4 in (i, j) else 1.0 for j in range(5)] for i in range(5)]
    far = Wires(fifo=True, latency=Matrix(tuple(map(tuple, delays))))
    times = {
        name: simulate(Scenario(name, 5, 60, Light(), far)).response_time.mean
        for name in ("majority", "majority-spare")
    }
    assert times["majority-spare"] < times["majority"] / 2


@pytest.mark.parametrize(
    ("requests", "counts"),
    [
        ((1, 1, 0), (294, 669, 15)),
        ((2, 2, 0), (2433, 6657, 26)),
        ((1, 1, 0, 0), (2346, 7483, 21)),
    ],
)
def test_one_that_stands_still_holds_up_nobody(
    requests: tuple[int, ...], counts: tuple[int, ...]
) -> None:
    report = check(last_stands_still(MajoritySpare, *requests))
    assert report.holds
    assert report.coverage == counts


def test_without_a_spare_it_holds_up_those_that_ask_it() -> None:
    for make in (Majority, partial(MajoritySpare, spare=0)):
        violation = check(last_stands_still(make, 0, 1, 0)).violation
        assert violation is not None
        assert violation.property == "deadlock"


# Every schedule


def test_with_no_spare_it_is_the_majority() -> None:
    plain = check(model("majority", 3, 1))
    none = check(model("majority-spare", 3, 1, spare=0))
    assert none.holds
    assert none.coverage == plain.coverage


@pytest.mark.parametrize(
    ("name", "nodes", "requests", "crashes", "counts"),
    [
        ("majority-spare", 3, (1, 0, 1), 0, (3814, 10381, 18, 9, 1)),
        ("majority-spare", 3, (2, 1, 0), 0, (22896, 68927, 27, Fraction(28, 3), 2)),
        ("weighted-majority-spare", 4, (1, 1, 0, 0), 0, (18437, 66446, 22, 11, 1)),
        ("majority-spare", 3, (1, 1, 0), 1, (12885, 45476, 19, None, None)),
    ],
)
def test_it_holds_with_the_pinned_counts(
    name: str,
    nodes: int,
    requests: tuple[int, ...],
    crashes: int,
    counts: tuple[int | Fraction | None, ...],
) -> None:
    report = check(model(name, nodes, requests, Network(fifo=True, crashes=crashes)))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts
