"""Nodes in one process, for tests and notebooks: `join("memory://name")`."""

from __future__ import annotations

import os
import threading
from collections.abc import Collection
from dataclasses import dataclass, field
from math import inf

from peerlock.membership import clock
from peerlock.membership.engine import Joined, Renewed
from peerlock.node.register import Table
from peerlock.node.views import MemberId, View


@dataclass
class MemoryTable(Table):
    guard: threading.Lock = field(default_factory=threading.Lock)  # nodes may have threads


# Numbers keep growing in an empty cluster, so it is kept.  A forked child begins with none:
# the members are its parent's.
CLUSTERS: dict[str, MemoryTable] = {}
os.register_at_fork(after_in_child=CLUSTERS.clear)


class MemoryEngine:
    def __init__(self, name: str, lease: float | None) -> None:
        self.cluster = f"memory://{name}"
        self.lease = lease
        self._state = CLUSTERS.setdefault(name, MemoryTable())
        self._me: MemberId = 0  # nobody's

    def _deadline(self) -> float:
        return inf if self.lease is None else clock.now() + self.lease

    async def join(self, address: str, beyond: int = 0) -> Joined:
        with self._state.guard:
            deadline = self._deadline()
            self._me = self._state.join(address, os.getpid(), deadline, beyond, self._me)
            return Joined(self._state.view, self._me, deadline)

    async def renew(self, me: MemberId, suspects: Collection[MemberId] = ()) -> Renewed:
        with self._state.guard:
            deadline, changed = self._state.renew(me, self._deadline(), clock.now())
            return Renewed(self._state.view, deadline, changed)

    async def reserve(self) -> int:
        with self._state.guard:
            return self._state.reserve()

    async def leave(self, me: MemberId) -> View:
        with self._state.guard:
            self._state.leave(max(me, self._me))
            return self._state.view

    async def read(self) -> View:
        with self._state.guard:
            return self._state.view

    @property
    def lock_file(self) -> None:
        return None

    def abandon(self) -> None:
        pass

    def close(self) -> None:
        """A member that has not left, as when joining was cancelled, is removed."""
        with self._state.guard:
            self._state.leave(self._me)
