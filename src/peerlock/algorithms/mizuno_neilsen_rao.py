"""Mizuno, Neilsen and Rao, 1991: ask one set for the token, tell another where it is.

    M. Mizuno, M. L. Neilsen, R. Rao.  A Token Based Distributed Mutual Exclusion Algorithm
    Based on Quorum Agreements.  11th International Conference on Distributed Computing
    Systems, May 1991, 361-368; here after the survey of Velazquez, 1993.

Suzuki and Kasami's algorithm, but a node i sends its REQUEST only to its request set R_i.
A node that gets the PRIVILEGE tells its acquired set A_j so.  In a quorum agreement each
R_i meets each A_j, so there is a node between the two that knows of the request and of
the holder, and it sends the holder the numbers of all requests that it knows of.

    messages      0 where the token is; otherwise |R-{i}| REQUEST, 1 PRIVILEGE, |A-{i}|
                  ACQUIRED and at most as many REQUESTS in return, which may come during a
                  later entry.  On average at most 2√2·√N-2 on a grid set if N is twice a
                  square, about 3√N on a plane, 3⌊log₂ N⌋+1 on a tree
    delay         one PRIVILEGE from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the token must not be lost
    fairness      no node waits for ever; those that the holder knows of when it leaves are
                  queued in the order of their numbers

Where this file departs from the survey, and why:
  * The survey has a node in between look for requests when ACQUIRED comes.  A REQUEST
    that comes later must be passed on as well, or it waits until the token moves:
    `mizuno-neilsen-rao-survey` in the museum.
  * Of two holders a node in between needs to know which is the later one.  ACQUIRED brings
    the numbers LN of the requests that were granted, of which there are more each time.
  * The numbers that reach a node when the token has left it again are kept for the next
    time that it has it.  Were they ignored, a request could miss the token for ever.
  * The survey calls both the request of a node and the array of one in between REQUEST.
    Here the array is REQUESTS, so that a count by type shows which is which.
  * The node in between sends its array once for each ACQUIRED that it got: the holder
    will then give the token away, and an array about the next request could only be late.
    It sends none about a node that asks the holder itself.  Without the first, a node
    would tell all nodes that it ever heard of as holders; with it, the survey's figure of
    2√2·√N-2 is met: 17.98 messages measured, 18 by the formula, with 50 nodes competing.
    That is on average: an array may go to an earlier holder at any time, so that a single
    entry takes up to 2|R| + 2|A| - 2; 24 were seen where nobody competed.
  * The node that has the token first is known to its acquired set from the beginning.
  * Unless told otherwise, the agreement is the survey's modified grid set, whose figure
    gives its shape away: `peerlock quorums agreement:grid-set` shows it.  A choice of
    quorums is used for both R and A; with R all others and A the node alone it is Suzuki
    and Kasami's algorithm.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.algorithms.suzuki_kasami import Privilege, Request, SuzukiKasami, replaced
from peerlock.core.peer import NodeId, RemoteError, fixed, setting
from peerlock.core.topology import Topology
from peerlock.quorums.agreements import QuorumAgreement, grid_set, twice
from peerlock.quorums.constructions import QuorumSystem


@dataclass(frozen=True, slots=True)
class Requests:
    requested: tuple[int, ...]  # RN of the node in between


@dataclass(frozen=True, slots=True)
class Acquired:
    granted: tuple[int, ...]  # LN


@dataclass(eq=False)
class MizunoNeilsenRao(SuzukiKasami):
    messages = (Request, Requests, Acquired, Privilege)  # type: ignore[assignment]  # two more

    topology: Topology = fixed(default=None, init=False)
    quorums: QuorumSystem = setting()
    agreement: QuorumAgreement = setting()

    # The latest node that we know to have acquired the token, if any, and LN at that time.
    holder: NodeId = 0
    granted: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.agreement is None:
            given = self.quorums
            self.agreement = grid_set(len(self.members)) if given is None else twice(given)
        self.granted = self.requested
        if self.me in self.agreement.acquired_set(self.first_holder):
            self.holder = self.first_holder

    # The user of the lock

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.privilege is not None:
            self.grant()
            return
        number = self.requested[self.me - 1] + 1
        self.requested = replaced(self.requested, self.me, number)
        asked = self.agreement.request_set(self.me)
        for j in asked:
            if j != self.me:
                self.send(j, Request(self.me, number))
        if self.me in asked:
            self.pass_on_requests_of((self.me,))

    def receive_privilege(self, sender: NodeId, message: Privilege) -> None:
        if not self.requesting:
            raise RemoteError(f"{sender} sends a token that we did not request")
        super().receive_privilege(sender, message)
        self.holder, self.granted = self.me, message.granted
        for j in self.agreement.acquired_set(self.me):
            if j != self.me:
                self.send(j, Acquired(message.granted))

    def hand_over(self, queue: tuple[NodeId, ...], granted: tuple[int, ...]) -> None:
        super().hand_over(queue, granted)
        if self.privilege is None:
            self.holder, self.granted = 0, granted

    # Others' requests

    def receive_request(self, sender: NodeId, message: Request) -> None:
        j, n = message.origin, message.number
        if n < self.requested[j - 1]:
            return  # overtaken by a later one
        self.requested = replaced(self.requested, j, n)
        if self.privilege is None:
            self.pass_on_requests_of((j,))
        else:
            self.serve_if_idle()

    def receive_requests(self, sender: NodeId, message: Requests) -> None:
        self.requested = tuple(map(max, self.requested, message.requested))
        if self.privilege is not None:
            self.serve_if_idle()

    def serve_if_idle(self) -> None:
        if not self.requesting:
            assert self.privilege is not None
            self.hand_over(self.privilege.queue, self.privilege.granted)

    def receive_acquired(self, sender: NodeId, message: Acquired) -> None:
        if sum(message.granted) < sum(self.granted):
            return  # overtaken by a later one
        if self.privilege is not None:
            raise RemoteError(f"{sender} has acquired the token that we have")
        self.holder, self.granted = sender, message.granted
        self.pass_on_requests_of(self.members)

    def pass_on_requests_of(self, nodes: Iterable[NodeId]) -> None:
        """Once: it will give the token away then, and others will hear of the next one."""
        if self.holder and any(self.unknown_to_holder(j) for j in nodes):
            self.send(self.holder, Requests(self.requested))
            self.holder = 0

    def unknown_to_holder(self, j: NodeId) -> bool:
        """j waits, as far as we know, and does not ask the holder itself."""
        asked = (j, *self.agreement.request_set(j))
        return self.requested[j - 1] > self.granted[j - 1] and self.holder not in asked


@dataclass(eq=False)
class MizunoNeilsenRaoSurvey(MizunoNeilsenRao):
    """A REQUEST that comes after ACQUIRED is not passed on.

    The survey's words: on receiving ACQUIRED a node checks whether it has requests that are
    not granted yet.  If the token rests, nobody makes it look again.
    """

    def receive_request(self, sender: NodeId, message: Request) -> None:
        if self.privilege is not None:
            super().receive_request(sender, message)
        elif message.number > self.requested[sender - 1]:
            self.requested = replaced(self.requested, sender, message.number)


ENTRIES = (
    Algorithm(
        name="mizuno-neilsen-rao",
        peer=MizunoNeilsenRao,
        source="Mizuno, Neilsen, Rao",
        year=1991,
        family="token",
        messages="0, or about 2√2·√N−2 on a grid set, 3√N on a plane, O(log N) on a tree",
        takes="quorums",
        default="grid-set",
        sets="agreement",
        serves=("lock",),
    ),
    Algorithm(
        name="mizuno-neilsen-rao-survey",
        peer=MizunoNeilsenRaoSurvey,
        source="Mizuno and others; Velazquez",
        year=1993,
        family="museum",
        messages="2√2·√N−2 on a grid set",
        takes="quorums",
        default="grid-set",
        sets="agreement",
        verdict="starvation",
        exhibit=Exhibit(nodes=4),
        quotes=(
            Quotation(
                "velazquez-1993-survey",
                "section 4, Mizuno-Neilsen-Rao",
                "Upon receiving the acquired message from j, all other nodes k in … "
                "check if they have requests that have not been granted yet.",
            ),
        ),
    ),
)
