"""Kakugawa, Fujita, Yamashita and Ae, 1993: Maekawa's algorithm on a k-coterie.

    H. Kakugawa, S. Fujita, M. Yamashita, T. Ae.  Availability of k-Coterie.  IEEE
    Transactions on Computers 42(5), May 1993, 553-558; here after the survey of Velazquez.

A node enters when every member of a quorum is locked for it, and a member is locked for
one node at a time.  In a coterie any two quorums meet, so that one node is inside; in a
k-coterie two of any k+1 meet, so that at most k are, and while fewer are, there is a quorum
that meets none of theirs.  A node asks one quorum, and when a member tells it that it
FAILED, another one as well; it enters with the first that it has.  Locking, INQUIRE and
RELINQUISH are Maekawa's.

    messages      3(s-1) per entry when the quorum that a node asks first is free, s the
                  quorum's size, about √(N/k); about 4(ks-1) when all compete, as all ask k
                  quorums then, and fewer than 7(ks-1) always
    delay         two messages, RELEASE and LOCKED, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes; that a node is
                  DOWN is reported after all that it has sent
    failures      nodes that stop for good, as long as they leave a quorum whole; each group
                  that is broken takes one permit with it
    fairness      at each member the order of (sequence number, node number), which every
                  request keeps at all members; no node waits for ever

Where this file departs from the source, and why:
  * According to the survey "a requesting process can enter the CS by selecting an
    appropriate quorum", and it does not say how a node knows which one that is.  Here a
    node asks the quorum of its own group, and those of other groups, one after the other,
    as long as each has a member that FAILED it.  It stays in the queues of all of them, so
    that a permit which becomes free is used wherever that is, and when it has entered it
    withdraws what it does not need any more; a member says when that is done.
  * A member sends FAILED to every request that has to wait, also to one that precedes and
    that Maekawa's member would leave without an answer: the node for which it is locked may
    be inside, and the request should try elsewhere.
  * The survey's count, "C * s, where C is a constant between 3 and 5", is for a node that
    has to ask one quorum, itself included; nor is 5 the most, as in `maekawa`.  With one
    quorum for each node an entry costs four times less when all compete, but permits that
    are free go unused.
  * The survey calls the quorums hard to construct and gives none for every N and k.  Here
    the nodes are dealt out into k groups with a coterie each: `peerlock quorums
    k-coterie` shows them.  (The survey's first condition on k-coteries is too weak.)
    Another k-coterie can be given; where it has no groups, a node may ask all quorums.
  * The survey has k < N.  Here k may be larger: then every node is a group of its own.
  * Sanders' correction, as in `maekawa`: the survey describes Maekawa's rules as
    published, with which four nodes of a group of seven can lock each other out.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.any_quorum import AnyQuorum
from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.maekawa import Failed, Inquire, Request
from peerlock.core.bits import Nodes
from peerlock.core.peer import NodeId, RemoteError, fixed, setting
from peerlock.quorums.coterie import choices, k_coterie


@dataclass(eq=False)
class Kakugawa(AnyQuorum):
    permits: int = setting(2)  # k
    choices: tuple[Nodes, ...] = fixed(init=False)  # the quorums, ours first

    def __post_init__(self) -> None:
        if self.quorums is None:
            self.quorums = k_coterie(len(self.members), self.permits)
        self.choices = choices(self.quorums, self.me)
        super().__post_init__()

    def quorum_within(self, nodes: Nodes) -> Nodes:
        return next((quorum for quorum in self.choices if not quorum & ~nodes), 0)

    @property
    def unavailable(self) -> Nodes:
        return super().unavailable | self.failed_members

    def receive_request(self, sender: NodeId, message: Request) -> None:
        """A request that has to wait is answered so, whether it precedes or not."""
        if len(self.choices) == 1:
            super().receive_request(sender, message)
            return
        request = (message.sequence_number, sender)
        if self.waits(sender):
            raise RemoteError(f"{sender} requests again before it has released")
        self.highest_sequence_number = max(self.highest_sequence_number, request[0])
        if self.locking is None:
            self.lock_for(request)
            return
        inquires = request < self.locking and not self.inquired
        self.waiting_queue = tuple(sorted((*self.waiting_queue, request)))
        self.inquired |= inquires
        self.tell(sender, Failed())
        if inquires:
            self.tell(self.locking[1], Inquire())


ENTRIES = (
    Algorithm(
        name="kakugawa",
        peer=Kakugawa,
        source="Kakugawa and others",
        year=1993,
        family="several",
        messages="3(s−1) light, about 4(ks−1) heavy",
        fifo=True,
        takes="permits",
        serves=("semaphore",),
    ),
)
