"""Agrawal and El Abbadi, 1991, on any tree: ask a path, and go round nodes that are down.

    D. Agrawal, A. El Abbadi.  An Efficient and Fault-Tolerant Solution for Distributed
    Mutual Exclusion.  ACM Transactions on Computer Systems 9(1), February 1991, 1-20; here
    after the survey of Velazquez, 1993: it "can be generalized to arbitrary trees".

Agrawal and El Abbadi's algorithm on a tree that is given, with node 1 as its root.  A
quorum of a tree is its root and a quorum of the tree below one of its children; or, without
the root, quorums of the trees below all of its children.  Any two of them meet, by
induction: of two that both have the root, there; and of two of which one lacks it, below
the child that the other continues with.

    messages      3(K-1) per entry when nobody competes, up to 6(K-1), K the quorum's size:
                  at most the tree's height + 1 when no node is down, and the number of
                  leaves otherwise
    delay         two messages, RELINQUISH and PERMISSION, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes; that a node is
                  DOWN is reported after all that it has sent
    failures      nodes that stop for good, as long as a tree quorum is left
    fairness      entries that compete follow the order of (sequence number, node number) at
                  each member, so that no node waits for ever

Where this file departs from the survey, and why:
  * The survey has the one sentence.  That a node which is down is replaced by paths from
    all of its children, and not from two, is what makes any two quorums meet.
  * A wider tree makes quorums smaller and failures dearer: without its root a star needs
    all of its leaves.
  * The other departures of `agrawal-el-abbadi`.
  * It is for the lab: `agrawal-el-abbadi` serves locks, on the binary tree.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

from peerlock.algorithms.agrawal_el_abbadi import AgrawalElAbbadi
from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import setting
from peerlock.core.topology import TREES, Topology, Tree, topology
from peerlock.quorums.constructions import Quorum
from peerlock.quorums.tree_quorums import tree_quorum


@dataclass(eq=False)
class AgrawalElAbbadiTrees(AgrawalElAbbadi):
    topology: Topology = setting()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.topology is None:
            self.topology = topology("tree:3", len(self.members))

    def quorum_without(self, down: Quorum) -> Quorum | None:
        return tree_quorum(self.me, len(self.members), down, cast(Tree, self.topology))


ENTRIES = (
    Algorithm(
        name="agrawal-el-abbadi-trees",
        peer=AgrawalElAbbadiTrees,
        source="Agrawal, El Abbadi",
        year=1991,
        family="permission",
        messages="3(K−1) light, ≤ 6(K−1), K ≤ height + 1; leaves with failures",
        fifo=True,
        takes="topology",
        default="tree:3",
        topologies=TREES,
    ),
)
