"""Raymond, 1989, as the lecture starts it: an election makes the tree and places the token.

    K. Raymond.  A Tree-Based Algorithm for Distributed Mutual Exclusion.
    ACM Transactions on Computer Systems 7(1), February 1989, 61-77.
    G. Mühl.  Distributed Algorithms: Mutual Exclusion.  Lecture slides, University of
    Rostock: the lift algorithm, "Starting state".

The network is any connected graph; no tree is given, and no node has the token.  Every node
starts an echo wave: EXPLORER to its neighbours, which pass it on and remember where it came
from; ECHO goes back when all neighbours have answered.  A node takes part in the highest
wave that it has heard of, so only the wave of the highest node returns.  That node has won:
it has the token, and the ways back form a spanning tree that is directed towards it.  From
then on it is Raymond's algorithm on that tree.

    messages      at most 2D per entry, D the diameter of the tree; before the first entry,
                  with E links, at most 2E for each of the N waves and N-1 INITIALIZE
    delay         the way from the leaving node to the next, D messages at most
    network       no loss, no duplicates; messages may overtake one another
    failures      none
    fairness      first come, first served at every node; no node waits for ever

Where this file departs from the lecture, and why:
  * The lecture says that an election and a spanning tree "can be achieved simultaneously
    by using the echo algorithm", and no more.  Waves that give way to higher ones are the
    usual way to do so.
  * When its wave is back, the winner sends INITIALIZE down the tree, as Raymond's own paper
    does.  Without it a node cannot know that its wave is the last, and would send its
    REQUEST along a link that is not in the tree.
  * It is for the lab: a lock node knows all members and a first holder, and has `raymond`.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.raymond import Privilege, Raymond, Request
from peerlock.core.bits import Nodes, bits, nodes_in
from peerlock.core.peer import NodeId, RemoteError
from peerlock.core.topology import TREES, topology


@dataclass(frozen=True, slots=True)
class Explorer:
    wave: NodeId  # the node that started it


@dataclass(frozen=True, slots=True)
class Echo:
    wave: NodeId


@dataclass(frozen=True, slots=True)
class Initialize:
    """The election is over."""


@dataclass(eq=False)
class RaymondEcho(Raymond):
    messages = (Explorer, Echo, Initialize, Request, Privilege)  # type: ignore[assignment]

    # The highest wave that we have heard of; HOLDER is where it came from.
    wave: NodeId = 0

    # The neighbours that have not answered that wave, and those that answered with ECHO.
    awaited: Nodes = 0
    children: Nodes = 0

    # True when the election is over, as far as we know.
    initialized: bool = False

    def __post_init__(self) -> None:
        if self.topology is None:
            self.topology = topology("ring", len(self.members))
        super().__post_init__()
        self.holder = self.me

    def start(self) -> None:
        self.join(self.me, self.me)

    # The election

    def join(self, wave: NodeId, came_from: NodeId) -> None:
        self.wave, self.holder, self.children = wave, came_from, 0
        self.awaited = bits(self.topology.neighbours(self.me)) & ~(1 << came_from)
        for j in nodes_in(self.awaited):
            self.send(j, Explorer(wave))
        self.echo_if_all_answered()

    def receive_explorer(self, j: NodeId, message: Explorer) -> None:
        if j not in self.topology.neighbours(self.me):
            raise RemoteError(f"{j} is not a neighbour")
        if message.wave > self.wave:
            self.join(message.wave, j)
        elif message.wave == self.wave:
            self.answered(j)

    def receive_echo(self, j: NodeId, message: Echo) -> None:
        if message.wave > self.wave:
            raise RemoteError(f"{j} echoes a wave that we have not sent")
        if message.wave == self.wave:
            self.children |= 1 << j
            self.answered(j)

    def answered(self, j: NodeId) -> None:
        if not self.awaited >> j & 1:
            raise RemoteError(f"{j} answers a wave twice")
        self.awaited ^= 1 << j
        self.echo_if_all_answered()

    def echo_if_all_answered(self) -> None:
        if self.awaited:
            return
        if self.holder == self.me:
            self.initialize()
        else:
            self.send(self.holder, Echo(self.wave))

    def initialize(self) -> None:
        self.initialized = True
        for j in nodes_in(self.children):
            self.send(j, Initialize())
        self.assign_privilege_and_make_request()

    def receive_initialize(self, j: NodeId, message: Initialize) -> None:
        if self.initialized or j != self.holder:
            raise RemoteError(f"{j} ends an election in which it has not won")
        self.initialize()

    # Raymond's algorithm, when the election is over

    def assign_privilege_and_make_request(self) -> None:
        if self.initialized:
            super().assign_privilege_and_make_request()


ENTRIES = (
    Algorithm(
        name="raymond-echo",
        peer=RaymondEcho,
        source="Raymond; Mühl",
        year=1989,
        family="token",
        messages="≤ 2D, after an election",
        takes="topology",
        default="ring",
        topologies=("complete", "ring", *TREES, "graph"),
    ),
)
