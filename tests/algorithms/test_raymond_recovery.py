"""Raymond's recovery of a failed node from its neighbours: a claim a test.

What the checker shows here it shows for a restart interval that outlasts all that is under
way; the runs have delays with a bound, and the file's own interval.
"""

from __future__ import annotations

from dataclasses import replace

import pytest

from peerlock.algorithms.raymond import PRIVILEGE, REQUEST
from peerlock.algorithms.raymond_recovery import Advise, RaymondRecovery, Restart
from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.checker.search import Limits, Search
from peerlock.checker.starvation import starving
from peerlock.core.peer import Enter, NodeId, RemoteError, Send
from peerlock.core.topology import topology
from peerlock.simulator import Crash, Heavy, Level, Light, Scenario, simulate
from peerlock.simulator import Network as Wires
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Uniform
from tests.support.counts import light_entries

NAME = "raymond-recovery"


# Nothing fails


@pytest.mark.parametrize("n", [2, 3, 7, 15, 31, 50])
@pytest.mark.parametrize("load", [Light(), Heavy(), Level(0.3)], ids=str)
def test_when_nothing_fails_it_is_raymonds_algorithm(
    n: int, load: Light | Heavy | Level
) -> None:
    ours = simulate(Scenario(NAME, n, 5 * n, load, Wires(fifo=True)))
    theirs = simulate(Scenario("raymond", n, 5 * n, load, Wires(fifo=True)))
    assert ours.messages == theirs.messages


@pytest.mark.parametrize("n", [2, 4, 8, 16, 50])
def test_an_entry_costs_at_most_two_messages_for_each_step_of_the_way(n: int) -> None:
    diameter = topology("tree", n).diameter
    for _, _, messages in light_entries(NAME, n, entries=20):
        assert messages <= 2 * diameter


# Every schedule: one failure, or several, of neighbours too, and during the recovery


@pytest.mark.parametrize(
    ("nodes", "requests", "crashes", "tree", "coverage"),
    [
        (2, 2, 1, "line", (682, 1376, 17)),
        (2, 2, 3, "line", (6175, 17075, 21)),
        (3, 1, 1, "tree", (2586, 6304, 19)),
        (3, 1, 2, "line", (16882, 48769, 25)),
        (3, 1, 2, "star", (17008, 49475, 23)),
        (3, 2, 1, "star", (19132, 52070, 25)),
        (3, (0, 1, 1), 3, "line", (13355, 39820, 26)),
        (4, 1, 1, "line", (26301, 77340, 29)),
    ],
)
def test_who_fails_comes_back_and_all_go_on(
    nodes: int,
    requests: int | tuple[int, ...],
    crashes: int,
    tree: str,
    coverage: tuple[int, int, int],
) -> None:
    search = Search(cluster(nodes, requests, tree, crashes=crashes, returns=True))
    search.run(Limits())
    assert search.exhausted
    assert search.breach is None
    assert search.coverage == coverage
    assert starving(search) is None


def cluster(
    nodes: int,
    requests: int | tuple[int, ...] | None,
    tree: str,
    *,
    crashes: int,
    returns: bool,
    fifo: bool = True,
) -> Model:
    network = Network(fifo, crashes=crashes, returns=returns)
    return model(NAME, nodes, requests, network, topology=tree)


def test_nobody_waits_for_ever_with_requests_without_end() -> None:
    report = check(cluster(3, None, "line", crashes=1, returns=True))
    assert report.holds
    assert report.coverage == (2308, 7012, 19)


# Runs with a bound on delay


@pytest.mark.parametrize("n", [2, 3, 7, 15])
@pytest.mark.parametrize("load", [Heavy(), Level(0.1)], ids=["heavy", "level"])
def test_many_fail_and_come_back_and_the_others_go_on(n: int, load: Heavy | Level) -> None:
    for seed in range(25):
        at = [(1.0 + seed) * i for i in range(6)]
        crashes = tuple(
            Crash((seed + 5 * i) % n + 1, t, t + seed / 2 + 1.0)
            for i, t in enumerate(at)
            if i < n
        )
        network = Wires(Uniform(0.0, 4.0), fifo=True, crashes=crashes)
        report = simulate(Scenario(NAME, n, 20 * n, load, network, seed=seed))
        assert report.max_inside == 1
        assert report.remote_errors == 0
        assert report.entries >= 20 * n - len(crashes)


@pytest.mark.parametrize("n", [3, 7, 15, 31])
def test_a_failure_costs_two_messages_for_each_neighbour(n: int) -> None:
    hand = ByHand(NAME, n, topology=topology("tree", n))
    hand.crash(1)
    hand.restart(1)
    hand.fire(1, "restart")
    hand.settle()
    assert hand.sent == 2 * len(topology("tree", n).neighbours(1))
    hand.request(1)  # the token was there when it failed
    assert hand.judge.inside == {1}


def test_the_holder_and_all_its_neighbours_may_fail_if_all_come_back() -> None:
    """The survey rules it out."""
    hand = ByHand(NAME, 7, topology=topology("tree", 7))
    for node in (1, 2, 3):
        hand.crash(node)
    for node in (2, 1, 3):
        hand.restart(node)
        hand.fire(node, "restart")
    hand.settle()
    for node in (7, 2, 4):
        hand.request(node)
        hand.settle()
        assert hand.judge.inside == {node}
        hand.leave(node)


def test_all_may_fail_if_all_come_back() -> None:
    hand = ByHand(NAME, 5, topology=topology("line", 5))
    for node in range(1, 6):
        hand.crash(node)
    for node in (3, 1, 5, 2, 4):
        hand.restart(node)
        hand.fire(node, "restart")
    hand.settle()
    holders = [node for node, peer in hand.peers.items() if peer.holder == node]  # type: ignore[attr-defined]
    assert len(holders) == 1
    hand.request(2)
    hand.settle()
    assert hand.judge.inside == {2}


# Beyond what it survives


def violated(chosen: Model) -> str:
    violation = check(chosen).violation
    return "" if violation is None else violation.property


def test_those_who_need_one_that_never_comes_back_wait_for_ever() -> None:
    assert violated(cluster(3, 1, "tree", crashes=1, returns=False)) == "deadlock"


def test_it_needs_messages_in_order() -> None:
    chosen = cluster(3, 1, "tree", crashes=1, returns=True, fifo=False)
    assert violated(chosen) == "remote error"


def test_without_a_pause_failures_that_follow_each_other_let_two_in() -> None:
    """One failure needs no pause."""
    hasty = cluster(2, 1, "line", crashes=3, returns=True)
    assert violated(replace(hasty, outlasting=())) == "exclusion"
    once = cluster(3, 1, "line", crashes=1, returns=True)
    assert violated(replace(once, outlasting=())) == ""


# What a node does: node 2 of the line 1 - 2 - 3


def node_2() -> RaymondRecovery:
    return RaymondRecovery(2, (1, 2, 3), topology=topology("line", 3))


def restarted() -> RaymondRecovery:
    peer = node_2()
    peer.restart()
    peer.timer("restart")
    sent = [e for e in peer.drain() if isinstance(e, Send)]
    assert sent == [Send(1, Restart()), Send(3, Restart())]
    return peer


@pytest.mark.parametrize(
    ("before", "advice"),
    [
        ((), Advise(False, False, False)),  # at the beginning the token is at 1
        ((3,), Advise(False, False, False)),
        ((1,), Advise(False, False, True)),
    ],
)
def test_a_neighbour_tells_its_half(before: tuple[NodeId, ...], advice: Advise) -> None:
    """Node 2 tells node 1 or 3, of which one has asked."""
    peer = RaymondRecovery(1, (1, 2, 3), topology=topology("star", 3))
    peer.acquire()
    for j in before:
        peer.receive(2 if j == 1 else 3, REQUEST)
    peer.drain()
    peer.receive(2, Restart())
    assert peer.drain() == [Send(2, advice)]


def test_who_has_asked_is_asked_about_no_more() -> None:
    peer = node_2()
    peer.acquire()
    peer.drain()
    peer.receive(1, Restart())
    assert peer.drain() == [Send(1, Advise(True, True, False))]


def test_where_all_point_to_is_the_token() -> None:
    peer = restarted()
    peer.acquire()
    peer.receive(1, Advise(True, False, False))
    assert peer.drain() == []
    peer.receive(3, Advise(True, True, False))
    assert peer.drain() == [
        Enter(),
    ]
    peer.release()
    assert peer.drain() == [Send(3, PRIVILEGE)]


def test_who_had_asked_does_not_ask_again() -> None:
    peer = restarted()
    peer.receive(1, Advise(False, False, True))
    peer.receive(3, Advise(True, True, False))
    assert peer.drain() == []
    peer.receive(1, PRIVILEGE)
    assert peer.drain() == [Send(3, PRIVILEGE)]


def test_what_comes_before_the_advice_is_in_it() -> None:
    peer = restarted()
    peer.receive(1, PRIVILEGE)
    peer.receive(1, Advise(True, False, False))
    peer.receive(3, REQUEST)
    peer.receive(3, Advise(True, True, False))
    assert peer.drain() == [Send(3, PRIVILEGE)]


@pytest.mark.parametrize(("other", "ours"), [(3, True), (1, False)])
def test_of_two_that_point_to_each_other_the_lower_has_it(
    other: NodeId, ours: bool
) -> None:
    peer = restarted()
    peer.receive(4 - other, Advise(True, False, False))
    peer.receive(other, Restart())
    pointing = Send(other, Advise(True, False, False, True))
    assert peer.drain() == [Send(other, Restart(True)), pointing]
    peer.receive(other, Advise(True, False, False, True))
    assert peer.holder == (2 if ours else other)


def test_two_tokens_are_a_remote_error() -> None:
    peer = restarted()
    peer.receive(1, Advise(False, False, False))
    with pytest.raises(RemoteError):
        peer.receive(3, Advise(False, False, False))


def test_only_neighbours_restart() -> None:
    peer = RaymondRecovery(1, (1, 2, 3), topology=topology("line", 3))
    with pytest.raises(RemoteError):
        peer.receive(3, Restart())
