"""Ricart and Agrawala, 1980: the REQUEST goes round without pause and collects notes.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, section 6.3, its
    further modification.

Ricart and Agrawala's algorithm with its nodes on a logical ring.  A REQUEST goes from node
to node, never held up.  A node that wants the section too, and whose own request came
first, notes on it that it defers, and sends its REPLY when it has left.  Back at its
origin, the REQUEST stands for the replies of all that left no note.

    messages      N per entry when nobody competes, and a REPLY from each node that defers:
                  at most 2N-1; none if N = 1
    delay         one REPLY from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: one silent node stops every request
    fairness      entries follow the order of (sequence number, node number)

Where this file departs from the paper, and why:
  * A node that has noted its deferral may leave, and its REPLY arrive, before the REQUEST
    is back.  The paper sets Outstanding_Reply_Count by the notes when the REQUEST is
    back, which forgets such a REPLY, and the node waits for ever
    (`ricart-agrawala-ring-notes-1980` in the museum).  Here the count starts at N, for a
    REPLY from each other node and the REQUEST itself; a REPLY takes 1 from it whenever it
    comes, and the REQUEST what the notes leave over.
  * The paper leaves the circuit open: it is 1, 2, …, N and back to 1.
  * A REQUEST names its origin, which is not its sender any more.
  * Our own REQUEST counts as seen, as in `ricart-agrawala`.
  * It serves no real locks.  There members that wait ask again in their old order when
    others come or go, each as soon as the one before has asked.  A REQUEST that takes N
    messages to go round is overtaken then by one with a smaller node number.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from peerlock.algorithms.entry import Algorithm, Quotation
from peerlock.algorithms.ricart_agrawala import Reply, RicartAgrawala
from peerlock.core.peer import NodeId, RemoteError, label


@dataclass(frozen=True, slots=True)
class Request:
    sequence_number: int
    origin: NodeId
    deferred_by: tuple[NodeId, ...] = ()  # in the order of the ring


@dataclass(eq=False)
class RicartAgrawalaRingNotes(RicartAgrawala):
    messages = (Request, Reply)

    def ask_everyone(self) -> None:
        if len(self.members) > 1:
            self.outstanding_reply_count += 1  # the REQUEST itself
            self.pass_on(Request(self.our_sequence_number, self.me))

    def receive_request(self, sender: NodeId, message: Request) -> None:  # type: ignore[override]
        self.validate(sender, message)
        if message.origin == self.me:
            self.request_is_back(message)
            return
        if message.sequence_number > self.highest_sequence_number:
            self.highest_sequence_number = message.sequence_number
        ours = (self.our_sequence_number, self.me)
        we_came_first = ours < (message.sequence_number, message.origin)
        if self.requesting_critical_section and we_came_first:
            self.reply_deferred |= 1 << message.origin
            message = replace(message, deferred_by=(*message.deferred_by, self.me))
        self.pass_on(message)

    def validate(self, sender: NodeId, message: Request) -> None:
        if sender % len(self.members) + 1 != self.me:
            raise RemoteError(f"{sender} is not before us on the ring")
        if message.origin not in self.members:
            raise RemoteError(f"{label(message)} comes from nowhere")
        if self.reply_deferred >> message.origin & 1:
            raise RemoteError(f"{message.origin} requests again before we have replied")
        if message.origin == self.me and not self.awaits(message):
            raise RemoteError(f"{label(message)} is back, and we did not wait for it")

    def awaits(self, message: Request) -> bool:
        ours = message.sequence_number == self.our_sequence_number
        return ours and self.outstanding_reply_count >= self.without_note(message)

    def request_is_back(self, message: Request) -> None:
        self.outstanding_reply_count -= self.without_note(message)
        self.enter_if_all_replied()

    def without_note(self, message: Request) -> int:
        """How many have let it pass, its origin being one of them."""
        return len(self.members) - len(message.deferred_by)

    def pass_on(self, message: Request) -> None:
        self.send(self.me % len(self.members) + 1, message)


@dataclass(eq=False)
class RicartAgrawalaRingNotes1980(RicartAgrawalaRingNotes):
    """TR-869, section 6.3, to the letter: a REPLY that is faster than the REQUEST is lost.

    Outstanding_Reply_Count is set by the notes when the REQUEST is back.  A node that
    wrote one may have left by then, and its REPLY have come; the count waits for it again.
    """

    def request_is_back(self, message: Request) -> None:
        self.outstanding_reply_count = len(message.deferred_by)
        self.enter_if_all_replied()


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-ring-notes",
        peer=RicartAgrawalaRingNotes,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="N light, ≤ 2N−1",
    ),
    Algorithm(
        name="ricart-agrawala-ring-notes-1980",
        peer=RicartAgrawalaRingNotes1980,
        source="Ricart, Agrawala, TR-869",
        year=1980,
        family="museum",
        messages="N light, ≤ 2N−1",
        verdict="deadlock",
        quotes=(
            Quotation(
                "ricart-agrawala-tr869-1980",
                "6.3",
                "The Outstanding_Reply_Count is then set according to the notations "
                "when it arrives back at the initiating node.",
            ),
        ),
    ),
)
