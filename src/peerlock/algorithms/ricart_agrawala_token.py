"""Ricart and Agrawala, 1983: ask everyone for the token, which is sought round a circle.

    G. Ricart, A. K. Agrawala.  Author Response to "On Mutual Exclusion in Computer
    Networks" by Carvalho and Roucairol.  Communications of the ACM 26(2), February 1983,
    147-148; here after the survey of Velazquez.

The node that has the TOKEN may enter.  A node without it sends everyone its n-th REQUEST.
The TOKEN carries, in token_data, the number of each node's latest request that was granted.
The node that leaves looks round the circle of node numbers, from its own successor on, for
the first node whose latest REQUEST, in request_data, is not among these, and sends it the
TOKEN; if there is none, the TOKEN stays.

    messages      N per entry, 0 at the node that has the token
    delay         one TOKEN from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the token must not be lost
    fairness      in the order of the circle, not that of the requests: once its REQUEST
                  is known, a node waits for at most N-1 others

Where this file departs from the source, and why:
  * An idle holder that gets a REQUEST looks for a node that waits, as one that leaves does.
    The survey has it send the token to the sender of the REQUEST, and says of requests that
    were granted long ago only that they are taken care of, by keeping the latest number.
    How that is to be done matters: `ricart-agrawala-token-unchecked`.
  * The my_id of REQUEST(my_sequence_number, my_id) is the sender, known from the
    envelope.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.suzuki_kasami import replaced
from peerlock.core.peer import NodeId, Peer, RemoteError, setting


@dataclass(frozen=True, slots=True)
class Request:
    sequence_number: int


@dataclass(frozen=True, slots=True)
class Token:
    token_data: tuple[int, ...]


@dataclass(eq=False)
class RicartAgrawalaToken(Peer):
    messages = (Request, Token)

    first_holder: NodeId = setting(1)

    # True from our request until our release, the critical section included.
    requesting: bool = False

    # token_data[j - 1]: the number of j's latest request that was granted; None while the
    # token is elsewhere.
    token_data: tuple[int, ...] | None = None

    # request_data[j - 1]: the number of j's latest REQUEST, our own among them.
    request_data: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        self.request_data = (0,) * len(self.members)
        if self.me == self.first_holder:
            self.token_data = self.request_data

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.token_data is not None:
            self.grant()
            return
        number = self.request_data[self.me - 1] + 1
        self.request_data = replaced(self.request_data, self.me, number)
        self.broadcast(Request(number))

    def release(self) -> None:
        assert self.requesting and self.token_data is not None

        self.requesting = False
        ours = self.request_data[self.me - 1]
        self.hand_over(replaced(self.token_data, self.me, ours))

    def receive_request(self, j: NodeId, message: Request) -> None:
        if message.sequence_number <= self.request_data[j - 1]:
            return  # overtaken by a later one
        self.request_data = replaced(self.request_data, j, message.sequence_number)
        if self.token_data is not None and not self.requesting:
            self.hand_over(self.token_data)

    def receive_token(self, sender: NodeId, message: Token) -> None:
        if not self.requesting or self.token_data is not None:
            raise RemoteError(f"{sender} sends a token that we did not ask for")
        self.token_data = message.token_data
        self.grant()

    def hand_over(self, token_data: tuple[int, ...]) -> None:
        """To the first node that waits, from our successor on; or to none."""
        round_the_circle = (*self.members[self.me :], *self.members[: self.me - 1])
        for j in round_the_circle:
            if self.request_data[j - 1] > token_data[j - 1]:
                self.token_data = None
                self.send(j, Token(token_data))
                return
        self.token_data = token_data


@dataclass(eq=False)
class RicartAgrawalaTokenUnchecked(RicartAgrawalaToken):
    """An idle holder sends the token to the sender of every REQUEST that arrives.

    Made by leaving out whether it was granted already.  A REQUEST that was granted while
    it was still on its way takes the token to a node that does not want it.  Another
    node's REQUEST can be at that node already, and come here when the token is gone: then
    that request waits until the next one is made.
    """

    def receive_request(self, j: NodeId, message: Request) -> None:
        token_data = self.token_data
        if token_data is None or self.requesting:
            super().receive_request(j, message)
            return
        number = max(message.sequence_number, self.request_data[j - 1])
        self.request_data = replaced(self.request_data, j, number)
        self.token_data = None
        self.send(j, Token(token_data))

    def receive_token(self, sender: NodeId, message: Token) -> None:
        if self.requesting:
            super().receive_token(sender, message)
        else:
            self.token_data = message.token_data


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-token",
        peer=RicartAgrawalaToken,
        source="Ricart, Agrawala",
        year=1983,
        family="token",
        messages="0 or N",
        serves=("lock",),
    ),
    Algorithm(
        name="ricart-agrawala-token-unchecked",
        peer=RicartAgrawalaTokenUnchecked,
        source="made from Ricart, Agrawala",
        year=1983,
        family="museum",
        messages="0 or N",
        verdict="starvation",
    ),
)
