"""Gifford, 1979: nodes have votes, and more than half of the votes must agree.

    D. K. Gifford.  Weighted Voting for Replicated Data.  Proceedings of the 7th Symposium
    on Operating Systems Principles, 1979, 150-162; here after the survey of Velazquez,
    1993, and G. Mühl, Distributed Algorithms: Mutual Exclusion, lecture slides, University
    of Rostock.

A node enters when nodes with more than half of all votes, its own included, have confirmed
it.  With one vote each that is the majority; with all votes at one node it is a central
coordinator; between the two, nodes that are reliable or near get more votes, and fewer
nodes have to be asked.  What a node does whose confirmation two of them want is Maekawa's.

    messages      3(K-1) per entry when nobody competes, and fewer than 6(K-1) when many do,
                  where K nodes have more than half of the votes, the asking node among them
    delay         two messages, RELEASE and LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none here; but any nodes with more than half of the votes would do
    fairness      a request waits at a member for at most N-1 others

Where this file departs from the sources, and why:
  * The votes that are not given are one each, and one more for node 1 if N is even: with an
    even number of votes more than half of them is one vote more than it need be.
  * The sources say how many votes it takes, not whom to ask.  A node asks those with most
    votes, so that they are few, and among equals those that follow it round the ring.
  * Gifford tells read quorums from write quorums.  One that excludes everybody is a write
    quorum, and no more is needed here.
  * The sources say nothing of two nodes that each hold a part of the votes.  Here they
    are freed as Maekawa's nodes are, with Sanders' correction.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.maekawa import Maekawa
from peerlock.core.peer import fixed, setting
from peerlock.quorums.constructions import QuorumSystem
from peerlock.quorums.weighted import Votes, untied, weighted


@dataclass(eq=False)
class WeightedMajority(Maekawa):
    votes: Votes = setting()
    quorums: QuorumSystem = fixed(init=False)

    def __post_init__(self) -> None:
        if self.votes is None:
            self.votes = untied(len(self.members))
        assert len(self.votes) == len(self.members), "a number of votes for every node"
        self.quorums = weighted(self.votes)
        super().__post_init__()


ENTRIES = (
    Algorithm(
        name="weighted-majority",
        peer=WeightedMajority,
        source="Gifford",
        year=1979,
        family="permission",
        messages="3(K−1) light, < 6(K−1), K by the votes",
        fifo=True,
        takes="votes",
        serves=("lock",),
    ),
)
