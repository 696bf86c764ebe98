"""Tree quorums: a path from the root to a leaf, or another way where nodes are down.

D. Agrawal, A. El Abbadi, "An Efficient and Fault-Tolerant Solution for Distributed Mutual
Exclusion", 1991; here after the survey of Velazquez.  The nodes form a binary tree, and
a quorum of a tree is

  * its root together with a quorum of the tree below one of the root's children, or
  * without the root, quorums of the trees below all of its children, together;
  * a leaf is a quorum by itself, and nothing else will do in its place.

Any two of them meet, whichever nodes were down when either was formed.  If both have the
root, there.  If one has it and continues below a child, the other has it too or has a
quorum below every child, so also below that one, and these two meet in turn.

The tree is numbered like a heap: the children of i are 2i and 2i+1.  An even number of
nodes would leave one node with one child, which could then be spared; its child is the
third one of its neighbour instead.  Only of two nodes the first one has a single child.
"""

from __future__ import annotations

from collections.abc import Collection
from fractions import Fraction
from functools import lru_cache, reduce

from peerlock.core.bits import Nodes
from peerlock.core.peer import NodeId
from peerlock.core.topology import Tree
from peerlock.quorums.availability import Counts, added, multiplied
from peerlock.quorums.constructions import Quorum, QuorumSystem


def children(node: NodeId, n: int) -> tuple[NodeId, ...]:
    """In ascending order; none for a leaf."""
    if n % 2 == 0 and n > 2:
        if 2 * node == n:
            return ()
        if 2 * node + 2 == n:
            return (n - 2, n - 1, n)
    return tuple(j for j in (2 * node, 2 * node + 1) if j <= n)


def parent(node: NodeId, n: int) -> NodeId:
    """0 for the root."""
    return (node - 1) // 2 if node == n and n > 2 else node // 2


def way_down(node: NodeId, n: int) -> tuple[NodeId, ...]:
    """From the root to `node`."""
    way = [node]
    while up := parent(way[-1], n):
        way.append(up)
    return tuple(reversed(way))


def tree_quorum(
    node: NodeId, n: int, down: Collection[NodeId] = (), tree: Tree | None = None
) -> Quorum | None:
    """The nodes that `node` asks while `down` have failed; None if no quorum is left.

    It goes down to itself and on to a leaf.  Below a node under which some have failed it
    takes the way on which it has to ask fewest, its own one among equals.  The quorum is
    in ascending order.  The tree is the one above unless another is given, whose root is
    node 1 then.
    """
    found = _Choice(node, n, down, tree).below(1)
    return None if found is None else tuple(sorted(found))


class _Choice:
    def __init__(
        self, node: NodeId, n: int, down: Collection[NodeId], tree: Tree | None
    ) -> None:
        self.node, self.n, self.down, self.tree = node, n, frozenset(down), tree
        self.way = frozenset(self._way_down(node))
        self.troubled = {j for gone in self.down for j in self._way_down(gone)}

    def _children(self, node: NodeId) -> tuple[NodeId, ...]:
        if self.tree is None:
            return children(node, self.n)
        up = self.tree.next_hop(node, 1) if node != 1 else 0
        return tuple(j for j in self.tree.neighbours(node) if j != up)

    def _way_down(self, node: NodeId) -> tuple[NodeId, ...]:
        if self.tree is None:
            return way_down(node, self.n)
        way = [node]
        while way[-1] != 1:
            way.append(self.tree.next_hop(way[-1], 1))
        return tuple(reversed(way))

    def below(self, root: NodeId) -> Quorum | None:
        """A quorum of the tree below `root`."""
        branches = self._in_order(self._children(root))
        if root in self.down:
            return self._of_all(branches) if branches else None
        if not branches:
            return (root,)
        if root not in self.troubled:
            branches = branches[:1]
        found = [quorum for j in branches if (quorum := self.below(j)) is not None]
        return (root, *min(found, key=len)) if found else None

    def _of_all(self, branches: tuple[NodeId, ...]) -> Quorum | None:
        together: list[NodeId] = []
        for j in branches:
            quorum = self.below(j)
            if quorum is None:
                return None
            together += quorum
        return tuple(together)

    def _in_order(self, branches: tuple[NodeId, ...]) -> tuple[NodeId, ...]:
        """First the one towards our node; below it, even ones turn left, odd ones right."""
        here = tuple(j for j in branches if j in self.way)
        turn = self.node % 2
        return here + tuple(
            j for j in (*branches[turn:], *branches[:turn]) if j not in here
        )


@lru_cache
def tree_quorums(n: int) -> QuorumSystem:
    """For each node the path that it is on, as long as no node is down."""
    if n < 1:
        raise ValueError(f"a quorum system needs at least one node, not {n}")
    paths = tuple(tree_quorum(i, n) or () for i in range(1, n + 1))
    return QuorumSystem(
        "tree",
        paths,
        known_resilience=_fewest_to_break(1, n) - 1,
        known_optimal_load=_least_load(1, n),
        known_survivals=lambda: _survivals(1, n)[0],
        known_left=lambda up: _is_left(1, n, up),
    )


def _is_left(root: NodeId, n: int, up: Nodes) -> bool:
    below = [_is_left(j, n, up) for j in children(root, n)]
    if not below:
        return bool(up >> root & 1)
    return all(below) or (any(below) and bool(up >> root & 1))


def _fewest_to_break(root: NodeId, n: int) -> int:
    """How many must fail below it, at best, until no quorum is left there.

    Either the root fails and all below one child breaks, or all below every child does.
    """
    below = [_fewest_to_break(j, n) for j in children(root, n)]
    return min(1 + min(below), sum(below)) if below else 1


def _least_load(root: NodeId, n: int) -> Fraction:
    """Of the busiest node below it, if quorums are chosen optimally.

    With d children of least loads l_i, let the root be used with probability a, and child
    i with probability u_i: together d - (d-1)·a, as the root is used with one child and
    left out with all.  All are equally busy if a = u_i·l_i.
    """
    below = [_least_load(j, n) for j in children(root, n)]
    if len(below) < 2:
        return Fraction(1)
    inverse = sum((1 / load for load in below), Fraction(len(below) - 1))
    return len(below) / inverse


def _survivals(root: NodeId, n: int) -> tuple[Counts, Counts]:
    """Of the sets of nodes below it, by size: how many contain a quorum, and do not."""
    below = [_survivals(j, n) for j in children(root, n)]
    if not below:
        return (0, 1), (1, 0)
    everything = reduce(multiplied, (added(yes, no) for yes, no in below))
    all_of_them = reduce(multiplied, (yes for yes, _ in below))
    none_of_them = reduce(multiplied, (no for _, no in below))
    with_root = tuple(x - y for x, y in zip(everything, none_of_them, strict=True))
    found = added((0, *with_root), (*all_of_them, 0))
    total = multiplied(everything, (1, 1))
    return found, tuple(x - y for x, y in zip(total, found, strict=True))
