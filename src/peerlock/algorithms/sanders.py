"""Sanders, 1987: ask the request set, inform the informing set, for any choice of both.

    B. A. Sanders.  The Information Structure of Distributed Mutual Exclusion Algorithms.
    ACM Transactions on Computer Systems 5(3), August 1987, 284-299; here after the survey
    of Velazquez, 1993.

Node i enters with the permission of every node of its request set R_i, and sends a RELEASE
to every node of its informing set I_i.  A node k that gives its permission to a node of
its status set, those that will inform it, takes the critical section for occupied and lets
others wait; to any other node it gives its permission and forgets it.  Waiting requests
are ordered by timestamps, and deadlocks are dissolved as in Maekawa's algorithm, with the
correction that stands in this paper.

With I_i = {i} and R_i all nodes this is Ricart and Agrawala's algorithm, with I_i = R_i =
S_i Maekawa's, and there is much between the two.

    messages      |I-{i}| + 2|R-{i}| per entry when nobody competes
    delay         one permission from the leaving node to the next if they ask each other,
                  otherwise a RELEASE before it
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: a silent node stops all that have it in their request set
    fairness      a request is passed by the preceding ones, and by those that had their
                  permission before it came

Where this file departs from the source, and why:
  * It is Maekawa's algorithm with two sets in the place of one, so the messages have the
    names that they have there: permission is LOCKED, fail is FAILED, yield is RELINQUISH.
    CSSTAT is the node for which a member is locked.
  * The survey's conditions on the sets are not enough: I_i within R_i, and for all i and
    j a common node of I_i and I_j, or each of them in the other's R. Nobody inside, asked
    by another, knows about itself unless it is in its own I_i.  Here that is required
    where it is needed.  Without it, `sanders-uninformed` in the museum excludes no node.
  * Ricart and Agrawala compare two requests on the spot.  Here a node that wants in locks
    itself too, and gives way when it has received FAILED elsewhere: when all nodes ask at
    once, all but the first receive one from all others, (N-1)² messages besides 2N(N-1).
  * Unless sets are given, they are Maekawa's, on the quorums that are chosen.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.algorithms.maekawa import Locked, Maekawa, Release, Timestamp
from peerlock.core.bits import Nodes, bits
from peerlock.core.peer import NodeId, fixed, setting
from peerlock.quorums.information import InformationStructure, maekawa


@dataclass(eq=False)
class Sanders(Maekawa):
    information: InformationStructure = setting()

    # The nodes that inform us.
    status_set: Nodes = fixed(init=False)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.information is None:
            self.information = maekawa(self.quorums)
        self.status_set = bits(self.information.status_set(self.me))

    @property
    def quorum(self) -> tuple[NodeId, ...]:
        """R_i: the nodes that we ask."""
        return self.information.request_set(self.me)

    def release(self) -> None:
        assert self.inside

        self.requesting = self.inside = False
        self.locked_members = 0
        for member in self.information.informing_set(self.me):
            self.tell(member, Release())

    def lock_for(self, request: Timestamp) -> None:
        """We remain free if this node is not going to inform us."""
        if self.status_set >> request[1] & 1:
            super().lock_for(request)
        else:
            self.tell(request[1], Locked())

    def lock_next(self) -> None:
        super().lock_next()
        while self.locking is None and self.waiting_queue:
            super().lock_next()


@dataclass(eq=False)
class SandersUninformed(Sanders):
    """Sets that meet the two conditions in the survey, and exclude no node.

    The survey of Velazquez leaves out that a node must be in its own informing set.  Here
    each node asks all and informs none, not even itself; so no node ever waits.
    """

    def __post_init__(self) -> None:
        nobody, everybody = ((),) * len(self.members), (self.members,) * len(self.members)
        self.information = InformationStructure("uninformed", nobody, everybody)
        super().__post_init__()


ENTRIES = (
    Algorithm(
        name="sanders",
        peer=Sanders,
        source="Sanders",
        year=1987,
        family="permission",
        messages="|I−{i}| + 2|R−{i}| light",
        fifo=True,
        takes="quorums",
        sets="information",
        serves=("lock",),
    ),
    Algorithm(
        name="sanders-uninformed",
        peer=SandersUninformed,
        source="Velazquez",
        year=1993,
        family="museum",
        messages="2(N−1)",
        fifo=True,
        verdict="exclusion",
        exhibit=Exhibit(nodes=2),
        quotes=(
            Quotation(
                "velazquez-1993-survey",
                "section 5, Sanders",
                "two conditions must be satisfied: a) Ii is a subset of Ri, and b) for "
                "all i and j either there is a non-null intersection between Ii and … "
                "Ij, or both j belongs to Ri and i belongs to Rj.",
            ),
        ),
    ),
)
