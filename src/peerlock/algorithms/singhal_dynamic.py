"""Singhal, 1992: which nodes a node asks depends on those that it has given way to.

    M. Singhal.  A Dynamic Information-Structure Mutual Exclusion Algorithm for Distributed
    Systems.  IEEE Transactions on Parallel and Distributed Systems 3(1), January 1992,
    121-125; here after the survey of Velazquez, 1993.

A node asks the nodes of its request set R_i, and enters when all of them have replied.  A
node that replies leaves R_i, and one that is replied to enters it: so of any two exactly
one has to ask the other, or is being replied to by it.  Requests that must wait stand in
the informing set I_i, and are replied to when their node leaves.  At the beginning the
request sets are a staircase, R_i = {1 … i}: node 1 need not ask any other, node N must ask
all.

That is Carvalho and Roucairol's algorithm, seen from the other side: R_i are the nodes
whose permission we do not hold.  They begin with all nodes in each other's sets; the
staircase makes the first entries as cheap as the later ones.

    messages      N-1 per entry on average when nobody competes; 2 for each node in R_i
    delay         one REPLY from the leaving node to the next
    network       no loss, no duplicates, and FIFO between any two nodes
    failures      none: a silent node stops all that have it in their request sets
    fairness      no node waits for ever, but one whose R_i is empty may enter again before
                  a request with a smaller number has reached it

Where this file departs from the source, and why:
  * R_i and I_i change by the rules of Carvalho and Roucairol, so what is left to say is
    how they begin.
  * Numbers are raised by REQUESTs only, and a REPLY carries none, where the source has
    Lamport's clocks.  Any order will do that all nodes agree on; this one keeps the states
    few.
  * The source gives 3(N-1)/2 messages for heavy load.  That is the mean if it is a matter
    of chance whether the one that need not ask also comes first: 2 messages between the
    two nodes if so, otherwise 4, as it gives way and must ask.  When every node asks again
    as soon as it has left, it has just given way to all that wait, and 2(N-1) are needed.
  * The source asks for messages in order.  At the sizes that were searched nothing goes
    wrong out of order either.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.carvalho_roucairol import CarvalhoRoucairol
from peerlock.algorithms.entry import Algorithm
from peerlock.core.bits import bits


@dataclass(eq=False)
class SinghalDynamic(CarvalhoRoucairol):
    def __post_init__(self) -> None:
        super().__post_init__()
        self.authorized = bits(range(self.me + 1, len(self.members) + 1))


ENTRIES = (
    Algorithm(
        name="singhal-dynamic",
        peer=SinghalDynamic,
        source="Singhal",
        year=1992,
        family="permission",
        messages="(N−1) light … 3(N−1)/2; 2(N−1) saturated",
        fifo=True,
        serves=("lock",),
    ),
)
