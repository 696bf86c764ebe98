"""Members on many machines, kept by etcd.

`etcd_keys` describes what is in etcd: a key for the view, and a key for each member under
its lease.

**All members see the same views in the same order**, because a view is the value of one
key.  It is only ever replaced by a transaction that compares the whole old value and writes
a higher number; etcd carries out transactions one after the other.  A process that joins
puts its own key there, then writes a view of all whose keys are there: if many join at
once, the first includes all that are there, so that a hundred processes do not make a
hundred views.  (etcd bounds a transaction, so of a larger crowd it takes some, and itself
in any case; of many dead, too, some are put out, and the rest by the next view.) A member
that leaves changes the view and removes its key in one transaction.  When a lease runs out,
etcd removes the member's key, and a survivor, which watches, writes the view without it:
the transaction compares that the key is really gone, so no member is removed whose lease
etcd has not let expire.  The first WATCHERS members watch.  They see the key go; the first
of them acts at once, the others a little later each, if it has not.  All other members find
it gone when they renew.

**etcd before 3.5.13 takes leases away too early**: a leader that was stopped, or stuck, and
goes on, revokes through the new leader whatever would have expired on itself.  So there, a
member that has seen a key go waits for as long as that lease lasts before it removes the
member, unless that member itself has come back: then its own clock has told it, whatever
etcd did.

**Numbers, and so fences, grow** as `node.numbers` says: the first view begins with the
clock, and no number is ahead of it.  If the keys are deleted, the next number is therefore
higher than all before.  If etcd is restored, the view's key comes back with older numbers:
so a number also moves up to the clock if etcd's raft log, or the term of its leader, is not
the one in which the key was written (`Mark`), as after every restart of etcd.  A member
carries the highest number that it has seen into the view that it joins (`beyond`).
`reserve` writes the same view with a higher `highest`; for watchers that is no new view.

**etcd that has gone back** has forgotten members that may still hold locks.  How a member
finds out is said in `etcd_views`; a process that joins compares the view's mark.  Either
waits for the longest lease that any member had, and only then appears in etcd: no member
can admit it earlier, and only processes that join renew the mark.  A process that joins
cannot find out that a data directory was copied back, or that the keys were deleted, if no
member is left that knew better.

**A lease is counted from before the keepalive was sent**, on our own clock.  That is not
enough: a server that was the leader, was stopped, and goes on, may answer a keepalive
before it notices that there is another leader, who knows nothing of it (seen with etcd
3.5.1).  So each keepalive is followed by a linearizable read, which a deposed leader cannot
answer by itself, and counts only if both were answered in the same term of office.  That
read is also how a member finds out that it was put out, and what its watch may have
missed; it is answered from memory, and as long as there is no news, it is of keys alone.

Leases have whole seconds, and etcd grants none shorter than one and a half times its
election time-out (2 s unless told otherwise).  A lease is rounded up to what etcd grants,
and `lease` says so after joining: no other member continues earlier, so the holder need not
stop earlier either.

**Why the JSON gateway.**  The clients on offer speak gRPC, which takes 19 MB on disk and
has threads of its own, and a process of ours may fork.  The gateway is part of every etcd
server since 3.4, watches included, and needs an HTTP/1.1 parser: h11, pure Python, 0.2 MB,
no dependencies, imported in milliseconds, because `peerlock lock` must start quickly.
Sockets and TLS are asyncio's.  What it costs: with --client-cert-auth, the servers' own
certificates must be good for clients, too, as the gateway is one.

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
from collections.abc import Callable, Collection
from contextlib import aclosing, suppress
from functools import partial
from math import ceil, inf
from typing import Any

import msgspec

from peerlock.core.errors import UsageError
from peerlock.membership.clock import now
from peerlock.membership.engine import (
    NEEDS_A_LEASE,
    WATCHERS,
    ClusterError,
    Gone,
    Joined,
    Renewed,
)
from peerlock.membership.etcd_address import parse
from peerlock.membership.etcd_gateway import LEASE_NOT_FOUND, Gateway, RefusedByEtcd
from peerlock.membership.etcd_keys import (
    NOTHING,
    EtcdCard,
    EtcdKeys,
    EtcdMark,
    EtcdState,
    Lease,
    Snapshot,
    absent,
    delete,
    end_of,
    put,
    term_of,
    there,
)
from peerlock.membership.etcd_views import Change, Views
from peerlock.node.numbers import origin
from peerlock.node.register import Register
from peerlock.node.views import MemberId, View

PATIENCE = 10.0  # seconds for a question that is not about our lease
PATIENCE_TO_LEAVE = 3.0
PATIENCE_TO_COMPARE = 1.0  # with servers that are not needed now
RETRY = 0.05  # seconds until a broken watch is begun again, then longer and longer
RETRY_AT_MOST = 1.0
STAGGER = 0.05  # seconds, for each survivor before us who may put the dead out
AT_ONCE = 100  # put out or let in by one view: etcd compares 128 keys, as it comes
LONGEST = 9_000_000_000  # seconds of a lease that etcd grants
TERMS = 5  # of office that may end while we renew
TOO_SLOW = "etcd was so slow that our lease ran out while we joined"
NO_LONGER_HASTY = (3, 5, 13)


class EtcdEngine:
    def __init__(self, url: str, lease: float | None) -> None:
        address = parse(url)
        if lease is not None and not lease <= LONGEST:
            raise UsageError(
                f"invalid lease {lease:g}: etcd does not grant leases of that length"
            )
        self._endpoints = address.endpoints
        self.lease = lease
        self.cluster = ""  # known once we have read it
        self.on_change: Callable[[View | None], None] = lambda view: None

        self._wanted_lease = lease
        self._keys = EtcdKeys(address.cluster)
        self._gateway = Gateway(address)
        self._me: MemberId = 0
        self._lease_id = 0
        self._views = Views(self._gateway, self._keys)
        self._shown = 0  # the number of the newest view that our host was given
        self._limit = 0  # below which our host may use numbers in fences
        self._quiet_until = -inf  # until then, forgotten members may hold locks
        self._waits_for = NOTHING.mark  # of an etcd that was here before
        self._mark = NOTHING.mark  # of this one, when we joined
        self._missed = 0  # revision of a view that we had to read, and no watch told us
        self._heard = 0  # revision of the newest view that a watch told us
        self._gone: set[MemberId] = set()  # whose keys went, and who are in the view
        self._gone_since: dict[MemberId, float] = {}
        self._hasty = True  # etcd takes leases away too early
        self._tasks: set[asyncio.Task[None]] = set()
        self._watches = False
        self._burying = False
        self._comparing = False

    # The interface

    async def join(self, address: str, beyond: int = 0) -> Joined:
        if self._wanted_lease is None:
            raise ClusterError(NEEDS_A_LEASE)
        self._end_tasks()
        self._shown = self._limit = 0
        seconds = ceil(self._wanted_lease)
        await self._wait_for_the_forgotten(seconds)
        lease, ttl, deadline = await self._granted(seconds)
        try:
            self._hasty = await self._is_hasty()
            await self._appear(address, Lease(lease, ttl), max(beyond, self._forgotten()))
            self._mark = await self._current_mark()
            let_in = partial(self._with_us, lease)
            state = (await self._views.change(let_in, PATIENCE)).state
        except BaseException as error:
            await self._vanish(lease)
            if isinstance(error, RefusedByEtcd) and error.code == LEASE_NOT_FOUND:
                raise ClusterError(TOO_SLOW) from None
            raise
        self._me = next(i for i, theirs in state.leases.items() if theirs.id == lease)
        self._lease_id, self.lease = lease, float(ttl)
        self.cluster = state.name
        self._views.is_member = True
        self._shown = state.view.number
        self._heard = self._missed = state.revision
        self._gone.clear()
        self._watches = self._burying = self._comparing = False
        self._watch_if_first(state)
        return Joined(state.view, self._me, deadline)

    async def renew(self, me: MemberId, suspects: Collection[MemberId] = ()) -> Renewed:
        self._compare_servers()
        for _ in range(TERMS):
            sent, ttl, term = await self._kept_alive()
            snapshot = await self._views.stayed(self._patience)
            if snapshot.term == term:
                break
        else:
            raise ClusterError("etcd's leader changes all the time; is it overloaded?")
        found, trouble = snapshot.state.view.number, self._gateway.trouble
        if me in snapshot.dead:
            raise Gone("our lease ran out in etcd, or our key was removed")
        if self._to_be_put_out(snapshot):
            try:
                snapshot = await self._views.change(self._without_dead, self._patience)
            except Gone:
                raise
            except ClusterError as error:  # that does not take our lease away
                trouble = error
        view = snapshot.state.view
        self._shown = max(self._shown, view.number)
        self._mind_the_watch(snapshot.state)
        self._watch_if_first(snapshot.state)
        deadline = sent + ttl if me in snapshot.state.leases else -inf
        return Renewed(view, deadline, view.number != found, trouble)

    async def reserve(self) -> int:
        """Takes nothing if another member has just taken a block for this view, or if there
        is a newer view, which our host is about to be given."""
        self._limit = max(self._limit, self._shown)
        state = (await self._views.change(self._with_a_block, PATIENCE)).state
        if state.view.number == self._shown:
            self._limit = state.register.highest
        return self._limit

    async def leave(self, me: MemberId) -> View:
        latest = max(me, self._me)
        ours = latest == self._me
        if ours:
            self._end_tasks()
        try:
            without = partial(self._without, latest)
            return (await self._views.change(without, PATIENCE_TO_LEAVE)).state.view
        finally:
            if ours:
                await self._revoke(self._lease_id)

    async def read(self) -> View:
        state = (await self._views.snapshot(PATIENCE)).state
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

    def _with_a_block(self, snapshot: Snapshot) -> Change | None:
        state = snapshot.state
        if state.view.number > self._shown or state.register.highest > self._limit:
            return None
        mark = state.mark._replace(term=snapshot.term)
        return Change(state._replace(register=state.register.reserve(), mark=mark))

    def _to_be_put_out(self, snapshot: Snapshot) -> set[MemberId]:
        """Of the dead, those that cannot still believe to be members."""
        at, dead = now(), snapshot.dead
        self._gone_since = {i: self._gone_since.get(i, at) for i in dead}
        leases = snapshot.state.leases
        return snapshot.back | {i for i in dead if at >= self._over(i, leases[i])}

    def _over(self, member: MemberId, lease: Lease) -> float:
        """When it must know, whose key has gone."""
        since = self._gone_since.get(member, now())
        return since + (lease.ttl if self._hasty else 0)

    def _settled(
        self, snapshot: Snapshot, *, joining: int = 0, leaving: MemberId = 0
    ) -> Change:
        """Of all present members but one that leaves; or a step towards it."""
        old = snapshot.state
        dead, newcomers = self._at_once(snapshot, joining)
        register = self._begun(snapshot, newcomers).without({*dead, leaving})
        leases = dict(old.leases)
        for lease, card in newcomers.items():
            register = register.join(card.address, card.pid)
            leases[register.number] = Lease(lease, card.ttl)
        leases = {member.id: leases[member.id] for member in register.members}
        state = EtcdState(
            register,
            leases,
            longest=max([old.longest, *(lease.ttl for lease in leases.values())]),
            name=old.name or secrets.token_hex(16),
            mark=self._mark if joining else old.mark._replace(term=snapshot.term),
        )
        conditions = [absent(self._keys.of_lease(old.leases[i].id)) for i in dead]
        conditions += [there(self._keys.of_lease(lease)) for lease in newcomers]
        ours = [delete(self._keys.of_lease(old.leases[leaving].id))] if leaving else []
        return Change(state, tuple(conditions), tuple(ours))

    def _at_once(
        self, snapshot: Snapshot, joining: int
    ) -> tuple[list[MemberId], dict[int, EtcdCard]]:
        """Which members one view removes, and which it admits.

        A process that joins admits itself: so it needs one view, whatever the others do.
        Then come the dead, because the others wait for the answers of a dead member.
        """
        dead = sorted(self._to_be_put_out(snapshot))[: AT_ONCE - 1]
        newcomers = snapshot.newcomers
        us_first = sorted(newcomers, key=lambda lease: lease != joining)
        chosen = set(us_first[: AT_ONCE - len(dead)])
        return dead, {i: card for i, card in newcomers.items() if i in chosen}

    def _begun(self, snapshot: Snapshot, newcomers: dict[int, EtcdCard]) -> Register:
        """The register to be changed, beyond all numbers that may have been given."""
        state = snapshot.state
        seen = [state.register.highest, *(card.beyond for card in newcomers.values())]
        if not state.revision:
            seen.append(origin(time.time()) - 1)
        elif state.mark.term != snapshot.term:
            seen.append(clock_or_zero())
        return state.register._replace(highest=max(seen))

    # Coming back

    async def _wait_for_the_forgotten(self, seconds: int) -> None:
        """Until the lease of every member that etcd may have forgotten is over."""
        if self._views.gone_since is not None:
            longest = max(self._views.known.longest, seconds)
            self._keep_quiet(self._views.gone_since, longest)
        self._views.begin()
        state, at = (await self._views.snapshot(PATIENCE)).state, now()
        await self._gateway.compare(PATIENCE_TO_COMPARE)
        if self._gateway.trouble:
            raise self._gateway.trouble
        current = await self._current_mark()
        before = state.mark._replace(term=0)
        if not current.continues(before) and before != self._waits_for:
            self._waits_for = before
            self._keep_quiet(at, max(state.longest, seconds))
        while (left := self._quiet_until - now()) > 0:
            await asyncio.sleep(left)

    def _keep_quiet(self, since: float, longest: int) -> None:
        self._quiet_until = max(self._quiet_until, since + longest)

    def _forgotten(self) -> int:
        """The highest number that etcd may have forgotten."""
        by_clock = clock_or_zero() if self._quiet_until > -inf else 0
        return max(self._views.highest, by_clock)

    async def _current_mark(self) -> EtcdMark:
        """To be asked for before anything is written by this process."""
        cluster, term, log = self._gateway.cluster_id, 0, 0
        with suppress(RefusedByEtcd):  # not every user may ask
            answer = await self._gateway.ask("/v3/maintenance/status", {}, PATIENCE)
            term, log = term_of(answer.body), int(answer.body.get("raftIndex", 0))
        return EtcdMark(cluster, term, log)

    def _compare_servers(self) -> None:
        """In the background: those that do not answer now are asked again."""
        if self._gateway.uncompared and not self._comparing:
            self._comparing = True
            self._spawn(self._compare())

    async def _compare(self) -> None:
        try:
            await self._gateway.compare(PATIENCE_TO_COMPARE)
        finally:
            self._comparing = False

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
        answer = await self._gateway.ask("/v3/lease/grant", {"TTL": seconds}, PATIENCE)
        ttl = int(answer.body["TTL"])
        return int(answer.body["ID"]), ttl, answer.sent + ttl

    async def _kept_alive(self) -> tuple[float, int, int]:
        """When it was sent, for how long it holds (0: it has run out), in which term."""
        question = {"ID": self._lease_id}
        answer = await self._gateway.ask("/v3/lease/keepalive", question, self._patience)
        return answer.sent, int(answer.body.get("TTL", 0)), term_of(answer.body)

    async def _appear(self, address: str, lease: Lease, beyond: int) -> None:
        """Our key is there from now on, and that of our former self is not."""
        who = (address, os.getpid(), socket.gethostname())
        card = msgspec.json.encode(EtcdCard(*who, lease.ttl, self._lease_id, beyond))
        operations = [put(self._keys.of_lease(lease.id), card, lease.id)]
        if self._lease_id:
            operations.append(delete(self._keys.of_lease(self._lease_id)))
        await self._gateway.ask("/v3/kv/txn", {"success": operations}, PATIENCE)

    async def _vanish(self, lease: int) -> None:
        """The join failed: other members may have admitted us by now."""

        def without(snapshot: Snapshot) -> Change | None:
            leases = snapshot.state.leases.items()
            us = next((i for i, theirs in leases if theirs.id == lease), 0)
            return self._settled(snapshot, leaving=us) if us else None

        with suppress(ClusterError):
            question = {"ID": lease}
            await self._gateway.ask("/v3/lease/revoke", question, PATIENCE_TO_LEAVE)
            await self._views.change(without, PATIENCE_TO_LEAVE)

    async def _revoke(self, lease_id: int) -> None:
        with suppress(ClusterError):  # it runs out by itself
            await self._gateway.ask("/v3/lease/revoke", {"ID": lease_id}, PATIENCE_TO_LEAVE)

    # Watching

    def _watch_if_first(self, state: EtcdState) -> None:
        first = [member.id for member in state.view.members[:WATCHERS]]
        if not self._watches and self._me in first:
            self._watches = True
            self._spawn(self._watch())

    async def _watch(self) -> None:
        pause = RETRY
        while True:
            begun = now()
            try:
                await self._watch_once()
            except Gone:
                self.on_change(None)
            except ClusterError:
                pass  # renewals say what is wrong, if it does not pass
            if now() - begun > RETRY_AT_MOST:
                pause = RETRY
            await asyncio.sleep(pause)
            pause = min(2 * pause, RETRY_AT_MOST)

    async def _watch_once(self) -> None:
        told = self._gateway.watch(self._keys.prefix, end_of(self._keys.prefix), PATIENCE)
        async with aclosing(told):
            async for item in told:
                if item.get("canceled"):
                    return
                if item.get("created"):
                    await self._catch_up()
                self._hear(item.get("events", ()))

    async def _catch_up(self) -> None:
        """With what happened before the watch began."""
        snapshot = await self._views.snapshot(self._patience)
        self._news(snapshot.state)
        self._mourn(snapshot.dead)

    def _hear(self, events: list[dict[str, Any]]) -> None:
        gone = set()
        for event in events:
            pair, deleted = event["kv"], event.get("type") == "DELETE"
            key = b64decode(pair["key"])
            if key == self._keys.view:
                if deleted:
                    self.on_change(None)
                else:
                    self._news(self._views.told(pair))
            elif deleted:
                gone.add(key)
        leases = self._views.known.leases
        self._mourn({i for i in leases if self._keys.of_lease(leases[i].id) in gone})

    def _news(self, state: EtcdState) -> None:
        """A view that a watch has told us, or that we have written unasked."""
        self._heard = max(self._heard, state.revision)
        if state.view.number > self._shown:
            self._shown = state.view.number
            self._gone &= set(state.leases)
            self.on_change(state.view)

    def _mind_the_watch(self, state: EtcdState) -> None:
        """If it has not told by now what a renewal found a while ago, begin another."""
        if self._watches and self._missed > self._heard:
            self._heard = self._missed
            self._gateway.hang_up()
        self._missed = state.revision

    def _mourn(self, gone: set[MemberId]) -> None:
        """Put them out: the first of the survivors at once, the others if it does not."""
        members = list(self._views.known.leases)
        self._gone |= gone & set(members)
        at = now()
        for member in self._gone:
            self._gone_since.setdefault(member, at)
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
                snapshot = await self._views.change(self._without_dead, self._patience)
                self._news(snapshot.state)
                self._gone = snapshot.dead
                await asyncio.sleep(self._until_next())
        except ClusterError:
            self.on_change(None)  # a renewal does it, or says what is wrong
        finally:
            self._burying = False

    def _until_next(self) -> float:
        leases, at = self._views.known.leases, now()
        ends = [self._over(i, leases[i]) for i in self._gone & leases.keys()]
        return max(0.0, min(ends, default=at) - at)

    # Tasks

    def _spawn(self, work: Any) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _end_tasks(self) -> None:
        for task in self._tasks:
            task.cancel()


def clock_or_zero() -> int:
    """The highest number that can have been given; 0 if the clock is wrong."""
    try:
        return origin(time.time()) - 1
    except UsageError:
        return 0
