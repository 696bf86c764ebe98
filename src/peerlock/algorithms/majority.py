"""Thomas, 1979: more than half of the nodes must agree.

    R. H. Thomas.  A Majority Consensus Approach to Concurrency Control for Multiple Copy
    Databases.  ACM Transactions on Database Systems 4(2), June 1979, 180-209; here after
    the survey of Velazquez, 1993, and G. Mühl, Distributed Algorithms: Mutual Exclusion,
    lecture slides, University of Rostock.

A node enters when ⌊N/2⌋ + 1 nodes, itself among them, have confirmed it.  Two majorities
share a node, and no node confirms two at a time.  What a node does whose confirmation two
of them want is Maekawa's: it locks itself for one, and INQUIREs when a preceding one comes.
Any majority will do, so nodes that are down are gone round.

    messages      3⌈(N-1)/2⌉ per entry when nobody competes, and fewer than 6⌈(N-1)/2⌉ when
                  many do; one REQUEST more for a node that goes down while it is asked
    delay         two messages, RELEASE and LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes; that a node is
                  DOWN is reported after all that it has sent
    failures      nodes that stop for good, as long as a majority is left: ⌈N/2⌉-1 of them
    fairness      a request waits at a member for at most N/2 others that came before it,
                  and for later ones with a smaller number, however many there are

Where this file departs from the sources, and why:
  * The sources say how many must agree, not how to ask them.  Node i asks i, i+1, … round
    the ring, so that all have equal work, and passes over those that are down.  One that
    is slow is waited for; `majority-spare` asks more nodes, and takes the quickest.
  * The rest is as in `weighted-majority`, with a vote for each node.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.weighted_majority import WeightedMajority
from peerlock.core.peer import fixed
from peerlock.quorums.weighted import Votes


@dataclass(eq=False)
class Majority(WeightedMajority):
    votes: Votes = fixed(init=False)

    def __post_init__(self) -> None:
        self.votes = (1,) * len(self.members)
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
