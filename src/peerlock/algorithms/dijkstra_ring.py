"""Dijkstra, 1974: a ring that finds back to one token from whatever state it is in.

    E. W. Dijkstra.  Self-stabilizing Systems in Spite of Distributed Control.
    Communications of the ACM 17(11), November 1974, 643-644: the solution with K states.

Each node has a value from 0 to K-1 and looks at that of its predecessor.  Node 1 has the
privilege if the two are equal, and gives it up by adding one to its own, modulo K; every
other node has it if they differ, and gives it up by taking the predecessor's.  If all are
equal, there is one privilege, and it goes round.

Whatever the values are, and whatever is under way, node 1 sooner or later has a value that
is nowhere else in the ring.  When that has gone round, all values are equal to it.

    messages      1 per entry when all compete, without bound when nobody does
    delay         one STATE to the next node, N-1 at most to one that waits
    network       no loss while it serves, FIFO, and a bound on delay below the time-out
    failures      any: from every state of memories and links, after some time one privilege
                  is left, and every waiting node enters
    fairness      in the order of the ring: at most N-1 others enter before a waiting node

Where this file departs from the paper, and why:
  * The paper's machines read their neighbour's state.  Here a node sends its state to its
    successor whenever it changes, and once more when nothing has been under way for long.
  * What is under way is state as well, so that the paper's K ≥ N is not enough.  If at most
    one STATE is on each link, then besides node 1's own there are 2N-1 values in memories
    and on links, and only node 1 makes new ones: K = 2N suffices.  From every state of two
    nodes with K from 2 to 5 and of three with K from 2 to 6 the checker has shown it: the
    ring converges if K is 2N or more, and with K = 2N-1 two privileges go round for ever.
    For more nodes there is this argument.
  * A privilege that a node does not use passes by at once.  A node that uses it takes the
    predecessor's value when it enters, and tells its successor when it leaves.
  * Whether its user waits or is inside is known to a node: that is not corrupted apart from
    the rest, or the node could wait for a release that never comes.
  * Until it has stabilised it keeps no promise: two may be inside.
  * It is for the lab: a lock must keep its promise from the beginning, and cost nothing
    while nobody wants it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, setting

AGAIN = "again"
PATIENCE = 20.0  # times N: the silence after which a node tells its state once more


@dataclass(frozen=True, slots=True)
class State:
    value: int


@dataclass(eq=False)
class DijkstraRing(Peer):
    messages = (State,)

    values: int = setting()  # K

    value: int = 0

    # True from our request until our release, and from our grant.
    requesting: bool = False
    inside: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.values is None:
            self.values = 2 * len(self.members)

    @property
    def is_first(self) -> bool:
        return self.me == 1

    # The user

    def start(self) -> None:
        if len(self.members) > 1:
            self.listen()
            if self.is_first:
                self.pass_on()

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if len(self.members) == 1:
            self.enter()

    def enter(self) -> None:
        self.inside = True
        self.grant()

    def release(self) -> None:
        assert self.inside

        self.requesting = self.inside = False
        if len(self.members) > 1:
            self.pass_on()

    # The ring

    def receive_state(self, sender: NodeId, message: State) -> None:
        """Nothing is refused: whatever comes, the ring finds back."""
        self.listen()
        if (message.value == self.value) is not self.is_first:
            return
        if not self.is_first:
            self.value = message.value
        if self.requesting and not self.inside:
            self.enter()
        elif not self.inside:
            self.pass_on()

    def pass_on(self) -> None:
        """Give the privilege up."""
        if self.is_first:
            self.value = (self.value + 1) % self.values
        self.tell_successor()

    def tell_successor(self) -> None:
        self.send(self.me % len(self.members) + 1, State(self.value))

    def listen(self) -> None:
        self.set_timer(AGAIN, PATIENCE * len(self.members))

    def timer(self, name: str) -> None:
        self.listen()
        if not self.inside:
            self.tell_successor()

    # What a fault may leave behind

    def memories(self) -> Iterator[tuple[Any, ...]]:
        """Every state that this node may be in.

        If all values in memories and on links grow by one, nothing else changes.  So it is
        enough that node 1 begins with 0.
        """
        for value in range(1 if self.is_first else self.values):
            yield value, False, False
            yield value, True, False
            yield value, True, True

    def links(self) -> Iterator[tuple[tuple[NodeId, State], ...]]:
        """All that may be under way to it: nothing, or a STATE of its predecessor."""
        predecessor = (self.me - 2) % len(self.members) + 1
        yield ()
        for value in range(self.values):
            yield ((predecessor, State(value)),)


ENTRIES = (
    Algorithm(
        name="dijkstra-ring",
        peer=DijkstraRing,
        source="Dijkstra",
        year=1974,
        family="token",
        messages="1 heavy … unbounded when idle",
        fifo=True,
        takes="values",
        rests=False,
        outlasting=(AGAIN,),
    ),
)
