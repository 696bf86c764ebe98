"""A central coordinator: ask one node, which lets one in at a time.

    The algorithm every textbook starts with; here after G. Mühl, Distributed
    Algorithms: Mutual Exclusion, lecture slides, University of Rostock.

One node is the coordinator.  A node that wants its critical section sends it a
REQUEST, enters when the PERMISSION comes, and sends a RELEASE when it leaves.  The
coordinator keeps the nodes that have to wait in the order in which their REQUESTs arrived.

    messages      3 per entry, 0 for the coordinator itself
    delay         two messages, RELEASE and PERMISSION, from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: without the coordinator no node enters
    fairness      first come, first served, as the coordinator sees it

Where this file departs from the source, and why:
  * The slides name no messages; these are named for what they do.
  * The coordinator uses the lock too, as every node here can: its own requests go
    through the same queue, and cost no message.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, RemoteError, setting


@dataclass(frozen=True, slots=True)
class Request:
    pass


@dataclass(frozen=True, slots=True)
class Permission:
    pass


@dataclass(frozen=True, slots=True)
class Release:
    pass


@dataclass(eq=False)
class Central(Peer):
    messages = (Request, Permission, Release)

    coordinator: NodeId = setting(1)

    # True from our request until our release.
    requesting: bool = False

    # True between our grant and our release.
    inside: bool = False

    # At the coordinator: the node inside, and those that wait, the first one first.
    holder: NodeId | None = None
    queue: tuple[NodeId, ...] = ()

    # The user of the lock

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.me == self.coordinator:
            self.receive_request(self.me, Request())
        else:
            self.send(self.coordinator, Request())

    def release(self) -> None:
        assert self.inside

        self.requesting = self.inside = False
        if self.me == self.coordinator:
            self.receive_release(self.me, Release())
        else:
            self.send(self.coordinator, Release())

    def receive_permission(self, sender: NodeId, message: Permission) -> None:
        if sender != self.coordinator or not self.requesting or self.inside:
            raise RemoteError(f"{sender} permits what we did not ask it for")
        self.inside = True
        self.grant()

    # The coordinator

    def receive_request(self, sender: NodeId, message: Request) -> None:
        if self.me != self.coordinator or sender in self.queue:
            raise RemoteError(f"{sender} asks us, not the coordinator, or asks twice")
        self.queue += (sender,)
        self.permit_next()

    def receive_release(self, sender: NodeId, message: Release) -> None:
        if sender != self.holder:
            raise RemoteError(f"{sender} releases what {self.holder} holds")
        self.holder = None
        self.permit_next()

    def permit_next(self) -> None:
        if self.holder is not None or not self.queue:
            return
        self.holder, *rest = self.queue
        self.queue = tuple(rest)
        if self.holder == self.me:
            self.receive_permission(self.me, Permission())
        else:
            self.send(self.holder, Permission())


ENTRIES = (
    Algorithm(
        name="central",
        peer=Central,
        source="textbook",
        year=1978,
        family="permission",
        messages="3, or 0 at the coordinator",
        serves=("lock",),
    ),
)
