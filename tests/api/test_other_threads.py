"""What threads other than the loop's can do with its connections: send, and look."""

import asyncio
import socket
import threading
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from peerlock.runtime.arrivals import Arrivals
from peerlock.runtime.codec import VERSION, Foreign, Frame, Hello, encode
from peerlock.runtime.connection import Connection
from tests.support.loops import on_each_loop, until

FRAME = Hello(VERSION, "x" * 1_000, 1)


class Heard:
    def __init__(self) -> None:
        self.frames: list[Frame | Foreign] = []

    def frame(self, connection: Connection, frame: Frame | Foreign) -> None:
        self.frames.append(frame)

    def closed(self, connection: Connection) -> None:
        pass


def any_in(arrivals: Arrivals) -> bool:
    return arrivals.reading or bool(arrivals.waiting())


@asynccontextmanager
async def connected() -> AsyncIterator[tuple[Connection, socket.socket, Heard]]:
    ours, theirs = socket.socketpair()
    heard = Heard()
    connection = Connection(heard)
    loop = asyncio.get_running_loop()
    await loop.create_unix_connection(lambda: connection, sock=ours)
    with theirs:
        yield connection, theirs, heard
        connection.end()
        await until(lambda: not connection.is_open)


def read(end: socket.socket, size: int) -> bytes:
    return end.recv(size, socket.MSG_WAITALL)


@on_each_loop
async def test_what_cannot_be_sent_at_once_is_left_to_the_loop() -> None:
    """And whatever comes after it, too, so that nothing overtakes it."""
    async with connected() as (connection, theirs, _):
        sent = 0
        while not (rest := connection.send_at_once(FRAME)):
            sent += 1
        connection.write(rest)
        assert connection.send_at_once(FRAME) == encode(FRAME)
        expected = encode(FRAME) * (sent + 1)
        assert await asyncio.to_thread(read, theirs, len(expected)) == expected
        await until(lambda: not connection.send_at_once(FRAME))
        assert await asyncio.to_thread(read, theirs, len(encode(FRAME))) == encode(FRAME)


@on_each_loop
async def test_nothing_is_sent_over_a_connection_that_ends() -> None:
    async with connected() as (connection, theirs, _):
        connection.finish()
        assert connection.send_at_once(FRAME) == b""
        assert await asyncio.to_thread(theirs.recv, 1) == b""
    assert connection.send_at_once(FRAME) == b""


@on_each_loop
async def test_what_has_arrived_is_seen_until_it_is_heard() -> None:
    arrivals = Arrivals(threading.RLock())
    async with connected() as (connection, theirs, heard):
        connection.welcome()
        arrivals.watch(connection)
        for number in range(1, 3):
            assert not any_in(arrivals)
            theirs.send(encode(FRAME))
            assert any_in(arrivals)
            await until(lambda number=number: len(heard.frames) == number)  # type: ignore[misc]
        connection.get_buffer(-1)  # which the loop asks for before it reads
        assert any_in(arrivals)
        connection.buffer_updated(0)
        assert not any_in(arrivals)
        theirs.send(b"x")
        arrivals.closed(connection)
        assert not any_in(arrivals)
    arrivals.close()
    arrivals.close()
    assert not any_in(arrivals)
