"""The lecture's start of the lift algorithm: an election and a tree, by echo waves."""

from __future__ import annotations

import pytest

from peerlock.algorithms.raymond_echo import (
    Echo,
    Explorer,
    Initialize,
    RaymondEcho,
)
from peerlock.checker.check import check
from peerlock.checker.model import model
from peerlock.core.bits import nodes_in
from peerlock.core.peer import RemoteError, Send
from peerlock.core.topology import topology
from peerlock.simulator import Heavy, Level, Scenario, simulate
from peerlock.simulator.by_hand import ByHand

NAME = "raymond-echo"
GRAPHS = ("ring", "line", "star", "complete", "graph:1-2,2-3,3-4,4-5,5-6,6-7,7-1,1-4")


def elected(spec: str, n: int) -> ByHand:
    run = ByHand(NAME, n, topology=topology(spec, n))
    run.settle()
    return run


# "Winner of an election gets the token and creates a spanning tree … directed towards it"


@pytest.mark.parametrize("spec", GRAPHS)
def test_from_each_process_a_directed_path_leads_to_the_token(spec: str) -> None:
    n = 7
    peers = elected(spec, n).peers
    assert [i for i, peer in peers.items() if peer.holder == i] == [n]  # type: ignore[attr-defined]
    for node in peers:
        way = [node]
        while way[-1] != n:
            way.append(peers[way[-1]].holder)  # type: ignore[attr-defined]
            assert len(way) <= n


@pytest.mark.parametrize("spec", GRAPHS)
def test_each_knows_its_children(spec: str) -> None:
    for node, peer in elected(spec, 7).peers.items():
        assert isinstance(peer, RaymondEcho)
        assert peer.initialized
        for child in nodes_in(peer.children):
            assert elected(spec, 7).peers[child].holder == node  # type: ignore[attr-defined]


@pytest.mark.parametrize("spec", GRAPHS)
def test_the_election_costs_no_more_than_all_waves(spec: str) -> None:
    n = 7
    links = sum(len(topology(spec, n).neighbours(i)) for i in range(1, n + 1)) // 2
    assert elected(spec, n).sent <= n * 2 * links + n - 1


@pytest.mark.parametrize("n", [2, 5, 9])
def test_after_it_an_entry_costs_at_most_two_for_each_link_of_the_way(n: int) -> None:
    run = elected("line", n)
    for node in (1, n, 2, 1):
        before = run.sent
        run.request(node)
        run.settle()
        assert run.judge.inside == {node}
        run.leave(node)
        assert run.sent - before <= 2 * (n - 1)


# The parts of a wave


def middle() -> RaymondEcho:
    """Node 2 on a line of three, whose own wave is under way."""
    peer = RaymondEcho(2, (1, 2, 3), topology=topology("line", 3))
    peer.start()
    assert peer.drain() == [Send(1, Explorer(2)), Send(3, Explorer(2))]
    return peer


def test_a_higher_wave_is_joined_and_a_lower_one_dies() -> None:
    peer = middle()
    peer.receive(1, Explorer(1))
    assert peer.drain() == []
    peer.receive(3, Explorer(3))
    assert peer.drain() == [Send(1, Explorer(3))]
    peer.receive(1, Echo(2))  # of our own wave, which is over
    assert peer.drain() == []
    peer.receive(1, Echo(3))
    assert peer.drain() == [Send(3, Echo(3))]


def test_a_node_asks_for_the_token_when_the_election_is_over() -> None:
    peer = middle()
    peer.receive(3, Explorer(3))
    peer.receive(1, Echo(3))
    peer.drain()
    peer.acquire()
    assert peer.drain() == []
    peer.receive(3, Initialize())
    sent = [(effect.to, type(effect.message).__name__) for effect in peer.drain()]  # type: ignore[union-attr]
    assert sent == [(1, "Initialize"), (3, "Request")]


@pytest.mark.parametrize("message", [Initialize(), Echo(3)], ids=str)
def test_what_no_wave_brings_is_a_remote_error(message: object) -> None:
    peer = middle()
    before = peer.snapshot()
    with pytest.raises(RemoteError):
        peer.receive(1, message)
    assert peer.snapshot() == before


# Every schedule


@pytest.mark.parametrize(
    ("nodes", "requests", "spec", "coverage"),
    [
        (2, 2, "line", (174, 371, 16)),
        (3, 1, "ring", (21024, 94296, 26)),
        (3, 2, "line", (15384, 59000, 32)),
        (3, None, "line", (3012, 12616, 23)),
    ],
    ids=str,
)
def test_it_holds(
    nodes: int, requests: int | None, spec: str, coverage: tuple[int, int, int]
) -> None:
    report = check(model(NAME, nodes, requests, topology=spec))
    assert report.holds
    assert report.everyone_entered
    assert report.coverage == coverage


@pytest.mark.parametrize("spec", GRAPHS)
def test_runs_begin_with_requests_during_the_election(spec: str) -> None:
    for load in (Heavy(), Level(0.3)):
        report = simulate(Scenario(NAME, 7, 100, load, topology=spec))
        assert report.max_inside == 1
        assert report.fairness > 0.9
