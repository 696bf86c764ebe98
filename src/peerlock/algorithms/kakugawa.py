"""Kakugawa, Fujita, Yamashita and Ae, 1993: Maekawa's algorithm on a k-coterie.

    H. Kakugawa, S. Fujita, M. Yamashita, T. Ae.  Availability of k-Coterie.  IEEE
    Transactions on Computers 42(5), May 1993, 553-558; here after the survey of Velazquez.

A node enters when every member of a quorum is locked for it, and a member is locked for
one node at a time.  In a coterie any two quorums meet, so that one node is inside; in a
k-coterie two of any k+1 meet, so that at most k are, and k quorums can be found that do
not meet.  Locking, INQUIRE and RELINQUISH are Maekawa's.

    messages      3(s-1) per entry when nobody competes, and fewer than 6(s-1) when many
                  do, s the quorum's size, about √(N/k)
    delay         two messages, RELEASE and LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: a silent node stops all whose quorum it is in, but no other group
    fairness      a request waits at a member for at most ⌈N/k⌉-1 others, its group

Where this file departs from the source, and why:
  * A node has one quorum, and does not choose.  The survey lets it select an appropriate
    one, without saying how a node knows which quorums are free; to try another one it
    would have to call off its requests.  One quorum each is safe, and nobody waits for
    ever, but permits go unused: two nodes of one group wait for each other even if
    nobody else is inside.  All k are inside only if some node of every group asks.
    In one run with 12 nodes, k = 4 and a load of 0.05 a request waited half as long again
    as with Raymond's, for a sixth of the messages; when all competed, no longer.
  * The survey calls the quorums hard to construct and gives none for every N and k.  Here
    the nodes are dealt out into k groups with a coterie each: see `quorums/coterie.py`,
    also for a slip in the survey's first condition.  Another k-coterie can be given.
  * The survey has k < N.  Here k may be larger: then every node is a group of its own.
  * A node is a member of its own quorum, and a message to oneself is none, so that the
    survey's 3s to 5s messages are 3(s-1) and more; 5(s-1) is not the most, as in
    `maekawa.py`.
  * Sanders' correction, as in `maekawa.py`: the survey describes Maekawa's rules as
    published, with which four nodes of a group of seven can lock each other out.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.maekawa import Maekawa
from peerlock.core.peer import setting
from peerlock.quorums.coterie import k_coterie


@dataclass(eq=False)
class Kakugawa(Maekawa):
    permits: int = setting(2)  # k

    def __post_init__(self) -> None:
        if self.quorums is None:
            self.quorums = k_coterie(len(self.members), self.permits)
        super().__post_init__()


ENTRIES = (
    Algorithm(
        name="kakugawa",
        peer=Kakugawa,
        source="Kakugawa and others",
        year=1993,
        family="several",
        messages="3(s−1) light, < 6(s−1)",
        fifo=True,
        takes="permits",
        serves=("semaphore",),
    ),
)
