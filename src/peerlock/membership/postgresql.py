"""Members on many machines, kept by PostgreSQL.

`postgresql_schema` has the tables and functions, `postgresql_session` the connection.

**All members see the same views in the same order**, because a view is one row of a cluster
and the rows of its members, and whatever changes them locks the cluster's row, takes a
higher number and changes both in one transaction.  Each question is one call of a function:
a process that is stopped holds no lock in the server.

**A lease is kept by the server's clock alone.**  A renewal sets the member's deadline to
the server's time plus the lease.  The member itself counts from before it sent the
question, on its own clock, so its lease ends first.  A member is put out only by a
transaction that sees that its deadline has passed, under a lock of the member's row.  A
renewal that comes before is seen by it; one that comes after finds that the member is out.

**The server's clock may be set.**  A member compares it with its own clock at every answer,
and says with each question how late it can be in the server, at most.  A server whose clock
is later than that puts no member out.  If the clock was set forward, the member takes part
in putting out only after the longest lease: by then every living member has renewed on the
new time.  If it was set back, the deadlines are brought back, too, and so is the time
before which no process joins.  What this does not cover: a process that joins right after
the clock was set forward, before the others have renewed.

**Changes are heard of** by `LISTEN`: in the first WATCHERS members, a notification leads to
a question for the view; all others see a change when they renew.  If
one is lost, the next renewal finds the view, so renewals are the slow poll.  PostgreSQL
does not tell when a deadline passes.  So every answer has the deadlines of all members;
each member sets a timer for the first of them, and looks then: the first survivor at once,
the others a little later each.  A healthy member has renewed long before.  To look is not
to renew: a lease is renewed only when the host asks for it.

**Numbers, and so fences, grow** as `node.numbers` says, on the server's clock: a new
cluster begins with it, and no number is ahead of it.  A member carries the highest number
that it has seen into the view that it joins (`beyond`).

**PostgreSQL may go back**: a replica that lagged was promoted, or a backup was restored.
Then it has forgotten members that may still hold locks, and numbers that were given.  So
the cluster's row says on which server it was written: the system identifier, and the
timeline, which changes with every promotion and every recovery to a point in time.

- A member that gets an answer from another server or timeline than the one that it has
  joined on, from an earlier position of the log, with a lower number, or without its
  cluster, never uses it: everything that it knew is gone (`Gone`).  Its locks are lost, and
  their holders are told.  That it finds itself in the new register proves nothing: another
  member may have been forgotten, which it does not know.
- The first process that joins on the new server writes that down, and from then on no
  process joins for the longest lease that any member had.  Then all members of the old
  server are out, and numbers continue from the clock.
- A member that has seen PostgreSQL go back waits for that time on its own clock, too.  A
  process that joins cannot find out that a data directory was copied back in place, or that
  the rows were deleted.

**An old primary must not live on** beside the new one, because its members would renew
there.  That is up to the failover: fence it, or replicate synchronously.  A renewal is a
commit, so an old primary that waits for its synchronous standby renews nothing.
"""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
from collections.abc import Callable, Collection, Coroutine
from contextlib import suppress
from hashlib import md5
from math import inf
from typing import Any, NamedTuple

import msgspec

from peerlock.membership import clock
from peerlock.membership.engine import (
    NEEDS_A_LEASE,
    WATCHERS,
    ClusterError,
    Gone,
    Joined,
    Renewed,
)
from peerlock.membership.postgresql_address import parse
from peerlock.membership.postgresql_schema import FORMAT
from peerlock.membership.postgresql_session import NoSchema, PostgresqlSession
from peerlock.node.presence import margin
from peerlock.node.views import Member, MemberId, View

PATIENCE = 10.0  # seconds for a question that is not about our lease
PATIENCE_TO_LEAVE = 3.0
STAGGER = 0.05  # seconds, for each survivor before us that may put the silent out
DRIFT = 0.001  # by which the server's clock may run faster than ours

JOIN = "SELECT peerlock.join($1, $2, $3, $4, $5, $6, $7, $8, $9)"
RENEW = "SELECT peerlock.renew($1, $2, $3)"
RESERVE = "SELECT peerlock.reserve($1, $2)"
LEAVE = "SELECT peerlock.leave($1, $2, $3)"
READ = "SELECT peerlock.state($1, $2)"

REMOVED = "this cluster was removed from the database"
RESTORED = "PostgreSQL has gone back to an earlier state: was a backup restored?"
ANOTHER_VERSION = "the schema peerlock is of another version of peerlock: upgrade the older"
ANOTHER = "this is another PostgreSQL server, or a replica that was promoted"


class PostgresqlState(msgspec.Struct, frozen=True):
    """What the server answers (`peerlock.state`)."""

    format: int
    backend: int  # process id of the server's process
    now: float  # the server's clock
    server: str  # system identifier and timeline
    log: int  # how much of its log is on disk
    wait: float  # seconds, because the question came too early; then nothing was changed
    changed: bool  # a member was put out
    secret: str  # empty: there is no such cluster
    number: int
    highest: int
    longest: float
    me: MemberId  # 0: not a member
    members: tuple[tuple[MemberId, str, int, float], ...]  # …, seconds until its deadline

    @property
    def view(self) -> View:
        return View(self.number, tuple(Member(*member[:3]) for member in self.members))


class StateAnswer(NamedTuple):
    state: PostgresqlState
    sent: float  # on our clock


class ServerFloor(NamedTuple):
    """What a member knows of the server: no later answer may fall behind it."""

    server: str
    secret: str
    log: int
    highest: int

    def why_gone(self, state: PostgresqlState) -> str:
        if state.server != self.server:
            return ANOTHER
        if state.log < self.log or 0 < state.highest < self.highest:
            return RESTORED
        return REMOVED if state.secret != self.secret else ""


class ServersClock:
    """How late it can be in the server, at most, unless its clock was set."""

    def __init__(self) -> None:
        self._ahead = inf  # of our clock, as of `_at`
        self._at = 0.0
        self._trusted_from = -inf

    def compare(self, answer: StateAnswer, tolerance: float, longest: float) -> None:
        at, servers = clock.now(), answer.state.now
        limit = self._ahead + (at - self._at) * DRIFT
        if servers - at > limit + tolerance:
            self._trusted_from = at + longest
            limit = inf
        self._ahead, self._at = min(limit, servers - answer.sent), at

    def latest(self, tolerance: float) -> float:
        """-inf: it was set forward a short time ago; no member may be put out."""
        at = clock.now()
        if at < self._trusted_from or self._ahead == inf:
            return -inf
        return at + self._ahead + tolerance


class PostgresqlEngine:
    def __init__(self, url: str, lease: float | None) -> None:
        address = parse(url)
        self.lease = lease
        self.cluster = ""  # known once we have read it
        self.near = address.near
        self.on_change: Callable[[View | None], None] = lambda view: None

        self._name = address.cluster
        # No secret: a channel's name is short, and a cluster's may be long.
        channel = md5(self._name.encode(), usedforsecurity=False).hexdigest()
        self._session = PostgresqlSession(address.conninfos, f"peerlock {channel}")
        self._session.on_notice = self._noticed
        self._session.on_end = lambda: self.on_change(None)
        self._me: MemberId = 0
        self._token = ""
        self._shown = 0  # the number of the newest view that our host was given
        self._highest = 0  # of all numbers that were ever seen
        self._longest = 0.0  # lease that a member had
        self._floor: ServerFloor | None = None  # of a member
        self._gone = ""  # why what we knew is gone
        self._quiet_until = -inf  # until then, forgotten members may hold locks
        self._clock = ServersClock()
        self._timer: asyncio.TimerHandle | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._watches = False  # as the first members do
        self._stale = self._reading = False  # a newer view was announced; is being read

    # The interface

    async def join(self, address: str, beyond: int = 0) -> Joined:
        if self.lease is None:
            raise ClusterError(NEEDS_A_LEASE)
        self._stop_watching()
        self._floor, self._gone = None, ""
        await asyncio.sleep(max(0.0, self._quiet_until - clock.now()))
        token = secrets.token_hex(16)
        try:
            state, sent = await self._admitted(token, address, max(beyond, self._highest))
        except BaseException:
            await self._vanish(token)
            raise
        self._me, self._token, self.cluster = state.me, token, state.secret
        self._must_not_fall(
            ServerFloor(state.server, state.secret, state.log, state.highest), state
        )
        self._shown = state.number
        self._learn(StateAnswer(state, sent))
        return Joined(state.view, self._me, sent + self.lease)

    async def renew(self, me: MemberId, suspects: Collection[MemberId] = ()) -> Renewed:
        state, sent = await self._put_out_silent(self._token)
        self._shown = max(self._shown, state.number)
        is_in = state.me == me and self.lease is not None
        deadline = sent + (self.lease or 0) if is_in else -inf
        return Renewed(state.view, deadline, state.changed)

    async def reserve(self) -> int:
        state, _ = await self._changed(RESERVE, (self._token,), PATIENCE)
        return state.highest

    async def leave(self, me: MemberId) -> View:
        latest = max(me, self._me)
        if latest == self._me:
            self._stop_watching()
        state, _ = await self._changed(LEAVE, (latest, ""), PATIENCE_TO_LEAVE)
        return state.view

    async def read(self) -> View:
        try:
            state, _ = await self._ask(READ, ("",), PATIENCE)
        except NoSchema:
            return View(0, ())
        self.cluster = state.secret
        return state.view

    @property
    def lock_file(self) -> None:
        return None

    def abandon(self) -> None:
        self._session.abandon()

    def close(self) -> None:
        self._stop_watching()
        self._session.close()

    async def migrate(self) -> None:
        """Make the schema, its tables and functions."""
        await self._session.migrate(PATIENCE)

    # Questions

    async def _admitted(self, token: str, address: str, beyond: int) -> StateAnswer:
        who = (address, os.getpid(), socket.gethostname(), self.lease)
        values = (token, self._token, *who, beyond, secrets.token_hex(16))
        try:
            return await self._changed(JOIN, values, PATIENCE)
        except NoSchema:
            await self.migrate()
            return await self._changed(JOIN, values, PATIENCE)

    async def _vanish(self, token: str) -> None:
        """The join failed, or was cancelled: we may be a member all the same."""
        with suppress(ClusterError):
            await self._changed(LEAVE, (0, token), PATIENCE_TO_LEAVE)

    async def _put_out_silent(self, renewing: str = "") -> StateAnswer:
        """And renew the lease of the member with this token."""
        latest = self._clock.latest(self._tolerance)
        return await self._ask(RENEW, (renewing, latest), self._patience)

    async def _changed(
        self, query: str, values: tuple[object, ...], patience: float
    ) -> StateAnswer:
        """When it may be: a number that is ahead of the clock is waited for."""
        while (answer := await self._ask(query, values, patience)).state.wait > 0:
            await asyncio.sleep(answer.state.wait)
        return answer

    async def _ask(
        self, query: str, values: tuple[object, ...], patience: float
    ) -> StateAnswer:
        if self._gone:
            raise Gone(self._gone)
        try:
            text, sent = await self._session.ask(query, (self._name, *values), patience)
        except NoSchema as error:
            raise self._lost(REMOVED) if self._floor else error from None
        try:
            state = msgspec.json.decode(text, type=PostgresqlState)
        except ValueError:
            raise ClusterError(ANOTHER_VERSION) from None
        if state.format != FORMAT:
            raise ClusterError(ANOTHER_VERSION)
        self._session.must_be_ours(state.backend)
        answer = StateAnswer(state, sent)
        if self._floor is not None:
            self._must_not_fall(self._floor, state)
            self._learn(answer, tried=query is RENEW)
        return answer

    def _must_not_fall(self, floor: ServerFloor, state: PostgresqlState) -> None:
        if why := floor.why_gone(state):
            raise self._lost(why)
        self._floor = floor._replace(log=state.log, highest=state.highest)
        self._highest = max(self._highest, state.highest)
        self._longest = max(self._longest, state.longest)

    def _lost(self, why: str) -> Gone:
        self._gone, self._floor = why, None
        self._quiet_until = clock.now() + max(self._longest, self.lease or 0)
        self._stop_watching()
        return Gone(why)

    @property
    def _patience(self) -> float:
        """For a question about our lease: there must be time for more of them."""
        return PATIENCE if self.lease is None else min(PATIENCE, self.lease / 2)

    @property
    def _tolerance(self) -> float:
        return margin(self.lease) / 2

    # Hearing of changes, and of silence

    def _learn(self, answer: StateAnswer, tried: bool = False) -> None:
        """Compare the clocks, and set the timer for the first deadline of another.

        tried: the silent could have been put out now, and were not, if there are any.
        """
        state = answer.state
        self._clock.compare(answer, self._tolerance, state.longest)
        lefts = {member: left for member, *_, left in state.members}
        self._watches = self._me in list(lefts)[:WATCHERS]
        if lefts.pop(self._me, None) is None:
            return
        if self._timer is not None:
            self._timer.cancel()
        if lefts:
            before_us = sum(left > 0 for i, left in lefts.items() if i < self._me)
            first = min(lefts.values())
            delay = max(0.0, first) + (before_us + 1) * STAGGER
            if tried and first <= 0:
                delay += self._patience
            loop = asyncio.get_running_loop()
            self._timer = loop.call_later(delay, self._spawn, self._put_out_silent)

    def _noticed(self) -> None:
        self._stale = self._watches and self._floor is not None
        if self._stale and not self._reading:
            self._reading = True
            self._spawn(self._newest)

    async def _newest(self) -> StateAnswer:
        """Many notifications lead to few questions."""
        try:
            while self._stale:
                self._stale = False
                answer = await self._ask(READ, (self._token,), self._patience)
            return answer
        finally:
            self._reading = False

    def _spawn(self, question: Callable[[], Coroutine[Any, Any, StateAnswer]]) -> None:
        task = asyncio.get_running_loop().create_task(self._look(question))
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _look(self, question: Callable[[], Coroutine[Any, Any, StateAnswer]]) -> None:
        try:
            view = (await question()).state.view
        except ClusterError:
            self.on_change(None)  # a renewal says what is wrong, if it does not pass
            return
        if view.number > self._shown:
            self._shown = view.number
            self.on_change(view)

    def _stop_watching(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        for task in self._tasks:
            if task is not asyncio.current_task():
                task.cancel()
