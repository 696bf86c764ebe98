"""Ricart and Agrawala's readers and writers, 1980: readers never defer readers.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, section 6.6.

Ricart and Agrawala's algorithm, except that a REQUEST says whether it is a reader's, and a
reader replies at once to every other reader, whether it waits or is inside.  Everything
else follows the order of the requests, so a reader that asks after a writer waits for it.

    messages      2(N-1) per entry: N-1 REQUEST, N-1 REPLY
    delay         one REPLY from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: one silent node stops every request
    fairness      writers, and readers among writers, follow the order of (sequence number,
                  node number); no node waits for ever

Where this file departs from the paper, and why:
  * The departures of `ricart-agrawala`.
  * The report says that writers are given priority.  They are not put before readers that
    asked earlier: that would need another order, and could keep readers out for ever.  A
    waiting writer holds up the readers that ask after it, which is what is meant.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.ricart_agrawala import REPLY, Reply, RicartAgrawala
from peerlock.core.peer import NodeId


@dataclass(frozen=True, slots=True)
class Request:
    sequence_number: int
    reader: bool


@dataclass(eq=False)
class ReadersWriters(RicartAgrawala):
    messages = (Request, Reply)

    # What our request is for, while we have one.
    reading: bool = False

    def acquire_shared(self) -> None:
        self.reading = True
        self.acquire()

    def release(self) -> None:
        super().release()
        self.reading = False

    @property
    def others_may_wait(self) -> bool:
        return self.reply_deferred != 0

    def ask_everyone(self) -> None:
        self.broadcast(Request(self.our_sequence_number, self.reading))

    def receive_request(self, j: NodeId, message: Any) -> None:
        if not (self.reading and message.reader):
            super().receive_request(j, message)
            return
        self.send(j, REPLY)
        seen = max(self.highest_sequence_number, message.sequence_number)
        self.highest_sequence_number = seen


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-readers-writers",
        peer=ReadersWriters,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2(N−1)",
        serves=("lock", "shared lock"),
    ),
)
