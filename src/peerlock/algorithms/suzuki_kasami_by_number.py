"""Suzuki and Kasami, 1985, as the lecture has it: the fewest entries are queued first.

    G. Mühl.  Distributed Algorithms: Mutual Exclusion.  Lecture slides, University of
    Rostock; after I. Suzuki, T. Kasami, A Distributed Mutual Exclusion Algorithm, ACM
    Transactions on Computer Systems 3(4), November 1985, 344-349.

Suzuki and Kasami's algorithm.  Where several nodes wait and are not in the token's queue
yet, the node that leaves attaches them in the order of the sequence numbers of their
requests, which count how often each has asked.  So a node that has asked less often goes
first, and the node's own number decides between equals only.

    messages      N per entry, 0 at the node that has the token; on a ring at most 2N-1
    delay         one PRIVILEGE from the leaving node to the next (on a ring or a tree
                  along the way)
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the token must not be lost
    fairness      no node waits for ever; of those that wait when a node leaves, the ones
                  that have asked less often are queued first

Where this file departs from the lecture, and why:
  * Leaving is indivisible, and the next node stays in Q until it has the token, as in
    `suzuki-kasami`.
  * It is for the lab: nodes that join a lock later count from the beginning, and would come
    before all others for as long as they have asked less often.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.suzuki_kasami import SuzukiKasami
from peerlock.core.peer import NodeId
from peerlock.core.topology import TREES


@dataclass(eq=False)
class SuzukiKasamiByNumber(SuzukiKasami):
    def queued(
        self, queue: tuple[NodeId, ...], granted: tuple[int, ...]
    ) -> tuple[NodeId, ...]:
        attached = super().queued(queue, granted)[len(queue) :]
        return queue + tuple(sorted(attached, key=lambda j: self.requested[j - 1]))


ENTRIES = (
    Algorithm(
        name="suzuki-kasami-by-number",
        peer=SuzukiKasamiByNumber,
        source="Suzuki, Kasami; Mühl",
        year=1985,
        family="token",
        messages="0 or N; on a ring ≤ 2N−1",
        takes="topology",
        default="complete",
        topologies=("complete", "ring", *TREES, "graph"),
    ),
)
