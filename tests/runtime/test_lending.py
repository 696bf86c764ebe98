"""Connections that are lent to another loop: nothing is lost, doubled or overtaken."""

import asyncio
import os
import socket
import threading
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from peerlock.core.peer import RemoteError
from peerlock.runtime import lending
from peerlock.runtime.arrivals import Arrivals
from peerlock.runtime.codec import VERSION, Foreign, Frame, Hello, encode
from peerlock.runtime.connection import Connection
from peerlock.runtime.lending import PATROL, QUIET, SELDOM, SOON, Lending
from tests.support.loops import on_each_loop, until
from tests.support.threads import PATIENCE


@pytest.fixture(autouse=True)
def always_often(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow the machine is."""
    monkeypatch.setattr(lending, "OFTEN", PATIENCE)


class Borrower:
    """A loop of tasks in a thread of its own, which can be blocked."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self.loop.run_forever)
        self._thread.start()
        self._goes_on = threading.Event()

    @property
    def thread(self) -> int | None:
        return self._thread.ident

    async def do(self, work: Callable[[], Any]) -> Any:
        async def done() -> Any:
            return work()

        told = asyncio.run_coroutine_threadsafe(done(), self.loop)
        return await asyncio.wrap_future(told)

    async def block(self) -> None:
        blocked = threading.Event()

        def wait() -> None:
            blocked.set()
            assert self._goes_on.wait(PATIENCE)

        self.loop.call_soon_threadsafe(wait)
        assert await asyncio.to_thread(blocked.wait, PATIENCE)

    def go_on(self) -> None:
        self._goes_on.set()

    def end(self) -> None:
        self.go_on()
        if self._thread.is_alive():
            self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(PATIENCE)
        self.loop.close()


class Lender:
    """The node's side: a connection, what was heard on it and in which thread."""

    def __init__(self, borrower: Borrower) -> None:
        ours, self.theirs = socket.socketpair()
        self.borrower = borrower
        self.heard: list[int] = []
        self.threads: list[int] = []
        self.followed = 0
        self.fails: BaseException | None = None
        self.is_closed = False
        self._ours = ours
        self.connection = Connection(self)
        self.guard = threading.RLock()
        self.arrivals = Arrivals(self.guard)
        self.loop = asyncio.get_running_loop()
        self.lending = Lending(
            self.guard, self.arrivals, borrower.loop, self._soon, self._follow
        )
        self.arrivals.on_heard = self.lending.came

    async def begin(self) -> None:
        connection = self.connection
        await self.loop.create_unix_connection(lambda: connection, sock=self._ours)
        connection.welcome()
        self.arrivals.watch(connection)

    def send(self, *numbers: int) -> None:
        self.theirs.sendall(b"".join(frame(number) for number in numbers))

    async def lend(self) -> None:
        """By sending 1 and 2."""
        for number in (1, 2):
            self.send(number)
            await until(lambda number=number: self.heard[-1:] == [number])  # type: ignore[misc]
        assert self.connection.lent
        await self.borrower.do(lambda: None)  # after it has adopted it

    def _soon(self, work: Callable[..., None], *arguments: Any) -> None:
        self.loop.call_soon_threadsafe(work, *arguments)

    def _follow(self) -> None:
        self.followed += 1

    def frame(self, connection: Connection, frame: Frame | Foreign) -> None:
        assert isinstance(frame, Hello)
        if self.fails is not None:
            raise self.fails
        self.heard.append(frame.sender)
        self.threads.append(threading.get_ident())

    def closed(self, connection: Connection) -> None:
        self.is_closed = True
        self.arrivals.closed(connection)
        self.lending.closed(connection)


def frame(number: int) -> bytes:
    return encode(Hello(VERSION, "x" * 1_000, number))


@asynccontextmanager
async def lender() -> AsyncIterator[Lender]:
    borrower = Borrower()
    try:
        one = Lender(borrower)
        await one.begin()
        await one.lend()
        yield one
        one.connection.end()
        await until(lambda: one.is_closed)
        one.theirs.close()
    finally:
        borrower.end()
        one.arrivals.close()


@on_each_loop
async def test_what_comes_often_is_heard_by_the_other_loop() -> None:
    async with lender() as one:
        one.send(*range(3, 300))
        await until(lambda: len(one.heard) == 299)
        assert one.heard == list(range(1, 300))
        assert set(one.threads[:2]) == {threading.get_ident()}
        assert set(one.threads[2:]) == {one.borrower.thread}
        await until(lambda: one.followed > 0)


@on_each_loop
async def test_what_comes_seldom_is_not_lent(monkeypatch: pytest.MonkeyPatch) -> None:
    async with lender() as one:
        for _ in range(QUIET):
            one.lending.patrol()
        monkeypatch.setattr(lending, "OFTEN", -1.0)
        for number in range(3, 9):
            one.send(number)
            await until(lambda number=number: one.heard[-1] == number)  # type: ignore[misc]
            assert not one.connection.lent


@on_each_loop
async def test_it_is_taken_back_from_a_blocked_loop() -> None:
    """At the second visit, with all that has come, and before that loop goes on."""
    async with lender() as one:
        await one.borrower.block()
        one.send(3, 4)
        assert one.lending.patrol() == SOON  # it may have come just now
        assert not one.lending.patrol()
        await until(lambda: len(one.heard) == 4)
        assert one.threads[-1] == threading.get_ident()
        for number in (5, 6):
            one.send(number)
            await until(lambda number=number: one.heard[-1] == number)  # type: ignore[misc]
            assert not one.connection.lent  # as long as it is blocked
        one.borrower.go_on()
        await one.borrower.do(lambda: None)
        one.send(7)
        await until(lambda: one.connection.lent)
        one.send(8)
        await until(lambda: one.heard == list(range(1, 9)))


@on_each_loop
async def test_it_stays_lent_while_the_loop_hears_something() -> None:
    async with lender() as one:
        paces = []
        for number in range(3, 3 + 3 * QUIET):
            one.send(number)
            await until(lambda number=number: one.heard[-1] == number)  # type: ignore[misc]
            paces.append(one.lending.patrol())
        assert one.connection.lent
        assert paces[:2] == [2 * PATROL, 4 * PATROL]  # less and less often
        assert set(paces[2:]) == {SELDOM}
        assert one.lending.patrol() == PATROL  # nothing was heard since


@on_each_loop
async def test_it_is_taken_back_when_nothing_comes_for_long() -> None:
    async with lender() as one:
        visits = [one.lending.patrol() for _ in range(QUIET + 1)]
        assert not visits[-1]
        assert not one.connection.lent
        one.send(3)
        await until(lambda: one.heard == [1, 2, 3])
        assert one.threads[-1] == threading.get_ident()


@on_each_loop
async def test_what_was_taken_back_is_not_read_by_the_other_loop() -> None:
    """That loop may have been about to."""
    async with lender() as one:
        loan = one.lending._loans[one.connection]
        for _ in range(QUIET + 1):
            one.lending.patrol()
        one.send(3)
        one.lending._hear(loan)
        assert one.heard == [1, 2]
        await until(lambda: one.heard == [1, 2, 3])


@on_each_loop
async def test_a_frame_may_come_in_parts_across_loans() -> None:
    async with lender() as one:
        whole = frame(3)
        one.theirs.sendall(whole[:7])
        await until(lambda: not one.arrivals.waiting())
        for _ in range(QUIET + 1):
            one.lending.patrol()
        assert not one.connection.lent
        one.theirs.sendall(whole[7:900])
        await until(lambda: one.connection.lent)
        one.theirs.sendall(whole[900:] + frame(4))
        await until(lambda: one.heard == [1, 2, 3, 4])


@on_each_loop
async def test_a_connection_that_has_ended_leaves_nothing() -> None:
    async with lender() as one:
        assert one.lending._came_at
    assert not one.lending._came_at and not one.lending._loans


@on_each_loop
async def test_a_member_that_hangs_up_is_noticed() -> None:
    async with lender() as one:
        one.theirs.close()
        await until(lambda: one.is_closed)


@on_each_loop
async def test_a_member_that_hangs_up_is_noticed_while_the_loop_is_blocked() -> None:
    async with lender() as one:
        await one.borrower.block()
        one.theirs.close()
        one.lending.patrol()
        assert not one.lending.patrol()
        await until(lambda: one.is_closed)


@pytest.mark.parametrize("error", [RemoteError("nonsense"), KeyboardInterrupt()])
@on_each_loop
async def test_an_error_ends_the_connection(error: BaseException) -> None:
    """Nothing more is heard of it; Ctrl-C goes on to whom it was meant for."""
    async with lender() as one:
        one.fails = error
        loan = one.lending._loans[one.connection]

        def hear() -> str:
            try:
                one.lending._hear(loan)
            except KeyboardInterrupt:
                return "interrupted"
            return ""

        await one.borrower.do(lambda: one.borrower.loop.remove_reader(loan.descriptor))
        one.send(3)
        told = await one.borrower.do(hear)
        assert told == ("interrupted" if isinstance(error, KeyboardInterrupt) else "")
        one.fails = None
        await until(lambda: one.is_closed)
        assert one.heard == [1, 2]


@on_each_loop
async def test_a_loan_leaves_no_descriptor_behind() -> None:
    async with lender() as one:
        descriptor = one.lending._loans[one.connection].descriptor
        assert os.fstat(descriptor)
        for _ in range(QUIET + 1):
            one.lending.patrol()
        await one.borrower.do(lambda: None)
        with pytest.raises(OSError, match="descriptor"):
            os.fstat(descriptor)


@on_each_loop
async def test_a_loop_that_was_closed_does_not_keep_the_connection() -> None:
    async with lender() as one:
        descriptor = one.lending._loans[one.connection].descriptor
        one.borrower.end()
        one.send(3)
        one.lending.patrol()
        assert not one.lending.patrol()
        await until(lambda: one.heard == [1, 2, 3])
        with pytest.raises(OSError, match="descriptor"):
            os.fstat(descriptor)


@on_each_loop
async def test_a_forked_child_gives_up_the_descriptor() -> None:
    async with lender() as one:
        loan = one.lending._loans[one.connection]
        before = os.fstat(loan.descriptor).st_ino
        await one.borrower.do(lambda: one.borrower.loop.remove_reader(loan.descriptor))
        one.lending.abandon()
        assert os.fstat(loan.descriptor).st_ino != before
