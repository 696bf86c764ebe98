"""Srimani and Reddy, 1992: Suzuki and Kasami's algorithm with k tokens.

    P. K. Srimani, R. L. Reddy.  Another Distributed Algorithm for Multiple Entries to a
    Critical Section.  Information Processing Letters 41, January 1992, 51-57; here after
    the survey of Velazquez.

There are k tokens, each with its own queue Q and its own knowledge LN of the requests that
were granted.  A request goes to everyone, and every node with a token to spare may answer,
so that up to k tokens come; what is not needed stays idle where it came, or goes to the
next node of its queue.  PLN is what a node has learned from all tokens it has seen, and
keeps it from sending a token to a request that another one has served.

    messages      0 with an idle token at hand, else N-1 REQUESTs and, as a rule, 1 to k
                  PRIVILEGEs
    delay         one PRIVILEGE from a leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: no token must be lost
    fairness      no node waits for ever

Where this file departs from the source, and why:
  * Sequence numbers are not bounded here: `srimani-reddy-bounded` has the rounds of L
    requests, with their acknowledgements.
  * A token that is idle has an empty queue: a node that could be in it is served at once.
  * A request counts as granted when its node enters, not when it leaves, so that another
    token which comes by in the meantime knows of it.
  * The survey's N+k-1 is not the most: a token sent for nothing may be sent on for nothing.
    Here some schedules of three nodes and two tokens take 5 messages per entry.
  * The tokens start at the nodes 1 to k, more than one each if there are fewer nodes.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.suzuki_kasami import Privilege, Request, replaced
from peerlock.core.peer import NodeId, Peer, RemoteError, setting

Numbers = tuple[int, ...]


@dataclass(eq=False)
class SrimaniReddy(Peer):
    messages = (Request, Privilege)

    permits: int = setting(2)  # k

    # True from our request until our grant, and from there until our release.
    waiting: bool = False
    inside: bool = False

    # RN: the number of each node's latest REQUEST that we know of.
    requested: Numbers = ()

    # PLN: the number of each node's latest request that some token knew to be granted.
    granted: Numbers = ()

    # The queue that the token has with which we are inside.
    queue: tuple[NodeId, ...] = ()

    # How many idle tokens are here.  What they know, `granted` knows.
    idle: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        self.requested = self.granted = (0,) * len(self.members)
        per_node, more = divmod(self.permits, len(self.members))
        self.idle = per_node + (self.me <= more)

    def acquire(self) -> None:
        assert not self.waiting
        assert not self.inside

        if self.idle:
            self.idle -= 1
            self.queue = ()
            self.enter()
            return
        self.waiting = True
        number = self.requested[self.me - 1] + 1
        self.requested = replaced(self.requested, self.me, number)
        self.broadcast(Request(self.me, number))

    def enter(self) -> None:
        self.waiting, self.inside = False, True
        self.granted = replaced(self.granted, self.me, self.requested[self.me - 1])
        self.grant()

    def release(self) -> None:
        assert self.inside

        self.inside = False
        queue, self.queue = self.queue, ()
        self.pass_on(queue)

    def receive_privilege(self, sender: NodeId, message: Privilege) -> None:
        self.granted = tuple(map(max, self.granted, message.granted))
        queue = tuple(j for j in message.queue if self.waits(j))
        if self.waiting:
            self.queue = tuple(j for j in queue if j != self.me)
            self.enter()
        else:
            self.pass_on(queue)

    def receive_request(self, sender: NodeId, message: Request) -> None:
        if message.origin != sender:
            raise RemoteError(f"{sender} asks for {message.origin}")
        if message.number > self.requested[sender - 1]:
            self.requested = replaced(self.requested, sender, message.number)
            if self.idle and self.waits(sender):
                self.idle -= 1
                self.pass_on(())

    def pass_on(self, queue: tuple[NodeId, ...]) -> None:
        """Queue all that wait, and send the token to the first; or keep it."""
        queue += tuple(j for j in self.members if self.waits(j) and j not in queue)
        if queue:
            first, *rest = queue
            self.send(first, Privilege(tuple(rest), self.granted))
        else:
            self.idle += 1

    def waits(self, node: NodeId) -> bool:
        """It has asked for an entry that no token we saw knew to be granted."""
        return self.requested[node - 1] > self.granted[node - 1]


ENTRIES = (
    Algorithm(
        name="srimani-reddy",
        peer=SrimaniReddy,
        source="Srimani, Reddy",
        year=1992,
        family="several",
        messages="0 or N … N+k−1, seldom more",
        takes="permits",
        serves=("semaphore",),
    ),
)
