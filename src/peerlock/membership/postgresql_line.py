"""One connection to PostgreSQL, on the event loop: statements, and notifications.

psycopg makes the connection; statements then go by libpq's own non-blocking calls, which
psycopg wraps (`psycopg.pq`).  So a statement that is cancelled, or takes too long, ends
with the connection and at once: nothing is asked of a server that may not answer.

While no statement is under way, the loop watches the socket, too: a notification, and the
end of the connection, are noticed as soon as they come.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Any

import psycopg
from psycopg import AsyncConnection
from psycopg.pq import DiagnosticField, ExecStatus
from psycopg.pq.abc import PGconn, PGresult

Row = tuple[str, ...]

FAILED = (ExecStatus.FATAL_ERROR, ExecStatus.BAD_RESPONSE)


class Failed(Exception):
    """The server refuses a statement."""

    def __init__(self, state: str, text: str) -> None:
        super().__init__(text)
        self.state = state  # SQLSTATE


class Ended(Exception):
    """The connection has ended."""


class PostgresqlLine:
    def __init__(self, connection: AsyncConnection[Any]) -> None:
        self.on_notice: Callable[[], None] = lambda: None
        self.on_end: Callable[[], None] = lambda: None  # while it was idle
        self.warning = ""  # of the last statement
        self._connection = connection  # psycopg would warn if it were forgotten
        self._pgconn: PGconn = connection.pgconn
        # A number of our own: libpq closes its when it finds that the server is gone.
        self._socket = os.dup(self._pgconn.socket)
        self._loop = asyncio.get_running_loop()
        self._arrived: asyncio.Future[None] | None = None  # for a statement under way
        self._why = ""  # it has ended
        self._pgconn.notice_handler = self._warned
        self._loop.add_reader(self._socket, self._look)

    @classmethod
    async def to(cls, conninfos: Sequence[str]) -> PostgresqlLine:
        """To the first that answers; all are tried at once.  Raises psycopg.Error."""
        tries = [asyncio.ensure_future(AsyncConnection.connect(c)) for c in conninfos]
        errors = []
        try:
            for attempt in asyncio.as_completed(tries):
                try:
                    chosen = await attempt
                except psycopg.Error as error:
                    errors.append(one_line(error))
                    continue
                tries = [t for t in tries if not is_of(t, chosen)]
                return cls(chosen)
        finally:
            for attempt in tries:
                attempt.cancel()
                attempt.add_done_callback(close_unused)
        raise psycopg.OperationalError("; ".join(dict.fromkeys(errors)))

    @property
    def backend(self) -> int:
        """The process id that the greeting named."""
        return self._pgconn.backend_pid

    async def run(self, query: str, values: Sequence[object] = ()) -> list[Row]:
        """The rows of the last statement that has any; if it is left early, by whatever
        exception but `Failed`, the connection ends."""
        try:
            return await self._run(query, values)
        except Failed:
            raise
        except psycopg.OperationalError as error:
            self.end()
            raise Ended(one_line(error)) from None
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        if not self._why:
            self._why = "it was closed"
            with suppress(RuntimeError):  # the loop may be closed
                self._loop.remove_reader(self._socket)
            os.close(self._socket)
            self._pgconn.finish()

    def abandon(self) -> None:
        """In a forked child: neither the server nor the parent's loop is told."""
        if not self._why:
            self._why = "it is the parent's"
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, self._pgconn.socket)
            os.close(nothing)
            os.close(self._socket)
            self._pgconn.finish()

    async def _run(self, query: str, values: Sequence[object]) -> list[Row]:
        if self._why:
            raise Ended(self._why)
        pgconn, self.warning = self._pgconn, ""
        if values:
            pgconn.send_query_params(query.encode(), [str(v).encode() for v in values])
        else:
            pgconn.send_query(query.encode())
        while pgconn.flush():
            await self._writable()
        rows: list[Row] = []
        failure: Failed | None = None
        while (result := await self._result()) is not None:
            if result.status in FAILED:
                failure = failed(result)
            elif result.status == ExecStatus.TUPLES_OK:
                rows = rows_of(result)
        if failure:
            raise failure
        return rows

    async def _result(self) -> PGresult | None:
        while self._pgconn.is_busy():
            self._arrived = self._loop.create_future()
            try:
                await self._arrived
            finally:
                self._arrived = None
            if self._why:
                raise Ended(self._why)
        return self._pgconn.get_result()

    async def _writable(self) -> None:
        ready = self._loop.create_future()
        self._loop.add_writer(self._socket, wake, ready)
        try:
            await ready
        finally:
            self._loop.remove_writer(self._socket)

    def _look(self) -> None:
        heard = False
        try:
            self._pgconn.consume_input()
            while self._pgconn.notifies():
                heard = True
        except psycopg.OperationalError as error:
            self.end()
            self._why = one_line(error)
            if self._arrived is None:
                self.on_end()
        if self._arrived is not None:
            wake(self._arrived)
        if heard:
            self.on_notice()

    def _warned(self, result: PGresult) -> None:
        self.warning = one_line(field(result, DiagnosticField.MESSAGE_PRIMARY))


def is_of(
    attempt: asyncio.Future[AsyncConnection[Any]], chosen: AsyncConnection[Any]
) -> bool:
    done = attempt.done() and not attempt.cancelled() and not attempt.exception()
    return done and attempt.result() is chosen


def close_unused(attempt: asyncio.Future[AsyncConnection[Any]]) -> None:
    if not attempt.cancelled() and not attempt.exception():
        attempt.result().pgconn.finish()


def wake(future: asyncio.Future[None]) -> None:
    if not future.done():
        future.set_result(None)


def rows_of(result: PGresult) -> list[Row]:
    columns = range(result.nfields)
    return [
        tuple((result.get_value(row, column) or b"").decode() for column in columns)
        for row in range(result.ntuples)
    ]


def failed(result: PGresult) -> Failed:
    state = field(result, DiagnosticField.SQLSTATE)
    text = field(result, DiagnosticField.MESSAGE_PRIMARY)
    return Failed(state, one_line(text or result.error_message.decode(errors="replace")))


def field(result: PGresult, which: DiagnosticField) -> str:
    return (result.error_field(which) or b"").decode(errors="replace")


def one_line(error: object) -> str:
    return " ".join(str(error).split())
