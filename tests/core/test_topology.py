"""Routes arrive, floods reach everybody once, and what is no tree is refused."""

from __future__ import annotations

import re
from collections import deque

import pytest
from hypothesis import given
from hypothesis import strategies as st

from peerlock.core.topology import (
    Complete,
    Graph,
    Ring,
    Star,
    Topology,
    Tree,
    graph,
    kary,
    line,
    topology,
    tree,
)

SPECS = ["complete", "ring", "line", "star", "tree", "tree:1", "tree:3"]
SIZES = [1, 2, 3, 4, 7, 12]
MANY = 10_000


@st.composite
def any_tree(draw: st.DrawFn) -> Tree:
    """Each node hangs on an earlier one, under names that are shuffled."""
    n = draw(st.integers(1, 12))
    names = draw(st.permutations(range(1, n + 1)))
    edges = [(names[draw(st.integers(0, i - 1))], names[i]) for i in range(1, n)]
    return tree(edges, n)


# A kite, a square with a diagonal, and Petersen's graph.
GRAPHS = {
    "graph:1-2,2-3,3-1,3-4": 4,
    "graph:1-2,2-3,3-4,4-1,1-3": 4,
    "graph:1-2,2-3,3-4,4-5,5-1,1-6,2-7,3-8,4-9,5-10,6-8,7-9,8-10,9-6,10-7": 10,
}


@st.composite
def any_graph(draw: st.DrawFn) -> Graph:
    """A tree, and more edges."""
    links = draw(any_tree()).links
    n = len(links)
    pairs = [(i, j) for i in range(1, n + 1) for j in range(i + 1, n + 1)]
    more = draw(st.sets(st.sampled_from(pairs))) if pairs else set()
    return graph(sorted(more | {(i, j) for i, j in pairs if j in links[i - 1]}), n)


def cases() -> list[Topology]:
    graphs = [topology(spec, n) for spec, n in GRAPHS.items()]
    return [topology(spec, n) for spec in SPECS for n in SIZES] + graphs


every_topology = pytest.mark.parametrize(
    "linked", cases(), ids=lambda t: f"{t.kind}-{t.nodes}"
)


def distances(linked: Topology, start: int) -> dict[int, int]:
    far = {start: 0}
    queue = deque([start])
    while queue:
        i = queue.popleft()
        for j in linked.neighbours(i):
            if j not in far:
                far[j] = far[i] + 1
                queue.append(j)
    return far


def diameter_by_hand(linked: Topology) -> int:
    return max(max(distances(linked, i).values()) for i in range(1, linked.nodes + 1))


def check_routes(linked: Topology) -> None:
    everybody = range(1, linked.nodes + 1)
    for start in everybody:
        for to in everybody:
            at, steps = start, 0
            while at != to:
                hop = linked.next_hop(at, to)
                assert hop in linked.neighbours(at)
                at, steps = hop, steps + 1
                assert steps < linked.nodes


def check_flood(linked: Topology, origin: int) -> None:
    reached = [origin]
    queue = deque([(origin, origin)])
    while queue:
        node, came_from = queue.popleft()
        for j in linked.onward(node, came_from, origin):
            assert j in linked.neighbours(node)
            reached.append(j)
            queue.append((j, node))
    assert sorted(reached) == list(range(1, linked.nodes + 1))


# Every topology


@every_topology
def test_neighbours_are_mutual_ascending_and_others(linked: Topology) -> None:
    for i in range(1, linked.nodes + 1):
        near = linked.neighbours(i)
        assert list(near) == sorted(set(near) - {i})
        assert all(i in linked.neighbours(j) for j in near)


@every_topology
def test_routes_reach_their_target_along_neighbours(linked: Topology) -> None:
    check_routes(linked)


@every_topology
def test_a_flood_reaches_everybody_exactly_once(linked: Topology) -> None:
    for origin in range(1, linked.nodes + 1):
        check_flood(linked, origin)


@every_topology
def test_the_diameter_is_the_longest_distance(linked: Topology) -> None:
    assert linked.diameter == diameter_by_hand(linked)


@given(any_tree())
def test_any_tree_routes_floods_and_knows_its_diameter(linked: Tree) -> None:
    check_routes(linked)
    check_flood(linked, origin=linked.nodes)
    assert linked.diameter == diameter_by_hand(linked)


@given(any_tree())
def test_in_a_tree_every_hop_comes_nearer(linked: Tree) -> None:
    for to in range(1, linked.nodes + 1):
        far = distances(linked, to)
        for i in far:
            if i != to:
                assert far[linked.next_hop(i, to)] == far[i] - 1


@given(any_graph())
def test_any_graph_routes_by_shortest_ways_floods_and_knows_its_diameter(
    linked: Graph,
) -> None:
    check_routes(linked)
    for node in range(1, linked.nodes + 1):
        check_flood(linked, origin=node)
        far = distances(linked, node)
        for i in far.keys() - {node}:
            assert far[linked.next_hop(i, node)] == far[i] - 1
    assert linked.diameter == diameter_by_hand(linked)


# Each topology


def test_in_a_complete_network_only_the_origin_passes_on() -> None:
    linked = Complete(4)
    assert linked.onward(2, came_from=2, origin=2) == (1, 3, 4)
    assert linked.onward(3, came_from=2, origin=2) == ()


def test_a_ring_goes_one_way_round() -> None:
    ring = Ring(5)
    assert [ring.next_hop(i, to=3) for i in (4, 5, 1, 2)] == [5, 1, 2, 3]
    assert ring.neighbours(1) == (2, 5)
    assert ring.onward(5, came_from=4, origin=2) == (1,)
    assert ring.onward(1, came_from=5, origin=2) == ()


def test_rings_of_one_and_two_make_sense() -> None:
    assert Ring(1).neighbours(1) == ()
    assert Ring(1).onward(1, came_from=1, origin=1) == ()
    assert Ring(2).neighbours(1) == (2,)
    assert Ring(2).onward(1, came_from=1, origin=1) == (2,)
    assert Ring(2).onward(2, came_from=1, origin=1) == ()


def test_a_line_is_a_line() -> None:
    assert [line(4).neighbours(i) for i in (1, 2, 3, 4)] == [(2,), (1, 3), (2, 4), (3,)]
    assert line(4).diameter == 3


def test_a_star_has_node_1_in_its_centre() -> None:
    assert Star(5).neighbours(1) == (2, 3, 4, 5)
    assert Star(5).neighbours(2) == (1,)
    assert Star(5).next_hop(2, to=5) == 1


@pytest.mark.parametrize("n", [1, 2, 3, 6])
def test_a_star_is_a_tree_whatever_its_centre(n: int) -> None:
    for centre in range(1, n + 1):
        star = Star(n, centre)
        same = tree(((centre, i) for i in range(1, n + 1) if i != centre), n)
        assert star.diameter == same.diameter
        for i in range(1, n + 1):
            assert star.neighbours(i) == same.neighbours(i)
            assert star.onward(i, i, i) == same.onward(i, i, i)
            for j in {*range(1, n + 1)} - {i}:
                assert star.next_hop(i, j) == same.next_hop(i, j)
                came_from = same.next_hop(i, j)
                assert star.onward(i, came_from, j) == same.onward(i, came_from, j)


def test_a_k_ary_tree_is_numbered_like_a_heap() -> None:
    n, k = 40, 3
    for i in range(1, n + 1):
        children = tuple(j for j in kary(n, k).neighbours(i) if j > i)
        assert children == tuple(j for j in range(k * (i - 1) + 2, k * i + 2) if j <= n)


def test_a_given_tree_is_taken_as_it_is() -> None:
    assert tree([(2, 4), (3, 2), (1, 2)]).links == ((2,), (1, 3, 4), (2,), (2,))


def test_a_line_of_10_000_nodes_needs_no_recursion() -> None:
    long = line(MANY)
    assert long.diameter == MANY - 1
    assert long.next_hop(5_000, to=1) == 4_999
    assert long.next_hop(5_000, to=MANY) == 5_001


def test_a_node_with_10_000_neighbours_finds_the_right_arm() -> None:
    wide = tree(((1, i) for i in range(2, MANY + 1)), MANY)
    assert all(wide.next_hop(1, to) == to for to in range(2, MANY + 1))


# What is no tree


@pytest.mark.parametrize(
    ("edges", "n", "complaint"),
    [
        ([(1, 2), (2, 9)], 3, r"edge 2-9: node 9 is not in 1\.\.3"),
        ([(0, 1)], 2, r"edge 0-1: node 0 is not in 1\.\.2"),
        ([(1, 2), (2, 3), (3, 1)], 3, "edge 3-1 closes a cycle"),
        ([(1, 2), (2, 3), (3, 1)], 4, "edge 3-1 closes a cycle"),
        ([(1, 2), (2, 1)], 3, "edge 2-1 closes a cycle"),
        ([(1, 2), (2, 2)], 3, "edge 2-2 closes a cycle"),
        ([(1, 2), (3, 4)], 4, "nodes 1 and 3 are not connected"),
        ([], 2, "nodes 1 and 2 are not connected"),
        ([], 0, "at least one node, not 0"),
    ],
)
def test_what_is_no_tree_is_refused(
    edges: list[tuple[int, int]], n: int, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        tree(edges, n)


@pytest.mark.parametrize(
    ("edges", "n", "complaint"),
    [
        ([(1, 2), (2, 9)], 3, r"edge 2-9: node 9 is not in 1\.\.3"),
        ([(1, 2), (2, 2)], 2, "edge 2-2 links a node with itself"),
        ([(1, 2), (2, 1)], 2, "edge 2-1 is given twice"),
        ([(1, 2), (3, 4)], 4, "nodes 1 and 3 are not connected"),
        ([], 2, "nodes 1 and 2 are not connected"),
        ([], 0, "at least one node, not 0"),
    ],
)
def test_what_is_no_graph_is_refused(
    edges: list[tuple[int, int]], n: int, complaint: str
) -> None:
    with pytest.raises(ValueError, match=complaint):
        graph(edges, n)


def test_a_tree_without_room_for_children_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one child, not 0"):
        kary(5, 0)


# Specifications


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("complete", Complete(4)),
        ("ring", Ring(4)),
        ("line", line(4)),
        ("star", Star(4)),
        ("tree", kary(4, 2)),
        ("tree:3", kary(4, 3)),
        ("edges:1-2,2-3,2-4", tree([(1, 2), (2, 3), (2, 4)])),
        ("edges:1-2, 2-3, 2-4", tree([(1, 2), (2, 3), (2, 4)])),
        ("graph:1-2,2-3,3-1,3-4", graph([(1, 2), (2, 3), (3, 1), (3, 4)], 4)),
    ],
)
def test_a_spec_names_a_topology(spec: str, expected: Topology) -> None:
    assert topology(spec, 4) == expected
    assert topology(spec, 4).kind == spec.partition(":")[0]


def test_a_single_node_needs_no_edges() -> None:
    assert topology("edges:", 1).neighbours(1) == ()
    assert topology("graph:", 1).neighbours(1) == ()
    assert topology("graph:", 1).diameter == 0


@pytest.mark.parametrize(
    ("spec", "complaint"),
    [
        ("rign", "unknown topology 'rign': did you mean ring?"),
        ("Star", "unknown topology 'Star': did you mean star?"),
        ("hypercube", "unknown topology 'hypercube': use complete, ring, line,"),
        ("ring:3", "'ring:3': use ring, without a colon"),
        ("tree:two", "'tree:two': use a number, as in tree:3"),
        ("edges:1-2,2/3", "invalid edge '2/3': use two nodes, as in 1-2"),
        ("edges:1-2", "nodes 1 and 3 are not connected"),
        ("edges:", "nodes 1 and 2 are not connected"),
        ("graph:1-2", "nodes 1 and 3 are not connected"),
        ("grahp:1-2", "unknown topology 'grahp': did you mean graph?"),
    ],
)
def test_a_wrong_spec_gets_one_helpful_line(spec: str, complaint: str) -> None:
    with pytest.raises(ValueError, match=re.escape(complaint)) as caught:
        topology(spec, 3)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("spec", [*SPECS, "edges:", "graph:"])
@pytest.mark.parametrize("n", [0, -1])
def test_there_is_at_least_one_node(spec: str, n: int) -> None:
    with pytest.raises(ValueError, match=f"at least one node, not {n}"):
        topology(spec, n)


def test_all_peers_share_one_topology() -> None:
    assert topology("tree:3", 50) is topology("tree:3", 50)
