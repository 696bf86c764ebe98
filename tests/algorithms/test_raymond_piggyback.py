"""Raymond's algorithm with the REQUEST on the token, as the survey proposes."""

from __future__ import annotations

import pytest

from peerlock.algorithms.raymond import PRIVILEGE, REQUEST
from peerlock.algorithms.raymond_piggyback import PRIVILEGE_REQUEST, RaymondPiggyback
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.peer import Enter, RemoteError, Send
from peerlock.core.topology import topology
from peerlock.simulator import Heavy, Level, Light, Scenario, simulate

NAME = "raymond-piggyback"


def middle(first_holder: int = 2) -> RaymondPiggyback:
    """Node 2 on a line of three."""
    line = topology("line", 3)
    return RaymondPiggyback(2, (1, 2, 3), topology=line, first_holder=first_holder)


def test_the_token_asks_for_its_return() -> None:
    peer = middle()
    peer.acquire()
    peer.receive(1, REQUEST)
    peer.receive(3, REQUEST)
    assert peer.drain() == [Enter()]
    peer.release()
    assert peer.drain() == [Send(1, PRIVILEGE_REQUEST)]
    peer.receive(1, PRIVILEGE)
    assert peer.drain() == [Send(3, PRIVILEGE)]


def test_what_comes_with_the_token_is_queued_behind_all_others() -> None:
    peer = middle(first_holder=1)
    peer.acquire()
    peer.receive(3, REQUEST)
    assert peer.drain() == [Send(1, REQUEST)]
    peer.receive(1, PRIVILEGE_REQUEST)
    assert peer.drain() == [Enter()]
    assert peer.request_q == (3, 1)


def test_what_was_not_asked_for_is_a_remote_error() -> None:
    peer = middle(first_holder=1)
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(1, PRIVILEGE_REQUEST)
    assert peer.snapshot() == before


# "A piggyback strategy could be used to reduce the number of messages"


@pytest.mark.parametrize(("spec", "limit"), [("line", 2), ("tree", 2.5), ("star", 3)])
@pytest.mark.parametrize("n", [25, 50])
def test_when_all_compete_it_is_fewer(spec: str, limit: float, n: int) -> None:
    plain, fewer = (
        simulate(Scenario(name, n, 20 * n, Heavy(), topology=spec)).messages_per_entry
        for name in ("raymond", NAME)
    )
    assert plain == pytest.approx(4 * (n - 1) / n, rel=0.03)
    assert fewer == pytest.approx(limit, rel=0.05)


@pytest.mark.parametrize("spec", ["line", "tree", "star"])
def test_when_nobody_competes_there_is_nothing_to_save(spec: str) -> None:
    plain, fewer = (
        simulate(Scenario(name, 15, 100, Light(), topology=spec)).messages
        for name in ("raymond", NAME)
    )
    assert plain == fewer


def test_the_entries_are_the_same() -> None:
    """It is the same algorithm: nobody waits longer."""
    for load in (Heavy(), Level(0.3)):
        report = simulate(Scenario(NAME, 15, 500, load))
        assert report.max_inside == 1
        assert report.fairness > 0.98


@pytest.mark.parametrize(
    ("nodes", "requests", "spec", "coverage"),
    [
        (3, 2, "tree", (1160, 2323, 20)),
        (4, 1, "tree", (1240, 2743, 18)),
        (4, None, "tree", (1350, 3695, 16)),
    ],
)
def test_it_holds(
    nodes: int, requests: int | None, spec: str, coverage: tuple[int, int, int]
) -> None:
    report = check(model(NAME, nodes, requests, topology=spec))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage
