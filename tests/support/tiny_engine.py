"""The smallest engine that keeps the rules, as another package would write one."""

import os
import time
from collections.abc import Collection
from math import inf
from typing import ClassVar

from peerlock.membership import Joined, MemberId, Register, Renewed, View
from peerlock.membership.clock import now
from peerlock.node.numbers import origin


class Shared:
    def __init__(self) -> None:
        first = origin(time.time())
        self.register = Register(first, first)
        self.deadlines: dict[MemberId, float] = {}


class TinyEngine:
    clusters: ClassVar[dict[str, Shared]] = {}

    def __init__(self, url: str, lease: float | None) -> None:
        self.cluster, self.lease = url, lease
        self.lock_file = None
        self.me: MemberId = 0
        self.shared = self.clusters.setdefault(url, Shared())

    async def join(self, address: str, beyond: int = 0) -> Joined:
        self.put_out({self.me})
        self.shared.register = self.shared.register.join(address, os.getpid(), beyond)
        self.me = self.shared.register.number
        return Joined(self.shared.register.view, self.me, self.renewed(self.me))

    async def renew(self, me: MemberId, suspects: Collection[MemberId] = ()) -> Renewed:
        silent = {i for i, end in self.shared.deadlines.items() if end <= now()}
        changed = self.put_out(silent)
        deadline = self.renewed(me) if me in self.shared.register else -inf
        return Renewed(self.shared.register.view, deadline, changed)

    async def reserve(self) -> int:
        self.shared.register = self.shared.register.reserve()
        return self.shared.register.highest

    async def leave(self, me: MemberId) -> View:
        self.put_out({max(me, self.me)})
        return self.shared.register.view

    async def read(self) -> View:
        return self.shared.register.view

    def abandon(self) -> None:
        pass

    def close(self) -> None:
        pass

    def renewed(self, me: MemberId) -> float:
        deadline = self.shared.deadlines[me] = now() + (self.lease or inf)
        return deadline

    def put_out(self, members: set[MemberId]) -> bool:
        before, self.shared.register = (
            self.shared.register,
            self.shared.register.without(members),
        )
        for me in members:
            self.shared.deadlines.pop(me, None)
        return self.shared.register is not before
