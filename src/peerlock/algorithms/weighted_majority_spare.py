"""Votes to spare: ask more nodes than need be, and enter with the first that are enough.

    D. K. Gifford.  Weighted Voting for Replicated Data.  Proceedings of the 7th Symposium
    on Operating Systems Principles, 1979, 150-162; here after the survey of Velazquez,
    1993, and G. Mühl, Distributed Algorithms: Mutual Exclusion, lecture slides, University
    of Rostock.

A node asks enough nodes that more than half of the votes are left if any s of the others
that it asks do not answer.  It enters with the first majority that has answered, and
withdraws what it has asked of the rest.  So it waits for the quickest nodes, which are
those that have least to do, and a node that is slow or stands still holds up no other.  A
node from which an answer is still due is not asked again before it has answered.

    messages      3(K-1) + 4m per entry when nobody competes, where K nodes have more than
                  half of the votes and m more are asked, which are s if all have one vote;
                  fewer than 6(K-1) + 7m when many compete; a node that does not answer
                  costs a REQUEST and a WITHDRAW, once
    delay         two messages, RELEASE and LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes; that a node is
                  DOWN is reported after all that it has sent
    failures      s nodes that do not ask may stand still unnoticed; nodes
                  that stop for good, as long as the others have more than half of the votes
    fairness      a request waits at a member for at most N-1 others that came before it,
                  and for later ones with a smaller number, however many there are

Where this file departs from the sources, and why:
  * The sources say how many votes it takes, and not how to find that many that answer.
    To ask more nodes after a time-out would cost nothing as long as all answer, but the
    time must be known; here there is no time in it, and it serves locks.
  * s is 1 unless it is given.  Where votes do not allow s nodes to be silent, as when one
    node has all of them, it is as many as they allow.
  * A node that stands still while it asks, or is inside, keeps the members that are locked
    for it, until it continues or is reported DOWN.
  * The rest is as in `weighted-majority`.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.weighted_majority import WeightedMajority
from peerlock.core.peer import setting


@dataclass(eq=False)
class WeightedMajoritySpare(WeightedMajority):
    spare: int = setting(1)  # s

    def ask_a_quorum(self) -> None:
        """One that is left if any `spare` others are silent, or as many as votes allow."""
        if self.inside:
            return
        everybody = (2 << len(self.members)) - 2
        available = everybody & ~self.unavailable
        for spare in range(self.spare, -1, -1):
            if enough := self.quorum_within(available, spare):
                if not self.quorum_within(available & self.asked, spare):
                    self.ask(enough & ~self.asked)
                return


ENTRIES = (
    Algorithm(
        name="weighted-majority-spare",
        peer=WeightedMajoritySpare,
        source="after Gifford",
        year=1979,
        family="permission",
        messages="3(K−1) + 4m light, < 6(K−1) + 7m, K and m by the votes",
        fifo=True,
        takes="votes",
        serves=("lock",),
    ),
)
