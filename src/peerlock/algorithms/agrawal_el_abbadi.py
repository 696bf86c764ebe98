"""Agrawal and El Abbadi, 1991: ask a path of a tree, and go round those that are down.

    D. Agrawal, A. El Abbadi.  An Efficient and Fault-Tolerant Solution for Distributed
    Mutual Exclusion.  ACM Transactions on Computer Systems 9(1), February 1991, 1-20; here
    after the survey of Velazquez, 1993.

The nodes form a binary tree, and a node enters with the PERMISSION of all nodes on a path
from the root to a leaf.  A node on the path that is down is replaced by two paths, from
each of its children to a leaf; any two such tree quorums meet.  A node gives its
PERMISSION to one REQUEST at a time, the earliest that it knows of.  If an earlier one
comes, it INQUIREs, and the node that has the PERMISSION YIELDs it, unless it has all that
it needs.

    messages      3(K-1) per entry when nobody competes, up to 6(K-1), K the quorum's size:
                  at most ⌊log₂ N⌋+1 when no node is down, and ⌊N/2⌋+1 otherwise
    delay         two messages, RELINQUISH and PERMISSION, from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes; that a node is
                  DOWN is reported after all that it has sent
    failures      nodes that stop for good, as long as a tree quorum is left: any
                  ⌊log₂(N+1)⌋-1 of them, and with luck all but those of one path
    fairness      entries that compete follow the order of (sequence number, node number) at
                  each member, so that no node waits for ever

Where this file departs from the survey, and why:
  * The survey lets a node determine a quorum and does not say which.  Here it is on the
    path itself, so that it asks one less; where some are down, it goes where it has to
    ask fewest.  `peerlock quorums tree` shows the quorums, also of trees that are not
    complete.
  * According to the survey no quorum can be formed if a leaf on the path has failed.  That
    is so below this leaf's parent only if its other child has failed too: as long as some
    node further up has another child, the path continues there.
  * The survey does not say how a node finds out that another one is down: here its host
    reports it.  A node that waits for that one's PERMISSION asks the members of another
    quorum as well, with the number that its REQUEST has.  It still waits for all that it
    has asked and that are not down, as a REQUEST cannot be withdrawn; so it may ask more
    nodes than it needs.  If no quorum is left it waits for ever.
  * A PERMISSION carries the highest number that its sender has seen.  The root gets all
    REQUESTs, but a leaf few; if it knew of no others, its own would have low numbers, and
    come first again and again.
  * A node that was down does not come back: it would have forgotten which node had its
    PERMISSION.
  * There is no FAILED as Maekawa has it, as the survey has none: a node that gets an
    INQUIRE and is not inside YIELDs at once.  A REQUEST that precedes costs six messages at
    a member then, as with Maekawa's rules.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.maekawa import Inquire, Request, Timestamp
from peerlock.core.bits import Nodes, bits, nodes_in
from peerlock.core.peer import Down, NodeId, Peer, RemoteError
from peerlock.quorums.constructions import Quorum
from peerlock.quorums.tree_quorums import tree_quorum


@dataclass(frozen=True, slots=True)
class Permission:
    sequence_number: int  # the highest that its sender has seen


@dataclass(frozen=True, slots=True)
class Yield:
    pass


@dataclass(frozen=True, slots=True)
class Relinquish:
    pass


@dataclass(eq=False)
class AgrawalElAbbadi(Peer):
    messages = (Request, Permission, Inquire, Yield, Relinquish, Down)

    # The nodes that are reported down.
    lost: Nodes = 0

    # The highest sequence number sent or received here.
    highest_sequence_number: int = 0

    # Our own request: its number, the nodes that we have asked, and those of them whose
    # PERMISSION we have.  In the end there may be no quorum to ask, and then we wait for
    # ever.
    requesting: bool = False
    inside: bool = False
    no_quorum: bool = False
    our_sequence_number: int = 0
    asked: Nodes = 0
    permitted_by: Nodes = 0

    # As a member of others' quorums: the request that has our PERMISSION, those that wait
    # in the order of precedence, and whether an INQUIRE is still unanswered.
    permitted: Timestamp | None = None
    queue: tuple[Timestamp, ...] = ()
    inquired: bool = False

    # The user of the lock

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        self.highest_sequence_number += 1
        self.our_sequence_number = self.highest_sequence_number
        self.ask_a_quorum()

    def ask_a_quorum(self) -> None:
        """Those of it that we have not asked yet."""
        quorum = self.quorum_without(tuple(nodes_in(self.lost)))
        self.no_quorum = quorum is None
        fresh = bits(quorum or ()) & ~self.asked
        self.asked |= fresh
        for member in nodes_in(fresh):
            self.tell(member, Request(self.our_sequence_number))

    def quorum_without(self, down: Quorum) -> Quorum | None:
        return tree_quorum(self.me, len(self.members), down)

    def receive_permission(self, sender: NodeId, message: Permission) -> None:
        if not (self.asked & ~self.permitted_by) >> sender & 1:
            raise RemoteError(f"{sender} permits what we did not request")
        self.observe(message.sequence_number)
        self.permitted_by |= 1 << sender
        self.enter_if_all_permit()

    def enter_if_all_permit(self) -> None:
        if self.permitted_by == self.asked and not self.inside and not self.no_quorum:
            self.inside = True
            self.grant()

    def receive_inquire(self, sender: NodeId, message: Inquire) -> None:
        if self.inside or not self.permitted_by >> sender & 1:
            return  # answered by the RELINQUISH, or about a request that is over
        self.permitted_by ^= 1 << sender
        self.tell(sender, Yield())

    def release(self) -> None:
        assert self.inside

        members = self.asked & ~self.lost
        self.requesting = self.inside = False
        self.asked = self.permitted_by = 0
        for member in nodes_in(members):
            self.tell(member, Relinquish())

    # A member of others' quorums

    def receive_request(self, sender: NodeId, message: Request) -> None:
        request = (message.sequence_number, sender)
        if sender in (node for _, node in self.queue):
            raise RemoteError(f"{sender} requests again before it has relinquished")
        self.observe(message.sequence_number)
        self.queue = tuple(sorted((*self.queue, request)))
        if self.permitted is None:
            self.permit_first()
        elif request < self.permitted and not self.inquired:
            self.inquired = True
            self.tell(self.permitted[1], Inquire())

    def receive_yield(self, sender: NodeId, message: Yield) -> None:
        if not self.permits(sender) or not self.inquired:
            raise RemoteError(f"{sender} yields without being asked to")
        assert self.permitted is not None
        self.queue = tuple(sorted((*self.queue, self.permitted)))
        self.permit_first()

    def receive_relinquish(self, sender: NodeId, message: Relinquish) -> None:
        if not self.permits(sender):
            raise RemoteError(f"{sender} relinquishes what we have not permitted")
        self.permit_first()

    def permit_first(self) -> None:
        self.permitted, self.inquired = None, False
        if self.queue:
            self.permitted, *rest = self.queue
            self.queue = tuple(rest)
            self.tell(self.permitted[1], Permission(self.highest_sequence_number))

    def permits(self, node: NodeId) -> bool:
        return self.permitted is not None and self.permitted[1] == node

    def observe(self, sequence_number: int) -> None:
        self.highest_sequence_number = max(self.highest_sequence_number, sequence_number)

    # Failures

    def receive_down(self, node: NodeId, message: Down) -> None:
        """A PERMISSION that it has given us stays good: nobody else will get one from it.

        Any two quorums meet, so those without that node meet ours elsewhere.
        """
        if self.lost >> node & 1:
            raise RemoteError(f"{node} is reported down twice")
        self.lost |= 1 << node
        self.forget_requests_of(node)
        if (self.asked & ~self.permitted_by) >> node & 1:
            self.asked ^= 1 << node
            self.ask_a_quorum()
            self.enter_if_all_permit()

    def forget_requests_of(self, node: NodeId) -> None:
        self.queue = tuple(request for request in self.queue if request[1] != node)
        if self.permits(node):
            self.permit_first()

    def tell(self, node: NodeId, message: Any) -> None:
        """State first, then tell: a message to ourselves is handled in place."""
        if node == self.me:
            self.receive(node, message)
        else:
            self.send(node, message)


ENTRIES = (
    Algorithm(
        name="agrawal-el-abbadi",
        peer=AgrawalElAbbadi,
        source="Agrawal, El Abbadi",
        year=1991,
        family="permission",
        messages="3(K−1) light, ≤ 6(K−1), K ≤ log₂ N + 1; N/2 + 1 with failures",
        fifo=True,
        serves=("lock",),
    ),
)
