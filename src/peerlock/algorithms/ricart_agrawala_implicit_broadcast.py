"""Ricart and Agrawala, 1980: on a broadcast medium, silence is consent.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, sections 6.1 and 6.2.

Ricart and Agrawala's algorithm with two of their modifications at once.  The REQUEST is
broadcast.  A node that would reply at once says nothing; a node that defers its REPLY says
DEFERRED, and one broadcast REPLY at its end names all nodes whose REQUEST it has deferred.
So an entry that nobody contests takes a single message.

    messages      1 per entry when nobody competes, a broadcast counting one; when all
                  compete N+1: 1 REQUEST, N-1 DEFERRED, 1 BROADCAST_REPLY
    delay         one BROADCAST_REPLY from the leaving node to the next; an entry that
                  nobody contests takes twice the bound
    network       a broadcast medium, that need not keep broadcasts in order; every message
                  takes less than the bound; no loss, no duplicates
    failures      as those of `ricart-agrawala-implicit`
    fairness      entries follow the order of (sequence number, node number)

Where this file departs from the paper, and why:
  * The paper gives the least number of messages only.  When all compete it is N+1, which is
    more than the 2 of `ricart-agrawala-broadcast`: each deferral is a message of its own.
  * The REPLY after the critical section is broadcast with its list of recipients, as in
    section 6.2.2, because one message then answers all.
  * Silence carries no fence, so this is for the lab only.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.ricart_agrawala import Request
from peerlock.algorithms.ricart_agrawala_broadcast import (
    BroadcastReply,
    RicartAgrawalaBroadcast,
)
from peerlock.algorithms.ricart_agrawala_implicit import Deferred, RicartAgrawalaImplicit


@dataclass(eq=False)
class RicartAgrawalaImplicitBroadcast(RicartAgrawalaBroadcast, RicartAgrawalaImplicit):
    messages = (Request, Deferred, BroadcastReply)  # type: ignore[assignment]


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-implicit-broadcast",
        peer=RicartAgrawalaImplicitBroadcast,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="1 light, N+1 heavy, on a broadcast medium",
        takes="bound",
        broadcast=True,
        timely=True,
        outlasting=("silence",),
    ),
)
