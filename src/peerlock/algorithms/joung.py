"""Joung, 2002: those of one group may be inside together, those of two groups may not.

    Y.-J. Joung.  The Congenial Talking Philosophers Problem in Computer Networks.
    Distributed Computing 15(3), July 2002, 155-175; in short form DISC 1999.  His first
    algorithm, RA1.

A request is for a group: a disc to be loaded, a room's topic, a phase of a computation.
Ricart and Agrawala's algorithm, except that a REQUEST names its group, and a node replies
at once to every request of the group that it asks for or is inside with.  With a group for
each node it is mutual exclusion; with one for all readers and one for each writer it is
that of readers and writers.

    messages      2(N-1) per entry: N-1 REQUEST, N-1 REPLY
    delay         one REPLY from the last that leaves to the next group
    network       no loss, no duplicates; messages may overtake one another
    failures      none: one silent node stops every request
    fairness      requests of different groups follow the order of (sequence number, node
                  number); no node waits for ever

Where this file departs from the paper, and why:
  * The departures of `ricart-agrawala`.
  * Joung shows that with this algorithm few of a group may be inside together, if requests
    of different groups alternate in the order: a request waits for all those of other
    groups that precede it.  His second algorithm, RA2, lets those that are inside admit
    others of their group in spite of that; it is not here.
  * The users of a lock name no groups.  For a lock all readers are one group, and each
    node is one of its own for those that want it alone.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.ricart_agrawala import REPLY, Reply, RicartAgrawala
from peerlock.core.demands import DEFAULT_PERMITS
from peerlock.core.peer import NodeId, setting

READERS = 1  # their group, where a lock is shared


@dataclass(frozen=True, slots=True)
class Request:
    sequence_number: int
    group: int


@dataclass(eq=False)
class Joung(RicartAgrawala):
    messages = (Request, Reply)

    groups: int = setting(DEFAULT_PERMITS)

    # What our request is for, from our request until our release; 0: nothing.
    group: int = 0

    def acquire(self) -> None:
        self.acquire_for(-self.me)  # no other node asks for that

    def acquire_shared(self) -> None:
        self.acquire_for(READERS)

    def acquire_for(self, group: int) -> None:
        assert not self.requesting_critical_section

        self.group = group
        super().acquire()

    def ask_everyone(self) -> None:
        self.broadcast(Request(self.our_sequence_number, self.group))

    def release(self) -> None:
        super().release()
        self.group = 0

    @property
    def others_may_wait(self) -> bool:
        return self.reply_deferred != 0

    def receive_request(self, j: NodeId, message: Any) -> None:
        if message.group != self.group:
            super().receive_request(j, message)
            return
        self.send(j, REPLY)
        seen = max(self.highest_sequence_number, message.sequence_number)
        self.highest_sequence_number = seen


ENTRIES = (
    Algorithm(
        name="joung",
        peer=Joung,
        source="Joung",
        year=2002,
        family="several",
        messages="2(N−1)",
        takes="groups",
        serves=("lock", "shared lock"),
    ),
)
