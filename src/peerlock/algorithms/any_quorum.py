"""Maekawa's rules where any of several quorums will do: ask one, and more if need be.

Shared by the algorithms whose nodes choose: `majority`, `weighted-majority`, both with
spare votes, and `kakugawa`.

  * A node asks the members of one quorum.  When that one cannot be had any more, it asks
    those of another one as well, with the number that its request has.
  * It enters as soon as all members of some quorum are locked for it.  Members that are
    locked for it besides are released at once.
  * What it has asked of other members it WITHDRAWs.  Until a member says that this is
    WITHDRAWN, it is *late*: what else it says is about a request that is over, and it
    counts as one that cannot be had.
  * A node that is down, as its host reports after all that it has sent, cannot be had.
    A lock that it has given stays good: it will not give it to another node, and quorums
    without it meet ours elsewhere.  Its own requests are forgotten.
"""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

from peerlock.algorithms.maekawa import (
    Failed,
    Inquire,
    Locked,
    Maekawa,
    Release,
    Request,
)
from peerlock.core.bits import Nodes, nodes_in
from peerlock.core.peer import Down, NodeId, RemoteError


@dataclass(frozen=True, slots=True)
class Withdraw:
    pass


@dataclass(frozen=True, slots=True)
class Withdrawn:
    pass


@dataclass(eq=False)
class AnyQuorum(Maekawa):
    messages = (*Maekawa.messages, Withdraw, Withdrawn, Down)  # type: ignore[assignment]

    # Our own request: its number, and the nodes that we have asked.
    our_sequence_number: int = 0
    asked: Nodes = 0

    # Members from which we have withdrawn a request, and that have not said so yet.
    late: Nodes = 0

    # The nodes that are reported down.
    lost: Nodes = 0

    @abstractmethod
    def quorum_within(self, nodes: Nodes) -> Nodes:
        """The first of our choices that has no other members; none if there is none."""

    @property
    def unavailable(self) -> Nodes:
        """The nodes that we do not count on."""
        return (self.late | self.lost) & ~self.locked_members

    # The user of the lock

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        self.highest_sequence_number += 1
        self.our_sequence_number = self.highest_sequence_number
        self.ask_a_quorum()

    def ask_a_quorum(self) -> None:
        """Unless one that we have asked can still be had, or none at all can."""
        if self.inside or self.quorum_within(self.asked & ~self.unavailable):
            return
        everybody = (2 << len(self.members)) - 2
        self.ask(self.quorum_within(everybody & ~self.unavailable) & ~self.asked)

    def ask(self, fresh: Nodes) -> None:
        self.asked |= fresh
        request = Request(self.our_sequence_number)
        for member in nodes_in(fresh & ~(1 << self.me)):
            self.send(member, request)
        if fresh >> self.me & 1:  # answers itself at once, so when all else is done
            self.receive_request(self.me, request)

    def receive_locked(self, sender: NodeId, message: Locked) -> None:
        if self.late >> sender & 1:
            return
        if not self.awaits(sender):
            raise RemoteError(f"{sender} is locked for what we did not request")
        self.locked_members |= 1 << sender
        self.failed_members &= ~(1 << sender)
        quorum = self.quorum_within(self.locked_members)
        if quorum:
            self.enter_with(quorum)
        else:
            self.ask_a_quorum()

    def enter_with(self, quorum: Nodes) -> None:
        spare = self.locked_members & ~quorum & ~self.lost
        waiting = self.asked & ~self.locked_members
        self.late |= waiting
        self.locked_members = quorum
        self.asked = self.failed_members = self.inquiring_members = 0
        self.our_sequence_number = 0
        self.inside = True
        for member in nodes_in(spare):
            self.tell(member, Release())
        for member in nodes_in(waiting):
            self.tell(member, Withdraw())
        self.grant()

    def release(self) -> None:
        assert self.inside

        members = self.locked_members & ~self.lost
        self.requesting = self.inside = False
        self.locked_members = 0
        for member in nodes_in(members):
            self.tell(member, Release())

    def receive_failed(self, sender: NodeId, message: Failed) -> None:
        if self.late >> sender & 1:
            return
        super().receive_failed(sender, message)
        self.ask_a_quorum()

    def receive_inquire(self, sender: NodeId, message: Inquire) -> None:
        super().receive_inquire(sender, message)
        if self.requesting:
            self.ask_a_quorum()

    def receive_withdrawn(self, sender: NodeId, message: Withdrawn) -> None:
        if not self.late >> sender & 1:
            raise RemoteError(f"{sender} speaks of a request that we did not withdraw")
        self.late ^= 1 << sender
        if self.requesting:
            self.ask_a_quorum()

    def awaits(self, member: NodeId) -> bool:
        return bool((self.asked & ~self.locked_members) >> member & 1)

    # A member of others' quorums

    def receive_withdraw(self, sender: NodeId, message: Withdraw) -> None:
        if not self.locked_for(sender) and not self.waits(sender):
            raise RemoteError(f"{sender} withdraws what it did not request")
        self.forget(sender)
        self.tell(sender, Withdrawn())

    def waits(self, node: NodeId) -> bool:
        return any(request[1] == node for request in self.waiting_queue)

    def forget(self, node: NodeId) -> None:
        self.waiting_queue = tuple(r for r in self.waiting_queue if r[1] != node)
        if self.locked_for(node):
            self.lock_next()

    # Failures

    def receive_down(self, node: NodeId, message: Down) -> None:
        if self.lost >> node & 1:
            raise RemoteError(f"{node} is reported down twice")
        self.lost |= 1 << node
        self.late &= ~self.lost
        self.inquiring_members &= ~self.lost
        self.failed_members &= ~self.lost
        self.asked &= ~self.lost | self.locked_members
        self.forget(node)
        if self.requesting:
            self.ask_a_quorum()
