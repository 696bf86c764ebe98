"""Singhal, 1989: ask only those that may know where the token is.

    M. Singhal.  A Heuristically-Aided Algorithm for Mutual Exclusion in Distributed
    Systems.  IEEE Transactions on Computers 38(5), May 1989, 651-662; here after the
    survey of Velazquez.

Every node keeps a vector SV of what it knows of the nodes' states (R requesting,
E executing, H holding the idle token, N none of these) and a vector SN of the numbers of
their latest requests.  The TOKEN carries two such vectors, TSV and TSN.  A node that
wants in sends its REQUEST to those only that are in state R in its SV: they have the
token, or get it before long.  A node that gets a REQUEST notes the sender as R and, if it
waits itself and has not asked that one, asks it now.  A node that leaves brings its vectors
and those of the TOKEN up to date with each other, entry by entry, and passes the TOKEN on
to one in state R.

In the beginning node i has all lower nodes in state R, so that the vectors form a
staircase: of any two nodes, one would ask the other, and all would ask the holder.  It
stays that way: a node that has been inside forgets which nodes it has asked, and these now
have it as R.

    messages      (N+1)/2 per entry on average when nobody competes, 0 at the node that
                  has the token; about N when all compete
    delay         one TOKEN from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none here
    fairness      the node that has asked least often goes first, the nearest round the
                  ring of numbers if there are several; no node waits for ever

Where this file departs from the source, and why:
  * A REQUEST that the TOKEN has overtaken, so that its number is known, still makes its
    receiver note the sender as R, for the sender relies on that and has forgotten the
    receiver.  The survey has outdated REQUESTs discarded; then neither of the two would
    ask the other, and a request can miss the token: `singhal-discarding` in the museum.
  * If it is the node with the token that gets such a REQUEST from a node that it
    has forgotten, it answers with its own latest REQUEST: that one must ask it again.
  * The survey does not say how the vectors begin.  The staircase is Singhal's; if it is
    not node 1 that has the token first, it begins there and goes round.
  * Where node and TOKEN know the same number of a request, the TOKEN's entry counts: it
    knows whether that request has been granted.
  * The states E and H are known of oneself only; of others it is R or N.
  * The i of REQUEST(i, SN[i]) is the sender, known from the envelope.
  * The survey says that no node gets the token twice while another waits.  The number of
    a request is how often its node has asked; so one that has asked less often does,
    until it has asked as often.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.algorithms.suzuki_kasami import replaced
from peerlock.core.peer import NodeId, Peer, RemoteError, setting

State = str  # R, E, H or N


@dataclass(frozen=True, slots=True)
class Request:
    number: int


@dataclass(frozen=True, slots=True)
class Token:
    tsv: tuple[State, ...]
    tsn: tuple[int, ...]


@dataclass(eq=False)
class SinghalHeuristic(Peer):
    messages = (Request, Token)

    first_holder: NodeId = setting(1)

    # sv[j - 1]: the latest known state of j, our own among them.
    sv: tuple[State, ...] = ()

    # sn[j - 1]: the number of j's latest request that we know of.
    sn: tuple[int, ...] = ()

    # The token while it is here.
    token: Token | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        n = len(self.members)
        self.sn = (0,) * n
        step = (self.me - self.first_holder) % n
        self.sv = tuple(
            "R" if (j - self.first_holder) % n < step else "N" for j in self.members
        )
        if self.me == self.first_holder:
            self.token = Token(("N",) * n, self.sn)
            self.note(self.me, "H")

    @property
    def state(self) -> State:
        return self.sv[self.me - 1]

    def acquire(self) -> None:
        assert self.state in ("N", "H")

        if self.state == "H":
            self.note(self.me, "E")
            self.grant()
            return
        self.note(self.me, "R")
        self.sn = replaced(self.sn, self.me, self.sn[self.me - 1] + 1)
        for j in self.others():
            if self.sv[j - 1] == "R":
                self.ask(j)

    def release(self) -> None:
        assert self.state == "E"

        self.hand_over()

    def receive_request(self, i: NodeId, message: Request) -> None:
        stranger = self.sv[i - 1] != "R"  # not asked by us, or forgotten since
        self.note(i, "R")
        self.sn = replaced(self.sn, i, max(message.number, self.sn[i - 1]))
        if self.token is None:
            if self.state == "R" and stranger:
                self.ask(i)
        elif message.number <= self.token.tsn[i - 1]:
            if stranger:
                self.ask(i)  # so that it comes to us with its next one
        elif self.state == "H":
            self.hand_over()

    def receive_token(self, sender: NodeId, message: Token) -> None:
        if self.state != "R":
            raise RemoteError(f"{sender} sends a token that we did not ask for")
        self.token = message
        self.note(self.me, "E")
        self.grant()

    def hand_over(self) -> None:
        """Bring all vectors up to date, and send the token to one that waits."""
        self.note(self.me, "N")
        self.token = self.up_to_date()
        self.sv, self.sn = self.token.tsv, self.token.tsn
        waiting = [j for j in self.members if self.sv[j - 1] == "R"]
        if waiting:
            self.send(min(waiting, key=self.precedence), self.token)
            self.token = None
        else:
            self.note(self.me, "H")

    def up_to_date(self) -> Token:
        """What we know where that is newer, and what the token knows elsewhere."""
        assert self.token is not None
        tsv, tsn = self.token.tsv, self.token.tsn
        newer = [ours > theirs for ours, theirs in zip(self.sn, tsn, strict=True)]
        newer[self.me - 1] = True
        return Token(
            tuple(self.sv[k] if new else tsv[k] for k, new in enumerate(newer)),
            tuple(self.sn[k] if new else tsn[k] for k, new in enumerate(newer)),
        )

    def precedence(self, j: NodeId) -> tuple[int, int]:
        return self.sn[j - 1], (j - self.me) % len(self.members)

    def note(self, j: NodeId, state: State) -> None:
        self.sv = (*self.sv[: j - 1], state, *self.sv[j:])

    def ask(self, j: NodeId) -> None:
        self.send(j, Request(self.sn[self.me - 1]))


@dataclass(eq=False)
class SinghalDiscarding(SinghalHeuristic):
    """As the survey has it: an outdated REQUEST is discarded.

    The TOKEN can overtake a REQUEST on another way, and tell its receiver of it first.
    Its sender has forgotten the receiver by then, and the receiver forgets the sender:
    when the one holds the token, the other asks a third one, which does not pass it on.
    """

    def receive_request(self, i: NodeId, message: Request) -> None:
        if message.number <= self.sn[i - 1]:
            return
        stranger = self.sv[i - 1] != "R"
        self.note(i, "R")
        self.sn = replaced(self.sn, i, message.number)
        if self.state == "R" and stranger:
            self.ask(i)
        elif self.state == "H":
            self.hand_over()


ENTRIES = (
    Algorithm(
        name="singhal-heuristic",
        peer=SinghalHeuristic,
        source="Singhal",
        year=1989,
        family="token",
        messages="(N+1)/2 light, N heavy",
        serves=("lock",),
    ),
    Algorithm(
        name="singhal-discarding",
        peer=SinghalDiscarding,
        source="Singhal; Velazquez",
        year=1993,
        family="museum",
        messages="(N+1)/2 light, N heavy",
        verdict="starvation",
        exhibit=Exhibit(requests=(1, 1, 2)),
        quotes=(
            Quotation(
                "velazquez-1993-survey",
                "section 4, Singhal",
                "it checks the request sequence number against its sequence number "
                "vector to discard out-dated requests",
            ),
        ),
    ),
)
