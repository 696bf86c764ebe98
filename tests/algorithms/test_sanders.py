"""Sanders' generalised algorithm: what is claimed of it, one test a claim."""

from __future__ import annotations

from collections.abc import Iterator
from fractions import Fraction
from itertools import chain, combinations, product
from random import Random

import pytest

from peerlock.algorithms.maekawa import Locked, Release, Request
from peerlock.algorithms.sanders import Sanders
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.peer import NodeId, Send
from peerlock.quorums.constructions import Quorum, grid, plane
from peerlock.quorums.information import (
    KINDS,
    InformationStructure,
    maekawa,
    ricart_agrawala,
)
from peerlock.simulator import Heavy, Scenario, simulate
from peerlock.simulator.by_hand import ByHand
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries

SIZES = [1, 2, 3, 4, 7, 13, 25, 50]

# Node 1 is a coordinator to 3 and 4, which do not know one another; 1 and 2 ask each other.
MIXED = InformationStructure(
    "mixed",
    informing=((1,), (1, 2), (1,), (1,)),
    request=((1, 2), (1, 2), (1,), (1,)),
)


def structured(information: InformationStructure, requests: int) -> Model:
    members = tuple(range(1, information.nodes + 1))
    return Model(
        name=information.kind,
        make=lambda node: Sanders(node, members, information=information),
        nodes=information.nodes,
        requests=(requests,) * information.nodes,
        network=Network(fifo=True),
    )


def subsets(n: int) -> list[Quorum]:
    nodes = range(1, n + 1)
    return list(chain.from_iterable(combinations(nodes, size) for size in range(n + 1)))


def some_structures(n: int, count: int) -> Iterator[InformationStructure]:
    """At random, and such that only those that are asked are informed."""
    rng = Random(n)
    for _ in range(count):
        request = [
            tuple(j for j in range(1, n + 1) if rng.random() < 0.8) for _ in range(n)
        ]
        informing = (tuple(j for j in asked if rng.random() < 0.6) for asked in request)
        yield InformationStructure("random", tuple(informing), tuple(request))


# The structures


def test_the_status_sets_follow_from_the_informing_sets() -> None:
    assert [MIXED.status_set(i) for i in (1, 2, 3, 4)] == [(1, 2, 3, 4), (2,), (), ()]
    quorums = plane(7)
    for k in range(1, 8):
        asked_by = tuple(i for i in range(1, 8) if k in quorums.of(i))
        assert maekawa(quorums).status_set(k) == asked_by
        assert ricart_agrawala(7).status_set(k) == (k,)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", SIZES)
def test_the_named_structures_exclude(kind: str, n: int) -> None:
    information = KINDS[kind](n)
    assert information.nodes == n
    assert information.excluding


def test_whoever_is_informed_must_have_been_asked() -> None:
    assert not InformationStructure("", ((1, 2), (1, 2)), ((1,), (1, 2))).excluding


# The rules


def test_permission_to_a_node_that_informs_us_makes_others_wait() -> None:
    peer = Sanders(1, (1, 2, 3, 4), information=MIXED)
    peer.receive(3, Request(1))
    peer.receive(4, Request(2))
    assert Send(3, Locked()) in peer.drain()
    peer.receive(3, Release())
    assert peer.drain() == [Send(4, Locked())]


def test_permission_to_a_node_that_does_not_is_forgotten() -> None:
    peer = Sanders(2, (1, 2, 3, 4), information=MIXED)
    before = peer.locking
    peer.receive(1, Request(1))
    assert peer.drain() == [Send(1, Locked())]
    assert peer.locking is before is None


def test_a_release_frees_all_up_to_the_next_one_that_informs_us() -> None:
    """Node 1 wants in and is asked by three: the one that precedes it gets permission."""
    peer = Sanders(2, (1, 2, 3, 4), information=ricart_agrawala(4))
    peer.acquire()
    for node in (1, 3, 4):
        peer.receive(node, Locked())
    peer.drain()
    for node in (4, 1, 3):
        peer.receive(node, Request(1))
    peer.drain()
    peer.release()
    assert peer.drain() == [Send(j, Locked()) for j in (1, 3, 4)]


# Messages


def light_cost(information: InformationStructure, node: NodeId) -> int:
    cluster = ByHand("sanders", information.nodes, information=information)
    cluster.request(node)
    cluster.settle()
    cluster.leave(node)
    cluster.settle()
    return cluster.sent


@pytest.mark.parametrize("n", SIZES)
def test_as_ricart_and_agrawalas_it_costs_2_n_minus_1(n: int) -> None:
    for node in {1, n // 2 + 1, n}:
        assert light_cost(ricart_agrawala(n), node) == 2 * (n - 1)


@pytest.mark.parametrize("n", SIZES)
def test_as_maekawas_it_costs_3_k_minus_1(n: int) -> None:
    for _, node, messages in light_entries("sanders", n):
        assert messages == 3 * (len(plane(n).of(node)) - 1)


@pytest.mark.parametrize("n", [2, 3, 5, 8])
def test_an_entry_costs_the_informed_and_twice_the_asked(n: int) -> None:
    for information in (*some_structures(n, 30), maekawa(grid(n)), ricart_agrawala(n)):
        for node in range(1, n + 1):
            others = {node} ^ {node, *information.request_set(node)}
            informed = {node} ^ {node, *information.informing_set(node)}
            if information.request_set(node):
                cost = light_cost(information, node)
                assert cost == len(informed) + 2 * len(others)
                assert cost == information.messages(node)


@pytest.mark.parametrize("quorums", ["plane", "grid", "majority"])
def test_when_all_compete_it_is_maekawas_to_the_last_message(quorums: str) -> None:
    ours, theirs = (
        simulate(Scenario(name, 9, 200, Heavy(), quorums=quorums))
        for name in ("sanders", "maekawa")
    )
    assert ours.messages_by_type == theirs.messages_by_type
    assert ours.response_time == theirs.response_time


@pytest.mark.parametrize("n", [2, 3, 5, 10, 25])
def test_when_all_compete_ricart_and_agrawalas_costs_failed_besides(n: int) -> None:
    """All but the first are told so by everybody; INQUIREs stay at home."""
    cluster = ByHand("sanders", n, information=ricart_agrawala(n))
    for node in cluster.members:
        cluster.request(node)
    while cluster.judge.waiting or cluster.judge.inside:
        cluster.settle()
        for node in list(cluster.judge.inside):
            cluster.leave(node)
    entered = [step.node for step in cluster.trace if step.kind is Kind.ENTER]
    assert entered == list(cluster.members)
    assert cluster.sent == 2 * n * (n - 1) + (n - 1) ** 2


# Every schedule


@pytest.mark.parametrize(
    ("information", "requests", "counts"),
    [
        (ricart_agrawala(2), 2, (198, 274, 18, Fraction(11, 4), 2)),
        (ricart_agrawala(2), 3, (570, 822, 27, Fraction(17, 6), 2)),
        (ricart_agrawala(3), 1, (7037, 19236, 21, Fraction(16, 3), 2)),
        (MIXED, 1, (3196, 7863, 20, Fraction(11, 3), 3)),
    ],
    ids=lambda value: getattr(value, "kind", str(value)),
)
def test_it_holds_with_this_structure(
    information: InformationStructure, requests: int, counts: tuple[object, ...]
) -> None:
    report = check(structured(information, requests))
    assert report.holds
    assert report.everyone_entered
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts


@pytest.mark.parametrize(("nodes", "quorums"), [(3, "plane"), (3, "grid")])
def test_with_maekawas_sets_it_has_maekawas_states(nodes: int, quorums: str) -> None:
    ours, theirs = (
        check(model(name, nodes, 1, quorums=quorums)) for name in ("sanders", "maekawa")
    )
    assert ours.holds
    assert ours.coverage == theirs.coverage


def test_with_two_nodes_it_holds_exactly_if_the_structure_excludes() -> None:
    """All structures of two nodes; so the conditions are necessary and sufficient."""
    holding = 0
    for i1, i2, r1, r2 in product(subsets(2), repeat=4):
        if set(i1) <= set(r1) and set(i2) <= set(r2):
            information = InformationStructure("any", (i1, i2), (r1, r2))
            assert check(structured(information, 2)).holds == information.excluding
            holding += information.excluding
    assert holding == 18


def test_with_three_nodes_too() -> None:
    verdicts = [
        (check(structured(information, 1)).holds, information.excluding)
        for information in some_structures(3, 25)
    ]
    assert set(verdicts) == {(True, True), (False, False)}


def test_the_surveys_two_conditions_are_met_by_what_excludes_nobody() -> None:
    nobody, all_of_us = ((), ()), ((1, 2), (1, 2))
    information = InformationStructure("uninformed", nobody, all_of_us)
    assert not information.excluding
    violation = check(structured(information, 1)).violation
    assert violation is not None
    assert violation.property == "exclusion"
