"""Suzuki and Kasami, 1985: ask everyone for the one token, which carries the queue.

    I. Suzuki, T. Kasami.  A Distributed Mutual Exclusion Algorithm.
    ACM Transactions on Computer Systems 3(4), November 1985, 344-349; here after
    appendix A of the survey of Velazquez, and for rings and trees after G. Mühl,
    Distributed Algorithms: Mutual Exclusion, lecture slides, University of Rostock.

The node that has the PRIVILEGE may enter.  One without it sends everyone its n-th REQUEST.
The PRIVILEGE carries a queue Q of nodes to serve and, in LN, the number of each node's
latest request that was granted; compared with the REQUESTs seen, in RN, that tells the node
that leaves which nodes wait and are not in Q yet.

    messages      N per entry, 0 at the node that has the token; on a ring at most 2N-1
    delay         one PRIVILEGE from the leaving node to the next (on a ring or a tree
                  along the way)
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the token must not be lost
    fairness      no node waits for ever; those that wait when a node leaves are queued
                  in the order of their numbers

Where this file departs from the sources, and why:
  * Leaving is indivisible.  The listing lets a REQUEST come between its last two lines,
    and then, as the survey remarks, that REQUEST waits until another node asks.
  * The next node stays at the head of Q until the PRIVILEGE reaches it, and takes itself
    out: on a ring or a tree the token goes through others on its way.
  * On a ring or a tree a REQUEST is passed from neighbour to neighbour, not further than
    the token if that rests, and a node that the token passes may use it.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, RemoteError, setting
from peerlock.core.topology import TREES, Complete, Topology, topology


@dataclass(frozen=True, slots=True)
class Request:
    origin: NodeId
    number: int


@dataclass(frozen=True, slots=True)
class Privilege:
    queue: tuple[NodeId, ...]
    granted: tuple[int, ...]  # LN


@dataclass(eq=False)
class SuzukiKasami(Peer):
    messages = (Request, Privilege)

    topology: Topology = setting()
    first_holder: NodeId = setting(1)

    # True from our request until our release, the critical section included.
    requesting: bool = False

    # The token while it is here.
    privilege: Privilege | None = None

    # requested[j - 1], the paper's RN[j]: the number of j's latest REQUEST we know of.
    requested: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.topology is None:
            self.topology = topology("complete", len(self.members))
        self.requested = (0,) * len(self.members)
        if self.me == self.first_holder:
            self.privilege = Privilege((), self.requested)

    # Procedure P1

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.privilege is not None:
            self.grant()
            return
        number = self.requested[self.me - 1] + 1
        self.requested = replaced(self.requested, self.me, number)
        request = Request(self.me, number)
        if isinstance(self.topology, Complete):
            self.broadcast(request)
        else:
            self.pass_on(request, self.me)

    def release(self) -> None:
        assert self.requesting and self.privilege is not None

        self.requesting = False
        number = self.requested[self.me - 1]
        granted = replaced(self.privilege.granted, self.me, number)
        self.hand_over(self.privilege.queue, granted)

    def receive_privilege(self, sender: NodeId, message: Privilege) -> None:
        if self.privilege is not None:
            raise RemoteError(f"{sender} sends a second token")
        if self.requesting:
            queue = tuple(j for j in message.queue if j != self.me)
            self.privilege = Privilege(queue, message.granted)
            self.grant()
        else:
            self.hand_over(message.queue, message.granted)

    def hand_over(self, queue: tuple[NodeId, ...], granted: tuple[int, ...]) -> None:
        """Queue all that wait, and send the token on its way to the first one."""
        queue = self.queued(queue, granted)
        self.privilege = Privilege(queue, granted)
        if queue:
            self.send(self.topology.next_hop(self.me, queue[0]), self.privilege)
            self.privilege = None

    def queued(
        self, queue: tuple[NodeId, ...], granted: tuple[int, ...]
    ) -> tuple[NodeId, ...]:
        """Q, and at its end the waiting nodes that are not in it yet."""
        return queue + tuple(
            j
            for j in self.members
            if self.requested[j - 1] == self.after(granted[j - 1]) and j not in queue
        )

    def after(self, number: int) -> int:
        return number + 1

    # Procedure P2

    def receive_request(self, sender: NodeId, message: Request) -> None:
        j, n = message.origin, message.number
        if n <= self.requested[j - 1]:
            return  # overtaken by a later one
        self.requested = replaced(self.requested, j, n)
        if self.privilege is None or self.requesting:
            self.pass_on(message, sender)
        elif n == self.privilege.granted[j - 1] + 1:
            self.hand_over(self.privilege.queue, self.privilege.granted)

    def pass_on(self, request: Request, came_from: NodeId) -> None:
        for j in self.topology.onward(self.me, came_from, request.origin):
            self.send(j, request)


def replaced(numbers: tuple[int, ...], node: NodeId, number: int) -> tuple[int, ...]:
    return (*numbers[: node - 1], number, *numbers[node:])


ENTRIES = (
    Algorithm(
        name="suzuki-kasami",
        peer=SuzukiKasami,
        source="Suzuki, Kasami",
        year=1985,
        family="token",
        messages="0 or N; on a ring ≤ 2N−1",
        takes="topology",
        default="complete",
        topologies=("complete", "ring", *TREES, "graph"),
        serves=("lock",),
    ),
)
