"""Token by hand, 2026: one node lends a token, and the node that has it may enter.

    Write here where the algorithm was published: authors, title, journal, year.

Write here, in a few sentences, what the algorithm does.  This one: a token lies with one
node, the lender.  A node that wants its critical section sends a REQUEST to the lender, and
enters when the TOKEN comes.  When it leaves, it sends the TOKEN back.  The lender keeps
those that wait in the order in which their REQUESTs arrived.

    messages      3 per entry, 0 at the lender itself
    delay         two messages: the TOKEN comes back, and is lent again
    network       no loss, no duplicates; messages may overtake one another
    failures      none: without the lender no node enters
    fairness      first come, first served, as the lender sees it

Where this file departs from its source, and why:
  * Write here what the source says otherwise.  If there is nothing, say so.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit
from peerlock.core.peer import NodeId, Peer, RemoteError, setting

# Messages are frozen values.  A message of type Request is handled by the method
# receive_request, a TokenMissing by receive_token_missing.


@dataclass(frozen=True, slots=True)
class Request:
    pass


@dataclass(frozen=True, slots=True)
class Token:
    pass


@dataclass(eq=False)
class TokenByHand(Peer):
    """One node's half of the algorithm: inputs come in, effects go out, nothing waits.

    The effects are self.send(node, message), self.broadcast(message) to all others,
    self.grant(), self.set_timer(name, delay) and self.cancel_timer(name).  This node is
    self.me, all of them are self.members: 1, 2, …, N.
    """

    messages = (Request, Token)

    # A setting is given when the cluster is made, and never changes.  A lock node sets
    # `first_holder` to the node that opens the lock first.
    first_holder: NodeId = setting(1)

    # All other fields are the state.  They hold immutable values only: numbers, booleans,
    # strings, tuples, frozensets.  So a state can be kept and compared.
    token_here: bool = False

    # True between our grant and our release.
    inside: bool = False

    # At the lender: the waiting nodes in order, and the node that has the token.
    queue: tuple[NodeId, ...] = ()
    lent_to: NodeId | None = None

    def start(self) -> None:
        """Called once, before all else."""
        self.token_here = self.me == self.first_holder

    def acquire(self) -> None:
        """The user of this node requests the lock: a grant() must follow, now or later."""
        if self.me == self.first_holder:
            self.queue += (self.me,)
            self.lend()
        else:
            self.send(self.first_holder, Request())

    def release(self) -> None:
        """The user, once granted, has left."""
        self.inside = False
        if self.me == self.first_holder:
            self.lend()
        else:
            self.token_here = False
            self.send(self.first_holder, Token())

    def receive_request(self, sender: NodeId, message: Request) -> None:
        """A message that no correct node would send is refused before anything changes."""
        if self.me != self.first_holder or sender in self.queue:
            raise RemoteError(f"{sender} asks a node that is not the lender, or asks twice")
        self.queue += (sender,)
        self.lend()

    def receive_token(self, sender: NodeId, message: Token) -> None:
        if self.token_here or sender not in (self.first_holder, self.lent_to):
            raise RemoteError(f"{sender} sends a token that it cannot have")
        self.token_here = True
        if self.me == self.first_holder:
            self.lent_to = None
            self.lend()
        else:
            self.enter()

    def lend(self) -> None:
        """The token to the first that waits, if it is here and not in use."""
        if not self.token_here or self.inside or not self.queue:
            return
        first, *rest = self.queue
        self.queue = tuple(rest)
        if first == self.me:
            self.enter()
        else:
            self.token_here, self.lent_to = False, first
            self.send(first, Token())

    def enter(self) -> None:
        self.inside = True
        self.grant()


# Facts for programs: `peerlock.algorithms.entry` lists what else can be given here.
ENTRIES = (
    Algorithm(
        name="token-by-hand",
        peer=TokenByHand,
        source="your name",
        year=2026,
        family="token",  # or permission, several, museum
        messages="3, or 0 at the lender",
        serves=("lock",),
        exhibit=Exhibit(nodes=3, requests=2),  # the default size of `peerlock check`
    ),
)
