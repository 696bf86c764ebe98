"""Le Lann, 1977: a token goes round and round, and the node that has it may enter.

    G. Le Lann.  Distributed Systems: Towards a Formal Approach.  Information Processing
    77, 1977, 155-160; here after G. Mühl, Distributed Algorithms: Mutual Exclusion,
    lecture slides, University of Rostock.

The nodes form a ring.  A node that gets the TOKEN enters if it wants to, and passes the
TOKEN to its successor when it has left, or at once.

    messages      1 per entry when all compete, without bound when nobody does
    delay         one TOKEN to the next node, N-1 at most to one that waits
    network       no loss, no duplicates; there is only one message to be in order
    failures      none: the token must not be lost
    fairness      in the order of the ring: at most N-1 others enter before a waiting node

Where this file departs from the source, and why:
  * A ring of one node keeps its token: a message to oneself is not a message.
  * It is for the lab: its token goes round for ever, so a lock that nobody wants would cost
    messages without end.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, RemoteError, setting


@dataclass(frozen=True, slots=True)
class Token:
    pass


TOKEN = Token()


@dataclass(eq=False)
class TokenRing(Peer):
    messages = (Token,)

    first_holder: NodeId = setting(1)

    # True from our request until our release, the critical section included.
    requesting: bool = False

    # True while the token is here, which is only while we are inside.
    token_here: bool = False

    def start(self) -> None:
        if self.me == self.first_holder:
            self.pass_on()

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.token_here:
            self.grant()

    def release(self) -> None:
        assert self.requesting and self.token_here

        self.requesting = False
        self.pass_on()

    def receive_token(self, sender: NodeId, message: Token) -> None:
        if self.token_here or sender % len(self.members) + 1 != self.me:
            raise RemoteError(f"{sender} sends a second token, or not round the ring")
        if self.requesting:
            self.token_here = True
            self.grant()
        else:
            self.pass_on()

    def pass_on(self) -> None:
        successor = self.me % len(self.members) + 1
        self.token_here = successor == self.me
        if not self.token_here:
            self.send(successor, TOKEN)


ENTRIES = (
    Algorithm(
        name="token-ring",
        peer=TokenRing,
        source="Le Lann",
        year=1977,
        family="token",
        messages="1 heavy … unbounded when idle",
        rests=False,
    ),
)
