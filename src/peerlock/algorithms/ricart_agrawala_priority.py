"""Ricart and Agrawala, 1980: a node that counts in smaller steps comes first.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, section 6.5.

Ricart and Agrawala's algorithm, in which a sequence number need not be one more than the
highest seen: any larger one will do.  A node of high priority takes small steps and a node
of low priority large ones, so of requests that were made in ignorance of each other that
of the smaller step comes first, and a node with small steps may enter several times
before it hears of a request made with a large one.  The paper's other use of larger steps
is fairness: ties favour the node with the lower number, and steps drawn at random, anew
for each request, make ties rare.

    messages      2(N-1) per entry: N-1 REQUEST, N-1 REPLY
    delay         one REPLY from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: one silent node stops every request
    fairness      entries follow the order of (sequence number, node number); where messages
                  overtake one another, a larger step lets more others enter first

Where this file departs from the paper, and why:
  * The step of a node is a setting.  Unless told otherwise, node i takes steps of i.
  * Random steps are drawn from 1 to a number that is set, by a generator whose seed is part
    of the node's state: a peer has no other source of chance, and a run can be repeated.
  * A node of high priority may, in the paper, delay acting on the REQUESTs of the others
    to stay below their numbers.  Here no node does: `ricart-agrawala-delaying` does.
  * Priority is weaker than it sounds, and the paper does not say so: a node that has heard
    of a request gets a larger number, whatever its step.  When all compete without
    pause, all have heard of all, and all enter equally often.  Where messages stay in
    order, no node enters more than twice before a waiting node, whatever the steps.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.ricart_agrawala import RicartAgrawala
from peerlock.core.peer import setting

# Of the generator of random steps, by Lehmer: seeds are below PRIME.
PRIME, FACTOR, FIRST = 2**31 - 1, 48271, 1327217885


@dataclass(eq=False)
class RicartAgrawalaPriority(RicartAgrawala):
    # By how much each node's numbers exceed the highest it has seen: 1 or more, a larger
    # step being a lower priority.  Those of all nodes, in their order; or one number, up to
    # which each node draws its steps at random.
    increments: tuple[int, ...] | int = setting()

    # Of the random steps; it is 0 where there are none.
    seed: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.increments is None:
            self.increments = self.members
        if isinstance(self.increments, int):
            assert self.increments >= 1
            self.seed = self.me * FIRST % PRIME
        else:
            assert len(self.increments) == len(self.members)
            assert min(self.increments) >= 1

    def acquire(self) -> None:
        assert not self.requesting_critical_section

        self.highest_sequence_number += self.step() - 1
        super().acquire()  # adds the last 1

    def step(self) -> int:
        if not isinstance(self.increments, int):
            return self.increments[self.me - 1]
        self.seed = self.seed * FACTOR % PRIME
        return self.seed * self.increments // PRIME + 1


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-priority",
        peer=RicartAgrawalaPriority,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2(N−1)",
        takes="increments",
        serves=("lock",),
    ),
)
