"""Ricart and Agrawala, 1980: one REQUEST goes round, and waits where it is deferred.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, section 6.3.

Ricart and Agrawala's algorithm with its nodes on a logical ring, and no REPLY.  A REQUEST
goes from node to node; one that wants the section too, and whose own request came first,
holds it until it has left.  When a REQUEST is back at its origin, all others have let
it pass, and its node enters.

    messages      N per entry, none if N = 1
    delay         a held REQUEST continues round the ring to its origin: 1 to N-1 messages
    network       no loss, no duplicates; messages may overtake one another
    failures      none: one silent node stops every request
    fairness      entries follow the order of (sequence number, node number)

Where this file departs from the paper, and why:
  * The paper leaves the circuit open: it is 1, 2, …, N and back to 1.
  * A REQUEST names its origin, which is not its sender any more.
  * Held REQUESTs are passed on in the order of (sequence number, origin).
  * Our own REQUEST counts as seen, as in `ricart-agrawala`.
  * It serves no real locks.  There members that wait ask again in their old order when
    others come or go, each as soon as the one before has asked.  A REQUEST that takes N
    messages to go round is overtaken then by one with a smaller node number.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, RemoteError, label


@dataclass(frozen=True, slots=True, order=True)
class Request:
    sequence_number: int
    origin: NodeId


@dataclass(eq=False)
class RicartAgrawalaRing(Peer):
    messages = (Request,)

    # The highest sequence number seen in any REQUEST sent or received.
    highest_sequence_number: int = 0

    # Our own request, from when it is made until we leave, and whether it has come back.
    our_request: Request | None = None
    inside: bool = False

    # The REQUESTs that wait here until we have left, in their order.
    held: tuple[Request, ...] = ()

    # Invoking mutual exclusion for this node

    def acquire(self) -> None:
        assert self.our_request is None

        self.highest_sequence_number += 1
        self.our_request = Request(self.highest_sequence_number, self.me)
        self.pass_on(self.our_request)

    def release(self) -> None:
        assert self.inside

        self.our_request, self.inside = None, False
        held, self.held = self.held, ()
        for request in held:
            self.pass_on(request)

    # Receiving messages

    def receive_request(self, sender: NodeId, message: Request) -> None:
        self.validate(sender, message)
        if message.origin == self.me:
            self.inside = True
            self.grant()
            return
        if message.sequence_number > self.highest_sequence_number:
            self.highest_sequence_number = message.sequence_number
        if self.our_request is not None and self.our_request < message:
            self.held = tuple(sorted((*self.held, message)))
        else:
            self.pass_on(message)

    def validate(self, sender: NodeId, message: Request) -> None:
        if sender % len(self.members) + 1 != self.me:
            raise RemoteError(f"{sender} is not before us on the ring")
        if message.origin not in self.members:
            raise RemoteError(f"{label(message)} comes from nowhere")
        if message.origin == self.me and (self.inside or message != self.our_request):
            raise RemoteError(f"{label(message)} is back, and we did not wait for it")
        if any(request.origin == message.origin for request in self.held):
            raise RemoteError(f"{message.origin} requests again before we let it pass")

    def pass_on(self, request: Request) -> None:
        """State first, then pass on: a ring of one node hands it to itself."""
        successor = self.me % len(self.members) + 1
        if successor == self.me:
            self.receive(self.me, request)
        else:
            self.send(successor, request)


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-ring",
        peer=RicartAgrawalaRing,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="N",
    ),
)
