"""Which members are out: established as facts, before anything is changed.

No member checks all others: with each renewal a member checks

- its successors, in the order of ids, which closes to a ring, up to the first that is not
  out.  So each member is checked by the one before it, and when several in a row are dead,
  by the one before them;
- those that it has reason to suspect, as when a connection to them broke;
- one more, at random: the one before a dead member may live and not check, because it is
  stopped.

A process that joins is last in the order, and does the same.  What a check shows:

- A member whose file can be locked is dead.
- A member whose deadline has passed, and from whom its file could be taken, is out
  (leases.py).  Deadlines count only between members that have the same clock.
- A member whose file is not there may live.  The file never comes back under the same
  token; so when it has been missing for as long as the member's lease, that has ended.
  A member without a lease stays in.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from math import inf
from typing import NamedTuple

from peerlock.membership import clock
from peerlock.membership.engine import ClusterError
from peerlock.membership.history import HistoryState, MemberCard
from peerlock.membership.leases import Found, Leases
from peerlock.node.views import Member, MemberId


class Outgoing(NamedTuple):
    token: str
    dead: bool  # else it lives, and may come back
    address: str


Out = Mapping[MemberId, Outgoing]


class Census:
    def __init__(self, leases: Leases) -> None:
        self._leases = leases
        self._clock = clock.name()
        self._missing: dict[str, float] = {}  # tokens without a file, and since when

    def find_out(
        self, state: HistoryState, own_token: str, suspects: Collection[MemberId] = ()
    ) -> dict[MemberId, Outgoing]:
        if self._missing:
            tokens = {card.token for card in state.cards.values()}
            self._missing = {t: at for t, at in self._missing.items() if t in tokens}
        others = after(own_token, state)
        out = {}
        for member in others:
            if not (gone := self._look(member, state)):
                break
            out[member.id] = gone
        rest = others[len(out) + 1 :]
        chosen = {one_of(rest)} if rest else set()
        for member in chosen.union(member for member in rest if member.id in suspects):
            if gone := self._look(member, state):
                out[member.id] = gone
        return out

    def _look(self, member: Member, state: HistoryState) -> Outgoing | None:
        """None: it is not out."""
        card = state.cards[member.id]
        file, now = self._leases.find(card.token), clock.now()
        if file is None:
            since = self._missing.setdefault(card.token, now)
            deadline = inf if card.lease is None else since + card.lease
        else:
            self._missing.pop(card.token, None)
            deadline = file.deadline if card.clock == self._clock else inf
        dead = file is not None and file.dead
        if dead or (now >= deadline and self._put_out(card, file)):
            return Outgoing(card.token, dead, member.address)
        return None

    def _put_out(self, card: MemberCard, file: Found | None) -> bool:
        return file is None or self._leases.put_out(card.token, file.name)

    def trouble(self, state: HistoryState) -> ClusterError | None:
        """A member that cannot be removed, although it may be dead."""
        for member in state.register.members if self._missing else ():
            token, lease, _ = state.cards[member.id]
            if lease is None and token in self._missing:
                return ClusterError(
                    f"the file of the member with process id {member.pid} was removed, so "
                    "its death would not be noticed; if that process has ended, run: "
                    f"touch {self._leases.path(token)}"
                )
        return None

    def with_another_clock(self, state: HistoryState) -> set[MemberId]:
        return {i for i, card in state.cards.items() if card.clock != self._clock}

    def must_share_the_clock(
        self, state: HistoryState, out: set[MemberId], shown: object
    ) -> str:
        """The name of our clock, which all remaining members must use."""
        foreign = self.with_another_clock(state) - out
        for member in state.register.members:
            if member.id in foreign:
                raise ClusterError(
                    f"process {member.pid} uses {shown} in another time namespace; "
                    "run all members in the same one, or use another file"
                )
        return self._clock


def one_of(members: list[Member]) -> Member:
    from random import choice  # slow to load, and not needed by one that is alone

    return choice(members)


def after(token: str, state: HistoryState) -> list[Member]:
    """The other members, beginning behind the one that has this token, in a ring."""
    members = state.register.members
    own = (i for i, member in enumerate(members) if state.cards[member.id].token == token)
    rank = next(own, len(members))
    return [*members[rank + 1 :], *members[:rank]]


def confirmed(out: Out, state: HistoryState) -> set[MemberId]:
    """Those of them that are in, and not under another token by now."""
    cards = state.cards
    return {i for i in out if i in cards and cards[i].token == out[i].token}
