"""Who is linked with whom, as values that all peers of a cluster share.

A topology answers three questions: who are a node's neighbours, which of them is the
next on the way to another node, and to whom a node passes on what everyone is to get.
"""

from __future__ import annotations

import difflib
import re
from abc import ABC, abstractmethod
from bisect import bisect_right
from collections.abc import Iterable
from functools import lru_cache

from peerlock.core.peer import NodeId

Edge = tuple[NodeId, NodeId]


class Topology(ABC):
    kind: str
    nodes: int

    @property
    @abstractmethod
    def diameter(self) -> int:
        """The longest of the shortest ways between two nodes."""

    @abstractmethod
    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        """In ascending order."""

    @abstractmethod
    def next_hop(self, node: NodeId, to: NodeId) -> NodeId:
        """The first step of the way from `node` to another node."""

    @abstractmethod
    def onward(
        self, node: NodeId, came_from: NodeId, origin: NodeId
    ) -> tuple[NodeId, ...]:
        """Where `node` passes on what `origin` wants everyone to get.

        The origin itself asks with came_from == origin.
        """


class Complete(Topology):
    """Everybody is linked with everybody."""

    kind = "complete"

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes

    @property
    def diameter(self) -> int:
        return min(1, self.nodes - 1)

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        return tuple(j for j in range(1, self.nodes + 1) if j != node)

    def next_hop(self, node: NodeId, to: NodeId) -> NodeId:
        return to

    def onward(
        self, node: NodeId, came_from: NodeId, origin: NodeId
    ) -> tuple[NodeId, ...]:
        return self.neighbours(node) if node == origin else ()


class Ring(Topology):
    """1 → 2 → … → N → 1.  Messages go round one way; the diameter counts both."""

    kind = "ring"

    def __init__(self, nodes: int) -> None:
        self.nodes = nodes

    @property
    def diameter(self) -> int:
        return self.nodes // 2

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        before, after = (node - 2) % self.nodes + 1, node % self.nodes + 1
        return tuple(sorted({before, after} - {node}))

    def next_hop(self, node: NodeId, to: NodeId) -> NodeId:
        return node % self.nodes + 1

    def onward(
        self, node: NodeId, came_from: NodeId, origin: NodeId
    ) -> tuple[NodeId, ...]:
        successor = node % self.nodes + 1
        return () if successor == origin else (successor,)


class Tree(Topology):
    """Any tree, rooted at node 1 to find the way in it.

    A walk down from the root numbers the nodes so that every subtree is an interval:
    `to` lies below the child whose interval has its number, or else above.
    """

    def __init__(self, nodes: int, edges: Iterable[Edge], kind: str = "edges") -> None:
        self.nodes = nodes
        self.kind = kind
        self._neighbours = _adjacency(nodes, edges)
        self._parent = [0] * (nodes + 1)
        self._number = [0] * (nodes + 1)
        self._last = [0] * (nodes + 1)  # the highest number in the subtree
        self._children: list[tuple[NodeId, ...]] = [()] * (nodes + 1)
        order = self._walk()
        if len(order) < nodes:
            lost = min(set(range(1, nodes + 1)) - set(order))
            raise ValueError(f"not a tree: node {lost} cannot be reached from node 1")
        self._diameter = self._measure(order)

    def _walk(self) -> list[NodeId]:
        order: list[NodeId] = []
        stack = [1]
        while stack:
            node = stack.pop()
            self._number[node] = len(order)
            order.append(node)
            below = [j for j in self._neighbours[node] if j != self._parent[node]]
            self._children[node] = tuple(below)
            for child in below:
                self._parent[child] = node
            stack.extend(reversed(below))
        return order

    def _measure(self, order: list[NodeId]) -> int:
        """Fill in the intervals from the leaves up; the longest way bends somewhere."""
        depth = [0] * (self.nodes + 1)
        longest = 0
        for node in reversed(order):
            below = [depth[child] + 1 for child in self._children[node]]
            ends = [self._last[child] for child in self._children[node]]
            self._last[node] = max(ends, default=self._number[node])
            depth[node] = max(below, default=0)
            longest = max(longest, sum(sorted(below)[-2:]))
        return longest

    @property
    def diameter(self) -> int:
        return self._diameter

    def neighbours(self, node: NodeId) -> tuple[NodeId, ...]:
        return self._neighbours[node]

    def next_hop(self, node: NodeId, to: NodeId) -> NodeId:
        number = self._number[to]
        if not self._number[node] < number <= self._last[node]:
            return self._parent[node]
        children = self._children[node]
        k = bisect_right(children, number, key=self._number.__getitem__)
        return children[k - 1]

    def onward(
        self, node: NodeId, came_from: NodeId, origin: NodeId
    ) -> tuple[NodeId, ...]:
        return tuple(j for j in self._neighbours[node] if j != came_from)


def _adjacency(nodes: int, edges: Iterable[Edge]) -> list[tuple[NodeId, ...]]:
    found: list[set[NodeId]] = [set() for _ in range(nodes + 1)]
    for a, b in edges:
        for end in (a, b):
            if not 1 <= end <= nodes:
                raise ValueError(f"not a tree: edge {a}-{b} names no node of 1 to {nodes}")
        if a == b or b in found[a]:
            raise ValueError(f"not a tree: edge {a}-{b} is a loop, or there twice")
        found[a].add(b)
        found[b].add(a)
    count = sum(map(len, found)) // 2
    if count != nodes - 1:
        raise ValueError(f"not a tree: {nodes} nodes need {nodes - 1} edges, not {count}")
    return [tuple(sorted(ends)) for ends in found]


def line(nodes: int) -> Tree:
    return Tree(nodes, ((i, i + 1) for i in range(1, nodes)), "line")


def star(nodes: int) -> Tree:
    return Tree(nodes, ((1, i) for i in range(2, nodes + 1)), "star")


def kary(nodes: int, k: int = 2) -> Tree:
    """The children of i are k(i-1)+2 … ki+1."""
    if k < 1:
        raise ValueError(f"a tree needs at least 1 child per node, not {k}")
    return Tree(nodes, (((i - 2) // k + 1, i) for i in range(2, nodes + 1)), "tree")


KINDS = ("complete", "ring", "line", "star", "tree", "tree:K", "edges:1-2,2-3,…")


@lru_cache(maxsize=64)
def topology(spec: str, nodes: int) -> Topology:
    """From `complete`, `ring`, `line`, `star`, `tree`, `tree:3`, `edges:1-2,2-3`."""
    if nodes < 1:
        raise ValueError(f"a topology needs at least 1 node, not {nodes}")
    simple = {"complete": Complete, "ring": Ring, "line": line, "star": star, "tree": kary}
    if spec in simple:
        return simple[spec](nodes)
    if match := re.fullmatch(r"tree:(\d+)", spec):
        return kary(nodes, int(match[1]))
    if re.fullmatch(r"edges:(\d+-\d+(,\d+-\d+)*)?", spec):
        pairs = re.findall(r"(\d+)-(\d+)", spec)
        return Tree(nodes, [(int(a), int(b)) for a, b in pairs])
    kind = spec.partition(":")[0]
    near = difflib.get_close_matches(kind, [k.partition(":")[0] for k in KINDS], n=1)
    hint = f"did you mean {near[0]}? " if near and near[0] != kind else ""
    raise ValueError(f"there is no topology {spec!r}; {hint}there are {', '.join(KINDS)}")
