"""Who is out, as a fact: found out by looking, before anything is changed.

- A member whose file can be locked is dead.
- A member whose deadline has passed, and from whom its file could be taken, is out
  (leases.py).  Deadlines count only between members that have the same clock.
- A member whose file is not there may live.  The file never comes back under the same
  token; so when it has been missing for as long as the member's lease, that has ended.
  A member without a lease stays in.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import NamedTuple

from peerlock.membership import clock
from peerlock.membership.engine import ClusterError
from peerlock.membership.history import Card, State
from peerlock.membership.leases import Found, Leases
from peerlock.node.register import ended
from peerlock.node.views import MemberId


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

    def find_out(self, state: State, own_token: str) -> dict[MemberId, Outgoing]:
        now = clock.now()
        others = {i: c for i, c in state.cards.items() if c.token != own_token}
        found = {i: self._leases.find(card.token) for i, card in others.items()}
        gone = {others[i].token for i, file in found.items() if file is None}
        self._missing = {token: self._missing.get(token, now) for token in gone}
        dead = {i for i, file in found.items() if file and file.dead}
        deadlines = {i: self._deadline(others[i], file) for i, file in found.items()}
        silent = {
            i for i in ended(deadlines, now) - dead if self._put_out(others[i], found[i])
        }
        addresses = {member.id: member.address for member in state.register.members}
        return {
            i: Outgoing(others[i].token, i in dead, addresses[i]) for i in dead | silent
        }

    def _deadline(self, card: Card, file: Found | None) -> float:
        if file is None:
            return inf if card.lease is None else self._missing[card.token] + card.lease
        return file.deadline if card.clock == self._clock else inf

    def _put_out(self, card: Card, file: Found | None) -> bool:
        return file is None or self._leases.put_out(card.token, file.name)

    def trouble(self, state: State) -> ClusterError | None:
        """A member that nobody can put out, although it may be dead."""
        for member in state.register.members:
            token, lease, _ = state.cards[member.id]
            if lease is None and token in self._missing:
                return ClusterError(
                    f"the file of the member with process id {member.pid} was removed, so "
                    "its death would not be noticed; if that process has ended, run: "
                    f"touch {self._leases.path(token)}"
                )
        return None

    def must_share_the_clock(self, state: State, out: set[MemberId], shown: object) -> str:
        """The name of our clock, on which all must count who stay in."""
        for member in state.register.members:
            if member.id not in out and state.cards[member.id].clock != self._clock:
                raise ClusterError(
                    f"process {member.pid} uses {shown} in another time namespace; "
                    "run all members in the same one, or use another file"
                )
        return self._clock


def confirmed(out: Out, state: State) -> set[MemberId]:
    """Those of them that are in, and not under another token by now."""
    cards = state.cards
    return {i for i in out if i in cards and cards[i].token == out[i].token}
