"""Nodes in one process, for tests and notebooks: `join("memory://name")`."""

from __future__ import annotations

import os
import time
from dataclasses import dataclass, field
from math import inf

from peerlock.membership.engine import Joined, Renewed
from peerlock.node.views import Member, MemberId, View


@dataclass
class Cluster:
    number: int = 0
    members: dict[MemberId, Member] = field(default_factory=dict)
    deadlines: dict[MemberId, float] = field(default_factory=dict)

    def view(self) -> View:
        return View(self.number, tuple(self.members.values()))

    def change(self) -> int:
        self.number += 1
        return self.number


CLUSTERS: dict[str, Cluster] = {}


class MemoryEngine:
    def __init__(self, name: str, lease: float | None) -> None:
        self.cluster = f"memory://{name}"
        self.lease = lease
        self._state = CLUSTERS.setdefault(name, Cluster())

    def _deadline(self) -> float:
        return inf if self.lease is None else time.monotonic() + self.lease

    async def join(self, address: str, beyond: int = 0) -> Joined:
        state = self._state
        state.number = max(state.number, beyond)
        me = state.change()
        state.members[me] = Member(me, address, os.getpid())
        state.deadlines[me] = self._deadline()
        return Joined(state.view(), me, state.deadlines[me])

    async def renew(self, me: MemberId) -> Renewed:
        state = self._state
        now = time.monotonic()
        silent = [i for i in state.members if now >= state.deadlines[i]]
        for i in silent:
            del state.members[i]
        if silent:
            state.change()
        if me not in state.members:
            return Renewed(state.view(), -inf, bool(silent))
        state.deadlines[me] = self._deadline()
        return Renewed(state.view(), state.deadlines[me], bool(silent))

    async def renumber(self) -> View:
        self._state.change()
        return self._state.view()

    async def leave(self, me: MemberId) -> View:
        if self._state.members.pop(me, None):
            self._state.change()
        return self._state.view()

    async def read(self) -> View:
        return self._state.view()

    @property
    def lock_file(self) -> None:
        return None

    def abandon(self) -> None:
        pass

    def close(self) -> None:
        pass
