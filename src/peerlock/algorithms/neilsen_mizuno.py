"""Neilsen and Mizuno, 1991: a tree whose edges point to the node that asked last.

    M. L. Neilsen, M. Mizuno.  A DAG-Based Algorithm for Distributed Mutual Exclusion.
    11th International Conference on Distributed Computing Systems, May 1991, 354-360;
    here after the survey of Velazquez.

The nodes form a tree.  LAST points to the neighbour in whose direction the node that
asked last is; that node itself has none, it is the sink.  A REQUEST travels along LAST to
the sink, and every node on its way turns LAST to where it came from: now its origin is
the sink.  The old sink remembers the origin as NEXT, and sends it the PRIVILEGE when it
leaves, or at once if it is idle.  So the queue is there, but no node keeps it: one finds
it by following NEXT from the node that has the PRIVILEGE.

    messages      at most D+1 per entry, D the tree's diameter: 3 on a star, N on a line;
                  0 at the node that has the token
    delay         one PRIVILEGE from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the token must not be lost
    fairness      first come, first served, in the order in which requests reach a sink

Where this file departs from the source, and why:
  * Only a REQUEST keeps to the tree; the PRIVILEGE goes straight to NEXT.  The survey has
    nodes speak with their neighbours only, but then it would cost up to 2D messages.
  * The my_id of REQUEST(my_id, origin) is the sender, known from the envelope.
  * HOLDING is true inside as well, and whether we want the token is a state of its own.
  * LAST points to the first holder from the start.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, RemoteError, setting
from peerlock.core.topology import TREES, Topology, topology


@dataclass(frozen=True, slots=True)
class Request:
    origin: NodeId


@dataclass(frozen=True, slots=True)
class Privilege:
    pass


PRIVILEGE = Privilege()


@dataclass(eq=False)
class NeilsenMizuno(Peer):
    messages = (Request, Privilege)

    topology: Topology = setting()
    first_holder: NodeId = setting(1)

    # The neighbour towards the node that asked last; 0 when that is us.
    last: NodeId = 0

    # The node that gets the token after us; 0 when none does.
    next: NodeId = 0

    # True while the token is here, used or not.
    holding: bool = False

    # True from our request until our release, the critical section included.
    requesting: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.topology is None:
            self.topology = topology("star", len(self.members))
        self.holding = self.me == self.first_holder
        if not self.holding:
            self.last = self.topology.next_hop(self.me, self.first_holder)

    @property
    def others_may_wait(self) -> bool:
        return self.next != 0

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.holding:
            self.grant()
        else:
            self.send(self.last, Request(self.me))
            self.last = 0

    def release(self) -> None:
        assert self.requesting and self.holding

        self.requesting = False
        if self.next:
            self.pass_to(self.next)
            self.next = 0

    def receive_request(self, sender: NodeId, message: Request) -> None:
        if sender == self.last or sender not in self.topology.neighbours(self.me):
            raise RemoteError(f"{sender} asks in our direction, and ought to know better")
        if self.last:
            self.send(self.last, message)
        elif self.requesting:
            self.next = message.origin
        else:
            self.pass_to(message.origin)
        self.last = sender

    def receive_privilege(self, sender: NodeId, message: Privilege) -> None:
        if not self.requesting or self.holding:
            raise RemoteError(f"{sender} sends a token that we did not ask for")
        self.holding = True
        self.grant()

    def pass_to(self, node: NodeId) -> None:
        self.holding = False
        self.send(node, PRIVILEGE)


ENTRIES = (
    Algorithm(
        name="neilsen-mizuno",
        peer=NeilsenMizuno,
        source="Neilsen, Mizuno",
        year=1991,
        family="token",
        messages="≤ D+1: star 3, line N",
        takes="topology",
        default="star",
        topologies=TREES,
        serves=("lock",),
    ),
)
