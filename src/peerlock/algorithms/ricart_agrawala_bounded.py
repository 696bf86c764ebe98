"""Ricart and Agrawala, 1980: sequence numbers that never grow beyond a modulus.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, section 6.4.

Ricart and Agrawala's algorithm with sequence numbers stored as residues.  A number is one
more than one that was seen before, and no request is granted before a smaller one, so of N
outstanding numbers no two are more than N-1 apart.  Two residues modulo M ≥ 2N-1 then
tell which number is larger: the larger residue, unless they are N or more apart, for then
one of them has wrapped round.

    messages      2(N-1) per entry: N-1 REQUEST, N-1 REPLY
    delay         one REPLY from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: one silent node stops every request
    fairness      entries follow the order of (sequence number, node number)

Where this file departs from the paper, and why:
  * The paper shows that outstanding numbers are close to each other.  A node also compares
    a REQUEST with the highest number it has seen, whose request may be over; in all
    schedules searched, of two and three nodes, these are no more than N-1 apart either.
  * The paper's conclusion asks for M ≥ 2N.  2N-1, as in its section 6.4, is enough.
  * To increase the smaller residue by M, if they are N or more apart, is to turn the
    result of the comparison round, which is done here instead.
  * Our own REQUEST counts as seen, as in `ricart-agrawala`.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit
from peerlock.algorithms.ricart_agrawala import REPLY, Request, RicartAgrawala
from peerlock.core.peer import NodeId, RemoteError, setting


@dataclass(eq=False)
class RicartAgrawalaBounded(RicartAgrawala):
    # Sequence numbers are 0 … modulus - 1; 2N-1 unless told otherwise.
    modulus: int = setting()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.modulus is None:
            self.modulus = self.least_modulus()
        assert self.modulus >= self.least_modulus()

    def least_modulus(self) -> int:
        return 2 * len(self.members) - 1

    def acquire(self) -> None:
        """The number that comes after the last one is 0."""
        if self.highest_sequence_number == self.modulus - 1:
            self.highest_sequence_number = -1
        super().acquire()

    def receive_request(self, j: NodeId, message: Request) -> None:
        k, ours = message.sequence_number, self.our_sequence_number
        if not 0 <= k < self.modulus:
            raise RemoteError(f"{j} requests with {k}, which is not below {self.modulus}")
        we_came_first = self.later(k, ours) or (k == ours and j > self.me)
        if self.requesting_critical_section and we_came_first:
            if self.reply_deferred >> j & 1:
                raise RemoteError(f"{j} requests again before we have replied")
            self.reply_deferred |= 1 << j
        else:
            self.send(j, REPLY)
        if self.later(k, self.highest_sequence_number):
            self.highest_sequence_number = k

    def later(self, k: int, other: int) -> bool:
        """Is k the residue of the larger number?"""
        wrapped = abs(k - other) >= len(self.members)
        return (k > other) != wrapped


@dataclass(eq=False)
class RicartAgrawalaTooSmall(RicartAgrawalaBounded):
    """TR-869, section 6.4, with a modulus of 2N-2, one less than it asks for.

    Made to see whether the bound is needed.  Of two numbers that are N-1 apart, the larger
    one looks smaller once it has wrapped round.  With two nodes, one that is inside gives
    way to a later request; with three, each defers the REQUEST of the next in a circle.
    """

    def least_modulus(self) -> int:
        return 2 * len(self.members) - 2


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-bounded",
        peer=RicartAgrawalaBounded,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2(N−1)",
        takes="modulus",
        serves=("lock",),
    ),
    Algorithm(
        name="ricart-agrawala-too-small",
        peer=RicartAgrawalaTooSmall,
        source="made from Ricart, Agrawala",
        year=1980,
        family="museum",
        messages="2(N−1)",
        verdict="exclusion",
        exhibit=Exhibit(nodes=2),
    ),
)
