"""The view's key in etcd: read, and replaced, and never older than what is known.

**etcd may go back**: a backup was restored, or the keys were deleted.  Then it has
forgotten members that may still hold locks, until their leases end.  So a member never uses
an answer that is older than what it knew when it asked.  It compares

- etcd's revision, and the highest number that was given: neither ever falls;
- the view at the revision at which it knew it, whenever it reads another one that no watch
  has told it: that finds an etcd that has gone back and was changed since.

If one of them differs, what it knew is gone (`Gone`), until it begins again (`begin`).
Every question here is one that etcd answers in order with all others (linearizable).
"""

from __future__ import annotations

import asyncio
import time
from base64 import b64decode
from collections.abc import Callable
from typing import Any, NamedTuple

from peerlock.core.errors import UsageError
from peerlock.membership.clock import now
from peerlock.membership.engine import ClusterError, Gone
from peerlock.membership.etcd_gateway import OUT_OF_RANGE, Gateway, RefusedByEtcd, encoded
from peerlock.membership.etcd_keys import (
    NOTHING,
    EtcdCard,
    EtcdKeys,
    EtcdState,
    Snapshot,
    absent,
    put,
    ranged,
    revision_of,
    state_of,
    term_of,
    value_is,
    value_of,
)
from peerlock.node.numbers import early

REMOVED = "this cluster's keys were removed from etcd"
RESTORED = "etcd has gone back to an earlier state: was a backup restored?"


class Change(NamedTuple):
    """A state to be written in place of the one that it was made from, and how."""

    state: EtcdState
    conditions: tuple[dict[str, Any], ...] = ()
    operations: tuple[dict[str, Any], ...] = ()


Proposal = Callable[[Snapshot], Change | None]  # None: it is as it should be


class Floor(NamedTuple):
    """Nothing older than this may be answered to a later question."""

    revision: int = 0
    number: int = 0


class Views:
    def __init__(self, gateway: Gateway, keys: EtcdKeys) -> None:
        self.known = NOTHING  # the newest state
        self.highest = 0  # of all numbers that were ever seen, whatever became of etcd
        self.gone_since: float | None = None  # what was known is gone
        self._gateway = gateway
        self._keys = keys
        self._floor: Floor | None = None  # for a process that only looks, there is none
        self.is_member = False  # and so what it knows is more than a moment old
        self._why = ""

    def begin(self) -> None:
        """Take etcd as it is."""
        self.known, self._floor = NOTHING, Floor()
        self.is_member, self.gone_since = False, None

    async def snapshot(self, patience: float) -> Snapshot:
        """By a range, not by a transaction: etcd before 3.5.5 panics if the
        client of a read-only transaction is gone before the answer."""
        floor = self._floor
        answer = await self._read(patience)
        return await self._seen(answer, answer.get("kvs", []), floor, patience)

    async def stayed(self, patience: float) -> Snapshot:
        """Whether all is as it is known; if not, how it is."""
        known, floor = self.known, self._floor
        answer = await self._read(patience, keys_only=True)
        keys = {b64decode(pair["key"]): pair for pair in answer.get("kvs", ())}
        view = keys.pop(self._keys.view, {"mod_revision": 0})
        ids = [lease.id for lease in known.leases.values()]
        is_new = int(view["mod_revision"]) != known.revision
        if is_new or set(keys) != set(map(self._keys.of_lease, ids)):
            return await self.snapshot(patience)
        self._must_not_fall(floor, revision_of(answer), known)
        self.learn(known, revision_of(answer))
        nothing_new = dict.fromkeys(ids, EtcdCard("", 0, "", 0, 0, 0))
        return Snapshot(known, nothing_new, term_of(answer))

    async def change(self, proposal: Proposal, patience: float) -> Snapshot:
        """Repeats until nothing is left to change, reading again after each conflict."""
        given_up = now() + patience
        snapshot = await self.snapshot(patience)
        while change := self._proposed(proposal, snapshot):
            if now() >= given_up:
                raise ClusterError("the members of this cluster change too fast")
            await asyncio.sleep(early(change.state.register.highest, time.time()))
            snapshot = await self._commit(snapshot, change, patience)
        return snapshot

    def told(self, pair: dict[str, Any]) -> EtcdState:
        """By a watch, which tells everything from when it began."""
        state = self._decoded(pair)
        self.learn(state, state.revision)
        return state

    def learn(self, state: EtcdState, revision: int) -> None:
        """The newest that we know of; answers may overtake one another."""
        number = state.register.highest
        self.highest = max(self.highest, number)
        if self._floor is not None:
            self._floor = Floor(*map(max, self._floor, (revision, number)))
        if state.revision > self.known.revision:
            self.known = state

    # Inside

    async def _read(self, patience: float, **options: bool) -> dict[str, Any]:
        question = ranged(self._keys.prefix, **options)["request_range"]
        return await self._ask("range", question, patience)

    async def _ask(self, what: str, question: object, patience: float) -> dict[str, Any]:
        if self.gone_since is not None:
            raise Gone(self._why)
        return (await self._gateway.ask(f"/v3/kv/{what}", question, patience)).body

    def _proposed(self, proposal: Proposal, snapshot: Snapshot) -> Change | None:
        try:
            return proposal(snapshot)
        except UsageError as error:  # the numbers are used up, or the clock is wrong
            raise ClusterError(str(error)) from None

    async def _commit(
        self, snapshot: Snapshot, change: Change, patience: float
    ) -> Snapshot:
        old, floor, key = snapshot.state, self._floor, self._keys.view
        raw = change.state.encode()
        unchanged = value_is(key, old.raw) if old.raw else absent(key)
        question = {
            "compare": [unchanged, *change.conditions],
            "success": [put(key, raw), *change.operations],
            "failure": [ranged(self._keys.prefix)],
        }
        answer = await self._ask("txn", question, patience)
        if not answer.get("succeeded"):
            found = answer["responses"][0]["response_range"]
            return await self._seen(answer, found.get("kvs", []), floor, patience)
        state = change.state._replace(raw=raw, revision=revision_of(answer))
        self._must_not_fall(floor, state.revision, state)
        self.learn(state, state.revision)
        out = {lease.id for i, lease in old.leases.items() if i not in state.leases}
        present = {i: card for i, card in snapshot.present.items() if i not in out}
        return Snapshot(state, present, term_of(answer))

    async def _seen(
        self,
        answer: dict[str, Any],
        pairs: list[dict[str, Any]],
        floor: Floor | None,
        patience: float,
    ) -> Snapshot:
        present = self._keys.cards(pairs)
        views = [pair for pair in pairs if b64decode(pair["key"]) == self._keys.view]
        state = self._decoded(views[0]) if views else NOTHING
        self._must_not_fall(floor, revision_of(answer), state)
        known = self.known
        is_told = state.raw == known.raw or state.revision < known.revision
        if self.is_member and not is_told:
            await self._must_follow(known, patience)
        self.learn(state, revision_of(answer))
        return Snapshot(state, present, term_of(answer))

    def _decoded(self, pair: dict[str, Any]) -> EtcdState:
        try:
            return state_of(pair)
        except ValueError:
            key = self._keys.view.decode()
            text = f"{key} was written by another version, or by others"
            raise ClusterError(text) from None

    # Going back

    def _must_not_fall(self, floor: Floor | None, revision: int, state: EtcdState) -> None:
        if floor is None:
            return
        if revision < floor.revision or 0 < state.register.highest < floor.number:
            raise self._gone(RESTORED)
        if state.register.highest < floor.number:
            raise self._gone(REMOVED)

    async def _must_follow(self, known: EtcdState, patience: float) -> None:
        """What we knew was there: unless etcd has forgotten all that is so old."""
        question = {"key": encoded(self._keys.view), "revision": known.revision}
        try:
            answer = await self._ask("range", question, patience)
        except RefusedByEtcd as error:
            if error.code != OUT_OF_RANGE:
                raise
            if "compacted" in str(error):
                return
            raise self._gone(RESTORED) from None
        if [value_of(pair) for pair in answer.get("kvs", ())] != [known.raw]:
            raise self._gone(RESTORED)

    def _gone(self, why: str) -> Gone:
        self.gone_since, self._why = now(), why
        return Gone(why)
