"""Raymond, 1989: the token moves along a tree, and every node knows which way it went.

    K. Raymond.  A Tree-Based Algorithm for Distributed Mutual Exclusion.
    ACM Transactions on Computer Systems 7(1), February 1989, 61-77; here after the
    survey of Velazquez.  G. Mühl's lecture calls it the lift algorithm.

The nodes form a tree and talk to their neighbours only.  HOLDER points to the neighbour
in whose direction the PRIVILEGE is.  A node asks in that direction, once, on behalf of
everyone who asked it; when the PRIVILEGE comes it goes to the first in the node's queue,
and HOLDER turns after it.

    messages      at most 2D per entry, D the tree's diameter; about 4 when all compete
    delay         the way from the leaving node to the next, D messages at most
    network       no loss, no duplicates; messages may overtake one another
    failures      none here
    fairness      first come, first served at every node; no node waits for ever

Where this file departs from the source, and why:
  * HOLDER = self is written as our own number, and is our own number from the start at
    one node; the paper lets an INITIALIZE message spread that knowledge first.
  * ASSIGN_PRIVILEGE and MAKE_REQUEST, which the paper calls after every event, are one
    method, as the second always follows the first.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, RemoteError, setting
from peerlock.core.topology import TREES, Topology, topology


@dataclass(frozen=True, slots=True)
class Request:
    pass


@dataclass(frozen=True, slots=True)
class Privilege:
    pass


REQUEST = Request()
PRIVILEGE = Privilege()


@dataclass(eq=False)
class Raymond(Peer):
    messages = (Request, Privilege)

    topology: Topology = setting()
    first_holder: NodeId = setting(1)

    # The neighbour towards the token, or ourselves.
    holder: NodeId = 0

    # True while we are in the critical section.
    using: bool = False

    # The nodes that asked us and wait, ourselves included, the first one first.
    request_q: tuple[NodeId, ...] = ()

    # True when we have asked HOLDER and the token has not come since.
    asked: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.topology is None:
            self.topology = topology("tree", len(self.members))
        self.holder = self.me
        if self.me != self.first_holder:
            self.holder = self.topology.next_hop(self.me, self.first_holder)

    def acquire(self) -> None:
        assert self.me not in self.request_q and not self.using

        self.request_q += (self.me,)
        self.assign_privilege_and_make_request()

    def release(self) -> None:
        assert self.using

        self.using = False
        self.assign_privilege_and_make_request()

    def receive_request(self, sender: NodeId, message: Request) -> None:
        if sender in self.request_q or sender not in self.topology.neighbours(self.me):
            raise RemoteError(f"{sender} asks twice, or is not a neighbour")
        self.request_q += (sender,)
        self.assign_privilege_and_make_request()

    def receive_privilege(self, sender: NodeId, message: Privilege) -> None:
        if sender != self.holder or not self.asked:
            raise RemoteError(f"{sender} sends a token that we did not ask it for")
        self.holder, self.asked = self.me, False
        self.assign_privilege_and_make_request()

    def assign_privilege_and_make_request(self) -> None:
        if self.holder == self.me and not self.using and self.request_q:
            self.holder, *rest = self.request_q
            self.request_q = tuple(rest)
            if self.holder == self.me:
                self.using = True
                self.grant()
            else:
                self.send(self.holder, PRIVILEGE)
        if self.holder != self.me and self.request_q and not self.asked:
            self.asked = True
            self.send(self.holder, REQUEST)


ENTRIES = (
    Algorithm(
        name="raymond",
        peer=Raymond,
        source="Raymond",
        year=1989,
        family="token",
        messages="≤ 2D, about log N; about 4 heavy",
        takes="topology",
        default="tree",
        topologies=TREES,
        serves=("lock",),
    ),
)
