"""A majority and one more: ask more nodes than need be, and enter with the quickest.

    R. H. Thomas.  A Majority Consensus Approach to Concurrency Control for Multiple Copy
    Databases.  ACM Transactions on Database Systems 4(2), June 1979, 180-209; here after
    the survey of Velazquez, 1993, and G. Mühl, Distributed Algorithms: Mutual Exclusion,
    lecture slides, University of Rostock.

Any ⌊N/2⌋ + 1 nodes will do, itself among them.  A node asks s nodes more than it needs,
enters with the first majority that has answered, and withdraws what it has asked of the
rest.  So it waits for the quickest nodes, which are those that have least to do, and one
that is slow or stands still holds up no other.

    messages      3⌈(N-1)/2⌉ + 4s per entry when nobody competes, and fewer than
                  6⌈(N-1)/2⌉ + 7s when many do; a node that does not answer costs a REQUEST
                  and a WITHDRAW, once
    delay         two messages, RELEASE and LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes; that a node is
                  DOWN is reported after all that it has sent
    failures      s nodes that do not ask may stand still unnoticed; nodes
                  that stop for good, as long as a majority is left: ⌈N/2⌉-1 of them
    fairness      a request waits at a member for at most N-1 others that came before it,
                  and for later ones with a smaller number, however many there are

Where this file departs from the sources, and why:
  * The sources say how many must agree, not how to find that many that answer.  `majority`
    asks no more than it needs, and waits for each of them.
  * s is 1 unless it is given, and there are no more than N nodes to ask.
  * The rest is as in `weighted-majority-spare`, with a vote for each node.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.majority import Majority
from peerlock.algorithms.weighted_majority_spare import WeightedMajoritySpare


@dataclass(eq=False)
class MajoritySpare(Majority, WeightedMajoritySpare):
    pass


ENTRIES = (
    Algorithm(
        name="majority-spare",
        peer=MajoritySpare,
        source="after Thomas",
        year=1979,
        family="permission",
        messages="3⌈(N−1)/2⌉ + 4s light, < 6⌈(N−1)/2⌉ + 7s, s = 1",
        fifo=True,
        takes="spare",
        serves=("lock",),
    ),
)
