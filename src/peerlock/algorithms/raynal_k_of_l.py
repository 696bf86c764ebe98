"""Raynal, 1991: k out of ℓ units at a time, and different k for different requests.

    M. Raynal.  A Distributed Solution to the k-out-of-M Resources Allocation Problem.
    Advances in Computing and Information, Lecture Notes in Computer Science 497, 1991,
    599-609.

There are ℓ units of one kind, and a request is for k of them at once.  A node that asks
takes it that every other node uses all ℓ, until that one tells otherwise.  A node answers
a REQUEST with a FREE of ℓ units; but if it is inside, or waits and came first, with one of
ℓ-k, where k is what it asked for, and with one of k when it leaves.  A node enters when
what the others use, as far as it knows, leaves it enough.

    messages      2(N-1) per entry when nobody competes, at most 3(N-1)
    delay         one FREE from a leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: a node that is silent counts as using all units
    fairness      of requests that cannot be inside together, those that come first by
                  (sequence number, node number) enter first

Where this file departs from the paper, and why:
  * Rebuilt from accounts of it.
  * Our own REQUEST counts as seen, as in `ricart-agrawala`.
  * A node may leave and ask again before all have answered its last request.  What it
    takes a node to use is then a sum over requests.  A node that is still inside, or
    still comes first, answers the new request with all ℓ: otherwise it would count twice,
    and free units would be refused.
  * The users of a semaphore ask for one permit each; requests for several are made in the
    lab only.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.raymond_k import plus
from peerlock.algorithms.ricart_agrawala import Request
from peerlock.core.demands import DEFAULT_PERMITS
from peerlock.core.peer import NodeId, Peer, RemoteError, setting


@dataclass(frozen=True, slots=True)
class Free:
    units: int


@dataclass(eq=False)
class RaynalKOfL(Peer):
    messages = (Request, Free)

    units: int = setting(DEFAULT_PERMITS)  # ℓ

    # The sequence number of our request, and the highest sent or received by anyone.
    our_sequence_number: int = 0
    highest_sequence_number: int = 0

    # True from our request until our grant, and from there until our release; and for how
    # many units it is.
    waiting: bool = False
    inside: bool = False
    wanted: int = 0

    # used[j - 1]: the units that j uses, as far as it has not told us otherwise.
    used: tuple[int, ...] = ()

    # owed[j - 1]: the units that j takes us to use, and will be told of when we leave.
    owed: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.used = self.owed = (0,) * len(self.members)

    def acquire(self) -> None:
        self.acquire_for(1)

    def acquire_for(self, units: int) -> None:
        assert not self.waiting
        assert not self.inside

        self.waiting, self.wanted = True, units
        self.our_sequence_number = self.highest_sequence_number + 1
        self.highest_sequence_number = self.our_sequence_number
        self.used = tuple(
            before + self.units * (j != self.me)
            for j, before in enumerate(self.used, start=1)
        )
        self.broadcast(Request(self.our_sequence_number))
        self.enter_if_enough()

    def release(self) -> None:
        assert self.inside

        self.inside, self.wanted = False, 0
        for j, units in enumerate(self.owed, start=1):
            if units:
                self.send(j, Free(units))
        self.owed = (0,) * len(self.members)

    def receive_request(self, j: NodeId, message: Request) -> None:
        number = message.sequence_number
        self.highest_sequence_number = max(self.highest_sequence_number, number)
        we_came_first = (self.our_sequence_number, self.me) < (number, j)
        ours = self.wanted if self.inside or (self.waiting and we_came_first) else 0
        before = self.owed[j - 1]
        more = max(0, ours - before)
        self.owed = plus(self.owed, j, more)
        if more < self.units:
            self.send(j, Free(self.units - more))

    def receive_free(self, j: NodeId, message: Free) -> None:
        if not 1 <= message.units <= self.used[j - 1]:
            raise RemoteError(f"{j} frees {message.units} units and uses fewer")
        self.used = plus(self.used, j, -message.units)
        if self.waiting:
            self.enter_if_enough()

    def enter_if_enough(self) -> None:
        if sum(self.used) + self.wanted <= self.units:
            self.waiting, self.inside = False, True
            self.grant()


ENTRIES = (
    Algorithm(
        name="raynal-k-of-l",
        peer=RaynalKOfL,
        source="Raynal",
        year=1991,
        family="several",
        messages="2(N−1) light, ≤ 3(N−1)",
        takes="units",
        serves=("semaphore",),
    ),
)
