"""Ricart and Agrawala, 1980: a new node inserts itself by broadcast, without a sponsor.

    G. Ricart, A. K. Agrawala.  An Algorithm for Mutual Exclusion in Computer Networks.
    Technical Report TR-869, University of Maryland, February 1980, section 7.2.2.

Ricart and Agrawala's algorithm with nodes that join, leave, fail and come back, as
`ricart-agrawala-failures`, where a message can be sent to all nodes of the network without
naming them.  A new node asks a nearby node for its list of participants, and then
broadcasts INCLUDE_ME.  Every node that hears it puts the new node on its list and answers
INCLUDED with its list and its highest number.  The new node takes part when all that it has
heard of have answered.

    messages      2(N-1) per entry when nothing fails; to insert a node 2 for the list, 1
                  broadcast and N-1 INCLUDED; the others as in `ricart-agrawala-failures`
    delay         one REPLY from the leaving node to the next
    network       a broadcast that reaches every node, also those that the sender has not
                  heard of; no loss, no duplicates; messages may overtake one another; a
                  bound on delay, a third of the time for answers
    failures      as those of `ricart-agrawala-failures`
    fairness      entries follow the order of (sequence number, node number)

Where this file departs from the report, and why:
  * INCLUDE_ME is acknowledged, and the new node waits for that.  In the report it does not:
    then a node that has not heard of it yet asks without it, and two are inside;
    `ricart-agrawala-included` in the museum shows it.
  * INCLUDED has the list of its sender.  Of two new nodes that got their lists before
    either was on it, the second to reach a participant hears of the first in that way.
  * A node that does not take part at the moment answers too, and remembers the new node.
    That a list has a node that is not there any more does no harm: it replies.
  * INCLUDED brings the highest number: the report's way (a), without a message of its own.
  * INCLUDE_ME and INCLUDED are counted, so that an answer to an earlier one is not taken
    for one to this.
  * It is for the lab: the members of a lock learn from its home which nodes take part, and
    form a new circle when a node joins.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.algorithms.ricart_agrawala import Request
from peerlock.algorithms.ricart_agrawala_failures import (
    Acknowledge,
    AreYouThere,
    AskHighest,
    Highest,
    Leaving,
    NodeFailed,
    Reply,
    Restart,
    RicartAgrawalaFailures,
    Standing,
    YesIAmHere,
)
from peerlock.core.bits import Nodes, bits, nodes_in
from peerlock.core.peer import NodeId, setting

OUTLASTING = ("reply", "probe", "restart")


@dataclass(frozen=True, slots=True)
class AskNames:
    """Give me your list of participants."""


@dataclass(frozen=True, slots=True)
class Names:
    names: tuple[NodeId, ...]


@dataclass(frozen=True, slots=True)
class IncludeMe:
    count: int  # of the insertions of its sender


@dataclass(frozen=True, slots=True)
class Included:
    count: int  # that of the INCLUDE_ME
    names: tuple[NodeId, ...]
    sequence_number: int  # the highest


@dataclass(eq=False)
class RicartAgrawalaInsertion(RicartAgrawalaFailures):
    messages = (  # type: ignore[assignment]  # others than with a sponsor
        Request,
        Reply,
        AreYouThere,
        YesIAmHere,
        NodeFailed,
        Restart,
        Leaving,
        Acknowledge,
        AskNames,
        Names,
        IncludeMe,
        Included,
    )

    # How often this node has inserted itself.
    insertions: int = 0

    # The nodes that have answered the latest INCLUDE_ME.
    included: Nodes = 0

    def question(self) -> object:
        return AskNames()

    def receive_ask_names(self, j: NodeId, message: AskNames) -> None:
        if self.standing in (Standing.SETTLING, Standing.IN):
            self.send(j, Names(tuple(nodes_in(self.names))))

    def receive_names(self, j: NodeId, message: Names) -> None:
        if self.standing is not Standing.JOINING or not self.awaiting >> j & 1:
            return
        self.standing = Standing.SETTLING
        self.stop_waiting()
        self.heard = (0,) * len(self.members)
        self.names |= bits(message.names)
        self.insertions += 1
        self.included = 0
        self.broadcast(IncludeMe(self.insertions))
        self.wait_for_the_rest()

    def wait_for_the_rest(self) -> None:
        self.awaiting = self.the_others & ~self.included
        self.suspects &= self.awaiting
        self.wait_on()

    def receive_include_me(self, j: NodeId, message: IncludeMe) -> None:
        self.names |= 1 << j
        names = tuple(nodes_in(self.names))
        self.send(j, Included(message.count, names, self.highest_sequence_number))

    def receive_included(self, j: NodeId, message: Included) -> None:
        self.highest_sequence_number = max(
            self.highest_sequence_number, message.sequence_number
        )
        if self.standing is Standing.SETTLING and message.count == self.insertions:
            self.names |= bits(message.names)
            self.included |= 1 << j
            self.wait_for_the_rest()


@dataclass(eq=False)
class RicartAgrawalaIncluded(RicartAgrawalaInsertion):
    """Takes part before all have heard of it: they do not ask it.

    The report has it so: a new node broadcasts that it is to be included, and waits for no
    answer.  It then asks all on its list for their highest numbers, the report's way (a).
    """

    messages = (*RicartAgrawalaInsertion.messages, AskHighest, Highest)  # type: ignore[assignment]

    passing: tuple[NodeId, ...] = setting((1,))

    def wait_for_the_rest(self) -> None:
        self.ask(self.the_others, AskHighest())

    def receive_include_me(self, j: NodeId, message: IncludeMe) -> None:
        self.names |= 1 << j


ENTRIES = (
    Algorithm(
        name="ricart-agrawala-insertion",
        peer=RicartAgrawalaInsertion,
        source="Ricart, Agrawala",
        year=1980,
        family="permission",
        messages="2(N−1) when nothing fails",
        outlasting=OUTLASTING,
        exhibit=Exhibit(crashes=1, returns=True),
    ),
    Algorithm(
        name="ricart-agrawala-included",
        peer=RicartAgrawalaIncluded,
        source="Ricart, Agrawala, TR-869",
        year=1980,
        family="museum",
        messages="2(N−1) when nothing fails",
        outlasting=OUTLASTING,
        verdict="exclusion",
        quotes=(
            Quotation(
                "ricart-agrawala-tr869-1980",
                "7.2.2",
                "obtains a list of participants from a nearby node and then sends a "
                "broadcast message asking all other nodes to include it",
            ),
        ),
    ),
)
