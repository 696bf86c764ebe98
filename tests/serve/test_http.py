"""What a connection may cost: the rules at the top of `serve/http.py`."""

import asyncio
import socket
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

import pytest

from peerlock.serve import http
from peerlock.serve.http import (
    HttpRequest,
    Response,
    Server,
    Stream,
    Visitor,
    complaint,
    serving,
)
from tests.support.http import Client

FAST = {"TICK": 0.005, "PATIENCE": 0.05}
LONG = 10_000_000  # bytes, more than the kernel takes at once
OPEN = {"x-key": "let me in"}


class Desk:
    """A page at once, one that comes when it is told to, and a stream."""

    def __init__(self, most: int) -> None:
        self.server = Server(self.handle, self.admits, most, ("/public",))
        self.ready = asyncio.Event()
        self.streams: list[Stream] = []
        self.cancelled = self.asked = 0

    def admits(self, headers: Mapping[bytes, bytes], *_: object) -> Response | None:
        return None if b"x-key" in headers else complaint(401, "no key")

    def handle(self, request: HttpRequest) -> Any:
        self.asked += 1
        match request.path:
            case "/long":
                return Response(200, b"x" * LONG, http.TEXT)
            case "/later":
                return self.later()
            case "/stream":
                return Stream(self.streams.append, self.streams.remove)
            case "/fault":
                raise KeyError("oops")
            case "/echo":
                return Response(200, request.body, http.TEXT)
            case _:
                return Response(200, b"hello", http.TEXT)

    async def later(self) -> Response:
        try:
            await self.ready.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return Response(200, b"at last", http.TEXT)


def run(
    talk: Callable[[Desk, Callable[[], Client]], Awaitable[None]], most: int = 4
) -> None:
    async def main() -> None:
        listening = socket.create_server(("127.0.0.1", 0))
        where = f"127.0.0.1:{listening.getsockname()[1]}"
        desk = Desk(most)

        def client() -> Client:
            made = Client(where)
            made.headers = dict(OPEN)
            return made

        async with serving(desk.server, [listening], None):
            await talk(desk, client)
        assert desk.streams == []

    asyncio.run(main())


@pytest.fixture
def fast(monkeypatch: pytest.MonkeyPatch) -> None:
    for name, value in FAST.items():
        monkeypatch.setattr(http, name, value)


def test_a_connection_serves_many_requests() -> None:
    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as one:
            for _ in range(3):
                assert await one.ask("GET", "/") == (200, "hello")
            one.send("HEAD", "/")
            assert (await one.head())[1]["content-length"] == "5"
            one.send("HEAD", "/stream")
            assert (await one.head())[0] == 405
            for _ in range(3):  # without waiting for answers
                one.send("GET", "/")
            assert [await one.answer() for _ in range(3)] == [(200, "hello")] * 3
            big = await one.ask("POST", "/echo", "x" * 10_000, Expect="100-continue")
            assert big[0] == 200

    run(talk)


@pytest.mark.parametrize(
    ("sent", "status"),
    [
        (b"nonsense\r\n\r\n", b"400"),
        (b"GET / HTTP/1.1\r\n\r\n", b"400"),  # no host
        (b"GET / HTTP/1.1\r\nHost: x\r\n\r\n", b"401"),
        (b"POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\n\r\n", b"401"),
        (b"GET / HTTP/1.1\r\n" + b"a: b\r\n" * 20_000, b"431"),
        (
            b"POST / HTTP/1.1\r\nHost: x\r\nX-Key: x\r\nContent-Length: 20000\r\n\r\n"
            + b"x" * 17_000,
            b"413",
        ),
        (b"\x16\x03\x01\x02\x00" + b"\x00" * 600, b"400"),  # TLS
    ],
)
def test_what_is_not_let_in_is_answered_and_closed(sent: bytes, status: bytes) -> None:
    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as one:
            one.writer.write(sent)
            try:
                answer = await asyncio.wait_for(one.reader.read(), 30)
            except ConnectionResetError:  # with bytes of ours that were not read
                return
            assert answer.startswith(b"HTTP/1.1 " + status)

    run(talk)


def test_a_flood_of_strangers_replaces_strangers_and_nobody_else(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "PATIENCE", 3600.0)  # nobody goes for another reason

    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as known:
            await known.ask("GET", "/")
            flood = [await client().__aenter__() for _ in range(100)]
            for stranger in flood[: -http.STRANGERS]:
                assert await stranger.has_ended()
            assert len(desk.server.strangers) <= http.STRANGERS
            assert await known.ask("GET", "/") == (200, "hello")
            async with client() as newest:
                assert await newest.ask("GET", "/") == (200, "hello")
            for stranger in flood:
                await stranger.__aexit__()

    run(talk)


@pytest.mark.parametrize("path", ["/", "/public"])
def test_half_a_request_and_public_pages_make_nobody_known(path: str) -> None:
    """Otherwise connections without a key could take the places of those with one."""

    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        flood = [await client().__aenter__() for _ in range(40)]
        for one in flood:
            length = "0" if path == "/public" else "100"  # of a body that does not come
            head = (
                f"POST {path} HTTP/1.1\r\nHost: x\r\nX-Key: x\r\nContent-Length: {length}"
            )
            one.writer.write(head.encode() + b"\r\n\r\n")
        async with client() as newest:
            assert await newest.ask("GET", "/") == (200, "hello")
            assert len(desk.server.known) == 1
            assert (desk.asked > 1) == (path == "/public")
        for one in flood:
            await one.__aexit__()

    run(talk)


def test_known_connections_are_limited_and_the_idle_ones_go_first() -> None:
    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        many = [await client().__aenter__() for _ in range(3)]
        for one in many[:2]:
            await one.ask("GET", "/")
        many[0].send("GET", "/later")  # it waits; the second is idle
        while len(desk.server.known) < 2 or not many:
            await asyncio.sleep(0)
        await asyncio.sleep(0.01)
        assert await many[2].ask("GET", "/") == (200, "hello")
        assert await many[1].has_ended()
        many[2].send("GET", "/later")
        await asyncio.sleep(0.01)
        async with client() as late:
            assert (await late.ask("GET", "/"))[0] == 503
            assert await late.has_ended()
        desk.ready.set()
        assert [await one.answer() for one in (many[0], many[2])] == [(200, "at last")] * 2
        for one in many:
            await one.__aexit__()

    run(talk, most=2)


def test_of_the_idle_ones_the_one_that_asked_longest_ago_goes() -> None:
    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as one, client() as two, client() as late:
            for asking in (one, two, one, late):
                assert await asking.ask("GET", "/") == (200, "hello")
            assert await two.has_ended()
            assert await one.ask("GET", "/") == (200, "hello")

    run(talk, most=2)


@pytest.mark.usefixtures("fast")
@pytest.mark.parametrize(
    "sent", [b"", b"GET / HTTP/1.1\r\n", b"POST / HTTP/1.1\r\nHost: x\r\n"]
)
def test_a_request_that_does_not_arrive_is_not_waited_for(sent: bytes) -> None:
    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as silent:
            silent.writer.write(sent)
            assert await silent.has_ended()
        async with client() as slow:  # and the second one, on the same connection
            await slow.ask("GET", "/")
            slow.writer.write(b"GET / HT")
            assert await slow.has_ended()

    run(talk)


@pytest.mark.usefixtures("fast")
def test_an_idle_connection_is_closed_unless_a_session_is_tied_to_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "IDLE", 0.02)

    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as tied, client() as idle:
            await tied.ask("GET", "/")
            (visitor,) = desk.server.known
            visitor.tied = 1
            await idle.ask("GET", "/")
            assert await idle.has_ended()
            await asyncio.sleep(0.05)
            assert await tied.ask("GET", "/") == (200, "hello")

    run(talk)


async def not_reading(slow: Client, desk: Desk) -> Visitor:
    slow.writer.transport.pause_reading()  # type: ignore[attr-defined]
    slow.send("GET", "/stream")
    while not desk.streams:
        await asyncio.sleep(0.001)
    (visitor,) = desk.server.known
    return visitor


@pytest.mark.usefixtures("fast")
def test_a_client_that_does_not_read_is_disconnected(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(http, "kept_alive", lambda peer: True)  # the kernel does not help

    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as slow:
            visitor = await not_reading(slow, desk)
            assert visitor.transport is not None
            chunk = b"x" * 10_000
            while not visitor.transport.get_write_buffer_size():
                desk.streams[0].send(chunk)
            async with asyncio.timeout(30):
                while desk.streams:  # no more is sent, and it has PATIENCE seconds
                    await asyncio.sleep(0.001)

    run(talk)


def test_a_stream_does_not_pile_up() -> None:
    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as slow:
            visitor = await not_reading(slow, desk)
            stream = desk.streams[0]
            for _ in range(2_000):
                stream.send(b"x" * 10_000)
            assert visitor not in desk.server.known
            await asyncio.sleep(0)
            assert desk.streams == []

    run(talk)


def test_what_a_stream_begins_with_may_be_long() -> None:
    """A session may have many claims; a client that reads gets all of it."""
    long = b"event: session\ndata: " + b"1" * 10_000_000 + b"\n\n"

    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as one:
            one.send("GET", "/stream")
            await one.head()
            desk.streams[0].send(long)
            desk.streams[0].send(b"event: held\ndata: 2\n\n")
            one.reader._limit = 2 * len(long)  # type: ignore[attr-defined]
            data = await one.reader.readuntil(b"event: held")
            assert len(data) > len(long)

    run(talk)


def test_a_client_that_sends_on_while_it_is_answered_is_disconnected() -> None:
    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as eager:
            eager.send("GET", "/later")
            eager.writer.write(b"x" * (http.HEAD + 100_000))
            assert await eager.has_ended()
        while desk.cancelled < 1:
            await asyncio.sleep(0)

    run(talk)


def test_of_many_requests_at_once_one_is_answered_in_a_turn() -> None:
    many = 2_000

    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as eager, client() as other:
            for _ in range(many):
                eager.send("GET", "/")
            while not desk.asked:
                await asyncio.sleep(0)
            assert await other.ask("GET", "/") == (200, "hello")
            assert desk.asked < many / 2
            for _ in range(many):
                assert await eager.answer() == (200, "hello")
        assert desk.asked == many + 1

    run(talk)


def test_a_client_that_does_not_read_is_not_answered_again() -> None:
    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as slow:
            slow.writer.transport.pause_reading()  # type: ignore[attr-defined]
            for _ in range(3):
                slow.send("GET", "/long")
            while not desk.asked:
                await asyncio.sleep(0)
            for _ in range(100):
                await asyncio.sleep(0)
            assert desk.asked == 1
            slow.writer.transport.resume_reading()  # type: ignore[attr-defined]
            for _ in range(3):
                assert len((await slow.answer())[1]) == LONG

    run(talk)


def test_the_answer_to_a_client_that_is_gone_is_not_waited_for() -> None:
    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as one:
            one.send("GET", "/later")
            await asyncio.sleep(0.01)
        while desk.cancelled < 1:
            await asyncio.sleep(0.001)
        assert not desk.server.known

    run(talk)


@pytest.mark.usefixtures("fast")
def test_a_stream_shows_signs_of_life(monkeypatch: pytest.MonkeyPatch) -> None:
    """So that the kernel finds out, by what SILENCE says, when the other end is gone."""
    monkeypatch.setattr(http, "BEAT", 0.01)

    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        async with client() as one:
            one.send("GET", "/stream")
            await one.head()
            for _ in range(3):
                assert await one.reader.readuntil(http.ALIVE) == b"3\r\n" + http.ALIVE
                await one.reader.readexactly(2)
            (visitor,) = desk.server.known
            assert visitor.transport is not None
            peer = visitor.transport.get_extra_info("socket")
            assert peer.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE)
            if hasattr(socket, "TCP_USER_TIMEOUT"):
                left = peer.getsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT)
                assert left == 5000

    run(talk)


def test_a_fault_of_ours_is_logged_and_not_shown() -> None:
    async def talk(desk: Desk, client: Callable[[], Client]) -> None:
        told: list[dict[str, Any]] = []
        asyncio.get_running_loop().set_exception_handler(lambda _, what: told.append(what))
        async with client() as one:
            status, said = await one.ask("GET", "/fault")
            assert (status, "oops" in str(said)) == (500, False)
            assert await one.ask("GET", "/") == (200, "hello")
        assert [type(what["exception"]) for what in told] == [KeyError]

    run(talk)
