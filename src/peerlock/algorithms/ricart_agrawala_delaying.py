"""Ricart and Agrawala, 1980: a node of high priority acts late on the requests of others.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, section 6.5.

Ricart and Agrawala's algorithm with steps that are priorities.  A REQUEST raises the
highest number of a node that receives it, so that the next request of that node comes
later, whatever its step.  Here a node puts aside the REQUEST of a node with a larger step
as long as the next number of its own would still come first.  It enters with all the
numbers up to that REQUEST's, and acts on it when its own numbers would pass it, or when
it has been put aside for long enough.

    messages      2(N-1) per entry: N-1 REQUEST, N-1 REPLY
    delay         one REPLY from the leaving node to the next; a node of low priority waits
                  up to `patience` longer, also where nobody competes
    network       no loss, no duplicates; messages may overtake one another
    failures      none: one silent node stops every request
    fairness      a node that takes steps of 1 enters up to s+1 times before a waiting node
                  that takes steps of s, whether messages stay in order or not; so no
                  node starves

Where this file departs from the paper, and why:
  * The paper does not say for how long a node may delay acting.  If a node that does not
    ask again delayed for ever, the others would wait for ever, so there is a timer.
  * A node may delay acting on a REQUEST whether or not it is inside or waits itself.  To
    the algorithm this is a network that is slow for that REQUEST, and so it stays safe.
  * It is for the lab only: every entry of a node of low priority would wait for the timers
    of those that do not want the lock at all.
  * Our own REQUEST counts as seen, as in `ricart-agrawala`.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.ricart_agrawala import Request
from peerlock.algorithms.ricart_agrawala_priority import RicartAgrawalaPriority
from peerlock.core.peer import NodeId, RemoteError, setting


@dataclass(eq=False)
class RicartAgrawalaDelaying(RicartAgrawalaPriority):
    patience: float = setting(5.0)  # how long a REQUEST is put aside

    # The REQUESTs that were put aside: number and sender, the first to come first.
    delayed: tuple[tuple[int, NodeId], ...] = ()

    def acquire(self) -> None:
        assert not self.requesting_critical_section

        while self.delayed and not self.still_first(*self.delayed[0]):
            self.act_on_first()
        super().acquire()

    def receive_request(self, j: NodeId, message: Request) -> None:
        k = message.sequence_number
        if any(sender == j for _, sender in self.delayed):
            raise RemoteError(f"{j} requests again before we have replied")
        if not self.above(j) or not self.still_first(k, j):
            super().receive_request(j, message)
            return
        if not self.delayed:
            self.set_timer("act", self.patience)
        self.delayed = tuple(sorted((*self.delayed, (k, j))))

    def above(self, j: NodeId) -> bool:
        """Our priority is higher; random steps give no priority."""
        steps = self.increments
        return not isinstance(steps, int) and steps[self.me - 1] < steps[j - 1]

    def still_first(self, k: int, j: NodeId) -> bool:
        """Our next number would come before that REQUEST."""
        return (self.highest_sequence_number + self.step(), self.me) < (k, j)

    def act_on_first(self) -> None:
        (k, j), *rest = self.delayed
        self.delayed = tuple(rest)
        if not rest:
            self.cancel_timer("act")
        super().receive_request(j, Request(k))

    def timer(self, name: str) -> None:
        assert name == "act" and self.delayed

        while self.delayed:
            self.act_on_first()


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-delaying",
        peer=RicartAgrawalaDelaying,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2(N−1)",
        takes="increments",
    ),
)
