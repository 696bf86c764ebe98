"""Naimi and Trehel, 1987: their tree and queue, set up anew by election when nodes fail.

    M. Naimi, M. Trehel.  How to Detect a Failure and Regenerate the Token in the log(n)
    Distributed Algorithm for Mutual Exclusion.  Second International Workshop on
    Distributed Algorithms, Lecture Notes in Computer Science 312, 1987, 155-166; here
    after the survey of Velazquez.

Requests and the token go as in Naimi and Trehel's algorithm.  A node that has asked and
does not get the token within T_wait presumes a failure.  It asks all others with a CONSULT
which node has it down as NEXT; that one answers REGISTERED, and all is well so far.  If
none does within T_elec, a QUERY asks for the token.  If none has it, nor gets it within
T_elec, the inquirer becomes a candidate and says so by an ELECTION.  Of several candidates
the lowest remains; after T_elec it is elected and has a new token.

CANDIDATE_ELECTED makes the elected node the root of a new tree: LAST of everyone is the
elected node, NEXT is nobody, and every waiting node asks again.

    messages      as many as without failures, about log N; N for a look that finds all
                  well, 3(N-1) for a new tree and 4(N-1) for a new token, besides the
                  requests that are made again
    delay         one TOKEN from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another; a bound on
                  delay, a third of T_elec, and T_wait long enough for a REQUEST to reach
                  the root
    failures      any number of nodes may stop for ever, one after the other or together
    fairness      requests are served in the order in which they reach the root, until
                  a node fails

Where this file departs from the survey, and why:
  * The node that has the token when a QUERY comes, or gets it then, becomes the root of a
    new tree, as one that is elected does.  The survey has the inquirer go back to waiting;
    but its request was lost with a node that failed on the way, and it waits for ever.
  * Trees are numbered, and REQUESTs bear the number of theirs.  One of an earlier tree is
    dropped: its node asks again.  So no node is queued twice.
  * An observer is a node that leaves it to a candidate, and waits for T_wait anew, not for
    CANDIDATE_ELECTED: the candidate may fail.  It still passes requests along.
  * A token that reaches a candidate makes it the elected one, and no other is made.
  * It is for the lab: a lock node learns from its cluster which members have failed, and
    forms the circle of a name anew; a second recovery below that has no use.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from peerlock.algorithms import naimi_trehel
from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.algorithms.naimi_trehel import NaimiTrehel, Token
from peerlock.core.bits import Nodes, nodes_in
from peerlock.core.peer import NodeId, RemoteError, setting

Epoch = tuple[int, NodeId]  # how many trees there were before, and the root of this one


@dataclass(frozen=True, slots=True)
class Request(naimi_trehel.Request):
    epoch: Epoch


@dataclass(frozen=True, slots=True)
class Consult:
    pass


@dataclass(frozen=True, slots=True)
class Registered:
    pass


@dataclass(frozen=True, slots=True)
class Query:
    pass


@dataclass(frozen=True, slots=True)
class Election:
    pass


@dataclass(frozen=True, slots=True)
class CandidateElected:
    epoch: Epoch


class State(Enum):
    WAITING = "waiting"  # for the token, or for nothing
    CONSULTING = "consulting"
    QUERY = "query"
    CANDIDATE = "candidate"


@dataclass(eq=False)
class NaimiTrehelFailures(NaimiTrehel):
    messages = (  # type: ignore[assignment]  # more of them
        Request,
        Token,
        Consult,
        Registered,
        Query,
        Election,
        CandidateElected,
    )

    t_wait: float = setting()  # unless given, 20 for each node
    t_elec: float = setting(15.0)

    state: State = State.WAITING

    # The tree that LAST and NEXT are of.
    epoch: Epoch = (0, 0)

    # A node has sent a QUERY, and the token was not here.
    queried: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.t_wait is None:
            self.t_wait = 20.0 * len(self.members)

    # As in Naimi and Trehel's algorithm

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.token_here:
            self.grant()
        else:
            self.ask()

    def ask(self) -> None:
        self.send(self.last, Request(self.me, self.epoch))
        self.last = self.me
        self.set_timer("wait", self.t_wait)

    def receive_request(self, sender: NodeId, message: naimi_trehel.Request) -> None:
        assert isinstance(message, Request)
        if message.epoch > self.epoch:  # it goes to its root and to those that asked since
            raise RemoteError(f"{sender} sends a request of a tree that is not ours yet")
        if message.epoch == self.epoch:
            super().receive_request(sender, message)

    def receive_token(self, sender: NodeId, message: Token) -> None:
        if not self.requesting or self.token_here:
            raise RemoteError(f"{sender} sends a token that we did not ask for")
        if self.queried or self.state is State.CANDIDATE:
            self.be_root()
        self.stop()
        super().receive_token(sender, message)

    # A presumption of failure

    def timer(self, name: str) -> None:
        """T_wait or T_elec is over."""
        match self.state:
            case State.WAITING:
                self.inquire(State.CONSULTING, Consult())
            case State.CONSULTING:
                self.inquire(State.QUERY, Query())
            case State.QUERY:
                self.inquire(State.CANDIDATE, Election())
            case State.CANDIDATE:
                self.be_elected()

    def inquire(self, state: State, question: object) -> None:
        self.state = state
        self.broadcast(question)
        self.set_timer("elec", self.t_elec)

    def stop(self) -> None:
        self.state = State.WAITING
        self.cancel_timer("wait")
        self.cancel_timer("elec")

    def wait_again(self) -> None:
        self.stop()
        self.set_timer("wait", self.t_wait)

    def receive_consult(self, j: NodeId, message: Consult) -> None:
        if self.next == j:
            self.send(j, Registered())

    def receive_registered(self, j: NodeId, message: Registered) -> None:
        if self.state is State.CONSULTING:
            self.wait_again()

    def receive_query(self, j: NodeId, message: Query) -> None:
        if self.token_here:
            self.be_root()
        else:
            self.queried = True

    # Election

    def receive_election(self, j: NodeId, message: Election) -> None:
        """Leave it to that one, unless it is a higher candidate than we are."""
        higher = self.state is State.CANDIDATE and j > self.me
        if self.requesting and not self.token_here and not higher:
            self.wait_again()

    def be_elected(self) -> None:
        self.stop()
        self.be_root()
        self.token_here = True
        self.grant()

    def be_root(self) -> None:
        """Of a new tree; the token is here, or will be at once."""
        self.epoch = (self.epoch[0] + 1, self.me)
        self.last, self.next, self.queried = self.me, 0, False
        self.broadcast(CandidateElected(self.epoch))

    def receive_candidate_elected(self, j: NodeId, message: CandidateElected) -> None:
        if message.epoch > self.epoch:
            self.join(message.epoch)

    def join(self, epoch: Epoch) -> None:
        """A new tree; if we wait for the token, ask its root."""
        self.epoch = epoch
        self.last, self.next, self.queried = epoch[1], 0, False
        if self.requesting and not self.token_here:
            self.stop()
            self.ask()


@dataclass(frozen=True, slots=True)
class TokenPresent:
    pass


@dataclass(eq=False)
class NaimiTrehelUnheard(NaimiTrehelFailures):
    """Goes back to waiting when the token is there: its request may still be lost.

    The survey describes it so.  A node fails that the request went through, and the token
    is with another that never hears of it.
    """

    messages = (*NaimiTrehelFailures.messages, TokenPresent)  # type: ignore[assignment]

    # Whose QUERY we have not answered; we do when the token comes.
    queries: Nodes = 0

    def receive_query(self, j: NodeId, message: Query) -> None:
        if self.token_here:
            self.send(j, TokenPresent())
        else:
            self.queries |= 1 << j

    def receive_token(self, sender: NodeId, message: Token) -> None:
        super().receive_token(sender, message)
        for j in nodes_in(self.queries):
            self.send(j, TokenPresent())
        self.queries = 0

    def receive_token_present(self, j: NodeId, message: TokenPresent) -> None:
        if self.state is State.QUERY:
            self.wait_again()


ENTRIES = (
    Algorithm(
        name="naimi-trehel-failures",
        peer=NaimiTrehelFailures,
        source="Naimi, Trehel",
        year=1987,
        family="token",
        messages="about log N when nothing fails; 0 at the holder",
        outlasting=("wait", "elec"),
        exhibit=Exhibit(crashes=1),
    ),
    Algorithm(
        name="naimi-trehel-unheard",
        peer=NaimiTrehelUnheard,
        source="Naimi, Trehel; Velazquez",
        year=1993,
        family="museum",
        messages="about log N when nothing fails",
        outlasting=("wait", "elec"),
        verdict="starvation",
        exhibit=Exhibit(requests=None, crashes=1),
        quotes=(
            Quotation(
                "velazquez-1993-survey",
                "section 4, Naimi-Trehel",
                "the token or an answer from another node may arrive, and the inquiring "
                "node goes back to the waiting state",
            ),
        ),
    ),
)
