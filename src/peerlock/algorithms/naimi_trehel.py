"""Naimi and Trehel, 1987: a tree of guesses that every request turns towards itself.

    M. Naimi, M. Trehel.  How to Detect a Failure and Regenerate the Token in the log(n)
    Distributed Algorithm for Mutual Exclusion.  Second International Workshop on
    Distributed Algorithms, Lecture Notes in Computer Science 312, 1987, 155-166; here
    after the survey of Velazquez, without the part on failures.

LAST is where a node believes the last requester to be.  A REQUEST is passed on along
LAST until it reaches the node that asked last, the root, and every node on the way then
believes in the new requester.  The root sends its TOKEN if it has no use for it, or
remembers the requester as NEXT, to which the TOKEN goes when it leaves.

    messages      about log N per entry on average, 0 at the node that has the token
    delay         one TOKEN from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none here
    fairness      first come, first served, in the order in which requests reach a root

Where this file departs from the source, and why:
  * LAST = i at the root i itself, and NEXT = 0 when there is none, as in the survey;
    whether the token is here is a state of its own.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, RemoteError, fixed, setting


@dataclass(frozen=True, slots=True)
class Request:
    origin: NodeId


@dataclass(frozen=True, slots=True)
class Token:
    pass


TOKEN = Token()


@dataclass(eq=False)
class NaimiTrehel(Peer):
    messages = (Request, Token)

    first_holder: NodeId = setting(1)

    # Every request of ours: it says which node asks, and nothing else.
    our_request: Request = fixed(init=False)

    # Where our next request goes; ourselves when no node has asked after us.
    last: NodeId = 0

    # The node that gets the token after us; 0 when none does.
    next: NodeId = 0

    # True from our request until our release, the critical section included.
    requesting: bool = False

    token_here: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        self.our_request = Request(self.me)
        self.last = self.first_holder
        self.token_here = self.me == self.first_holder

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.token_here:
            self.grant()
        else:
            self.send(self.last, self.our_request)
            self.last = self.me

    def release(self) -> None:
        assert self.requesting and self.token_here

        self.requesting = False
        if self.next:
            self.send(self.next, TOKEN)
            self.token_here, self.next = False, 0

    def receive_request(self, sender: NodeId, message: Request) -> None:
        origin = message.origin
        if origin == self.me:
            raise RemoteError(f"{sender} returns our own request")
        if self.last != self.me:
            self.send(self.last, message)
        elif self.requesting:
            self.next = origin
        else:
            self.token_here = False
            self.send(origin, TOKEN)
        self.last = origin

    def receive_token(self, sender: NodeId, message: Token) -> None:
        if not self.requesting or self.token_here:
            raise RemoteError(f"{sender} sends a token that we did not ask for")
        self.token_here = True
        self.grant()


ENTRIES = (
    Algorithm(
        name="naimi-trehel",
        peer=NaimiTrehel,
        source="Naimi, Trehel",
        year=1987,
        family="token",
        messages="about log N; 0 at the holder",
        serves=("lock",),
    ),
)
