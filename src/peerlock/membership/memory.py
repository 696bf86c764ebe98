"""Nodes in one process, for tests and notebooks: `join("memory://name")`."""

from __future__ import annotations

import os
import threading
import time
from dataclasses import dataclass, field
from math import inf

from peerlock.membership.engine import Joined, Renewed
from peerlock.node.views import Member, MemberId, View


@dataclass
class Cluster:
    number: int = 0  # of the view
    reserved: int = 0  # views are numbered at least that
    members: dict[MemberId, Member] = field(default_factory=dict)
    deadlines: dict[MemberId, float] = field(default_factory=dict)
    guard: threading.Lock = field(default_factory=threading.Lock)  # nodes may have threads

    def view(self) -> View:
        return View(self.number, tuple(self.members.values()))

    def change(self) -> int:
        self.number = max(self.number + 1, self.reserved)
        return self.number

    def put_out(self, me: MemberId) -> bool:
        self.deadlines.pop(me, None)
        return self.members.pop(me, None) is not None


# Numbers go on growing in a cluster that is empty, so it is kept.  A forked child begins
# with none: the members are its parent's.
CLUSTERS: dict[str, Cluster] = {}
os.register_at_fork(after_in_child=CLUSTERS.clear)

RESERVED = 1 << 10  # numbers at once


class MemoryEngine:
    def __init__(self, name: str, lease: float | None) -> None:
        self.cluster = f"memory://{name}"
        self.lease = lease
        self._state = CLUSTERS.setdefault(name, Cluster())
        self._me: MemberId = 0  # nobody's

    def _deadline(self) -> float:
        return inf if self.lease is None else time.monotonic() + self.lease

    async def join(self, address: str, beyond: int = 0) -> Joined:
        state = self._state
        with state.guard:
            state.put_out(self._me)  # who joins again is in once
            state.reserved = max(state.reserved, beyond + 1)
            self._me = me = state.change()
            state.members[me] = Member(me, address, os.getpid())
            state.deadlines[me] = self._deadline()
            return Joined(state.view(), me, state.deadlines[me])

    async def renew(self, me: MemberId) -> Renewed:
        state = self._state
        with state.guard:
            now = time.monotonic()
            silent = [i for i, deadline in state.deadlines.items() if now >= deadline]
            for i in silent:
                state.put_out(i)
            if silent:
                state.change()
            if me not in state.members:
                return Renewed(state.view(), -inf, bool(silent))
            state.deadlines[me] = self._deadline()
            return Renewed(state.view(), state.deadlines[me], bool(silent))

    async def renumber(self) -> View:
        with self._state.guard:
            self._state.change()
            return self._state.view()

    async def reserve(self) -> int:
        state = self._state
        with state.guard:
            state.reserved = max(state.number + 1, state.reserved) + RESERVED
            return state.reserved

    async def leave(self, me: MemberId) -> View:
        with self._state.guard:
            if self._state.put_out(me):
                self._state.change()
            return self._state.view()

    async def read(self) -> View:
        with self._state.guard:
            return self._state.view()

    @property
    def lock_file(self) -> None:
        return None

    def abandon(self) -> None:
        pass

    def close(self) -> None:
        """Who has not left, as when joining was cancelled, is out all the same."""
        with self._state.guard:
            if self._state.put_out(self._me):
                self._state.change()
