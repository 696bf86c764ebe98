"""Gifford, 1979: nodes have votes, and more than half of the votes must agree.

    D. K. Gifford.  Weighted Voting for Replicated Data.  Proceedings of the 7th Symposium
    on Operating Systems Principles, 1979, 150-162; here after the survey of Velazquez,
    1993, and G. Mühl, Distributed Algorithms: Mutual Exclusion, lecture slides, University
    of Rostock.

A node enters when nodes with more than half of all votes, its own included, have confirmed
it.  With one vote each that is the majority; with all votes at one node it is a central
coordinator; between the two, nodes that are reliable or near get more votes, and fewer
nodes have to be asked.  What a node does whose confirmation two of them want is Maekawa's.
Any nodes with more than half of the votes will do, so nodes that are down are gone round.

    messages      3(K-1) per entry when nobody competes, and fewer than 6(K-1) when many do,
                  where K nodes have more than half of the votes, the asking node among
                  them; for a node that goes down while it is asked, those that are asked
                  in its place
    delay         two messages, RELEASE and LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes; that a node is
                  DOWN is reported after all that it has sent
    failures      nodes that stop for good, as long as the others have more than half of the
                  votes
    fairness      a request waits at a member for at most N-1 others that came before it,
                  and for later ones with a smaller number, however many there are

Where this file departs from the sources, and why:
  * The votes that are not given are one each, and one more for node 1 if N is even: with an
    even number of votes more than half of them is one vote more than it need be.
  * The sources say how many votes it takes, not which nodes to ask.  A node asks those with
    most votes, so that they are few, and among equals those that follow it round the ring.
    It asks others in the place of those that are down, not of those that are locked for
    another node: they have one permission to give, and the node that has most of it goes
    first.  One that is slow is waited for, unless more are asked:
    `weighted-majority-spare`.
  * Gifford tells read quorums from write quorums.  One that excludes all others is a write
    quorum, and no more is needed here.
  * The sources say nothing of two nodes that each hold a part of the votes.  Here they
    are freed as Maekawa's nodes are, with Sanders' correction.
  * The sources do not say how a node finds out that another one is down: here its host
    reports it.  A node that was down does not come back: it would have forgotten for
    which node it was locked.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.any_quorum import AnyQuorum
from peerlock.algorithms.entry import Algorithm
from peerlock.core.bits import Nodes
from peerlock.core.peer import NodeId, fixed, setting
from peerlock.quorums.constructions import QuorumSystem
from peerlock.quorums.weighted import Votes, preference, untied, weighted


@dataclass(eq=False)
class WeightedMajority(AnyQuorum):
    votes: Votes = setting()
    quorums: QuorumSystem = fixed(init=False)
    preferred: tuple[NodeId, ...] = fixed(init=False)

    def __post_init__(self) -> None:
        if self.votes is None:
            self.votes = untied(len(self.members))
        assert len(self.votes) == len(self.members), "a number of votes for every node"
        self.quorums = weighted(self.votes)
        self.preferred = preference(self.me, self.votes)
        super().__post_init__()

    def quorum_within(self, nodes: Nodes, silent: int = 0) -> Nodes:
        """One that has the votes even if any `silent` others in it do not answer."""
        found = votes = 0
        need = sum(self.votes) // 2 + 1
        for j in self.preferred:  # at first those with most votes
            if nodes >> j & 1:
                found |= 1 << j
                if j == self.me or not silent:
                    votes += self.votes[j - 1]
                else:
                    silent -= 1
                if votes >= need:
                    return found
        return 0


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
