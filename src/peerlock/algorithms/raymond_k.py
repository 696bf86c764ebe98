"""Raymond, 1989: Ricart and Agrawala's algorithm for k at a time.

    K. Raymond.  A Distributed Algorithm for Multiple Entries to a Critical Section.
    Information Processing Letters 30, February 1989, 189-193; here after the survey of
    Velazquez.

A node asks everyone and enters when N-k others have replied, for then at most k-1 can be
inside.  The other k-1 REPLYs may come while it is inside, or long after it has left; a
REPLY says how many requests it answers, and each node counts what each other still owes.

    messages      at most 2(N-1) per entry: N-1 REQUEST and as many REPLYs or fewer
    delay         one REPLY from a leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      up to k-1 silent nodes do not stop the others
    fairness      requests that compete enter by (sequence number, node number)

Where this file departs from the source, and why:
  * Our own REQUEST counts as seen, as in `ricart-agrawala`.
  * Being inside is a state of its own, as in `carvalho-roucairol`: with k > 1 a node may
    be inside and receive a request that precedes its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.ricart_agrawala import Request
from peerlock.core.peer import NodeId, Peer, RemoteError, setting


@dataclass(frozen=True, slots=True)
class Reply:
    count: int


@dataclass(eq=False)
class RaymondK(Peer):
    messages = (Request, Reply)

    permits: int = setting(2)  # k

    # The sequence number of our request, and the highest sent or received by anyone.
    our_sequence_number: int = 0
    highest_sequence_number: int = 0

    # True from our request until our grant, and from there until our release.
    waiting: bool = False
    inside: bool = False

    # owed[j - 1]: how many of our requests j has not answered yet.
    owed: tuple[int, ...] = ()

    # deferred[j - 1]: how many of j's requests we have not answered yet.
    deferred: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.owed = self.deferred = (0,) * len(self.members)

    def acquire(self) -> None:
        assert not self.waiting
        assert not self.inside

        self.waiting = True
        self.our_sequence_number = self.highest_sequence_number + 1
        self.highest_sequence_number = self.our_sequence_number
        self.owed = tuple(n + (j != self.me) for j, n in enumerate(self.owed, start=1))
        self.broadcast(Request(self.our_sequence_number))
        self.enter_if_enough_replied()

    def release(self) -> None:
        assert self.inside

        self.inside = False
        for j, count in enumerate(self.deferred, start=1):
            if count:
                self.send(j, Reply(count))
        self.deferred = (0,) * len(self.members)

    def receive_request(self, j: NodeId, message: Request) -> None:
        k, ours = message.sequence_number, self.our_sequence_number
        self.highest_sequence_number = max(self.highest_sequence_number, k)
        we_came_first = k > ours or (k == ours and j > self.me)
        if self.inside or (self.waiting and we_came_first):
            self.deferred = plus(self.deferred, j, 1)
        else:
            self.send(j, Reply(1))

    def receive_reply(self, j: NodeId, message: Reply) -> None:
        if not 1 <= message.count <= self.owed[j - 1]:
            raise RemoteError(f"{j} answers {message.count} requests and owes fewer")
        self.owed = plus(self.owed, j, -message.count)
        if self.waiting:
            self.enter_if_enough_replied()

    def enter_if_enough_replied(self) -> None:
        """Those that owe us nothing are not inside, or will be only after us."""
        if self.owed.count(0) - 1 >= len(self.members) - self.permits:
            self.waiting, self.inside = False, True
            self.grant()


def plus(counts: tuple[int, ...], node: NodeId, change: int) -> tuple[int, ...]:
    return (*counts[: node - 1], counts[node - 1] + change, *counts[node:])


ENTRIES = (
    Algorithm(
        name="raymond-k",
        peer=RaymondK,
        source="Raymond",
        year=1989,
        family="several",
        messages="≤ 2(N−1)",
        takes="permits",
        serves=("semaphore",),
    ),
)
