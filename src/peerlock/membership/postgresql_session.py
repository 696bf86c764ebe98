"""One connection to PostgreSQL: questions, one after the other, and notifications.

- A question is one message of the simple protocol, so the server runs it as a whole, and
  commits it, whatever becomes of this process meanwhile.  It has a time limit.  When that
  has passed, the socket is shut down: psycopg sees the end of the connection at once, and
  does not ask a server for a cancellation that may not answer either.
- A question that finds the connection broken is asked once more, on another one.  So every
  question must be one that can be asked twice.
- While no question is under way, the event loop watches the socket: a notification, and
  the end of the connection, are noticed at once.
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
import os
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any, NamedTuple, TypeVar

import psycopg
from psycopg import AsyncClientCursor, AsyncConnection, Notify, errors
from psycopg.errors import Diagnostic

from peerlock.membership.clock import now
from peerlock.membership.engine import ClusterError
from peerlock.membership.postgresql_schema import GRANTS, SCHEMA, USED_UP, WRONG_CLOCK

T = TypeVar("T")

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
NOT_GRANTED = f"this user may not use the schema peerlock: {' '.join(GRANTS.split())}"

REASONS: dict[str, str] = {
    USED_UP: "this cluster has used up all numbers; begin a new one",
    WRONG_CLOCK: "the clock of the PostgreSQL server is wrong (it must be between 2024 and "
    "2085); set it before a new cluster is made, because its numbers begin there",
    "25006": STANDBY,
    "42501": NOT_GRANTED.format(role="it"),
    "53100": "PostgreSQL's disk is full",
    "57014": "PostgreSQL cancelled the statement: is its statement_timeout too short?",
    "55P03": "another transaction keeps a lock on the tables of the schema peerlock",
}
MISSING = ("3F000", "42883", "42P01")  # no schema, no function, no table


class Broken(ClusterError):
    """The connection has ended; on another one, the question may be answered."""


class NoSchema(ClusterError):
    """The schema was not made yet, or was dropped."""


class Answer(NamedTuple):
    text: str
    sent: float  # on our clock, before the question was


class Session:
    """`on_notice` is called when a notification has come, `on_end` when the connection
    has ended while it was idle."""

    def __init__(self, conninfo: str, channel: str) -> None:
        self.on_notice: Callable[[], None] = lambda: None
        self.on_end: Callable[[], None] = lambda: None
        self._conninfo = conninfo
        self._channel = channel
        self._connection: AsyncConnection[Any] | None = None
        self._backend = 0
        self._warned = ""
        self._turn = asyncio.Lock()

    async def ask(self, query: str, values: Sequence[object], patience: float) -> Answer:
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
            connection = await self._connected(given_up)
            try:
                await self._run(connection, SCHEMA, (), given_up)
            except ClusterError as error:
                self._hang_up()  # a transaction is open
                is_denied = isinstance(error.__cause__, errors.InsufficientPrivilege)
                raise (ClusterError(NOT_CREATED) if is_denied else error) from None

    def close(self) -> None:
        self._hang_up()

    def abandon(self) -> None:
        """In a forked child: the connection is the parent's, which is told nothing."""
        connection, self._connection = self._connection, None
        if connection is not None and not connection.closed:
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, connection.pgconn.socket)
            os.close(nothing)
            connection.pgconn.finish()

    # A question

    async def _asked(self, query: str, values: Sequence[object], given_up: float) -> Answer:
        connection = await self._connected(given_up)
        sent, self._warned = now(), ""
        rows = await self._run(connection, query, values, given_up)
        if self._warned:
            raise ClusterError(f"PostgreSQL warns: {self._warned}")
        return Answer(rows[0][0], sent)

    async def _run(
        self,
        connection: AsyncConnection[Any],
        query: str,
        values: Sequence[object],
        given_up: float,
    ) -> list[tuple[Any, ...]]:
        """The rows of the last statement."""
        asyncio.get_running_loop().remove_reader(connection.pgconn.socket)
        working = asyncio.ensure_future(rows_of(connection, query, values))
        try:
            await asyncio.wait({working}, timeout=max(0.0, given_up - now()))
        finally:  # we may have been cancelled
            late = not working.done()
            if late:
                self._hang_up()
        try:
            rows = await working
        except psycopg.Error as error:
            if late:
                raise ClusterError("PostgreSQL does not answer in time") from error
            raise self._explained(connection, error) from error
        self._watch(connection)
        return rows

    def _explained(
        self, connection: AsyncConnection[Any], error: psycopg.Error
    ) -> ClusterError:
        if connection.broken or connection.closed:
            self._hang_up()
            return Broken(f"PostgreSQL ended the connection: {one_line(error)}")
        self._watch(connection)
        return explained(error)

    # The connection

    async def _connected(self, given_up: float) -> AsyncConnection[Any]:
        if self._connection is not None:
            return self._connection
        try:
            async with asyncio.timeout(max(0.0, given_up - now())):
                connection = await self._connect()
        except TimeoutError:
            raise ClusterError("PostgreSQL does not answer in time") from None
        except (psycopg.Error, UnicodeError) as error:
            raise ClusterError(f"cannot use PostgreSQL: {one_line(error)}") from error
        self._connection = connection
        try:
            await self._prepare(connection, given_up)
        except BaseException:
            self._hang_up()
            raise
        connection.add_notify_handler(self._told)
        connection.add_notice_handler(self._noticed)
        return connection

    async def _connect(self) -> AsyncConnection[Any]:
        return await AsyncConnection.connect(
            self._conninfo,
            autocommit=True,
            prepare_threshold=None,
            cursor_factory=AsyncClientCursor,
        )

    async def _prepare(self, connection: AsyncConnection[Any], given_up: float) -> None:
        [row] = await self._run(connection, PREPARE + WHERE, (), given_up)
        self._backend, is_standby, version = row
        if int(version) < OLDEST:
            raise ClusterError("this PostgreSQL server is too old: use version 12 or newer")
        if is_standby:
            raise ClusterError(STANDBY)
        if self._backend != connection.pgconn.backend_pid:
            await self._must_keep_ours(given_up)
        await self._run(connection, f'LISTEN "{self._channel}"', (), given_up)

    async def _must_keep_ours(self, given_up: float) -> None:
        """The pooler must not give the server's process of an idle client to another."""
        try:
            async with asyncio.timeout(max(0.0, given_up - now())):
                other = await self._connect()
                try:
                    [row] = await rows_of(other, WHERE, ())
                finally:
                    hang_up(other)
        except (TimeoutError, psycopg.Error):
            return  # a pool of one, which is ours: later answers show it
        if row[0] == self._backend:
            raise ClusterError(POOLER)

    def must_be_ours(self, backend: int) -> None:
        """This process of the server has answered."""
        if backend != self._backend:
            self._hang_up()
            raise ClusterError(POOLER)

    def _watch(self, connection: AsyncConnection[Any]) -> None:
        if connection is self._connection:
            loop = asyncio.get_running_loop()
            loop.add_reader(connection.pgconn.socket, self._look, connection)

    def _look(self, connection: AsyncConnection[Any]) -> None:
        """Something has come while no question was under way."""
        try:
            connection.pgconn.consume_input()
            heard = False
            while connection.pgconn.notifies():
                heard = True
        except psycopg.OperationalError:
            self._hang_up()
            self.on_end()
            return
        if heard:
            self.on_notice()

    def _told(self, notify: Notify) -> None:
        """While a question was under way."""
        self.on_notice()

    def _noticed(self, diagnostic: Diagnostic) -> None:
        self._warned = one_line(diagnostic.message_primary)

    def _hang_up(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            hang_up(connection)


async def rows_of(
    connection: AsyncConnection[Any], query: str, values: Sequence[object]
) -> list[tuple[Any, ...]]:
    """Of the last statement that has any."""
    async with connection.cursor() as cursor:
        await cursor.execute(query.encode(), values or None)
        rows: list[tuple[Any, ...]] = []
        while True:
            if cursor.description is not None:
                rows = await cursor.fetchall()
            if not cursor.nextset():
                return rows


def hang_up(connection: AsyncConnection[Any]) -> None:
    """At once.  If a question is under way, it fails, and then the connection is closed."""
    if connection.closed:
        return
    pgconn = connection.pgconn
    is_active = pgconn.transaction_status == psycopg.pq.TransactionStatus.ACTIVE
    with suppress(OSError, RuntimeError):
        if not is_active:
            asyncio.get_running_loop().remove_reader(pgconn.socket)
            pgconn.finish()
            return
        with socket.socket(fileno=os.dup(pgconn.socket)) as same:
            same.shutdown(socket.SHUT_RDWR)


def explained(error: psycopg.Error) -> ClusterError:
    if error.sqlstate in MISSING:
        return NoSchema(
            "there is no schema peerlock in this database: run `peerlock migrate`"
        )
    return ClusterError(REASONS.get(error.sqlstate or "", f"PostgreSQL: {one_line(error)}"))


def one_line(error: object) -> str:
    return " ".join(str(error).split())
