"""The lecture's own rules for avoiding deadlock: to the letter, and repaired."""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerlock.algorithms.maekawa import Inquire, Locked, Relinquish, Request
from peerlock.algorithms.maekawa_relinquish import MaekawaLecture, MaekawaRelinquish
from peerlock.checker.check import check
from peerlock.checker.model import exhibit, model
from peerlock.core.peer import Enter, Send
from peerlock.quorums.constructions import QuorumSystem
from peerlock.simulator import Heavy, Level, Light, Scenario, simulate
from peerlock.simulator.violation import Violation
from peerlock.traces.trace import Kind

NAME = "maekawa-relinquish"


def member(peer: type[MaekawaRelinquish]) -> MaekawaRelinquish:
    """Node 4, which is locked for node 3 and then hears of two that precede."""
    made = peer(4, (1, 2, 3, 4), quorums=QuorumSystem("given", ((4,),) * 4))
    for node in (3, 2, 1):
        made.receive(node, Request(1))
    return made


def test_of_two_that_precede_the_node_is_asked_once() -> None:
    peer = member(MaekawaRelinquish)
    assert peer.drain() == [Send(3, Locked()), Send(3, Inquire())]
    peer.receive(3, Relinquish())
    assert peer.drain() == [Send(1, Locked())]  # the first of them


def test_to_the_letter_it_is_asked_twice_and_each_answer_locks() -> None:
    peer = member(MaekawaLecture)
    assert peer.drain() == [Send(3, Locked()), Send(3, Inquire()), Send(3, Inquire())]
    peer.receive(3, Relinquish())
    peer.receive(3, Relinquish())
    assert peer.drain() == [Send(1, Locked()), Send(2, Locked())]


def test_who_is_asked_relinquishes_unless_it_is_inside() -> None:
    """And has to be told LOCKED again."""
    peer = MaekawaRelinquish(1, (1, 2, 3), quorums=QuorumSystem("given", ((2, 3),) * 3))
    peer.acquire()
    peer.receive(2, Locked())
    peer.drain()
    peer.receive(2, Inquire())
    assert peer.drain() == [Send(2, Relinquish())]
    peer.receive(3, Locked())
    assert peer.drain() == []
    peer.receive(2, Locked())
    assert peer.drain() == [Enter()]
    peer.receive(2, Inquire())
    assert peer.drain() == []  # our RELEASE will be the answer


# "3[(2√n) − 1] messages", of which those to itself are not counted


@pytest.mark.parametrize("n", [4, 9, 16, 25])
def test_without_competition_it_is_three_for_each_member(n: int) -> None:
    report = simulate(Scenario(NAME, n, 50, Light(), quorums="grid"))
    assert report.messages_per_entry == 3 * (2 * n**0.5 - 2)


@pytest.mark.parametrize("n", [4, 9, 16, 25])
def test_when_all_compete_it_is_fewer_than_six(n: int) -> None:
    report = simulate(Scenario(NAME, n, 20 * n, Heavy(), quorums="grid"))
    assert report.messages_per_entry < 6 * (2 * n**0.5 - 2)
    assert report.fairness > 0.98


# Every schedule


@pytest.mark.parametrize(
    ("nodes", "requests", "quorums", "coverage"),
    [
        (3, 2, "plane", (11530, 27121, 30)),
        (3, 1, "grid", (2129, 5008, 21)),
        (4, (1, 1, 1, 0), "grid", (6070, 17339, 25)),
        (4, (0, 1, 1, 1), "triangle-columns", (2050, 5221, 21)),
    ],
    ids=str,
)
def test_repaired_it_holds(
    nodes: int,
    requests: int | tuple[int, ...],
    quorums: str,
    coverage: tuple[int, int, int],
) -> None:
    report = check(model(NAME, nodes, requests, quorums=quorums))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage


def test_to_the_letter_two_get_in_on_the_lectures_triangle() -> None:
    violation = check(exhibit("maekawa-lecture")).violation
    assert violation is not None
    assert (violation.property, violation.depth) == ("exclusion", 15)
    steps = [(s.kind, s.message) for s in violation.trace]
    assert steps.count((Kind.SEND, Inquire())) == 2
    assert steps.count((Kind.RECEIVE, Relinquish())) == 2


@pytest.mark.parametrize("seed", [39, 56, 114])
def test_on_the_mesh_of_nine_too(seed: int) -> None:
    wrong = Scenario("maekawa-lecture", 9, 100, Level(0.2), seed=seed, quorums="grid")
    with pytest.raises(Violation, match="inside together"):
        simulate(wrong)
    assert simulate(replace(wrong, algorithm=NAME)).max_inside == 1
