"""Members on many machines, kept by etcd.

What is in etcd, for the cluster `prod`:

  /peerlock/prod/view            the view: its number, its members, and the cluster's name
  /peerlock/prod/members/LEASE   one key per member, under its lease: it is there as long
                                 as the member is in touch with etcd

**All members see the same views in the same order**, because a view is the value of one
key.  It is only ever replaced by a transaction that compares the whole old value and
writes a higher number; etcd carries out transactions one after the other.  Whoever joins
puts its own key there, then writes a view of all whose keys are there: of a crowd that
comes at once, whoever is first takes all who are there with it, so that a hundred do not
make a hundred views.  (etcd bounds a transaction, so of a larger crowd it takes some, and
itself in any case; of many dead, too, some are put out, and the rest by the next view.)
Whoever leaves changes the view and removes its key in one.  When a
lease runs out, etcd removes the member's key, and a survivor, who watches, writes the view
without it: the transaction compares that the key is really not there, so no member is ever
put out whose lease etcd has not let expire.  All survivors see the key go; the first in the
view acts at once, the others a little later each, if it has not.

**etcd before 3.5.13 takes leases away too early**: a leader that was stopped, or stuck, and
goes on, revokes by way of the new one whatever would have run out with itself.  So there,
who has seen a key go waits for as long as that lease lasts before it puts the member out,
unless the member itself has come back: then its own clock has told it, whatever etcd did.

**Numbers, and so fences, grow.**  etcd's own revisions would be a number that all agree on,
but a busy etcd outgrows the 31 bits that a fence has for it.  So it is a counter, which is
moved to the seconds since 2024 whenever it is behind them.  If the keys are deleted, or
etcd is restored from an older backup, the next view is still numbered higher than all
before, as long as there was less than one change per second over all that time and
somebody's clock is right; and whoever was a member then carries the number that it has
seen into the new view in any case (`beyond`).  A clock that is far ahead (beyond 2057) is
not believed.  A member that sees the number fall, or the view gone, has lost everything
(`Gone`) and joins again.

**A lease is counted from before the keepalive was sent**, on our own clock.  That is not
enough: a server that was the leader, was stopped, and goes on, may answer a keepalive
before it notices that there is another leader, who knows nothing of it (seen with etcd
3.5.1).  So each keepalive is followed by a linearizable read, which a deposed leader cannot
answer by itself, and counts only if both were answered in the same term of office.  That
read is also how a member finds out that it was put out, and what its watch may have
missed; it is answered from memory, and as long as there is no news, it is of keys alone.

Leases have whole seconds, and etcd grants none shorter than one and a half times its
election time-out (2 s unless told otherwise).  A lease is rounded up to what etcd grants,
and `lease` says so after joining: as nobody else goes on earlier, nobody has to stop
earlier either.

**Why the JSON gateway.**  The clients on offer speak gRPC, which takes 19 MB on disk and
has threads of its own, and a process of ours may fork.  The gateway is part
of every etcd server since 3.4, watches included, and needs an HTTP/1.1 parser: h11, pure
Python, 0.2 MB, no dependencies, imported in milliseconds, and `peerlock lock` shall start
quickly.  Sockets and TLS are asyncio's.  What it costs: with --client-cert-auth, the
servers' own certificates must be good for clients, too, as the gateway is one.

**Watches**: each time one is begun, the view is read once it is known to run, so nothing is
missed, whatever was compacted meanwhile.  Should a watch be silent without saying so, the
next but one renewal notices and begins another.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import time
from base64 import b64decode
from collections.abc import Callable
from contextlib import aclosing, suppress
from functools import partial
from math import ceil, inf
from typing import Any, NamedTuple

import msgspec

from peerlock.core.errors import UsageError
from peerlock.membership.engine import ClusterError, Gone, Joined, Renewed
from peerlock.membership.etcd_address import parse
from peerlock.membership.etcd_gateway import (
    LEASE_NOT_FOUND,
    NOT_ETCD,
    Answer,
    Gateway,
    Refused,
    encoded,
)
from peerlock.membership.sqlite import BEGINNING
from peerlock.node.views import Member, MemberId, View

FORMAT = 1
PATIENCE = 10.0  # seconds for a question that is not about our lease
PATIENCE_TO_LEAVE = 3.0
RETRY = 0.05  # seconds until a broken watch is begun again, then longer and longer
RETRY_AT_MOST = 1.0
STAGGER = 0.05  # seconds, for each survivor before us who may put the dead out
AT_ONCE = 100  # put out or let in by one view: etcd compares 128 keys, as it comes
LONGEST = 9_000_000_000  # seconds of a lease that etcd grants
TERMS = 5  # of office that may end while we renew
HIGHEST = (1 << 31) - 1  # what a fence has room for
TOO_SLOW = "etcd was so slow that our lease ran out while we joined"
NO_LONGER_HASTY = (3, 5, 13)
BELIEVABLE = 1 << 30  # a clock that says more seconds than that is wrong


class Content(msgspec.Struct):
    """What the view's key holds."""

    format: int
    number: int
    name: str
    members: list[tuple[MemberId, str, int, int, int]]  # id, address, pid, lease, ttl


class Card(msgspec.Struct):
    """What a member's key holds."""

    address: str
    pid: int
    host: str
    ttl: int  # seconds of its lease
    former: int  # the lease of its former self, which has lost everything
    beyond: int  # it has seen views up to this number


class Lease(NamedTuple):
    id: int
    ttl: int


class State(NamedTuple):
    """The view, as etcd has it."""

    view: View
    leases: dict[MemberId, Lease]
    name: str
    raw: bytes  # what the key holds; nothing: there is no key
    revision: int  # at which it was written


class Snapshot(NamedTuple):
    """The view, and who is alive, at one moment."""

    state: State
    present: dict[int, Card]  # by lease, whose keys are there, in the order they came
    term: int  # of office of etcd's leader

    @property
    def dead(self) -> set[MemberId]:
        leases = self.state.leases
        return {i for i, lease in leases.items() if lease.id not in self.present}

    @property
    def newcomers(self) -> dict[int, Card]:
        known = {lease.id for lease in self.state.leases.values()}
        return {lease: card for lease, card in self.present.items() if lease not in known}

    @property
    def back(self) -> set[MemberId]:
        """Of the dead, whoever is there again as somebody else."""
        former = {card.former for card in self.present.values()}
        return {i for i in self.dead if self.state.leases[i].id in former}


class Change(NamedTuple):
    """A view to be written, and what goes with it."""

    view: View
    leases: dict[MemberId, Lease]
    conditions: list[dict[str, Any]]
    operations: list[dict[str, Any]]


Proposal = Callable[[Snapshot], Change | None]

NOTHING = State(View(0, ()), {}, "", b"", 0)


class EtcdEngine:
    def __init__(self, url: str, lease: float | None) -> None:
        address = parse(url)
        if lease is not None and not lease <= LONGEST:
            raise UsageError(f"etcd grants no lease of {lease:g} seconds")
        self._endpoints = address.endpoints
        self.lease = lease
        self.cluster = ""  # known once we have read it
        self.on_change: Callable[[View | None], None] = lambda view: None

        self._wanted_lease = lease
        self._prefix = f"/peerlock/{address.cluster}/".encode()
        self._gateway = Gateway(address)
        self._me: MemberId = 0
        self._lease_id = 0
        self._known = NOTHING
        self._highest = 0  # the number of a view that we have seen
        self._missed = 0  # revision of a view that we had to read, and no watch told us
        self._heard = 0  # revision of the newest view that a watch told us
        self._gone: set[MemberId] = set()  # whose keys went, and who are in the view
        self._gone_since: dict[MemberId, float] = {}
        self._hasty = True  # etcd takes leases away too early
        self._tasks: set[asyncio.Task[None]] = set()
        self._burying = False

    # The interface

    async def join(self, address: str, beyond: int = 0) -> Joined:
        if self._wanted_lease is None:
            raise ClusterError(
                "between machines a member needs a lease: whether one that is silent is "
                "dead or cut off, nobody can tell"
            )
        self._end_tasks()
        lease, ttl, deadline = await self._granted(ceil(self._wanted_lease))
        try:
            self._hasty = await self._is_hasty()
            await self._appear(address, Lease(lease, ttl), beyond)
            state, _, _ = await self._change(partial(self._with_us, lease), PATIENCE)
        except BaseException as error:
            await self._vanish(lease)
            if isinstance(error, Refused) and error.code == LEASE_NOT_FOUND:
                raise ClusterError(TOO_SLOW) from None
            raise
        self._me = next(i for i, theirs in state.leases.items() if theirs.id == lease)
        self._lease_id, self.lease = lease, float(ttl)
        self._known, self.cluster = state, state.name
        self._highest = max(self._highest, state.view.number)
        self._heard = self._missed = state.revision
        self._gone.clear()
        self._burying = False
        self._spawn(self._watch())
        return Joined(state.view, self._me, deadline)

    async def renew(self, me: MemberId) -> Renewed:
        for _ in range(TERMS):
            sent, ttl, term = await self._kept_alive()
            before = self._highest  # a read that begins now shows no older view
            snapshot = await self._stayed()
            if snapshot.term == term:
                break
        else:
            raise ClusterError("etcd's leader changes all the time; is it overloaded?")
        must_not_go_back(snapshot.state, before)
        found, trouble = snapshot.state.view.number, None
        if me in snapshot.dead:
            raise Gone("our lease ran out in etcd, or our key was removed")
        if self._to_be_put_out(snapshot):
            try:
                snapshot = await self._change(self._without_dead, self._patience)
            except ClusterError as error:  # that does not take our lease away
                trouble = error
        view = snapshot.state.view
        self._highest = max(self._highest, view.number)
        self._mind_the_watch(snapshot.state)
        deadline = sent + ttl if ttl and me in snapshot.state.leases else -inf
        return Renewed(view, deadline, view.number != found, trouble)

    async def renumber(self) -> View:
        start = (await self._snapshot(PATIENCE)).state.view.number

        def higher(snapshot: Snapshot) -> Change | None:
            is_higher = snapshot.state.view.number > start
            return None if is_higher else self._settled(snapshot)

        return (await self._change(higher, PATIENCE)).state.view

    async def reserve(self) -> int:
        return (await self.renumber()).number

    async def leave(self, me: MemberId) -> View:
        ours = me == self._me
        if ours:
            self._end_tasks()
        try:
            changed = await self._change(partial(self._without, me), PATIENCE_TO_LEAVE)
            return changed.state.view
        finally:
            if ours:
                await self._revoke(self._lease_id)

    async def read(self) -> View:
        state = (await self._snapshot(PATIENCE)).state
        self.cluster = state.name
        return state.view

    @property
    def near(self) -> tuple[tuple[str, int], ...]:
        return self._endpoints

    @property
    def lock_file(self) -> None:
        return None

    def abandon(self) -> None:
        """In a forked child: the connections are our parent's, and stay as they are."""

    def close(self) -> None:
        self._end_tasks()
        self._gateway.close()

    # Views that we propose; None: it is as it should be

    def _with_us(self, lease: int, snapshot: Snapshot) -> Change | None:
        if any(theirs.id == lease for theirs in snapshot.state.leases.values()):
            return None
        if lease not in snapshot.present:
            raise ClusterError(TOO_SLOW)
        return self._settled(snapshot, joining=lease)

    def _without(self, me: MemberId, snapshot: Snapshot) -> Change | None:
        if me not in snapshot.state.leases:
            return None
        return self._settled(snapshot, leaving=me)

    def _without_dead(self, snapshot: Snapshot) -> Change | None:
        return self._settled(snapshot) if self._to_be_put_out(snapshot) else None

    def _to_be_put_out(self, snapshot: Snapshot) -> set[MemberId]:
        """Of the dead, those who cannot believe to be in any more."""
        now, dead = time.monotonic(), snapshot.dead
        self._gone_since = {i: self._gone_since.get(i, now) for i in dead}
        leases = snapshot.state.leases
        return snapshot.back | {i for i in dead if now >= self._over(i, leases[i])}

    def _over(self, member: MemberId, lease: Lease) -> float:
        """When it must know, whose key has gone."""
        since = self._gone_since.get(member, time.monotonic())
        return since + (lease.ttl if self._hasty else 0)

    def _settled(
        self, snapshot: Snapshot, *, joining: int = 0, leaving: MemberId = 0
    ) -> Change:
        """Of all who are there, but for one who leaves; or a step towards it."""
        state = snapshot.state
        dead, newcomers = self._at_once(snapshot, joining)
        seen = max([state.view.number, *(card.beyond for card in newcomers.values())])
        first = self._next_number(seen)
        number = first + max(0, len(newcomers) - 1)
        if number > HIGHEST:
            raise ClusterError("this cluster's numbers are used up; take another name")
        members = [m for m in state.view.members if m.id not in {*dead, leaving}]
        leases = {member.id: state.leases[member.id] for member in members}
        for member, (lease, card) in enumerate(newcomers.items(), first):
            members.append(Member(member, card.address, card.pid))
            leases[member] = Lease(lease, card.ttl)
        conditions = [absent(self._key_of(state.leases[i].id)) for i in dead]
        conditions += [there(self._key_of(lease)) for lease in newcomers]
        operations = [delete(self._key_of(state.leases[leaving].id))] if leaving else []
        return Change(View(number, tuple(members)), leases, conditions, operations)

    def _at_once(
        self, snapshot: Snapshot, joining: int
    ) -> tuple[list[MemberId], dict[int, Card]]:
        """Whom one view puts out, and whom it lets in.

        Whoever joins lets itself in: so it needs one view, whatever the others do.  Then
        come the dead, for as long as one is in, the others wait for its word.
        """
        dead = sorted(self._to_be_put_out(snapshot))[: AT_ONCE - 1]
        newcomers = snapshot.newcomers
        us_first = sorted(newcomers, key=lambda lease: lease != joining)
        chosen = set(us_first[: AT_ONCE - len(dead)])
        return dead, {i: card for i, card in newcomers.items() if i in chosen}

    def _next_number(self, number: int) -> int:
        number = max(number, self._highest) + 1
        seconds = int(time.time()) - BEGINNING
        return max(number, seconds) if seconds < BELIEVABLE else number

    # Transactions

    async def _change(self, proposal: Proposal, patience: float) -> Snapshot:
        """Until nothing is left to change; whoever is overtaken looks again."""
        given_up = time.monotonic() + patience
        snapshot = await self._snapshot(patience)
        while change := proposal(snapshot):
            if time.monotonic() >= given_up:
                raise ClusterError("the members of this cluster change too fast")
            snapshot = await self._commit(snapshot, change, patience)
        return snapshot

    async def _ask(self, path: str, question: object, patience: float) -> Answer:
        answer = await self._gateway.call(path, question, patience)
        if "header" not in answer.body:  # which is in all of etcd's
            raise ClusterError(f"etcd: {NOT_ETCD}")
        return answer

    async def _snapshot(self, patience: float) -> Snapshot:
        answer = await self._read_keys(patience)
        return self._seen(answer, answer.get("kvs", []))

    async def _read_keys(self, patience: float, **options: bool) -> dict[str, Any]:
        """All of ours.  By a range, not by a transaction: etcd before 3.5.5 ends with a
        panic if whoever asked for one that only reads is gone before the answer."""
        question = ranged(self._prefix, **options)["request_range"]
        return (await self._ask("/v3/kv/range", question, patience)).body

    async def _appear(self, address: str, lease: Lease, beyond: int) -> None:
        """Our key is there from now on, and that of our former self is not."""
        who = (address, os.getpid(), socket.gethostname())
        card = msgspec.json.encode(Card(*who, lease.ttl, self._lease_id, beyond))
        operations = [put(self._key_of(lease.id), card, lease.id)]
        if self._lease_id:
            operations.append(delete(self._key_of(self._lease_id)))
        await self._ask("/v3/kv/txn", {"success": operations}, PATIENCE)

    async def _commit(
        self, snapshot: Snapshot, change: Change, patience: float
    ) -> Snapshot:
        old, (view, leases, conditions, operations) = snapshot.state, change
        name = old.name or secrets.token_hex(16)
        members = [(m.id, m.address, m.pid, *leases[m.id]) for m in view.members]
        raw = msgspec.json.encode(Content(FORMAT, view.number, name, members))
        key = self._prefix + b"view"
        unchanged = value_is(key, old.raw) if old.raw else absent(key)
        question = {
            "compare": [unchanged, *conditions],
            "success": [put(key, raw), *operations],
            "failure": [ranged(self._prefix)],
        }
        answer = (await self._ask("/v3/kv/txn", question, patience)).body
        if not answer.get("succeeded"):
            found = answer["responses"][0]["response_range"]
            return self._seen(answer, found.get("kvs", []))
        revision = int(answer["header"]["revision"])
        state = State(view, leases, name, raw, revision)
        self._learn(state)
        out = {lease.id for i, lease in old.leases.items() if i not in leases}
        present = {i: card for i, card in snapshot.present.items() if i not in out}
        return Snapshot(state, present, term_of(answer))

    async def _stayed(self) -> Snapshot:
        """Whether all is as we know it; if not, how it is."""
        known = self._known
        answer = await self._read_keys(self._patience, keys_only=True)
        keys = {b64decode(pair["key"]): pair for pair in answer.get("kvs", ())}
        view = keys.pop(self._prefix + b"view", {"mod_revision": 0})
        ids = [lease.id for lease in known.leases.values()]
        is_new = int(view["mod_revision"]) != known.revision
        if is_new or set(keys) != set(map(self._key_of, ids)):
            return await self._snapshot(self._patience)
        nothing_new = dict.fromkeys(ids, Card("", 0, "", 0, 0, 0))
        return Snapshot(known, nothing_new, term_of(answer))

    def _seen(self, answer: dict[str, Any], pairs: list[dict[str, Any]]) -> Snapshot:
        state, present = NOTHING, {}
        for pair in sorted(pairs, key=created):
            key = b64decode(pair["key"])
            if key == self._prefix + b"view":
                state = self._state(pair)
            elif key.startswith(self._prefix + b"members/"):
                with suppress(ValueError):  # as in _state: not ours
                    card = msgspec.json.decode(b64decode(pair.get("value", "")), type=Card)
                    present[lease_of(key)] = card
        self._learn(state)
        return Snapshot(state, present, term_of(answer))

    def _state(self, pair: dict[str, Any]) -> State:
        raw = b64decode(pair.get("value", ""))
        try:
            content = msgspec.json.decode(raw, type=Content)
        except ValueError:  # not JSON, not ours, or not UTF-8
            content = None
        if content is None or content.format != FORMAT:
            where = self._prefix.decode()
            raise ClusterError(f"{where}view was written by another version, or by others")
        members = tuple(Member(*member[:3]) for member in content.members)
        leases = {member[0]: Lease(*member[3:]) for member in content.members}
        revision = int(pair["mod_revision"])
        return State(View(content.number, members), leases, content.name, raw, revision)

    def _learn(self, state: State) -> None:
        """The newest that we know of; answers may overtake one another."""
        if state.revision > self._known.revision:
            self._known = state

    def _key_of(self, lease: int) -> bytes:
        return self._prefix + f"members/{lease:016x}".encode()

    # Leases

    @property
    def _patience(self) -> float:
        """For a question about our lease: there must be time for more of them."""
        return PATIENCE if self.lease is None else min(PATIENCE, self.lease / 2)

    async def _is_hasty(self) -> bool:
        """As far as the server that answers can tell for all."""
        answer = await self._gateway.call("/version", None, PATIENCE)
        numbers = str(answer.body.get("etcdserver", "")).partition("-")[0].split(".")
        if not all(number.isdecimal() for number in numbers):
            return True
        return tuple(map(int, numbers)) < NO_LONGER_HASTY

    async def _granted(self, seconds: int) -> tuple[int, int, float]:
        answer = await self._ask("/v3/lease/grant", {"TTL": seconds}, PATIENCE)
        ttl = int(answer.body["TTL"])
        return int(answer.body["ID"]), ttl, answer.sent + ttl

    async def _kept_alive(self) -> tuple[float, int, int]:
        """When it was sent, for how long it holds (0: it has run out), in which term."""
        question = {"ID": self._lease_id}
        answer = await self._ask("/v3/lease/keepalive", question, self._patience)
        return answer.sent, int(answer.body.get("TTL", 0)), term_of(answer.body)

    async def _vanish(self, lease: int) -> None:
        """We did not join after all: if others have let us in by now, we do not know."""

        def without(snapshot: Snapshot) -> Change | None:
            leases = snapshot.state.leases.items()
            us = next((i for i, theirs in leases if theirs.id == lease), 0)
            return self._settled(snapshot, leaving=us) if us else None

        with suppress(ClusterError):
            question = {"ID": lease}
            await self._ask("/v3/lease/revoke", question, PATIENCE_TO_LEAVE)
            await self._change(without, PATIENCE_TO_LEAVE)

    async def _revoke(self, lease_id: int) -> None:
        with suppress(ClusterError):  # it runs out by itself
            await self._ask("/v3/lease/revoke", {"ID": lease_id}, PATIENCE_TO_LEAVE)

    # Watching

    async def _watch(self) -> None:
        pause = RETRY
        while True:
            begun = time.monotonic()
            with suppress(ClusterError):  # renewals say what is wrong, if it does not pass
                await self._watch_once()
            if time.monotonic() - begun > RETRY_AT_MOST:
                pause = RETRY
            await asyncio.sleep(pause)
            pause = min(2 * pause, RETRY_AT_MOST)

    async def _watch_once(self) -> None:
        told = self._gateway.watch(self._prefix, end_of(self._prefix), PATIENCE)
        async with aclosing(told):
            async for item in told:
                if item.get("canceled"):
                    return
                if item.get("created"):
                    await self._catch_up()
                self._hear(item.get("events", ()))

    async def _catch_up(self) -> None:
        """With what happened before the watch began."""
        snapshot = await self._snapshot(self._patience)
        self._news(snapshot.state)
        self._mourn(snapshot.dead)
        if self._lease_id not in snapshot.present:
            self.on_change(None)

    def _hear(self, events: list[dict[str, Any]]) -> None:
        gone = set()
        for event in events:
            pair, deleted = event["kv"], event.get("type") == "DELETE"
            key = b64decode(pair["key"])
            if key == self._prefix + b"view":
                if deleted:
                    self.on_change(None)
                else:
                    self._news(self._state(pair))
            elif deleted:
                gone.add(key)
        leases = self._known.leases
        self._mourn({i for i in leases if self._key_of(leases[i].id) in gone})

    def _news(self, state: State) -> None:
        """A view that a watch has told us, or that we have written unasked."""
        self._heard = max(self._heard, state.revision)
        self._learn(state)
        if state.view.number > self._highest:
            self._highest = state.view.number
            self._gone &= set(state.leases)
            self.on_change(state.view)

    def _mind_the_watch(self, state: State) -> None:
        """If it has not told by now what a renewal found a while ago, begin another."""
        if self._missed > self._heard:
            self._heard = self._missed
            self._gateway.hang_up()
        self._missed = state.revision

    def _mourn(self, gone: set[MemberId]) -> None:
        """Put them out: the first of the survivors at once, the others if it does not."""
        members = list(self._known.leases)
        self._gone |= gone & set(members)
        now = time.monotonic()
        for member in self._gone:
            self._gone_since.setdefault(member, now)
        if self._me in self._gone:
            self._gone.clear()
            self.on_change(None)
        if self._gone and self._me in members and not self._burying:
            survivors = [member for member in members if member not in self._gone]
            self._burying = True
            self._spawn(self._bury(survivors.index(self._me)))

    async def _bury(self, rank: int) -> None:
        try:
            await asyncio.sleep(rank * STAGGER)
            while self._gone:  # a newer view, from whomever, is without them
                snapshot = await self._change(self._without_dead, self._patience)
                self._news(snapshot.state)
                self._gone = snapshot.dead
                await asyncio.sleep(self._until_next())
        except ClusterError:
            pass  # the next renewal does it
        finally:
            self._burying = False

    def _until_next(self) -> float:
        leases, now = self._known.leases, time.monotonic()
        ends = [self._over(i, leases[i]) for i in self._gone & leases.keys()]
        return max(0.0, min(ends, default=now) - now)

    # Tasks

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()


def must_not_go_back(state: State, before: int) -> None:
    if not state.revision:
        raise Gone("this cluster's keys were removed from etcd")
    if state.view.number < before:
        raise Gone("etcd has gone back to older members: was a backup restored?")


# Parts of questions, as the gateway wants them


def put(key: bytes, value: bytes, lease: int = 0) -> dict[str, Any]:
    pair = {"key": encoded(key), "value": encoded(value), "lease": lease}
    return {"request_put": pair}


def delete(key: bytes) -> dict[str, Any]:
    return {"request_delete_range": {"key": encoded(key)}}


def ranged(prefix: bytes, **options: bool) -> dict[str, Any]:
    keys = {"key": encoded(prefix), "range_end": encoded(end_of(prefix))}
    return {"request_range": {**keys, **options}}


def is_equal(key: bytes, target: str, field: str, value: Any) -> dict[str, Any]:
    return {"key": encoded(key), "target": target, "result": "EQUAL", field: value}


def absent(key: bytes) -> dict[str, Any]:
    return is_equal(key, "CREATE", "create_revision", 0)


def there(key: bytes) -> dict[str, Any]:
    return {**absent(key), "result": "GREATER"}


def value_is(key: bytes, value: bytes) -> dict[str, Any]:
    return is_equal(key, "VALUE", "value", encoded(value))


def end_of(prefix: bytes) -> bytes:
    """The first key that is beyond all with this prefix."""
    return prefix[:-1] + bytes([prefix[-1] + 1])


def created(pair: dict[str, Any]) -> int:
    return int(pair["create_revision"])


def lease_of(key: bytes) -> int:
    return int(key.rpartition(b"/")[2], 16)


def term_of(answer: dict[str, Any]) -> int:
    return int(answer["header"].get("raft_term", 0))
