"""Chandy and Misra, 1984: drinking philosophers, which need several bottles at a time.

    K. M. Chandy, J. Misra.  The Drinking Philosophers Problem.  ACM Transactions on
    Programming Languages and Systems 6(4), October 1984, 632-646.

A request is for a set of resources, and two requests may be inside together if they have
none in common.  For each two nodes and each resource there is a bottle, which one of the
two has.  A node enters when it has, for each resource that it needs, the bottles that it
shares with all others.  It asks for a bottle that it lacks, and the other node sends it,
unless that one needs it too and is inside, or has the right to keep it.

Another layer settles which node has that right: the dining philosophers.  For each two
nodes there is a fork.  A node that waits for bottles is hungry as well, and asks for the
forks that it lacks.  A fork that was eaten with is dirty; it is cleaned and sent to the
node that asks for it.  A clean fork is kept until its node has eaten.  So of two nodes each
gives way to the other in turn, and there is no circle in which each waits for the next.  A
node that has the fork may keep the bottles that it needs.

    messages      by conflicts: 0 if a node has all bottles; 2 for each fork and for each
                  bottle that it lacks when nobody competes
    delay         one BOTTLE from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none; but a silent node stops only those that need its bottles, and those
                  that wait for these
    fairness      no node waits for ever: of two nodes each gives way to the other in turn

Where this file departs from the paper, and why:
  * The paper has one bottle for two neighbours.  Here every node may need every resource,
    so that there is one for each two nodes and each resource.
  * A philosopher that has drunk may still be hungry.  It eats as soon as it has all
    forks, and that takes no time.
  * It is for the lab: lock nodes acquire several names in one order, each name with an
    algorithm of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.core.bits import Nodes, all_but, bits, nodes_in
from peerlock.core.demands import DEFAULT_PERMITS
from peerlock.core.peer import NodeId, Peer, RemoteError, setting

Resource = int


@dataclass(frozen=True, slots=True)
class AskFork:
    pass


@dataclass(frozen=True, slots=True)
class Fork:
    pass


@dataclass(frozen=True, slots=True)
class Ask:
    resource: Resource


@dataclass(frozen=True, slots=True)
class Bottle:
    resource: Resource


@dataclass(eq=False)
class ChandyMisra(Peer):
    messages = (AskFork, Fork, Ask, Bottle)

    resources: int = setting(DEFAULT_PERMITS)

    # True from our request until our grant, and from there until our release; and the
    # resources that it is for, as bits.
    thirsty: bool = False
    drinking: bool = False
    wanted: int = 0

    # By resource: for which others we have the bottle, and the right to ask for it.
    bottles: tuple[Nodes, ...] = ()
    may_ask: tuple[Nodes, ...] = ()

    # Dining: whether we ask for forks; the forks that we have, those of them that are
    # dirty, and those that we have the right to ask for.
    hungry: bool = False
    forks: Nodes = 0
    dirty: Nodes = 0
    may_ask_forks: Nodes = 0

    def __post_init__(self) -> None:
        """Of two nodes the lower one has the fork, dirty, and the bottles."""
        super().__post_init__()
        above = bits(j for j in self.others() if j > self.me)
        below = all_but(self.me, len(self.members)) ^ above
        self.bottles = (above,) * self.resources
        self.may_ask = (below,) * self.resources
        self.forks = self.dirty = above
        self.may_ask_forks = below

    # The user

    def acquire(self) -> None:
        self.acquire_for(2)  # the first resource

    def acquire_for(self, wanted: int) -> None:
        assert not self.thirsty
        assert not self.drinking

        self.thirsty, self.wanted = True, wanted
        self.act()

    def release(self) -> None:
        assert self.drinking

        self.drinking, self.wanted = False, 0
        self.act()

    # Messages

    def receive_ask_fork(self, sender: NodeId, message: AskFork) -> None:
        if self.may_ask_forks >> sender & 1:
            raise RemoteError(f"{sender} asks for a fork twice")
        self.may_ask_forks |= 1 << sender
        self.act()

    def receive_fork(self, sender: NodeId, message: Fork) -> None:
        if self.forks >> sender & 1:
            raise RemoteError(f"{sender} sends a fork that we have")
        self.forks |= 1 << sender
        self.act()

    def receive_ask(self, sender: NodeId, message: Ask) -> None:
        self.must_be_one(message.resource)
        if self.may_ask[message.resource - 1] >> sender & 1:
            raise RemoteError(f"{sender} asks for a bottle twice")
        self.may_ask = self.flipped(self.may_ask, message.resource, sender)
        self.act()

    def receive_bottle(self, sender: NodeId, message: Bottle) -> None:
        self.must_be_one(message.resource)
        if self.bottles[message.resource - 1] >> sender & 1:
            raise RemoteError(f"{sender} sends a bottle that we have")
        self.bottles = self.flipped(self.bottles, message.resource, sender)
        self.act()

    def must_be_one(self, resource: Resource) -> None:
        if not 1 <= resource <= self.resources:
            raise RemoteError(f"there is no resource {resource}")

    # What is to be done, whatever has happened

    def act(self) -> None:
        self.drink_if_possible()
        self.hungry |= self.thirsty
        self.dine()
        for resource in range(1, self.resources + 1):
            self.give_bottles(resource)
            self.ask_for_bottles(resource)

    def drink_if_possible(self) -> None:
        everybody = all_but(self.me, len(self.members))
        needed = nodes_in(self.wanted)
        if self.thirsty and all(self.bottles[r - 1] == everybody for r in needed):
            self.thirsty, self.drinking = False, True
            self.grant()

    def dine(self) -> None:
        everybody = all_but(self.me, len(self.members))
        if self.hungry and not self.thirsty and self.forks == everybody:
            self.hungry, self.dirty = False, everybody  # it has eaten
        eating = self.hungry and self.forks == everybody
        for j in nodes_in(0 if eating else self.forks & self.dirty & self.may_ask_forks):
            self.forks ^= 1 << j
            self.dirty ^= 1 << j
            self.send(j, Fork())
        if self.hungry:
            for j in nodes_in(self.may_ask_forks & ~self.forks):
                self.may_ask_forks ^= 1 << j
                self.send(j, AskFork())

    def needs(self, resource: Resource) -> bool:
        return bool(self.wanted >> resource & 1)

    def give_bottles(self, resource: Resource) -> None:
        """To its asker, unless we need it and drink, or have the right to keep it."""
        kept = 0
        if self.needs(resource):
            kept = -1 if self.drinking else self.forks
        asked = self.bottles[resource - 1] & self.may_ask[resource - 1]
        for j in nodes_in(asked & ~kept):
            self.bottles = self.flipped(self.bottles, resource, j)
            self.send(j, Bottle(resource))

    def ask_for_bottles(self, resource: Resource) -> None:
        if self.thirsty and self.needs(resource):
            missing = self.may_ask[resource - 1] & ~self.bottles[resource - 1]
            for j in nodes_in(missing):
                self.may_ask = self.flipped(self.may_ask, resource, j)
                self.send(j, Ask(resource))

    def flipped(
        self, sets: tuple[Nodes, ...], resource: Resource, node: NodeId
    ) -> tuple[Nodes, ...]:
        return tuple(
            some ^ (1 << node) * (r == resource) for r, some in enumerate(sets, start=1)
        )


ENTRIES = (
    Algorithm(
        name="chandy-misra",
        peer=ChandyMisra,
        source="Chandy, Misra",
        year=1984,
        family="several",
        messages="by conflicts: 0 … 2 for each fork and bottle that is missing",
        fifo=True,
        takes="resources",
    ),
)
