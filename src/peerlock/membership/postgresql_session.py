"""A session with PostgreSQL: questions, one after the other, and notifications.

- A question is one statement, which the server runs as a transaction of its own, whatever
  becomes of this process meanwhile.  It has a time limit; when that has passed, the
  connection is given up.
- A question that finds the connection broken is asked once more, on another one.  So every
  question must be one that can be asked twice.
- An answer that comes with a warning does not count: it may say that a commit was not
  replicated as the server's settings promise.

**A pooler between us and the server** must keep a server's connection for as long as ours
lasts, because `LISTEN` and the settings below belong to it.  pgbouncer does that with
`pool_mode = session`; with `transaction` it may give our server's connection to another
client.  A pooler shows itself because the process id in its greeting is not that of the
server's process.  Then a second connection is made: if it is given the server's process of
the first one, which idles, the pooler is refused.  It is also refused as soon as a later
answer comes from another process.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import NamedTuple

import psycopg

from peerlock.membership.clock import now
from peerlock.membership.engine import ClusterError
from peerlock.membership.postgresql_line import Ended, Failed, PostgresqlLine, Row, one_line
from peerlock.membership.postgresql_schema import GRANTS, SCHEMA, USED_UP, WRONG_CLOCK

LOCK_TIMEOUT = 3000  # milliseconds that a question waits for a lock in the server
OLDEST = 120000  # server_version_num

# What a session needs, whatever the role's or the database's settings are.  A commit must
# have been written to disk: a setting that promises more is left as it is.
PREPARE = f"""\
SET SESSION CHARACTERISTICS AS TRANSACTION ISOLATION LEVEL READ COMMITTED, READ WRITE;
SELECT set_config('synchronous_commit', 'on', false)
    WHERE current_setting('synchronous_commit') IN ('off', 'local');
SET lock_timeout = {LOCK_TIMEOUT};
SET client_min_messages = warning;
"""
WHERE = (
    "SELECT pg_backend_pid(), pg_is_in_recovery(), current_setting('server_version_num')"
)

POOLER = (
    "a pooler in transaction mode is between this process and PostgreSQL: connect to the "
    "server itself, or use pool_mode = session"
)
STANDBY = (
    "this PostgreSQL server is a read-only standby: use the primary, or list all hosts "
    "with target_session_attrs=read-write"
)
NOT_CREATED = (
    "this user may not create the schema peerlock: have an administrator run the output of "
    "`peerlock migrate --sql`"
)
NOT_GRANTED = (
    "this user may not use the schema peerlock; have an administrator run: "
    + " ".join(GRANTS.format(role="USER").split())
)
NOT_MADE = "there is no schema peerlock in this database: run `peerlock migrate`"
LATE = "PostgreSQL does not answer in time"

REASONS: dict[str, str] = {
    USED_UP: "this cluster has used up all numbers; begin a new one",
    WRONG_CLOCK: "the clock of the PostgreSQL server is wrong (it must be between 2024 and "
    "2085); set it before a new cluster is made, because its numbers begin there",
    "25006": STANDBY,
    "53100": "PostgreSQL's disk is full",
    "57014": "PostgreSQL cancelled the statement: is its statement_timeout too short?",
    "55P03": "another transaction keeps a lock on the tables of the schema peerlock",
}
MISSING = ("3F000", "42883", "42P01")  # no schema, no function, no table


class Broken(ClusterError):
    """The connection has ended; on another one, the question may be answered."""


class NoSchema(ClusterError):
    """The schema was not made yet, or was dropped."""


class Denied(ClusterError):
    """The user may not do that."""


class QueryAnswer(NamedTuple):
    text: str
    sent: float  # on our clock, before the question was


class PostgresqlSession:
    """`on_notice` is called when a notification has come, `on_end` when the connection
    has ended while it was idle."""

    def __init__(self, conninfos: Sequence[str], channel: str) -> None:
        self.on_notice: Callable[[], None] = lambda: None
        self.on_end: Callable[[], None] = lambda: None
        self._conninfos = conninfos
        self._channel = channel
        self._line: PostgresqlLine | None = None
        self._backend = ""  # process id of the server's process
        self._turn = asyncio.Lock()

    async def ask(
        self, query: str, values: Sequence[object], patience: float
    ) -> QueryAnswer:
        given_up = now() + patience
        async with self._turn:
            try:
                return await self._asked(query, values, given_up)
            except Broken:
                return await self._asked(query, values, given_up)

    async def migrate(self, patience: float) -> None:
        """Make the schema; nothing is changed if it is there."""
        async with self._turn:
            given_up = now() + patience
            line = await self._connected(given_up)
            try:
                await self._run(line, SCHEMA, (), given_up)
            except Denied:
                raise ClusterError(NOT_CREATED) from None
            finally:
                self.close()  # it may have a transaction open

    def close(self) -> None:
        line, self._line = self._line, None
        if line is not None:
            line.end()

    def abandon(self) -> None:
        """In a forked child: the connection is the parent's."""
        line, self._line = self._line, None
        if line is not None:
            line.abandon()

    def must_be_ours(self, backend: int) -> None:
        """This process of the server has answered."""
        if str(backend) != self._backend:
            self.close()
            raise ClusterError(POOLER)

    # A question

    async def _asked(
        self, query: str, values: Sequence[object], given_up: float
    ) -> QueryAnswer:
        line = await self._connected(given_up)
        sent = now()
        [[text]] = await self._run(line, query, values, given_up)
        if line.warning:
            raise ClusterError(f"PostgreSQL warns: {line.warning}")
        return QueryAnswer(text, sent)

    async def _run(
        self, line: PostgresqlLine, query: str, values: Sequence[object], given_up: float
    ) -> list[Row]:
        try:
            async with asyncio.timeout(given_up - now()):
                return await line.run(query, values)
        except Failed as failure:
            raise explained(failure) from None
        except Ended as error:
            self.close()
            raise Broken(f"PostgreSQL ended the connection: {error}") from None
        except TimeoutError:
            self.close()
            raise ClusterError(LATE) from None
        except BaseException:
            self.close()
            raise

    # The connection

    async def _connected(self, given_up: float) -> PostgresqlLine:
        if self._line is None:
            line = await self._connect(given_up)
            try:
                await self._prepare(line, given_up)
            except BaseException:
                line.end()
                raise
            line.on_notice, line.on_end = self._heard, self._ended
            self._line = line
        return self._line

    async def _connect(self, given_up: float) -> PostgresqlLine:
        try:
            async with asyncio.timeout(given_up - now()):
                return await PostgresqlLine.to(self._conninfos)
        except TimeoutError:
            raise ClusterError(LATE) from None
        except (psycopg.Error, UnicodeError) as error:
            raise ClusterError(f"cannot use PostgreSQL: {one_line(error)}") from None

    async def _prepare(self, line: PostgresqlLine, given_up: float) -> None:
        [row] = await self._run(line, PREPARE + WHERE, (), given_up)
        self._backend, is_standby, version = row
        if int(version) < OLDEST:
            raise ClusterError("this PostgreSQL server is too old: use version 12 or newer")
        if is_standby == "t":
            raise ClusterError(STANDBY)
        if self._backend != str(line.backend):
            await self._must_be_kept(given_up)
        await self._run(line, f'LISTEN "{self._channel}"', (), given_up)

    async def _must_be_kept(self, given_up: float) -> None:
        """A pooler must not give the server's process of an idle client to another."""
        try:
            async with asyncio.timeout(min(1.0, given_up - now())):
                other = await PostgresqlLine.to(self._conninfos)
                try:
                    [row] = await other.run(WHERE)
                finally:
                    other.end()
        except (TimeoutError, psycopg.Error, Failed, Ended):
            return  # a pool of one, perhaps, which is ours: later answers show it
        if row[0] == self._backend:
            raise ClusterError(POOLER)

    def _heard(self) -> None:
        self.on_notice()

    def _ended(self) -> None:
        self.close()
        self.on_end()


def explained(failure: Failed) -> ClusterError:
    if failure.state in MISSING:
        return NoSchema(NOT_MADE)
    if failure.state == "42501":
        return Denied(NOT_GRANTED)
    return ClusterError(REASONS.get(failure.state, f"PostgreSQL: {failure}"))
