"""The museum: algorithms that are wrong, kept so that one can see how.

    Each piece names where its error was published, or how it is made.  Sources: the
    papers named in the files of the algorithms, 1977-1993.

Every piece is a small variation of an algorithm that holds.  `peerlock check` finds what
is wrong with it and shows the shortest schedule that leads there.  Maekawa's algorithm as
published in 1985 belongs here too, and stands beside its correction.

    messages      as those of the algorithm it varies
    delay         as that of the algorithm it varies
    network       no duplicates; order and losses as its entry in the catalogue says
    failures      none is survived
    fairness      that is what some of them lack

Where this file departs from its sources, and why:
  * On purpose, and each class says where.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms import central, maekawa, ricart_agrawala
from peerlock.algorithms import lamport as lamport_1978
from peerlock.algorithms.carvalho_roucairol import CarvalhoRoucairol
from peerlock.algorithms.central import Central
from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.algorithms.lamport import Lamport
from peerlock.algorithms.maekawa import Maekawa
from peerlock.algorithms.ricart_agrawala import RicartAgrawala
from peerlock.algorithms.suzuki_kasami import SuzukiKasami
from peerlock.algorithms.suzuki_kasami_bounded import SuzukiKasamiBounded
from peerlock.algorithms.token_ring import Token, TokenRing
from peerlock.core.peer import NodeId, setting


@dataclass(eq=False)
class CentralLifo(Central):
    """The coordinator lets the latest one in first.

    Made by taking the next node from the wrong end of the queue.  The node that has
    waited longest keeps waiting as long as others keep asking.
    """

    def receive_request(self, sender: NodeId, message: central.Request) -> None:
        super().receive_request(sender, message)
        if sender in self.queue:
            self.queue = (sender, *self.queue[:-1])


@dataclass(eq=False)
class LamportReordered(Lamport):
    """Lamport's algorithm on a network whose messages overtake one another.

    Made by dropping that assumption; nothing else is changed.  The paper needs it: when a
    later message overtakes a REQUEST, its receiver believes that no earlier request can
    be on its way.
    """


@dataclass(eq=False)
class LamportAnyRequest(Lamport):
    """A RELEASE removes any request but the receiver's own, not only the sender's.

    Made from Lamport's rule 4, by which it removes any request of the node that releases.
    Then a request that is still to be granted is forgotten with it.
    """

    def receive_release(self, sender: NodeId, message: lamport_1978.Release) -> None:
        self.request_queue = tuple(r for r in self.request_queue if r[1] == self.me)
        self.enter_if_first()


@dataclass(eq=False)
class RicartAgrawalaTies(RicartAgrawala):
    """Two requests with the same number: ties forgotten.

    TR-869 breaks ties by node number.  Without that, each of two nodes with equal
    numbers lets the other go first.
    """

    def receive_request(self, j: NodeId, message: ricart_agrawala.Request) -> None:
        if message.sequence_number == self.our_sequence_number:
            self.send(j, ricart_agrawala.REPLY)
        else:
            super().receive_request(j, message)


@dataclass(eq=False)
class RicartAgrawalaDeaf(RicartAgrawala):
    """The highest number is not raised by the REQUESTs that come in.

    A node that has not asked for long then chooses a number so small that even a node
    inside its critical section gives way to it.
    """

    def receive_request(self, j: NodeId, message: ricart_agrawala.Request) -> None:
        highest = self.highest_sequence_number
        super().receive_request(j, message)
        self.highest_sequence_number = highest


@dataclass(eq=False)
class RicartAgrawalaListing(RicartAgrawala):
    """TR-869's listing to the letter: a node's own request does not raise its highest.

    The definition of Highest_Sequence_Number says "sent or received", the listing raises
    it on receipt only.  The section stays safe.  But a node may use a number again and
    again until a REQUEST reaches it, and when messages are reordered a waiting node keeps
    giving way to it.  The report's appendix says that at most N(N+1)/2 − 1 entries
    overtake a request, 5 with three nodes; here it is 6 if the others ask three times
    each, 8 if four times: as often as they ask.
    """

    def acquire(self) -> None:
        highest = self.highest_sequence_number
        super().acquire()
        self.highest_sequence_number = highest


@dataclass(eq=False)
class CarvalhoRoucairolUnaware(CarvalhoRoucairol):
    """Being inside is not distinguished from waiting, as Ricart and Agrawala need not.

    Made by keeping Ricart and Agrawala's one flag.  A node that holds all permissions
    enters without asking, so a REQUEST with a smaller number may still come; it must
    still be deferred.
    """

    def receive_request(self, j: NodeId, message: ricart_agrawala.Request) -> None:
        k = message.sequence_number
        if self.inside and (k, j) < (self.our_sequence_number, self.me):
            self.highest_sequence_number = max(self.highest_sequence_number, k)
            self.give_way(j)
        else:
            super().receive_request(j, message)


@dataclass(eq=False)
class MaekawaWithoutInquire(Maekawa):
    """Maekawa's algorithm without its INQUIRE.

    Made by leaving out step 3 of section 4: no node is ever asked to relinquish, and nodes
    that have locked parts of each other's sets wait for the rest for ever.
    """

    def let_wait(self, request: maekawa.Timestamp, locking: maekawa.Timestamp) -> None:
        self.waiting_queue = tuple(sorted((*self.waiting_queue, request)))
        self.tell(request[1], maekawa.Failed())


@dataclass(eq=False)
class SuzukiKasamiDivisible(SuzukiKasami):
    """Leaving is not indivisible, as the survey of Velazquez remarks.

    Appendix A of the survey: a REQUEST that comes after line 20 and before line 21 finds
    the node still "requesting" and gets no PRIVILEGE; then the node leaves, and the
    request waits until another node asks.  The timer "line 21" is that last line.
    """

    def acquire(self) -> None:
        if self.requesting:
            self.timer("line 21")
        super().acquire()

    def release(self) -> None:
        super().release()
        self.requesting = True
        self.set_timer("line 21", 0.0)

    def timer(self, name: str) -> None:
        self.cancel_timer(name)
        self.requesting = False


@dataclass(eq=False)
class SuzukiKasamiLifo(SuzukiKasamiBounded):
    """The token's queue served last in, first out.

    Made by putting waiting nodes at the wrong end of Q.  Two nodes that keep asking
    pass the token to each other for ever, and a third one stays at the bottom of Q.

    So that a state can come again, request numbers are bounded, with an ACK for every
    REQUEST.
    """

    limit: int = setting(1)

    def queued(
        self, queue: tuple[NodeId, ...], granted: tuple[int, ...]
    ) -> tuple[NodeId, ...]:
        newcomers = super().queued(queue, granted)[len(queue) :]
        return (*reversed(newcomers), *queue)


@dataclass(frozen=True, slots=True)
class Search:
    origin: NodeId
    found: bool = False


@dataclass(eq=False)
class TokenRingRegenerated(TokenRing):
    """A lost token that is made anew twice.

    A node that has waited for long sends a SEARCH round the ring.  It cannot overtake a
    TOKEN, and a node that has the TOKEN marks it as found; so if it comes back unmarked
    and the TOKEN has not come, the TOKEN is lost, and the node makes a new one.  But of
    two nodes that wait, both do.  Le Lann saw in 1977 that they must elect one of them.
    """

    messages = (Token, Search)  # type: ignore[assignment]  # one more

    # True while our SEARCH is under way, and as long as the token has not come since.
    under_way: bool = False
    searching: bool = False

    def acquire(self) -> None:
        super().acquire()
        if not self.token_here:
            self.set_timer("search", 0.0)

    def timer(self, name: str) -> None:
        if self.under_way:
            self.set_timer("search", 0.0)
        else:
            self.under_way = self.searching = True
            self.send(self.me % len(self.members) + 1, Search(self.me))

    def receive_token(self, sender: NodeId, message: Token) -> None:
        super().receive_token(sender, message)
        self.searching = False
        self.cancel_timer("search")

    def receive_search(self, sender: NodeId, message: Search) -> None:
        if message.origin == self.me:
            self.under_way = False
            self.search_is_over(message.found)
        else:
            found = message.found or self.token_here
            self.send(self.me % len(self.members) + 1, Search(message.origin, found))

    def search_is_over(self, found: bool) -> None:
        if not self.searching:
            return
        self.searching = False
        if found:
            self.set_timer("search", 0.0)
        else:
            self.token_here = True
            self.grant()


ENTRIES = (
    Algorithm(
        name="maekawa-without-inquire",
        peer=MaekawaWithoutInquire,
        source="made from Maekawa",
        year=1985,
        family="museum",
        messages="3(K−1)",
        fifo=True,
        takes="quorums",
        verdict="deadlock",
    ),
    Algorithm(
        name="central-lifo",
        peer=CentralLifo,
        source="made from the textbook",
        year=1978,
        family="museum",
        messages="3, or 0 at the coordinator",
        verdict="starvation",
        exhibit=Exhibit(requests=None),
    ),
    Algorithm(
        name="lamport-reordered",
        peer=LamportReordered,
        source="made from Lamport",
        year=1978,
        family="museum",
        messages="3(N−1)",
        verdict="exclusion",
    ),
    Algorithm(
        name="lamport-any-request",
        peer=LamportAnyRequest,
        source="made from Lamport",
        year=1978,
        family="museum",
        messages="3(N−1)",
        fifo=True,
        verdict="exclusion",
    ),
    Algorithm(
        name="ricart-agrawala-ties",
        peer=RicartAgrawalaTies,
        source="made from Ricart, Agrawala",
        year=1981,
        family="museum",
        messages="2(N−1)",
        verdict="exclusion",
        exhibit=Exhibit(nodes=2),
    ),
    Algorithm(
        name="ricart-agrawala-deaf",
        peer=RicartAgrawalaDeaf,
        source="made from Ricart, Agrawala",
        year=1981,
        family="museum",
        messages="2(N−1)",
        verdict="exclusion",
        exhibit=Exhibit(nodes=2, requests=2),
    ),
    Algorithm(
        name="ricart-agrawala-listing",
        peer=RicartAgrawalaListing,
        source="Ricart, Agrawala, TR-869",
        year=1980,
        family="museum",
        messages="2(N−1)",
        verdict="overtaking",
        exhibit=Exhibit(requests=(3, 3, 1)),
        quotes=(
            Quotation(
                "ricart-agrawala-tr869-1980",
                "2.2",
                "seen in any … REQUEST message sent or received … "
                "Highest_Sequence_Number := Maximum (Highest_Sequence_Number, k)",
            ),
        ),
    ),
    Algorithm(
        name="carvalho-roucairol-unaware",
        peer=CarvalhoRoucairolUnaware,
        source="made from Carvalho, Roucairol",
        year=1983,
        family="museum",
        messages="0 … 2(N−1)",
        verdict="exclusion",
        exhibit=Exhibit(nodes=2, requests=2),
    ),
    Algorithm(
        name="suzuki-kasami-divisible",
        peer=SuzukiKasamiDivisible,
        source="Suzuki, Kasami; Velazquez",
        year=1993,
        family="museum",
        messages="0 or N",
        verdict="starvation",
        exhibit=Exhibit(nodes=2),
        quotes=(
            Quotation(
                "velazquez-1993-survey",
                "section 4, Suzuki-Kasami",
                "a request message arrives after line 20 and exactly before line 21",
            ),
        ),
    ),
    Algorithm(
        name="suzuki-kasami-lifo",
        peer=SuzukiKasamiLifo,
        source="made from Suzuki, Kasami",
        year=1985,
        family="museum",
        messages="0 or 2N−1",
        fifo=True,
        verdict="starvation",
        exhibit=Exhibit(requests=None),
    ),
    Algorithm(
        name="token-ring-regenerated",
        peer=TokenRingRegenerated,
        source="made from Le Lann",
        year=1977,
        family="museum",
        messages="without bound",
        fifo=True,
        rests=False,
        verdict="exclusion",
        exhibit=Exhibit(nodes=2, losses=1),
    ),
)
