"""Sopena, Arantes, Sens and others, 2007: a token in each site, and one between them.

    J. Sopena, F. Legond-Aubry, L. Arantes, P. Sens.  A Composition Approach to Mutual
    Exclusion Algorithms for Grid Applications.  International Conference on Parallel
    Processing, 2007, 65.  Its parts are M. Naimi, M. Trehel, 1987.

Messages between sites are slow, those within a site are quick.  So each site has a token of
its own, for which its nodes compete by Naimi and Trehel's algorithm, and the sites compete
by the same algorithm for the turn.  Each site has a coordinator, which takes part in both.
While it is not the site's turn, the coordinator has the site's token, as if it were inside.
When a node of the site asks for the token, the coordinator asks for the turn; when it gets
it, it lets the token go.  When another site asks for the turn, it asks for the token back,
as one more node of its site, and when it has that, it gives up the turn.

    messages      by the parts: about log of the site's size, and about log of the number of
                  sites for a turn, which serves all that wait in the site
    delay         one TOKEN within a site; three messages at most from one site to the next
    network       no loss, no duplicates; messages may overtake one another
    failures      none
    fairness      first come, first served in each site, and among sites

Where this file departs from the paper, and why:
  * The paper composes any two algorithms and compares several; this is Naimi and Trehel's
    with itself.
  * The coordinator is not a process of its own but lives at the first node of its site:
    what that node and its coordinator tell each other is not a message.
  * It asks for the token back only when another site asks for the turn, as in the paper: a
    site keeps its turn as long as nobody else wants it.
  * A lock node does not know which members are at one site: for a lock the sites are √N,
    of members that have joined one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from math import isqrt
from typing import Any

from peerlock.algorithms import naimi_trehel as nt
from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.naimi_trehel import NaimiTrehel
from peerlock.core.peer import Enter, NodeId, Peer, RemoteError, Send, fixed, setting

Part = int  # within a site: its nodes are 1, 2, …, and the coordinator is the last


@dataclass(frozen=True, slots=True)
class Request:
    to: Part
    origin: Part


@dataclass(frozen=True, slots=True)
class Token:
    to: Part


@dataclass(frozen=True, slots=True)
class SiteRequest:
    origin: int  # the number of the site


@dataclass(frozen=True, slots=True)
class SiteToken:
    pass


OUT, ASKING, IN, RETURNING = range(4)  # whether it is the site's turn


@dataclass(eq=False)
class SopenaArantesSens(Peer):
    messages = (Request, Token, SiteRequest, SiteToken)

    sites: int = setting()

    # As a coordinator: whether it is our site's turn.
    turn: int = OUT

    # Our part within the site; a coordinator's parts there and between the sites.
    ours: NaimiTrehel = fixed(init=False)
    desk: NaimiTrehel | None = fixed(init=False, default=None)
    between: NaimiTrehel | None = fixed(init=False, default=None)

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.sites is None:
            self.sites = isqrt(len(self.members))
        layout = in_sites(self.members, self.sites)
        number = next(k for k, site in enumerate(layout) if self.me in site)
        self._site = layout[number]
        self._coordinators = [site[0] for site in layout]
        parts = tuple(range(1, len(self._site) + 2))
        self.ours = NaimiTrehel(
            self._site.index(self.me) + 1, parts, first_holder=parts[-1]
        )
        if self.me == self._site[0]:
            self.desk = NaimiTrehel(parts[-1], parts, first_holder=parts[-1])
            self.between = NaimiTrehel(number + 1, tuple(range(1, len(layout) + 1)))

    # State: that of the parts is ours

    def snapshot(self) -> tuple[Any, ...]:
        return (self.turn, *(part.snapshot() for part in self._parts()))

    def restore(self, state: tuple[Any, ...]) -> None:
        self.turn = state[0]
        for part, before in zip(self._parts(), state[1:], strict=True):
            part.restore(before)

    def _parts(self) -> list[NaimiTrehel]:
        return [part for part in (self.ours, self.desk, self.between) if part is not None]

    # The user

    def start(self) -> None:
        if self.desk is not None:
            self.desk.acquire()
            self.desk.drain()  # it has the token: no other has asked

    def acquire(self) -> None:
        self.ours.acquire()
        self.settle()

    def release(self) -> None:
        self.ours.release()
        self.settle()

    # Messages

    def receive_request(self, sender: NodeId, message: Request) -> None:
        if not 1 <= message.origin <= len(self._site) + 1:
            raise RemoteError(f"part {message.origin} is not in the site")
        self.part(message.to).receive(sender, nt.Request(message.origin))
        self.settle()

    def receive_token(self, sender: NodeId, message: Token) -> None:
        self.part(message.to).receive(sender, nt.TOKEN)
        self.settle()

    def receive_site_request(self, sender: NodeId, message: SiteRequest) -> None:
        if self.between is None:
            raise RemoteError(f"{sender} takes us for a coordinator")
        if not 1 <= message.origin <= len(self._coordinators):
            raise RemoteError(f"there is no site {message.origin}")
        self.between.receive(sender, nt.Request(message.origin))
        self.settle()

    def receive_site_token(self, sender: NodeId, message: SiteToken) -> None:
        if self.between is None:
            raise RemoteError(f"{sender} takes us for a coordinator")
        self.between.receive(sender, nt.TOKEN)
        self.settle()

    def part(self, number: Part) -> NaimiTrehel:
        for one in (self.ours, self.desk):
            if one is not None and one.me == number:
                return one
        raise RemoteError(f"part {number} of the site is not here")

    # What the parts do

    def settle(self) -> None:
        """Carry out what the parts have left, and what the coordinator does then."""
        while self.carry_out() or self.coordinate():
            pass

    def carry_out(self) -> bool:
        done = False
        for part in self._parts():
            for effect in part.drain():
                done = True
                match effect:
                    case Send(to, message) if part is self.between:
                        self.post_between(to, message)
                    case Send(to, message):
                        self.post_within(to, message)
                    case Enter():
                        self.granted(part)
        return done

    def post_between(self, to: int, message: Any) -> None:
        token = isinstance(message, nt.Token)
        self.send(
            self._coordinators[to - 1],
            SiteToken() if token else SiteRequest(message.origin),
        )

    def post_within(self, to: Part, message: Any) -> None:
        node = self._site[0] if to > len(self._site) else self._site[to - 1]
        if node == self.me:
            with suppress(RemoteError):  # if it is wrong, then so was a message before it
                self.part(to).receive(node, message)
        elif isinstance(message, nt.Token):
            self.send(node, Token(to))
        else:
            self.send(node, Request(to, message.origin))

    def granted(self, part: NaimiTrehel) -> None:
        if part is self.ours:
            self.grant()
        elif part is self.between:
            assert self.desk is not None
            self.turn = IN
            self.desk.release()
        else:
            assert self.between is not None
            self.turn = OUT
            self.between.release()

    def coordinate(self) -> bool:
        """Ask for the turn, or for the token back, if a node wants it."""
        if self.desk is None or self.between is None:
            return False
        if self.turn == OUT and self.desk.next:
            self.turn = ASKING
            self.between.acquire()
            return True
        if self.turn == IN and self.between.next:
            self.turn = RETURNING
            self.desk.acquire()
            return True
        return False


def in_sites(nodes: Sequence[NodeId], sites: int) -> list[Sequence[NodeId]]:
    """One after the other; their sizes differ by one at most."""
    count = min(sites, len(nodes))
    ends = [len(nodes) * k // count for k in range(count + 1)]
    return [nodes[ends[k] : ends[k + 1]] for k in range(count)]


ENTRIES = (
    Algorithm(
        name="sopena-arantes-sens",
        peer=SopenaArantesSens,
        source="Sopena and others",
        year=2007,
        family="token",
        messages="about log N/S within a site, log S between S sites",
        takes="sites",
        serves=("lock",),
    ),
)
