"""Agrawal and El Abbadi's tree quorums: what is claimed of them, one test a claim."""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from math import log2

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerlock.algorithms.agrawal_el_abbadi import (
    AgrawalElAbbadi,
    Permission,
    Relinquish,
    Yield,
)
from peerlock.algorithms.maekawa import Inquire, Request
from peerlock.checker.check import check
from peerlock.checker.model import Network, model
from peerlock.core.peer import Down, Enter, NodeId, RemoteError, Send
from peerlock.quorums.tree_quorums import (
    children,
    parent,
    tree_quorum,
    tree_quorums,
    way_down,
)
from peerlock.simulator import Heavy, Level, Scenario, empty_trace, simulate
from peerlock.simulator.network import Crash
from peerlock.simulator.network import Network as Wires
from peerlock.traces.trace import Kind
from tests.support.counts import light_entries
from tests.support.tree_quorums import all_quorums, failures

NAME = "agrawal-el-abbadi"


# The tree


@pytest.mark.parametrize("n", range(1, 60))
def test_every_node_but_the_root_has_one_parent_whose_child_it_is(n: int) -> None:
    below = [j for i in range(1, n + 1) for j in children(i, n)]
    assert sorted(below) == list(range(2, n + 1))
    assert all(i in children(parent(i, n), n) for i in range(2, n + 1))
    assert parent(1, n) == 0


@pytest.mark.parametrize("n", range(3, 60))
def test_a_node_that_is_no_leaf_has_two_children_and_only_one_may_have_three(
    n: int,
) -> None:
    numbers = [len(children(i, n)) for i in range(1, n + 1)]
    assert set(numbers) <= {0, 2, 3}
    assert numbers.count(3) == (n % 2 == 0)


def test_a_complete_tree() -> None:
    assert [children(i, 7) for i in (1, 2, 3, 4)] == [(2, 3), (4, 5), (6, 7), ()]
    assert way_down(5, 7) == (1, 2, 5)


# "All nodes that form a path from the root to a leaf define a tree quorum"


@pytest.mark.parametrize("n", [*range(1, 41), 100, 127, 255, 256, 400])
def test_without_failures_a_quorum_is_a_path_through_its_own_node(n: int) -> None:
    for i in range(1, n + 1):
        path = tree_quorums(n).of(i)
        assert path == way_down(path[-1], n)
        assert children(path[-1], n) == ()
        assert i in path
        assert len(path) <= int(log2(n)) + 1


# "Any two tree quorums have a nonempty intersection and none is a superset of another one"


@pytest.mark.parametrize("n", range(1, 10))
def test_any_two_quorums_meet_whichever_nodes_were_down_for_either(n: int) -> None:
    quorums = all_quorums(n)
    assert all(a & b for a, b in combinations(quorums, 2))
    if n != 2:  # where {2} would do for {1, 2}
        assert not any(a < b for a in quorums for b in quorums)


@given(
    st.integers(1, 200).flatmap(
        lambda n: st.tuples(
            st.just(n),
            st.lists(
                st.tuples(st.integers(1, n), st.frozensets(st.integers(1, n))),
                min_size=2,
                max_size=2,
            ),
        )
    )
)
def test_large_ones_meet_as_well(
    case: tuple[int, list[tuple[NodeId, frozenset[NodeId]]]],
) -> None:
    n, ((a, down_a), (b, down_b)) = case
    first, second = tree_quorum(a, n, down_a), tree_quorum(b, n, down_b)
    if first is not None and second is not None:
        assert set(first) & set(second)
        assert not set(first) & down_a
        assert list(first) == sorted(set(first))


# "If some node on the path fails, it is replaced by two paths"


def test_a_node_that_is_down_is_replaced_by_paths_from_both_children() -> None:
    assert tree_quorum(4, 7) == (1, 2, 4)
    assert tree_quorum(4, 7, {1}) == (2, 3, 4, 6)
    assert tree_quorum(4, 7, {2}) == (1, 4, 5)
    assert tree_quorum(4, 7, {2, 3}) == (1, 4, 5)
    assert tree_quorum(4, 7, {1, 2, 3}) == (4, 5, 6, 7)


def test_a_leaf_that_is_down_is_gone_round_as_long_as_there_is_another_way() -> None:
    assert tree_quorum(4, 7, {4}) == (1, 2, 5)
    assert tree_quorum(4, 7, {4, 5}) == (1, 3, 6)
    assert tree_quorum(4, 7, {1, 4, 5}) is None
    assert tree_quorum(4, 7, {4, 2}) == (1, 3, 6)


@pytest.mark.parametrize("n", range(1, 10))
def test_a_quorum_is_found_if_there_is_one(n: int) -> None:
    quorums = all_quorums(n)
    for down in failures(n):
        left = [quorum for quorum in quorums if not quorum & set(down)]
        for i in (1, n):
            assert (tree_quorum(i, n, down) is not None) == bool(left)


@pytest.mark.parametrize("n", range(1, 13))
def test_a_quorum_has_at_most_half_of_the_nodes_and_one(n: int) -> None:
    """The survey's (N+1)/2, if N is odd: all leaves."""
    sizes = [len(tree_quorum(1, n, down) or ()) for down in failures(n)]
    assert max(sizes) == n // 2 + 1


@pytest.mark.parametrize("n", range(1, 10))
def test_log_n_failures_can_be_too_many(n: int) -> None:
    survived = tree_quorums(n).resilience
    quorums = all_quorums(n)
    for f in range(survived + 2):
        broken = any(
            all(quorum & set(down) for quorum in quorums)
            for down in combinations(range(1, n + 1), f)
        )
        assert broken == (f > survived)
    if n > 2:
        assert survived == int(log2(n + 1)) - 1


# Messages


@pytest.mark.parametrize("n", [1, 2, 3, 4, 7, 10, 15, 25, 31, 50])
def test_an_entry_costs_three_for_each_other_on_the_path(n: int) -> None:
    for _, node, messages in light_entries(NAME, n):
        assert messages == 3 * (len(tree_quorums(n).of(node)) - 1) <= 3 * int(log2(n))


@pytest.mark.parametrize("n", [2, 3, 7, 15, 50])
def test_competition_costs_at_most_six_for_each(n: int) -> None:
    quorums = tree_quorums(n)
    report = simulate(Scenario(NAME, n, 20 * n, Heavy()))
    assert 3 * (quorums.sizes.min - 1) <= report.messages_per_entry
    assert report.messages_per_entry <= 6 * (quorums.sizes.max - 1)


def test_leaves_are_not_preferred_for_their_few_requests() -> None:
    report = simulate(Scenario(NAME, 31, 3100, Heavy()))
    assert report.fairness > 0.99


# A member


def member() -> AgrawalElAbbadi:
    """Node 1 of seven, which has given its PERMISSION to node 6."""
    peer = AgrawalElAbbadi(1, tuple(range(1, 8)))
    peer.receive(6, Request(1))
    assert peer.drain() == [Send(6, Permission(1))]
    return peer


def test_a_later_request_waits() -> None:
    peer = member()
    peer.receive(7, Request(1))
    assert peer.drain() == []
    peer.receive(6, Relinquish())
    assert peer.drain() == [Send(7, Permission(1))]


def test_an_earlier_request_makes_it_inquire_once() -> None:
    peer = member()
    peer.receive(5, Request(1))
    peer.receive(4, Request(1))
    assert peer.drain() == [Send(6, Inquire())]
    peer.receive(6, Yield())
    assert peer.drain() == [Send(4, Permission(1))]
    assert peer.queue == ((1, 5), (1, 6))


def test_requests_of_a_node_that_is_down_are_forgotten() -> None:
    peer = member()
    peer.receive(5, Request(3))
    peer.receive(7, Request(2))
    peer.receive(5, Down())
    assert peer.drain() == []
    peer.receive(6, Down())
    assert peer.drain() == [Send(7, Permission(3))]
    assert peer.queue == ()


# A requester


def asking() -> AgrawalElAbbadi:
    """Node 4 of seven, with its own PERMISSION; it has asked 1 and 2."""
    peer = AgrawalElAbbadi(4, tuple(range(1, 8)))
    peer.acquire()
    assert peer.drain() == [Send(1, Request(1)), Send(2, Request(1))]
    return peer


def test_it_enters_when_all_permit() -> None:
    peer = asking()
    peer.receive(2, Permission(1))
    assert peer.drain() == []
    peer.receive(1, Permission(1))
    assert peer.drain() == [Enter()]


def test_it_yields_what_it_has_unless_it_is_inside() -> None:
    peer = asking()
    peer.receive(2, Permission(1))
    peer.receive(2, Inquire())
    assert peer.drain() == [Send(2, Yield())]
    for other in (1, 2):
        peer.receive(other, Permission(1))
    peer.receive(2, Inquire())
    assert peer.drain() == [Enter()]


def test_it_goes_on_with_another_quorum_when_a_member_is_down() -> None:
    """With the number that it has, and without asking a node twice."""
    peer = asking()
    peer.receive(7, Request(5))
    peer.receive(1, Down())
    assert peer.drain() == [Send(3, Request(1)), Send(6, Request(1))]
    for other in (2, 3, 6):
        assert Enter() not in peer.drain()
        peer.receive(other, Permission(1))
    assert peer.drain() == [Enter()]
    peer.release()
    told = [e.to for e in peer.drain() if isinstance(e, Send) and e.message == Relinquish()]
    assert told == [2, 3, 6]


def test_the_permission_of_a_node_that_went_down_later_stays_good() -> None:
    peer = asking()
    peer.receive(1, Permission(1))
    peer.receive(1, Down())
    assert peer.drain() == []
    peer.receive(2, Permission(1))
    assert peer.drain() == [Enter()]
    peer.release()
    assert peer.drain() == [Send(2, Relinquish())]


def test_it_may_enter_as_soon_as_it_need_not_wait_for_the_one_that_is_down() -> None:
    """Of two nodes, the leaf alone is a quorum."""
    peer = AgrawalElAbbadi(2, (1, 2))
    peer.acquire()
    assert peer.drain() == [Send(1, Request(1))]
    peer.receive(1, Down())
    assert peer.drain() == [Enter()]


def test_without_a_quorum_nobody_enters() -> None:
    peer = AgrawalElAbbadi(1, (1, 2, 3))
    peer.acquire()
    peer.receive(2, Down())
    peer.receive(3, Down())
    assert peer.no_quorum
    assert Enter() not in peer.drain()


def test_a_node_is_down_once() -> None:
    peer = asking()
    peer.receive(7, Down())
    before = peer.snapshot()
    with pytest.raises(RemoteError, match="7 is reported down twice"):
        peer.receive(7, Down())
    assert peer.snapshot() == before


def test_nobody_requests_again_before_it_has_relinquished() -> None:
    peer = member()
    peer.receive(7, Request(1))
    with pytest.raises(RemoteError, match="7 requests again"):
        peer.receive(7, Request(2))


# Runs with failures: "resilient to node failures"


@pytest.mark.parametrize("n", [3, 7, 15, 31])
@pytest.mark.parametrize("seed", range(5))
def test_the_others_go_on_when_as_many_crash_as_can_be_survived(n: int, seed: int) -> None:
    gone = range(1, tree_quorums(n).resilience + 1)
    crashes = tuple(Crash(node, at=15.0 * node) for node in gone)
    network = Wires(fifo=True, crashes=crashes)
    scenario = Scenario(NAME, n, 30 * n, Level(0.1), network, seed=seed)
    trace = empty_trace(scenario)
    report = simulate(scenario, trace)
    assert report.max_inside == 1
    assert report.remote_errors == 0
    late = {s.node for s in trace if s.kind is Kind.ENTER and s.time > 15.0 * n + 50}
    assert late == set(range(1, n + 1)) - set(gone)


def test_with_the_root_down_an_entry_costs_two_paths() -> None:
    """(1, 2, 4) becomes (2, 3, 4, 6) for node 4, and likewise for all others."""
    network = Wires(fifo=True, crashes=(Crash(1, at=0.1),))
    report = simulate(Scenario(NAME, 7, 700, Heavy(), network))
    assert 9 <= report.messages_per_entry < 9.5


# Every schedule


@pytest.mark.parametrize(
    ("nodes", "requests", "crashes", "coverage"),
    [
        (3, 1, 1, (2390, 6065, 17)),
        (3, (0, 2, 2), 1, (1865, 4426, 23)),
        (3, 2, 1, (39846, 115655, 32)),
        (4, (0, 1, 1, 1), 1, (19567, 59690, 28)),
        (5, (1, 0, 1, 1, 0), 1, (63524, 242775, 27)),
        (7, (0, 1, 0, 0, 0, 1, 0), 1, (133482, 688524, 29)),
        (7, (1, 0, 0, 0, 0, 0, 0), 2, (304414, 1818196, 23)),
    ],
    ids=str,
)
def test_it_holds_whoever_crashes_and_when(
    nodes: int, requests: int | tuple[int, ...], crashes: int, coverage: tuple[int, ...]
) -> None:
    """Inside or not; as many as can be survived."""
    assert tree_quorums(nodes).resilience >= crashes
    report = check(model(NAME, nodes, requests, Network(fifo=True, crashes=crashes)))
    assert report.holds
    assert report.coverage == coverage


@pytest.mark.parametrize("nodes", [4, 5])
def test_one_crash_too_many_can_leave_no_quorum(nodes: int) -> None:
    requests = (0, 1, *[0] * (nodes - 2))
    report = check(model(NAME, nodes, requests, Network(fifo=True, crashes=2)))
    assert report.violation is not None
    assert report.violation.property == "deadlock"


@pytest.mark.parametrize(
    ("nodes", "requests", "counts"),
    [
        (3, 2, (8303, 17302, 30, Fraction(7, 2), 4)),
        (4, 1, (2612, 5991, 21, Fraction(11, 3), 3)),
    ],
)
def test_it_holds_without_crashes(
    nodes: int, requests: int, counts: tuple[object, ...]
) -> None:
    report = check(model(NAME, nodes, requests))
    assert report.holds
    measured = (report.max_messages_per_entry, report.max_overtaken)
    assert (*report.coverage, *measured) == counts
