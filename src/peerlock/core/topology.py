"""Topologies: which nodes are linked, as values that all peers of a cluster share.

A topology answers three questions: what are the neighbours of a node, which of them is the
first step of the way to another node, and to which of them does a node pass on a broadcast.
A topology takes O(N) memory, so that a tree of 10,000 nodes is not a problem; only a graph
takes as much for each destination that was asked for.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import cached_property, lru_cache
from itertools import pairwise
from typing import NamedTuple

from peerlock.core.peer import NodeId

Edge = tuple[NodeId, NodeId]


@dataclass(frozen=True)
class Topology(ABC):
    """Nodes are 1..N, N ≥ 1; `kind` is what `topology` below calls it."""

    nodes: int
    kind: str

    def __post_init__(self) -> None:
        if self.nodes < 1:
            raise ValueError(f"a topology needs at least one node, not {self.nodes}")

    @property
    @abstractmethod
    def diameter(self) -> int:
        """The number of links between the two nodes farthest apart."""

    @abstractmethod
    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        """In ascending order."""

    @abstractmethod
    def next_hop(self, node: NodeId, to: NodeId) -> NodeId:
        """The first step of the way from `node` to `to`, which is another node."""

    @abstractmethod
    def onward(self, node: NodeId, came_from: NodeId, origin: NodeId) -> tuple[NodeId, ...]:
        """Where `node` passes on a broadcast of `origin`.

        The origin itself calls it with `came_from` == `origin`.
        """


@dataclass(frozen=True)
class Complete(Topology):
    """Every node is linked with every other."""

    kind: str = field(default="complete", init=False)

    @property
    def diameter(self) -> int:
        return min(self.nodes - 1, 1)

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        return (*range(1, node), *range(node + 1, self.nodes + 1))

    def next_hop(self, node: NodeId, to: NodeId) -> NodeId:
        return to

    def onward(self, node: NodeId, came_from: NodeId, origin: NodeId) -> tuple[NodeId, ...]:
        return self.neighbours(node) if node == origin else ()


@dataclass(frozen=True)
class Ring(Topology):
    """Messages travel one way round, 1 → 2 → … → N → 1."""

    kind: str = field(default="ring", init=False)

    @property
    def diameter(self) -> int:
        """That of the undirected ring; one way round it can take N − 1 steps."""
        return self.nodes // 2

    def successor(self, node: NodeId) -> NodeId:
        return node % self.nodes + 1

    def predecessor(self, node: NodeId) -> NodeId:
        return (node - 2) % self.nodes + 1

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        both = {self.predecessor(node), self.successor(node)}
        return tuple(sorted(both - {node}))

    def next_hop(self, node: NodeId, to: NodeId) -> NodeId:
        return self.successor(node)

    def onward(self, node: NodeId, came_from: NodeId, origin: NodeId) -> tuple[NodeId, ...]:
        successor = self.successor(node)
        return (successor,) if successor != origin else ()


@dataclass(frozen=True)
class Star(Topology):
    """All other nodes are linked with the centre."""

    kind: str = field(default="star", init=False)
    centre: NodeId = 1

    @property
    def diameter(self) -> int:
        return min(self.nodes - 1, 2)

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        if node != self.centre:
            return (self.centre,)
        return (*range(1, node), *range(node + 1, self.nodes + 1))

    def next_hop(self, node: NodeId, to: NodeId) -> NodeId:
        return to if node == self.centre else self.centre

    def onward(self, node: NodeId, came_from: NodeId, origin: NodeId) -> tuple[NodeId, ...]:
        return tuple(j for j in self.neighbours(node) if j != came_from)


class Tour(NamedTuple):
    """A walk round the tree from node 1, down before across; indexed by node.

    The nodes below `node`, itself included, are those entered from `entered[node]` up
    to, but not including, `left[node]`.
    """

    order: list[NodeId]
    parent: list[NodeId]
    children: list[tuple[NodeId, ...]]
    entered: list[int]
    left: list[int]


@dataclass(frozen=True)
class Tree(Topology):
    """`links[i - 1]` are the neighbours of i; made by `tree`, which checks them."""

    links: tuple[tuple[NodeId, ...], ...] = field(repr=False)

    @cached_property
    def diameter(self) -> int:
        height = [0] * (self.nodes + 1)
        longest = 0
        for j in reversed(self._tour.order[1:]):
            up = self._tour.parent[j]
            longest = max(longest, height[up] + height[j] + 1)
            height[up] = max(height[up], height[j] + 1)
        return longest

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        return self.links[node - 1]

    def next_hop(self, node: NodeId, to: NodeId) -> NodeId:
        _, parent, children, entered, left = self._tour
        if not entered[node] <= entered[to] < left[node]:
            return parent[node]
        below = bisect_right(children[node], entered[to], key=entered.__getitem__)
        return children[node][below - 1]

    def onward(self, node: NodeId, came_from: NodeId, origin: NodeId) -> tuple[NodeId, ...]:
        return tuple(j for j in self.links[node - 1] if j != came_from)

    @cached_property
    def _tour(self) -> Tour:
        """Without recursion: a line of 10,000 nodes is 10,000 levels deep."""
        places = self.nodes + 1
        tour = Tour([], [0] * places, [()] * places, [0] * places, [0] * places)
        stack = [1]
        while stack:
            node = stack.pop()
            tour.entered[node] = len(tour.order)
            tour.order.append(node)
            up = tour.parent[node]
            tour.children[node] = children = tuple(
                j for j in self.neighbours(node) if j != up
            )
            for child in children:
                tour.parent[child] = node
            stack.extend(reversed(children))
        for node in reversed(tour.order):
            last = tour.children[node][-1:]
            tour.left[node] = tour.left[last[0]] if last else tour.entered[node] + 1
        return tour


@dataclass(frozen=True)
class Graph(Topology):
    """Any network; `links[i - 1]` are the neighbours of i.  Made by `graph`."""

    links: tuple[tuple[NodeId, ...], ...] = field(repr=False)
    kind: str = field(default="graph", init=False)

    @cached_property
    def diameter(self) -> int:
        return max(len(_rounds(self.links, root)) - 1 for root in range(1, self.nodes + 1))

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        return self.links[node - 1]

    def next_hop(self, node: NodeId, to: NodeId) -> NodeId:
        return self._towards(to)[node]

    def onward(self, node: NodeId, came_from: NodeId, origin: NodeId) -> tuple[NodeId, ...]:
        """Down the tree of the ways that lead to `origin`."""
        way = self._towards(origin)
        return tuple(j for j in self.links[node - 1] if way[j] == node)

    def _towards(self, root: NodeId) -> Mapping[NodeId, NodeId]:
        """The first step of a shortest way from each other node; by the lowest number."""
        if root not in self._ways:
            way = {root: 0}
            for near, next_round in pairwise(_rounds(self.links, root)):
                for j in next_round:
                    way[j] = next(i for i in self.links[j - 1] if i in near)
            self._ways[root] = way
        return self._ways[root]

    @cached_property
    def _ways(self) -> dict[NodeId, dict[NodeId, NodeId]]:
        return {}


def graph(edges: Iterable[Edge], n: int) -> Graph:
    """Any connected network of n nodes."""
    edges = tuple(edges)
    if n < 1:
        raise ValueError(f"a topology needs at least one node, not {n}")
    known: set[frozenset[NodeId]] = set()
    for a, b in edges:
        _must_be_nodes((a, b), n)
        if a == b:
            raise ValueError(f"edge {a}-{b} links a node with itself")
        if frozenset((a, b)) in known:
            raise ValueError(f"edge {a}-{b} is given twice")
        known.add(frozenset((a, b)))
    links = _links(edges, n)
    reached = {j for found in _rounds(links, 1) for j in found}
    for j in range(2, n + 1):
        if j not in reached:
            raise ValueError(f"nodes 1 and {j} are not connected: add edges")
    return Graph(n, links)


def _rounds(links: Sequence[Sequence[NodeId]], root: NodeId) -> list[set[NodeId]]:
    """The nodes that are 0, 1, 2, … links away from `root`."""
    rounds, seen = [{root}], {root}
    while True:
        found = {j for i in rounds[-1] for j in links[i - 1]} - seen
        if not found:
            return rounds
        rounds.append(found)
        seen |= found


def tree(edges: Iterable[Edge], n: int | None = None, kind: str = "edges") -> Tree:
    """Any tree.  Unless n is given, it is as many nodes as these edges can link."""
    edges = tuple(edges)
    n = len(edges) + 1 if n is None else n
    _check_tree(edges, n)
    return Tree(n, kind, _links(edges, n))


def _links(edges: Iterable[Edge], n: int) -> tuple[tuple[NodeId, ...], ...]:
    links: list[list[NodeId]] = [[] for _ in range(n)]
    for a, b in edges:
        links[a - 1].append(b)
        links[b - 1].append(a)
    return tuple(tuple(sorted(ends)) for ends in links)


def line(n: int) -> Tree:
    """1 – 2 – … – N."""
    return tree(((i, i + 1) for i in range(1, n)), n, "line")


def kary(n: int, k: int = 2) -> Tree:
    """Numbered like a heap: the children of i are k(i−1)+2 … ki+1."""
    if k < 1:
        raise ValueError(f"a tree needs room for at least one child, not {k}")
    return tree((((i - 2) // k + 1, i) for i in range(2, n + 1)), n, "tree")


def _check_tree(edges: Iterable[Edge], n: int) -> None:
    """Grow groups of linked nodes: an edge within a group would close a cycle."""
    leader = list(range(n + 1))

    def find(j: NodeId) -> NodeId:
        while leader[j] != j:
            leader[j] = j = leader[leader[j]]
        return j

    for a, b in edges:
        _must_be_nodes((a, b), n)
        if find(a) == find(b):
            raise ValueError(f"edge {a}-{b} closes a cycle, and a tree has none")
        leader[find(a)] = find(b)
    for j in range(2, n + 1):
        if find(j) != find(1):
            raise ValueError(f"nodes 1 and {j} are not connected: not a tree of {n} nodes")


def _must_be_nodes(edge: Edge, n: int) -> None:
    a, b = edge
    for j in edge:
        if not 1 <= j <= n:
            raise ValueError(f"edge {a}-{b}: node {j} is not in 1..{n}")


_PLAIN: Mapping[str, Callable[[int], Topology]] = {
    "complete": Complete,
    "ring": Ring,
    "line": line,
    "star": Star,
}
KINDS = (*_PLAIN, "tree", "tree:K", "edges:1-2,2-3,2-4", "graph:1-2,2-3,3-1")
TREES = ("line", "star", "tree", "edges")


@lru_cache
def topology(spec: str, n: int) -> Topology:
    """The topology of n nodes that `spec` names, one of KINDS; always the same value."""
    kind, _, argument = spec.partition(":")
    if kind == "tree":
        return kary(n, _children(argument)) if argument else kary(n)
    if kind == "edges":
        return tree(_edges(argument), n)
    if kind == "graph":
        return graph(_edges(argument), n)
    if kind not in _PLAIN:
        raise ValueError(_unknown(kind))
    if argument:
        raise ValueError(f"invalid topology {spec!r}: use {kind}, without a colon")
    return _PLAIN[kind](n)


def _children(argument: str) -> int:
    if not argument.isdecimal():
        raise ValueError(f"invalid topology 'tree:{argument}': use a number, as in tree:3")
    return int(argument)


def _edges(argument: str) -> list[Edge]:
    return [_edge(part) for part in argument.split(",") if argument]


def _edge(text: str) -> Edge:
    a, _, b = text.strip().partition("-")
    if not (a.isdecimal() and b.isdecimal()):
        raise ValueError(f"invalid edge {text!r}: use two nodes, as in 1-2")
    return int(a), int(b)


def _unknown(kind: str) -> str:
    near = get_close_matches(kind, (*_PLAIN, "tree", "edges", "graph"), n=1)
    hint = f"did you mean {near[0]}? " if near else ""
    return f"unknown topology {kind!r}: {hint}use {', '.join(KINDS)}"
