"""Hélary, Plouzeau and Raynal, 1988: flood the network, and the token finds its way back.

    J.-M. Hélary, N. Plouzeau, M. Raynal.  A Distributed Algorithm for Mutual Exclusion in
    an Arbitrary Network.  The Computer Journal 31(4), 1988, 289-295; here after the
    survey of Velazquez.

A node knows its neighbours and nothing else of the network.  Its REQUEST, which has a time
by Lamport's clock, goes to its neighbours, and from node to node to all: each passes it on
to those of its neighbours that are not yet in the set that comes with it, of nodes to
which it has been sent.  Each also remembers which one it had it from.  These are the steps
of the way back, which the TOKEN takes when the node that has it leaves, or is idle, and
finds this REQUEST to be the oldest one that is not granted yet.

    messages      0 at the node that has the token; else on a complete network N per entry,
                  on a ring N to 2N, on a line N to 2(N-1), on a tree N to N-1+D
    delay         the TOKEN's way from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none here
    fairness      of the requests known to the leaving node the oldest one first, by time
                  and node number; no node waits for ever

Where this file departs from the source, and why:
  * The TOKEN's array has the time of each node's latest granted request itself.  The
    survey enters the clock of the node that grants it, "a logical clock following Lamport's
    rules", which every message sets, the TOKEN too.  That holds as well, and takes a clock
    at each node.  Here only a REQUEST moves clocks, and the receipt of one does not count
    as an event, so that a clock is the latest time of all REQUESTs known.  The two must not
    be mixed: `helary-plouzeau-raynal-behind`.
  * The forwarding node in a REQUEST is the sender, known from the envelope.  The way back
    is not in the messages: every node has its own step of it.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit
from peerlock.algorithms.suzuki_kasami import replaced
from peerlock.core.peer import NodeId, Peer, RemoteError, setting
from peerlock.core.topology import TREES, Topology, topology


@dataclass(frozen=True, slots=True)
class Request:
    origin: NodeId
    time: int
    sent_to: tuple[NodeId, ...]  # the origin included


@dataclass(frozen=True, slots=True)
class Token:
    destination: NodeId
    granted: tuple[int, ...]


@dataclass(eq=False)
class HelaryPlouzeauRaynal(Peer):
    messages = (Request, Token)

    topology: Topology = setting()
    first_holder: NodeId = setting(1)

    # True from our request until our release, the critical section included.
    requesting: bool = False

    # granted[j - 1]: the time of j's latest request that was granted; None while the token
    # is elsewhere.
    granted: tuple[int, ...] | None = None

    # requested[j - 1]: the time of j's latest request that we know of, our own among them.
    requested: tuple[int, ...] = ()

    # way_back[j - 1]: the neighbour that told us of it; 0 before the first one.
    way_back: tuple[NodeId, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.topology is None:
            self.topology = topology("complete", len(self.members))
        self.requested = self.way_back = (0,) * len(self.members)
        if self.me == self.first_holder:
            self.granted = self.requested

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.granted is not None:
            self.grant()
            return
        time = self.tick()
        self.requested = replaced(self.requested, self.me, time)
        self.propagate(Request(self.me, time, (self.me,)))

    def tick(self) -> int:
        """Lamport's clock: later than all that we know of."""
        return max(self.requested) + 1

    def release(self) -> None:
        assert self.requesting and self.granted is not None

        self.requesting = False
        self.transmit_token(self.granted)

    def receive_request(self, sender: NodeId, message: Request) -> None:
        k = message.origin
        if k == self.me:
            raise RemoteError(f"{sender} returns our own request")
        self.must_be_neighbour(sender)
        if message.time <= self.requested[k - 1]:
            return  # known, or overtaken by a later one
        self.requested = replaced(self.requested, k, message.time)
        self.way_back = replaced(self.way_back, k, sender)
        self.propagate(message)
        if self.granted is not None and not self.requesting:
            self.transmit_token(self.granted)

    def propagate(self, request: Request) -> None:
        neighbours = self.topology.neighbours(self.me)
        onward = [j for j in neighbours if j not in request.sent_to]
        sent_to = tuple(sorted((*request.sent_to, *onward)))
        for j in onward:
            self.send(j, Request(request.origin, request.time, sent_to))

    def transmit_token(self, granted: tuple[int, ...]) -> None:
        waiting = [
            (self.requested[j - 1], j)
            for j in self.members
            if self.requested[j - 1] > granted[j - 1]
        ]
        if waiting:
            time, oldest = min(waiting)
            self.send_token(oldest, replaced(granted, oldest, time))

    def send_token(self, k: NodeId, granted: tuple[int, ...]) -> None:
        self.granted = None
        self.send(self.way_back[k - 1], Token(k, granted))

    def receive_token(self, sender: NodeId, message: Token) -> None:
        k = message.destination
        known = message.granted[k - 1] == self.requested[k - 1] > 0
        if not known or self.granted is not None or (k == self.me and not self.requesting):
            raise RemoteError(f"{sender} sends a token that we know of no request for")
        self.must_be_neighbour(sender)
        if k == self.me:
            self.granted = message.granted
            self.grant()
        else:
            self.send(self.way_back[k - 1], message)

    def must_be_neighbour(self, sender: NodeId) -> None:
        if sender not in self.topology.neighbours(self.me):
            raise RemoteError(f"{sender} is not a neighbour of this node")


@dataclass(eq=False)
class HelaryPlouzeauRaynalBehind(HelaryPlouzeauRaynal):
    """A grant is entered by a clock that the TOKEN does not set.

    Made by breaking one of Lamport's rules: only a REQUEST sets clocks.  The node that
    grants a request enters its own clock in the TOKEN's array.  The clock of the
    node that gets the TOKEN can be behind that, and stay behind: its next request is then
    no later than its latest grant, and everyone takes it for granted.
    """

    clock: int = 0

    def tick(self) -> int:
        self.clock += 1
        return self.clock

    def receive_request(self, sender: NodeId, message: Request) -> None:
        self.clock = max(self.clock, message.time) + 1
        super().receive_request(sender, message)

    def send_token(self, k: NodeId, granted: tuple[int, ...]) -> None:
        super().send_token(k, replaced(granted, k, self.clock))

    def receive_token(self, sender: NodeId, message: Token) -> None:
        if message.destination == self.me:
            self.granted = message.granted
            self.grant()
        else:
            self.send(self.way_back[message.destination - 1], message)


ENTRIES = (
    Algorithm(
        name="helary-plouzeau-raynal",
        peer=HelaryPlouzeauRaynal,
        source="Hélary, Plouzeau, Raynal",
        year=1988,
        family="token",
        messages="complete N; ring N … 2N; line N … 2(N−1); tree N … N−1+D",
        takes="topology",
        default="complete",
        topologies=("complete", "ring", *TREES, "graph"),
        serves=("lock",),
    ),
    Algorithm(
        name="helary-plouzeau-raynal-behind",
        peer=HelaryPlouzeauRaynalBehind,
        source="made from Hélary and others",
        year=1988,
        family="museum",
        messages="N on a complete network",
        verdict="deadlock",
        exhibit=Exhibit(requests=(1, 2, 1)),
    ),
)
