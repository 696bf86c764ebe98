"""Chaudhuri and Edward, 2004: √n groups, and queues that travel with the token.

    P. Chaudhuri, T. Edward.  An O(√n) Distributed Mutual Exclusion Algorithm Using Queue
    Migration.  Journal of Universal Computer Science 12(2), 2006, 140-159; a first version
    in the 16th IASTED International Conference on Parallel and Distributed Computing and
    Systems, 2004, 197-204.  It builds on Banerjee and Chrysanthis, 1996.

The nodes form √n local groups.  In each a local request collector, the LRC, queues the
nodes that want in; when it has the TOKEN and no use for it, it sends it with this queue to
the first in it, and the last becomes the LRC, as the TOKEN will come to rest there.  One
node of each group, its link-node, belongs to the global group too, where a global request
collector, the GRC, queues the groups in the same way.  The link-node is the LRC of its
group while the TOKEN is elsewhere, and asks the GRC for it.

A marker in the local queue says where the TOKEN's stay in a group ends: the nodes above it
are served, then the TOKEN is back at the link-node and goes to the next group.  The GRC
puts it there when a group asks, any other link-node when the TOKEN comes.

    messages      at most 6 + 3(⌈√n⌉-1) when nobody competes, 0 at the node that has the
                  token; about 2 + 1/√n when all compete
    delay         one TOKEN from the leaving node to the next in its group, at most three
                  to one in another group
    network       no loss, no duplicates; messages may overtake one another
    failures      none: the token must not be lost
    fairness      first come, first served at each collector; a group that keeps asking
                  lets all other groups that have asked go before its next turn

Where this file departs from the paper, and why:
  * The listing in the appendix has gaps and contradicts the text, so this is rebuilt from
    the text, so that its counts come out; the listing gives names and details.  Rebuilt
    are: when a link-node asks the GRC, what it does in the middle of the TOKEN's queue, in
    whose name a REQUEST is forwarded, what becomes of a replaced collector's queue, and how
    one knows the latest collector.  Nine pieces of the museum follow its errors.
  * The TOKEN counts the changes of collectors.  Collector messages and REQUESTs say as of
    which change they know the collector, and the latest knowledge counts.  News can come
    late, even in order, as it comes from the node that had the TOKEN:
    `chaudhuri-edward-uncounted`.
  * A REQUEST teaches its receiver that it is the collector, and the TOKEN's queue tells
    everyone on its way that the last in it is.  So a REQUEST that has overtaken the news
    is not sent to and fro until that comes.
  * A collector that a link-node replaces sends it the queue it has collected, in one
    REQUEST, for which the message has room: `chaudhuri-edward-stranded`.
  * A link-node asks the GRC once, until the TOKEN has been here and left.  The listing
    has it ask for every local request, so that its own REQUEST can come back to it:
    messages for nothing, and no harm that we could find.
  * There is no second marker in a queue, as the text says and the listing does not:
    `chaudhuri-edward-markers`.
  * A node that sends the token no longer has it, and a node that leaves when no other
    waits still does: `chaudhuri-edward-twice` and `chaudhuri-edward-forgetful`.
  * A node that has the idle token enters at once.  The listing has it ask itself, and
    announce that it is the collector, as before.
  * The paper's (i, k) is node i + 1 + (k-1)⌈√n⌉: dealt to the groups in turn, as the paper
    has it when n is not a square, so that the link-nodes come first.
  * The paper's 6 + 3(√n-1) is for squares.  The groups that it makes of another n are
    larger, and with five nodes an entry takes 10 messages, not 9.7.
  * The paper counts a link-node's requests to itself, and so 2(1 + 1/√n - 1/n) when all
    compete.  Here they are not messages, and 2 + 1/√n - 1/n remain if n is a square, or
    2 + 1/√n where a link-node is in the middle of its own queue.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import isqrt

from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId, Peer, RemoteError, setting

Queue = tuple[NodeId, ...]
Collector = tuple[int, NodeId]  # as of which change, and who

MARKER = 0  # in a local request queue: here the token leaves the group


@dataclass(frozen=True, slots=True)
class Request:
    nodes: Queue  # that want in: one, or all that a collector had queued
    number: int  # as of which change the receiver is taken for the collector


@dataclass(frozen=True, slots=True)
class Token:
    queue: Queue  # the receiver first, and last the collector
    number: int  # changes of collectors, local and global, so far


@dataclass(frozen=True, slots=True)
class LrCollector:
    number: int
    node: NodeId


@dataclass(frozen=True, slots=True)
class GrCollector:
    number: int
    node: NodeId


@dataclass(eq=False)
class ChaudhuriEdward(Peer):
    messages = (Request, Token, LrCollector, GrCollector)

    first_holder: NodeId = setting(1)

    # How many there are: ⌈√n⌉ unless told otherwise.
    groups: int = setting()

    # True from our request until our release, the critical section included.
    requesting: bool = False

    # True while another node has us in a queue, or is about to: the local collector, or
    # the token.
    queued: bool = False

    # The token while it is here, with the nodes that it is to go to next.
    token: Token | None = None

    # The latest that we know of the collector of our group.
    local_request_collector: Collector = (0, 0)

    # Whom we have collected in our group, and at a link-node the marker.
    lrq: Queue = ()

    # At link-nodes only: the latest that we know of the collector of the global group.
    global_request_collector: Collector = (0, 0)

    # The groups to which the token goes from here, each by its link-node.
    grq: Queue = ()

    # True from our REQUEST to the global group until the token has been here and left.
    called: bool = False

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.groups is None:
            self.groups = isqrt(len(self.members) - 1) + 1
        assert 1 <= self.groups <= len(self.members)
        at = self.link_of(self.first_holder)
        here = at == self.link_of(self.me)
        self.local_request_collector = (0, self.first_holder if here else self.link)
        if self.me == self.link:
            self.global_request_collector = (0, at)
            self.called = here
        if self.me == self.first_holder:
            self.token = Token((), 0)

    # The groups

    def link_of(self, node: NodeId) -> NodeId:
        return (node - 1) % self.groups + 1

    @property
    def link(self) -> NodeId:
        return self.link_of(self.me)

    def local(self, node: NodeId) -> bool:
        return self.link_of(node) == self.link

    def global_group(self, node: NodeId) -> bool:
        """Whether we know `node` as a link-node, being one ourselves."""
        return self.me == self.link and node <= self.groups and node != self.me

    def rest_of_group(self) -> Iterator[NodeId]:
        return (j for j in self.members[self.link - 1 :: self.groups] if j != self.me)

    # What the user does

    def acquire(self) -> None:
        assert not self.requesting

        self.requesting = True
        if self.token is not None:
            self.grant()
        elif self.local_request_collector[1] == self.me and not self.queued:
            self.lrq += (self.me,)
            self.call_token()
        else:
            self.ask_locally()

    def release(self) -> None:
        assert self.requesting and self.token is not None

        self.requesting = False
        self.grant_token(self.token)

    # Requests

    def ask_locally(self) -> None:
        if not self.queued:
            self.queued = True
            number, collector = self.local_request_collector
            self.send(collector, Request((self.me,), number))

    def call_token(self) -> None:
        """Ask the global group for the token, once, if it is not in our group."""
        if self.me == self.link and not self.called:
            self.called = True
            number, collector = self.global_request_collector
            self.send(collector, Request((self.me,), number))

    def receive_request(self, sender: NodeId, message: Request) -> None:
        if self.me in message.nodes:
            raise RemoteError(f"{sender} returns our own request")
        if all(map(self.local, (sender, *message.nodes))):
            self.collect(message)
        elif all(map(self.global_group, (sender, *message.nodes))):
            self.collect_globally(message)
        else:
            raise RemoteError(f"{sender} asks for nodes that are not of our group")

    def collect(self, request: Request) -> None:
        known = max(self.local_request_collector, (request.number, self.me))
        if known[1] != self.me:
            self.send(known[1], Request(request.nodes, known[0]))
            return
        self.local_request_collector = known
        self.lrq += request.nodes
        self.call_token()
        if self.token is not None and not self.requesting:
            self.grant_token(self.token)

    def collect_globally(self, request: Request) -> None:
        known = max(self.global_request_collector, (request.number, self.me))
        if known[1] != self.me:
            self.send(known[1], Request(request.nodes, known[0]))
            return
        self.global_request_collector = known
        self.grq += request.nodes
        if MARKER not in self.lrq:
            self.lrq += (MARKER,)
        if self.token is None and self.local_request_collector[1] != self.me:
            self.ask_locally()
        elif self.token is not None and not self.requesting:
            self.grant_token(self.token)

    # Collectors

    def receive_lr_collector(self, sender: NodeId, message: LrCollector) -> None:
        if not (self.local(sender) and self.local(message.node)):
            raise RemoteError(f"{sender} speaks of the collector of another group")
        self.collected_by(message.number, message.node)

    def collected_by(self, number: int, node: NodeId) -> None:
        """A queue that we have collected follows the collector."""
        known = max(self.local_request_collector, (number, node))
        self.local_request_collector = known
        if known[1] != self.me != self.link and self.lrq:
            self.send(known[1], Request(self.lrq, known[0]))
            self.lrq = ()

    def receive_gr_collector(self, sender: NodeId, message: GrCollector) -> None:
        if not self.global_group(sender) or message.node > self.groups:
            raise RemoteError(f"{sender} speaks of the global group, and is none of it")
        told = (message.number, message.node)
        self.global_request_collector = max(self.global_request_collector, told)

    def announce_locally(self, number: int, collector: NodeId) -> None:
        self.local_request_collector = (number, collector)
        for j in self.rest_of_group():
            self.send(j, LrCollector(number, collector))

    def announce_globally(self, number: int, collector: NodeId) -> None:
        self.global_request_collector = (number, collector)
        for j in self.members[: self.groups]:
            if j != self.me:
                self.send(j, GrCollector(number, collector))

    # The token

    def receive_token(self, sender: NodeId, message: Token) -> None:
        if self.token is not None or message.queue[:1] != (self.me,):
            raise RemoteError(f"{sender} sends a second token, or not to us")
        if self.local(sender):
            self.token_from_group(sender, message)
        else:
            self.token_from_another_group(sender, message)

    def token_from_group(self, sender: NodeId, message: Token) -> None:
        ours = self.local_request_collector[1] == self.me == self.link
        if not (self.queued or ours):
            raise RemoteError(f"{sender} sends a token that we did not ask for")
        wanted, self.queued = self.queued and self.requesting, False
        self.collected_by(message.number, message.queue[-1])
        rest = Token(message.queue[1:], message.number)
        if wanted:
            self.enter(rest)
        else:
            self.grant_token(rest)

    def token_from_another_group(self, sender: NodeId, message: Token) -> None:
        if not self.called or not self.global_group(sender):
            raise RemoteError(f"{sender} sends a token that our group did not ask for")
        known = (message.number, message.queue[-1])
        self.global_request_collector = max(self.global_request_collector, known)
        if known[1] != self.me:
            self.lrq += (MARKER,)
            self.grq = message.queue[1:]
        self.grant_token(Token((), message.number))

    def enter(self, token: Token) -> None:
        self.token = token
        self.grant()

    def grant_token(self, token: Token) -> None:
        """It is here, and we have no use for it, unless we are the first in our queue."""
        if token.queue:
            self.pass_on(token)
        elif not self.lrq:
            self.token = token
        elif self.lrq[0] == self.me:
            self.lrq = self.lrq[1:]
            self.enter(token)
        elif self.lrq[0] == MARKER:
            self.leave_group(token.number)
        else:
            self.serve_group(token.number)

    def pass_on(self, token: Token) -> None:
        """To the next in its queue; and back to us first if other groups wait."""
        if self.grq:
            self.announce_locally(token.number + 1, self.me)
            token = Token((*token.queue, self.me), token.number + 1)
        self.send_token(token)

    def serve_group(self, number: int) -> None:
        """Round those that wait above the marker, or before us, and back to us; without
        these, round all that wait, to rest with the last one."""
        stops = (place for place, j in enumerate(self.lrq) if j in (MARKER, self.me))
        stop = next(stops, None)
        queue, self.lrq = self.lrq[:stop], () if stop is None else self.lrq[stop:]
        if stop is None:
            number += 1
            self.announce_locally(number, queue[-1])
        else:
            queue += (self.me,)
        self.send_token(Token(queue, number))

    def leave_group(self, number: int) -> None:
        """To the next group; and back to ours in its turn if a node waits here."""
        queue, self.grq, self.lrq = self.grq, (), self.lrq[1:]
        if self.global_request_collector[1] != self.me:
            self.called = False
            if self.lrq:
                self.call_token()
        elif self.lrq:
            queue += (self.me,)
        else:
            self.called = False
            number += 1
            self.announce_globally(number, queue[-1])
        self.send_token(Token(queue, number))

    def send_token(self, token: Token) -> None:
        self.token = None
        self.send(token.queue[0], token)


ENTRIES = (
    Algorithm(
        name="chaudhuri-edward",
        peer=ChaudhuriEdward,
        source="Chaudhuri, Edward",
        year=2004,
        family="token",
        messages="≤ 6 + 3(⌈√N⌉−1); about 2 + 1/√N heavy",
        serves=("lock",),
    ),
)
