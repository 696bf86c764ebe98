"""Mühl's lecture on Maekawa: a node that is asked relinquishes, unless it is inside.

    G. Mühl.  Distributed Algorithms: Mutual Exclusion.  Lecture slides, University of
    Rostock; after M. Maekawa, ACM Transactions on Computer Systems 3(2), May 1985, 145-159.

Node i enters when every member of its set S_i is locked for it, as in Maekawa's algorithm.
A member that is locked and gets a preceding REQUEST INQUIREs at the node it is locked for.
That node RELINQUISHes unless it is inside; it need not know that it has failed elsewhere,
so no member ever tells it.

    messages      3(K-1) per entry when nobody competes, fewer than 6(K-1) when many do, K
                  the set's size
    delay         two messages, RELEASE and LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: a silent node stops all nodes whose set it is in
    fairness      a request waits at a member for those that precede it, and for the one
                  that is inside; as numbers grow, no node waits for ever

Where this file departs from the lecture, and why:
  * One INQUIRE is under way from a member at a time.  The lecture sends one for each
    preceding REQUEST, and takes each answer for one to the REQUEST that caused it.  Of two
    answers of one node the second locks the member for two nodes; `maekawa-lecture` in the
    museum shows it.
  * A preceding REQUEST is queued as the others are, and the first in the queue is served.
    In the lecture only the others are queued.
  * An INQUIRE from a member that is not locked for us is about a request that is over.  It
    is ignored; the lecture has it answered by RELINQUISH.
  * A member that was relinquished has to be locked for us again.
  * What the lecture calls CONFIRM and INQUIRY is LOCKED and INQUIRE here.
  * The lecture gives 5 messages for each member as the worst case.  It leaves out that a
    node which relinquished a member is sent LOCKED by it again.
  * It is for the lab: `maekawa` serves locks, and relinquishes less.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.algorithms.maekawa import (
    Inquire,
    Locked,
    Maekawa,
    Release,
    Relinquish,
    Request,
    Timestamp,
)
from peerlock.core.peer import NodeId


@dataclass(eq=False)
class MaekawaRelinquish(Maekawa):
    messages = (Request, Locked, Inquire, Relinquish, Release)  # type: ignore[assignment]

    def receive_inquire(self, sender: NodeId, message: Inquire) -> None:
        if not self.inside and self.locked_members >> sender & 1:
            self.relinquish(sender)

    def let_wait(self, request: Timestamp, locking: Timestamp) -> None:
        self.waiting_queue = tuple(sorted((*self.waiting_queue, request)))
        if request < locking and not self.inquired:
            self.inquired = True
            self.tell(locking[1], Inquire())


@dataclass(eq=False)
class MaekawaLecture(MaekawaRelinquish):
    """The lecture's rules to the letter: an INQUIRE for each REQUEST that precedes.

    The node that is asked twice relinquishes twice, and the member sends LOCKED to both
    that precede.  It is then locked for two nodes, and both may enter.
    """

    # The preceding REQUESTs whose INQUIRE is not answered yet.
    preceding: tuple[Timestamp, ...] = ()

    def let_wait(self, request: Timestamp, locking: Timestamp) -> None:
        if request < locking:
            self.preceding = tuple(sorted((*self.preceding, request)))
            self.tell(locking[1], Inquire())
        else:
            self.waiting_queue = tuple(sorted((*self.waiting_queue, request)))

    def receive_inquire(self, sender: NodeId, message: Inquire) -> None:
        if self.requesting and not self.inside:  # or our RELEASE was the answer
            self.locked_members &= ~(1 << sender)
            self.tell(sender, Relinquish())

    def receive_relinquish(self, sender: NodeId, message: Relinquish) -> None:
        if self.locking is not None and self.locked_for(sender):
            self.waiting_queue = tuple(sorted((*self.waiting_queue, self.locking)))
        self.lock_next()

    def receive_release(self, sender: NodeId, message: Release) -> None:
        self.lock_next()

    def lock_next(self) -> None:
        if self.preceding:
            request, *rest = self.preceding
            self.preceding = tuple(rest)
            self.lock_for(request)
        else:
            super().lock_next()


ENTRIES = (
    Algorithm(
        name="maekawa-relinquish",
        peer=MaekawaRelinquish,
        source="Mühl; Maekawa",
        year=1985,
        family="permission",
        messages="3(K−1) light, < 6(K−1)",
        fifo=True,
        takes="quorums",
    ),
    Algorithm(
        name="maekawa-lecture",
        peer=MaekawaLecture,
        source="Mühl's lecture",
        year=1985,
        family="museum",
        messages="3(K−1) light",
        fifo=True,
        takes="quorums",
        verdict="exclusion",
        exhibit=Exhibit(nodes=4, requests=(0, 1, 1, 1), quorums="triangle-columns"),
        quotes=(
            Quotation(
                "muehl-lecture",
                "Basic Idea of Deadlock Avoidance",
                "In this case, P_j sends an INQUIRY message to P_k",
            ),
        ),
    ),
)
