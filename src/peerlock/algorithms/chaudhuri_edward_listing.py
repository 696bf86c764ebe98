"""Chaudhuri and Edward, 2004, as the listing in their appendix has it, error by error.

    P. Chaudhuri, T. Edward.  An O(√n) Distributed Mutual Exclusion Algorithm Using Queue
    Migration.  Journal of Universal Computer Science 12(2), 2006, 140-159, appendix; a
    first version in the 16th IASTED International Conference on Parallel and Distributed
    Computing and Systems, 2004, 197-204.  It builds on Banerjee and Chrysanthis, 1996.

The listing cannot be run as it stands.  Each piece is the algorithm that was rebuilt from
the paper's text, with one passage as the listing has it.

    messages      as those of `chaudhuri-edward`
    delay         as that of `chaudhuri-edward`
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the token must not be lost
    fairness      that is what some of them lack

Where this file departs from the paper, and why:
  * In each piece everything but that passage is as in `chaudhuri-edward`, so that it is
    this passage alone that is wrong.
"""

from __future__ import annotations

from dataclasses import dataclass

from peerlock.algorithms.chaudhuri_edward import (
    MARKER,
    ChaudhuriEdward,
    GrCollector,
    LrCollector,
    Request,
    Token,
)
from peerlock.algorithms.entry import Algorithm, Exhibit, Quotation
from peerlock.core.peer import NodeId


@dataclass(eq=False)
class ChaudhuriEdwardForgetful(ChaudhuriEdward):
    """As the listing has it: a link-node that leaves does not have the token any more.

    `exit_cs_linknode` clears token_here and then looks whom to send the token to.  If
    nobody waits it is sent to nobody, and the next REQUEST finds no token.
    """

    def release(self) -> None:
        super().release()
        if self.me == self.link:
            self.token = None


@dataclass(eq=False)
class ChaudhuriEdwardTwice(ChaudhuriEdward):
    """As the listing has it: a local node that has sent the idle token still has it.

    `receive_REQUEST` of a local node does not clear token_here.  When the node is the
    collector again and waits for the token, a REQUEST makes it send a second one.
    """

    # The listing's token_here, once it is wrong.
    token_here: bool = False

    def collect(self, request: Request) -> None:
        idle = self.token is not None and not self.requesting
        super().collect(request)
        number, collector = self.local_request_collector
        if self.token_here and self.token is None and collector == self.me:
            self.grant_token(Token((), number))
        self.token_here |= idle and self.me != self.link


@dataclass(eq=False)
class ChaudhuriEdwardUncounted(ChaudhuriEdward):
    """As the listing has it: the last message names the collector, however late it is.

    News of who collects comes from the node that had the token, and can be old by then.
    A node that takes itself for the collector again waits for a token that nobody sends.
    """

    def receive_lr_collector(self, sender: NodeId, message: LrCollector) -> None:
        self.local_request_collector = (message.number, message.node)

    def receive_gr_collector(self, sender: NodeId, message: GrCollector) -> None:
        self.global_request_collector = (message.number, message.node)


@dataclass(eq=False)
class ChaudhuriEdwardStranded(ChaudhuriEdward):
    """As the listing has it: a collector that is replaced keeps what it has collected.

    A link-node takes over when other groups wait, and the collector may have queued
    requests by then.  Nobody looks at them there until it is the collector again.
    """

    def collected_by(self, number: int, node: NodeId) -> None:
        known = max(self.local_request_collector, (number, node))
        self.local_request_collector = known


@dataclass(eq=False)
class ChaudhuriEdwardMarkers(ChaudhuriEdward):
    """As the listing has it: every request of another group puts a marker into the queue.

    The TOKEN leaves at the first marker, and takes all the groups that wait with it.  At
    the second one nobody is left to send it to, and who stands below it waits.
    """

    def collect_globally(self, request: Request) -> None:
        before = self.lrq.count(MARKER)
        super().collect_globally(request)
        if before and self.lrq.count(MARKER) == before:
            self.lrq += (MARKER,)

    def leave_group(self, number: int) -> None:
        if self.grq:
            super().leave_group(number)
        else:
            self.token = Token((), number)


@dataclass(eq=False)
class ChaudhuriEdwardAgain(ChaudhuriEdward):
    """As the listing has it: a link-node sends the token to the next group twice.

    `grant_token` sends it when no node of the group waits any more, and continues with its
    last line, which sends it again, whatever came before.  No procedure refuses a token.
    """

    def leave_group(self, number: int) -> None:
        queue, alone = self.grq, len(self.lrq) == 1
        super().leave_group(number)
        if alone:
            self.send_token(Token(queue, number + 1))

    def receive_token(self, sender: NodeId, message: Token) -> None:
        self.called |= self.me == self.link
        if self.token is None:
            super().receive_token(sender, message)


@dataclass(eq=False)
class ChaudhuriEdwardRear(ChaudhuriEdward):
    """As the listing has it: a link-node that takes over names another as the collector.

    `broadcast LR_COLLECTOR` names token_Q.rear.  Where the link-node has just made itself
    the collector, that is still the one before, and its group still asks that one.
    """

    def pass_on(self, token: Token) -> None:
        if not self.grq:
            super().pass_on(token)
            return
        number = token.number + 1
        self.announce_locally(number, token.queue[-1])
        self.local_request_collector = (number, self.me)
        self.send_token(Token((*token.queue, self.me), number))


@dataclass(eq=False)
class ChaudhuriEdwardKept(ChaudhuriEdward):
    """As the listing has it: a link-node that has sent the token on still has it.

    `receive_token_linknode` sets token_here, and `grant_token`, which sends the token, does
    not clear it.  The next REQUEST of the group is granted with one that is elsewhere.
    """

    # The listing's token_here, once it is wrong.
    token_here: bool = False

    def token_from_another_group(self, sender: NodeId, message: Token) -> None:
        self.token_here = True
        super().token_from_another_group(sender, message)

    def collect(self, request: Request) -> None:
        super().collect(request)
        number, collector = self.local_request_collector
        if self.token_here and self.token is None and collector == self.me:
            self.grant_token(Token((), number))

    def release(self) -> None:
        self.token_here &= self.me != self.link
        super().release()


@dataclass(eq=False)
class ChaudhuriEdwardIdle(ChaudhuriEdward):
    """As the listing has it: a link-node that knows that it is the GRC does not grant.

    `receive_token_linknode` calls `grant_token` if the node is not the GRC, or if others
    are in the token's queue.  The last in that queue is the new GRC; if it hears of that
    before the token comes, it keeps the token, and those of its group wait.
    """

    def token_from_another_group(self, sender: NodeId, message: Token) -> None:
        if self.global_request_collector[1] == self.me and len(message.queue) == 1:
            self.token = Token((), message.number)
        else:
            super().token_from_another_group(sender, message)


ENTRIES = (
    Algorithm(
        name="chaudhuri-edward-forgetful",
        peer=ChaudhuriEdwardForgetful,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="deadlock",
        exhibit=Exhibit(nodes=2),
        quotes=(
            Quotation(
                "chaudhuri-edward",
                "appendix, A4",
                "Procedure exit_cs_linknode() /* Exit CS*/ Token_here = 0 Grant_token()",
            ),
        ),
    ),
    Algorithm(
        name="chaudhuri-edward-twice",
        peer=ChaudhuriEdwardTwice,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="exclusion",
        exhibit=Exhibit(requests=(2, 0, 2)),
        quotes=(
            Quotation(
                "chaudhuri-edward",
                "appendix, A3",
                "if token_here = 1 and mutex = 0 then copy (LRQ , token_Q , N) "
                "local_request_collector := token_Q.rear broadcast(LR_COLLECTOR()) send "
                "(TOKEN, (i, j), token_Q) to token_Q.front fi",
            ),
        ),
    ),
    Algorithm(
        name="chaudhuri-edward-uncounted",
        peer=ChaudhuriEdwardUncounted,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="deadlock",
        exhibit=Exhibit(requests=(1, 0, 2)),
        quotes=(
            Quotation(
                "chaudhuri-edward",
                "appendix, A3",
                "Procedure receive_LR_COLLECTOR() local_request_collector := token_Q.rear",
            ),
        ),
    ),
    Algorithm(
        name="chaudhuri-edward-stranded",
        peer=ChaudhuriEdwardStranded,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="starvation",
        exhibit=Exhibit(nodes=7, requests=(0, 1, 0, 2, 0, 0, 1)),
        quotes=(
            Quotation(
                "chaudhuri-edward",
                "appendix, A4",
                "LRC := (i, 0) /*broadcast LRC information*/ broadcast LR_COLLECTOR()",
            ),
        ),
    ),
    Algorithm(
        name="chaudhuri-edward-markers",
        peer=ChaudhuriEdwardMarkers,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="deadlock",
        exhibit=Exhibit(nodes=5, requests=(2, 1, 1, 0, 0)),
        quotes=(
            Quotation(
                "chaudhuri-edward",
                "appendix, A4",
                "enqueue (GRQ, (j, 0)) enqueue (LRQ, marker)",
            ),
        ),
    ),
    Algorithm(
        name="chaudhuri-edward-again",
        peer=ChaudhuriEdwardAgain,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="exclusion",
        exhibit=Exhibit(nodes=4, requests=(0, 1, 0, 1)),
        quotes=(
            Quotation(
                "chaudhuri-edward",
                "appendix, A4",
                "if LRQ = N then /* broadcast GRC information */ broadcast GR_COLLECTOR() "
                "send(TOKEN, tokenQ.front, tokenQ) fi fi … "
                "fi fi fi send(TOKEN, tokenQ.front, tokenQ)",
            ),
        ),
    ),
    Algorithm(
        name="chaudhuri-edward-rear",
        peer=ChaudhuriEdwardRear,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="deadlock",
        exhibit=Exhibit(nodes=7, requests=(0, 1, 0, 2, 0, 0, 1)),
        quotes=(
            Quotation(
                "chaudhuri-edward",
                "appendix, A4",
                "LRC := (i, 0) /*broadcast LRC information*/ broadcast LR_COLLECTOR() … "
                "send (LR_COLLECTOR, token_Q.rear, N) to (i, j)",
            ),
        ),
    ),
    Algorithm(
        name="chaudhuri-edward-kept",
        peer=ChaudhuriEdwardKept,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="exclusion",
        exhibit=Exhibit(nodes=4, requests=(1, 0, 0, 2)),
        quotes=(
            Quotation(
                "chaudhuri-edward",
                "appendix, A4",
                "Procedure receive_token_linknode() /* node (i, 0) = tokenQ.front receives "
                "token */ token_here := 1",
            ),
        ),
    ),
    Algorithm(
        name="chaudhuri-edward-idle",
        peer=ChaudhuriEdwardIdle,
        source="Chaudhuri, Edward",
        year=2004,
        family="museum",
        messages="≤ 6 + 3(√n−1)",
        verdict="deadlock",
        exhibit=Exhibit(nodes=2, requests=(0, 1)),
        quotes=(
            Quotation(
                "chaudhuri-edward",
                "appendix, A4",
                "if (i, 0) ≠ GRC enqueue (LRQ, marker) if token_Q = N then grant_token() "
                "fi fi if token_Q ≠ N then",
            ),
        ),
    ),
)
