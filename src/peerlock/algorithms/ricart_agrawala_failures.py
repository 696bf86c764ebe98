"""Ricart and Agrawala, 1980: nodes join, leave, fail and come back while others continue.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, section 7.

REQUEST and REPLY go as in Ricart and Agrawala's algorithm, among the nodes whose NAMES
are on a list that each of them keeps.  A node that is not on it asks one that is to
be its sponsor.  The sponsor invokes mutual exclusion, tells everyone of the NEW_NODE, and
gives it the list.  The newcomer answers REQUESTs from then on; it may make its own when its
Highest_Sequence_Number is not below that of any REQUEST that it has missed, which it finds
out in one of five ways (a)-(e).  A node that leaves tells everyone and waits until all have
acknowledged it.

A node that waits too long for a REPLY asks ARE_YOU_THERE.  One that is silent has failed;
all hear of it, strike it off, and pretend that it has replied.  Any other answers with its
REPLY, or with YES_I_AM_HERE if it defers that.  A failed node that restarts comes in as a
newcomer.

    messages      2(N-1) per entry when nothing fails; up to 2 more for each node that is
                  asked whether it is there, each time; N-1 more to strike one off,
                  4(N-1) for an entry that lets one in by way (a), besides the sponsor's
                  own, and 2(N-1) for one that leaves
    delay         one REPLY from the leaving node to the next
    network       no loss, no duplicates; messages may overtake one another, except for way
                  (e); a bound on delay, a third of the time for answers
    failures      any number of nodes may stop, and come back, as long as one of the group
                  is always there
    fairness      entries follow the order of (sequence number, node number)

Where this file departs from the report, and why:
  * A REPLY says which REQUEST it is for, and ARE_YOU_THERE too.  A deferred REPLY and the
    answer to ARE_YOU_THERE can both be under way.  The second would be taken for a REPLY
    to the next REQUEST, and let two in; `ricart-agrawala-twice` in the museum shows it.
  * A node that has deferred no REPLY when it is asked ARE_YOU_THERE decides as on a
    REQUEST.
    The report has it REPLY; if the REQUEST was lost and it is inside, two are.
  * NEW_NODE is acknowledged before the sponsor leaves.  The report has the sponsor
    broadcast it and continue; then a node that has not heard of the newcomer yet can make
    another REQUEST, with any number.  `ricart-agrawala-unannounced` shows what follows.
  * In way (d) the number of a nearby node is asked for when the time is over, not before.
  * A node that waits for its sponsor, or for acknowledgements, asks ARE_YOU_THERE, too.  A
    sponsor that is silent is replaced by the next node.
  * A node wants to take part for good, or, if it is made so, only while its user wants
    in; so leaving and joining need no inputs of their own.
  * A node that is asked to RESTART, because it was struck off, does as if it had failed,
    and its user keeps waiting.
  * It is for the lab: a lock node learns from its cluster which members have failed, and
    forms the circle of a name anew; a second recovery below that has no use.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.algorithms.ricart_agrawala import Request
from peerlock.core.bits import Nodes, bits, nodes_in
from peerlock.core.peer import NodeId, Peer, setting


@dataclass(frozen=True, slots=True)
class Reply:
    sequence_number: int  # of the REQUEST


@dataclass(frozen=True, slots=True)
class AreYouThere:
    sequence_number: int  # of the REQUEST; 0 if it is a JOIN that was not answered


@dataclass(frozen=True, slots=True)
class YesIAmHere:
    pass


@dataclass(frozen=True, slots=True)
class NodeFailed:
    node: NodeId


@dataclass(frozen=True, slots=True)
class Restart:
    """To one that is not on the list, and requests nevertheless."""


@dataclass(frozen=True, slots=True)
class Join:
    """Be my sponsor."""


@dataclass(frozen=True, slots=True)
class NewNode:
    node: NodeId


@dataclass(frozen=True, slots=True)
class Leaving:
    pass


@dataclass(frozen=True, slots=True)
class Acknowledge:
    """A NEW_NODE, or a LEAVING."""


@dataclass(frozen=True, slots=True)
class Initialize:
    names: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True)
class AskHighest:
    pass


@dataclass(frozen=True, slots=True)
class Highest:
    sequence_number: int


class Standing(Enum):
    OUT = "out"  # of the group
    RESTARTING = "restarting"  # until the network has forgotten that we were there
    JOINING = "joining"  # a sponsor is asked
    SETTLING = "settling"  # on the list, but our number may be too low
    IN = "in"
    LEAVING = "leaving"


@dataclass(eq=False)
class RicartAgrawalaFailures(Peer):
    messages = (
        Request,
        Reply,
        AreYouThere,
        YesIAmHere,
        NodeFailed,
        Restart,
        Join,
        NewNode,
        Leaving,
        Acknowledge,
        Initialize,
        AskHighest,
        Highest,
    )

    way: str = setting("a")  # to set the Highest_Sequence_Number of a newcomer
    passing: tuple[NodeId, ...] = setting(())  # who is in only while its user wants in
    time_out: float = setting()  # for a REPLY; unless given, 20 for each node
    time_for_answers: float = setting(15.0)
    restart_interval: float = setting(15.0)

    standing: Standing = Standing.IN

    # The nodes that take part, as far as we know.
    names: Nodes = 0

    # The sequence number chosen by a request originating at this node.
    our_sequence_number: int = 0

    # The highest sequence number seen in any REQUEST sent or received.
    highest_sequence_number: int = 0

    # Our user wants in and is not yet.
    wanted: bool = False

    # Our user is inside.
    inside: bool = False

    # From our REQUEST, for the user or as a sponsor, until the end of that section …
    requesting: bool = False

    # … and the part of it in which all have replied.
    holding: bool = False

    # Whose REPLY, acknowledgement, number or list is still to come.
    awaiting: Nodes = 0

    # Those of them that were asked ARE_YOU_THERE, and have not answered yet.
    suspects: Nodes = 0

    # The nodes whose REQUEST we have not answered yet, each with its number.
    reply_deferred: tuple[tuple[NodeId, int], ...] = ()

    # Whose sponsor we are to be.
    sponsored: Nodes = 0

    # The one of them that is being announced to all; 0 if there is none.
    admitting: NodeId = 0

    # The node that is, or was last, to be our own sponsor.
    sponsor: NodeId = 0

    # While we settle: how many REQUESTs each has sent us, and the number of the first.
    heard: tuple[int, ...] = ()
    first_heard: int = 0

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.time_out is None:
            self.time_out = 20.0 * len(self.members)
        self.names = bits(self.members) & ~bits(self.passing)
        if self.me in self.passing:
            self.standing, self.names = Standing.OUT, 1 << self.me
        self.sponsor = self.me

    @property
    def the_others(self) -> Nodes:
        return self.names & ~(1 << self.me)

    # Invoking mutual exclusion

    def acquire(self) -> None:
        assert not self.wanted
        assert not self.inside

        self.wanted = True
        self.see_what_is_wanted()

    def see_what_is_wanted(self) -> None:
        if self.standing is Standing.OUT and (self.wanted or self.me not in self.passing):
            self.join()
        if self.standing is not Standing.IN or self.requesting:
            return
        if self.wanted or self.sponsored:
            self.request()
        elif self.me in self.passing:
            self.leave_the_group()

    def request(self) -> None:
        self.requesting = True
        self.our_sequence_number = self.highest_sequence_number + 1
        self.highest_sequence_number = self.our_sequence_number
        self.ask(self.the_others, Request(self.our_sequence_number))

    def receive_request(self, j: NodeId, message: Request) -> None:
        on_a_list = self.standing in (Standing.SETTLING, Standing.IN, Standing.LEAVING)
        if on_a_list and not self.names >> j & 1:
            self.send(j, Restart())
            return
        k = message.sequence_number
        if self.we_came_first(k, j):
            self.reply_deferred = tuple(sorted({*self.reply_deferred, (j, k)}))
        else:
            self.send(j, Reply(k))
        self.hear(j, k)

    def we_came_first(self, k: int, j: NodeId) -> bool:
        return self.requesting and (self.our_sequence_number, self.me) < (k, j)

    def receive_reply(self, j: NodeId, message: Reply) -> None:
        current = message.sequence_number == self.our_sequence_number
        if self.requesting and not self.holding and current:
            self.answered(j)
        else:
            self.is_there(j)

    def enter(self) -> None:
        self.holding = True
        if self.wanted:
            self.wanted, self.inside = False, True
            self.grant()
        else:
            self.admit_or_end()

    def release(self) -> None:
        assert self.inside

        self.inside = False
        self.admit_or_end()

    def end(self) -> None:
        self.requesting = self.holding = False
        deferred, self.reply_deferred = self.reply_deferred, ()
        for j, k in deferred:
            self.send(j, Reply(k))
        self.see_what_is_wanted()

    # Whom we wait for: their answers, and whether they are there at all

    def ask(self, nodes: Nodes, message: object) -> None:
        """A question to each of them.  When all are answered, we `go_on`."""
        self.awaiting = nodes
        for j in nodes_in(nodes):
            self.send(j, message)
        self.wait_on()

    def wait_on(self) -> None:
        if not self.awaiting:
            self.stop_waiting()
            self.go_on()
        elif not self.suspects:
            self.cancel_timer("probe")
            self.set_timer("reply", self.time_out)

    def stop_waiting(self) -> None:
        self.suspects = 0
        self.cancel_timer("probe")
        self.cancel_timer("reply")

    def answered(self, j: NodeId) -> None:
        if self.awaiting >> j & 1:
            self.awaiting ^= 1 << j
            self.suspects &= ~(1 << j)
            self.wait_on()

    def is_there(self, j: NodeId) -> None:
        if self.suspects >> j & 1:
            self.suspects ^= 1 << j
            self.wait_on()

    def go_on(self) -> None:
        """Nobody's answer is awaited any more."""
        if self.standing is Standing.JOINING:
            self.join()
        elif self.standing is Standing.SETTLING:
            self.settle() if self.way == "a" else self.ask_nearby()
        elif self.standing is Standing.LEAVING:
            self.standing, self.names = Standing.OUT, 1 << self.me
            self.see_what_is_wanted()
        elif self.admitting:
            self.initialize(self.admitting)
        elif self.requesting and not self.holding:
            self.enter()

    def timer(self, name: str) -> None:
        match name:
            case "reply":
                self.suspects = self.awaiting
                joining = self.standing is Standing.JOINING
                for j in nodes_in(self.suspects):
                    self.send(j, AreYouThere(0 if joining else self.our_sequence_number))
                self.set_timer("probe", self.time_for_answers)
            case "probe":
                self.have_failed(self.suspects)
            case "restart":
                self.standing = Standing.OUT
                self.see_what_is_wanted()
            case "settle":
                self.ask_nearby()

    def receive_are_you_there(self, j: NodeId, message: AreYouThere) -> None:
        k = message.sequence_number
        if k and (j, k) not in self.reply_deferred and self.names >> j & 1:
            self.receive_request(j, Request(k))
        if (j, k) in self.reply_deferred or (not k and self.sponsored >> j & 1):
            self.send(j, YesIAmHere())

    def receive_yes_i_am_here(self, j: NodeId, message: YesIAmHere) -> None:
        self.is_there(j)

    # Failures

    def have_failed(self, nodes: Nodes) -> None:
        if self.standing is not Standing.JOINING:  # or it may just not be in the group
            for j in nodes_in(nodes):
                self.broadcast(NodeFailed(j))
        self.strike_off(nodes)

    def receive_node_failed(self, j: NodeId, message: NodeFailed) -> None:
        if message.node == self.me:
            self.receive_restart(j, Restart())
        else:
            self.strike_off(1 << message.node)

    def strike_off(self, nodes: Nodes) -> None:
        """Pretend that they have replied."""
        self.names &= ~nodes
        self.reply_deferred = tuple(
            (j, k) for j, k in self.reply_deferred if not nodes >> j & 1
        )
        self.sponsored &= ~nodes
        self.suspects &= ~nodes
        waited_for = self.awaiting & nodes
        self.awaiting &= ~nodes
        if self.admitting and nodes >> self.admitting & 1:
            self.admitting = 0
            self.awaiting = 0
            self.stop_waiting()
            self.admit_or_end()
        elif waited_for:
            self.wait_on()
        self.look_whether_settled()

    def restart(self) -> None:
        """Tell all that we had failed, and wait until all have noticed."""
        self.standing, self.names = Standing.RESTARTING, 1 << self.me
        self.broadcast(NodeFailed(self.me))
        self.set_timer("restart", self.restart_interval)

    def receive_restart(self, j: NodeId, message: Restart) -> None:
        """We were struck off.  That we are inside cannot be helped."""
        if self.standing is Standing.IN and not self.holding:
            self.requesting = False
            self.awaiting, self.reply_deferred, self.sponsored = 0, (), 0
            self.stop_waiting()
            self.restart()

    # A newcomer

    def join(self) -> None:
        """Ask the next node to be our sponsor; a node that is alone is the group."""
        number = len(self.members)
        if number == 1:
            self.settle()
            return
        self.standing = Standing.JOINING
        self.sponsor = self.sponsor % number + 1
        if self.sponsor == self.me:
            self.sponsor = self.sponsor % number + 1
        self.ask(1 << self.sponsor, self.question())

    def question(self) -> object:
        return Join()

    def receive_initialize(self, sponsor: NodeId, message: Initialize) -> None:
        if self.standing is not Standing.JOINING:
            return
        self.standing, self.awaiting = Standing.SETTLING, 0
        self.stop_waiting()
        self.names |= bits(message.names)
        self.heard, self.first_heard = (0,) * len(self.members), 0
        if self.way == "a":
            self.ask(self.the_others, AskHighest())
        elif self.way == "d":
            self.set_timer("settle", self.time_out)

    def ask_nearby(self) -> None:
        """Any node that is there will do."""
        if self.the_others:
            self.ask(1 << next(nodes_in(self.the_others)), AskHighest())
        else:
            self.settle()

    def receive_ask_highest(self, j: NodeId, message: AskHighest) -> None:
        self.send(j, Highest(self.highest_sequence_number))

    def receive_highest(self, j: NodeId, message: Highest) -> None:
        self.highest_sequence_number = max(
            self.highest_sequence_number, message.sequence_number
        )
        if self.standing is Standing.SETTLING and self.awaiting >> j & 1:
            if self.way == "d":
                self.awaiting = 0
                self.stop_waiting()
                self.settle()
            else:
                self.answered(j)

    def hear(self, j: NodeId, number: int) -> None:
        """The number of a REQUEST."""
        self.highest_sequence_number = max(self.highest_sequence_number, number)
        if self.standing is Standing.SETTLING:
            self.first_heard = self.first_heard or number
            heard = list(self.heard)
            heard[j - 1] += 1
            self.heard = tuple(heard)
            self.look_whether_settled()

    def look_whether_settled(self) -> None:
        if self.standing is Standing.SETTLING and self.is_settled():
            self.settle()

    def is_settled(self) -> bool:
        """By way (b), (c) or (e)."""
        match self.way:
            case "b":
                return all(self.heard[j - 1] for j in nodes_in(self.the_others))
            case "c":
                risen = self.highest_sequence_number - self.first_heard
                return self.first_heard > 0 and risen >= self.names.bit_count() - 1
            case "e":
                return max(self.heard) >= 4
        return False

    def settle(self) -> None:
        self.standing, self.heard, self.first_heard = Standing.IN, (), 0
        self.see_what_is_wanted()

    # A sponsor

    def receive_join(self, j: NodeId, message: Join) -> None:
        if self.standing in (Standing.SETTLING, Standing.IN):
            self.sponsored |= 1 << j
            self.see_what_is_wanted()

    def admit_or_end(self) -> None:
        """All in one section, so that lists change one after the other."""
        if not self.sponsored:
            self.end()
            return
        self.admitting = next(nodes_in(self.sponsored))
        self.sponsored ^= 1 << self.admitting
        self.announce(self.the_others & ~(1 << self.admitting))

    def announce(self, others: Nodes) -> None:
        self.names |= 1 << self.admitting
        self.ask(others, NewNode(self.admitting))

    def receive_new_node(self, j: NodeId, message: NewNode) -> None:
        self.names |= 1 << message.node
        self.send(j, Acknowledge())

    def receive_acknowledge(self, j: NodeId, message: Acknowledge) -> None:
        if self.admitting or self.standing is Standing.LEAVING:
            self.answered(j)

    def initialize(self, newcomer: NodeId) -> None:
        self.admitting = 0
        names = tuple(nodes_in(self.names))
        self.send(newcomer, Initialize(names))
        self.admit_or_end()

    # Leaving

    def leave_the_group(self) -> None:
        self.standing = Standing.LEAVING
        self.ask(self.the_others, Leaving())

    def receive_leaving(self, j: NodeId, message: Leaving) -> None:
        self.send(j, Acknowledge())
        self.strike_off(1 << j)


@dataclass(eq=False)
class RicartAgrawalaTwice(RicartAgrawalaFailures):
    """Sends two REPLYs to one REQUEST, and takes the second for that to the next REQUEST.

    The report has it so: a REPLY does not say what it is for.
    """

    def receive_reply(self, j: NodeId, message: Reply) -> None:
        super().receive_reply(j, Reply(self.our_sequence_number))


@dataclass(eq=False)
class RicartAgrawalaUnannounced(RicartAgrawalaFailures):
    """Lets a newcomer in before all have heard of it: they do not ask it.

    The report has it so: the sponsor broadcasts the new node's name and leaves.
    """

    passing: tuple[NodeId, ...] = setting((1,))

    def announce(self, others: Nodes) -> None:
        self.names |= 1 << self.admitting
        for j in nodes_in(others):
            self.send(j, NewNode(self.admitting))
        self.initialize(self.admitting)


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-failures",
        peer=RicartAgrawalaFailures,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2(N−1) when nothing fails",
        takes="way",
        outlasting=("reply", "probe", "restart", "settle"),
        exhibit=Exhibit(crashes=1, returns=True),
    ),
    Algorithm(
        name="ricart-agrawala-twice",
        peer=RicartAgrawalaTwice,
        source="Ricart, Agrawala, TR-869",
        year=1980,
        family="museum",
        messages="2(N−1) when nothing fails",
        outlasting=("reply", "probe", "restart", "settle"),
        verdict="exclusion",
        exhibit=Exhibit(nodes=2, requests=2),
        quotes=(
            Quotation(
                "ricart-agrawala-tr869-1980",
                "7.4",
                "If it is FALSE, it must be that the REQUEST was not received, or the "
                "REPLY was lost, or the node has restarted; the correct response is "
                "REPLY(me).",
            ),
        ),
    ),
    Algorithm(
        name="ricart-agrawala-unannounced",
        peer=RicartAgrawalaUnannounced,
        source="Ricart, Agrawala, TR-869",
        year=1980,
        family="museum",
        messages="2(N−1) when nothing fails",
        outlasting=("reply", "probe", "restart", "settle"),
        verdict="exclusion",
        quotes=(
            Quotation(
                "ricart-agrawala-tr869-1980",
                "7.2.2",
                "broadcast the new node's identify before releasing mutual exclusion",
            ),
        ),
    ),
)
