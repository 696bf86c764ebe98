"""Thomas, 1979: more than half of the nodes must agree.

    R. H. Thomas.  A Majority Consensus Approach to Concurrency Control for Multiple Copy
    Databases.  ACM Transactions on Database Systems 4(2), June 1979, 180-209; here after
    the survey of Velazquez, 1993, and G. Mühl, Distributed Algorithms: Mutual Exclusion,
    lecture slides, University of Rostock.

A node enters when ⌊N/2⌋ + 1 nodes, itself among them, have confirmed it.  Two majorities
share a node, and no node confirms two at a time.  What a node does whose confirmation two
of them want is Maekawa's: it locks itself for one, and INQUIREs when a preceding one comes.

    messages      3⌈(N-1)/2⌉ per entry when nobody competes, and fewer than
                  6⌈(N-1)/2⌉ when many do
    delay         two messages, RELEASE and LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none here; but any majority would do, so a half less one could be down
    fairness      a request waits at a member for at most ⌊N/2⌋ others

Where this file departs from the sources, and why:
  * The sources say how many must agree, not how to ask them.  Node i asks i, i+1, … round
    the ring, so that all have equal work; if it asked everybody and entered with the
    first majority, it would have to call off the rest.
  * The sources say nothing of two nodes that each hold a part of a majority.  Here they
    are freed as Maekawa's nodes are, with Sanders' correction.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.maekawa import Maekawa
from peerlock.core.peer import fixed
from peerlock.quorums.constructions import QuorumSystem, majority


@dataclass(eq=False)
class Majority(Maekawa):
    quorums: QuorumSystem = fixed(init=False)

    def __post_init__(self) -> None:
        self.quorums = majority(len(self.members))
        super().__post_init__()


ENTRIES = (
    Algorithm(
        name="majority",
        peer=Majority,
        source="Thomas",
        year=1979,
        family="permission",
        messages="3⌈(N−1)/2⌉ light, < 6⌈(N−1)/2⌉",
        fifo=True,
        serves=("lock",),
    ),
)
