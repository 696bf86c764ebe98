"""HTTP/1.1 in the loop that steps the node: pages, an API, and streams of events.

h11 parses what clients send.  This file decides what a connection may cost, because a port
may be open to many clients and must not take resources that the locks need.

 1. A connection is a *stranger* until it has made a whole request that is let in, and not
    for a page that is public (`access.py`).  There are at most STRANGERS, TLS handshakes
    included; a new one replaces the oldest.
 2. At most `most` others are *known*.  When one more comes, the one that has been idle for
    longest is closed; if none is idle, the new one gets 503, and is closed.
 3. A request arrives within PATIENCE seconds.  Its head has at most HEAD bytes, its body at
    most BODY.  A request that is not let in is answered before its body is read.
 4. A known connection may be idle for IDLE seconds; one that a session is tied to, for as
    long as the session lives.
 5. A client that does not read what was sent is disconnected: after PATIENCE seconds, or
    when more than BACKLOG bytes of a stream wait for it, besides its first event, which has
    everything as it is and may be long.  A stream has a sign of life every BEAT seconds, so
    that the kernel finds out when the other end is gone.
 6. One request is answered at a time, and one in each turn of the loop.  At most HEAD bytes
    of the next are kept meanwhile.  A client that sends many at once is not listened to
    until it has read the answer to the last one.
 7. If the client disconnects, the answer to its request is no longer waited for.

If the loop hangs, no request is answered, which is an answer, too.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from collections.abc import AsyncIterator, Callable, Collection, Coroutine, Mapping
from contextlib import asynccontextmanager, suppress
from functools import partial
from http import HTTPStatus
from math import inf
from typing import Any, NamedTuple, cast
from urllib.parse import parse_qsl

import h11
import msgspec

from peerlock.runtime.door import close_if_cancelled
from peerlock.runtime.listening import Listening
from peerlock.runtime.transport import kept_alive

STRANGERS = 16
MOST = 64  # known connections, unless a port has more
PATIENCE = 5.0  # seconds
IDLE = 60.0  # seconds
TICK = 0.5  # seconds between looks at what has taken too long
BEAT = 5.0  # seconds between signs of life in a stream
HEAD = 16_384  # bytes
BODY = 16_384  # bytes
BACKLOG = 65_536  # bytes

TEXT = b"text/plain; charset=utf-8"
JSON = b"application/json"
EVENTS = b"text/event-stream"
ALIVE = b":\n\n"  # a comment in a stream of events: is the client still there?


class HttpRequest(NamedTuple):
    method: str
    path: str  # as it was sent
    query: Mapping[str, str]
    headers: Mapping[bytes, bytes]
    body: bytes
    visitor: Visitor


class Response(NamedTuple):
    status: int
    body: bytes = b""
    kind: bytes = JSON
    headers: tuple[tuple[bytes, bytes], ...] = ()


class Stream:
    """A stream: events are sent as they happen, until one side ends it."""

    def __init__(
        self, opened: Callable[[Stream], None], closed: Callable[[Stream], None]
    ) -> None:
        self.opened = opened
        self.closed = closed
        self._visitor: Visitor | None = None

    def begin(self, visitor: Visitor) -> None:
        self._visitor = visitor
        self.opened(self)

    def send(self, data: bytes) -> None:
        if self._visitor is not None:
            self._visitor.push(data)

    def end(self) -> None:
        visitor, self._visitor = self._visitor, None
        if visitor is not None:
            self.closed(self)
            visitor.end_stream()


Answer = Response | Stream
Handler = Callable[[HttpRequest], Answer | Coroutine[Any, Any, Answer]]
Admits = Callable[[Mapping[bytes, bytes], str, asyncio.Transport], Response | None]


class Server:
    def __init__(
        self,
        handler: Handler,
        admits: Admits,
        most: int = MOST,
        public: Collection[str] = (),
    ) -> None:
        self.handler = handler
        self.admits = admits
        self.most = most
        self.public = public  # pages that make no stranger known
        self.strangers: dict[Visitor, None] = {}  # the oldest first
        self.known: dict[Visitor, None] = {}  # the one that asked longest ago first
        self.loop = asyncio.get_running_loop()
        self._ticking = False

    def arrive(self, peer: socket.socket, security: ssl.SSLContext | None) -> None:
        if peer.family != socket.AF_UNIX:
            with suppress(OSError):
                kept_alive(peer)
        if len(self.strangers) >= STRANGERS:
            next(iter(self.strangers)).abort()
        visitor = Visitor(self, peer)
        self.strangers[visitor] = None
        visitor.arriving = self.loop.create_task(visitor.arrive(security))
        visitor.arriving.add_done_callback(partial(close_if_cancelled, peer))
        if not self._ticking:
            self._ticking = True
            self.loop.call_later(TICK, self._tick)

    def knows(self, visitor: Visitor, path: str) -> bool:
        """It has made a request; whether there is room for it."""
        if visitor in self.strangers:
            if path in self.public:
                return True
            if len(self.known) >= self.most and not self._make_room():
                return False
            del self.strangers[visitor]
        self.known.pop(visitor, None)
        self.known[visitor] = None
        return True

    def _make_room(self) -> bool:
        """The connection that was idle for longest goes, if one is idle."""
        idle = next((visitor for visitor in self.known if visitor.is_idle), None)
        if idle is not None:
            idle.abort()
        return idle is not None

    def gone(self, visitor: Visitor) -> None:
        self.strangers.pop(visitor, None)
        self.known.pop(visitor, None)

    def close(self) -> None:
        for visitor in [*self.strangers, *self.known]:
            visitor.abort()

    def _tick(self) -> None:
        now = self.loop.time()
        for visitor in [*self.strangers, *self.known]:
            visitor.tick(now)
        self._ticking = bool(self.strangers or self.known)
        if self._ticking:
            self.loop.call_later(TICK, self._tick)


@asynccontextmanager
async def serving(
    server: Server, sockets: list[socket.socket], security: ssl.SSLContext | None
) -> AsyncIterator[None]:
    listening = Listening(sockets, lambda peer: server.arrive(peer, security))
    try:
        yield
    finally:
        listening.close()
        server.close()
        await asyncio.sleep(0)  # what is aborted is closed in the next turn of the loop


class Visitor(asyncio.Protocol):
    """One connection."""

    transport: asyncio.Transport | None = None
    arriving: asyncio.Task[None]

    def __init__(self, server: Server, peer: socket.socket) -> None:
        self.tied = 0  # how many sessions end with this connection
        self.on_lost: list[Callable[[Visitor], None]] = []
        self._server = server
        self._peer = peer
        self._begun = False  # what makes a transport of the socket
        self._http = h11.Connection(h11.SERVER, max_incomplete_event_size=HEAD)
        self._asked: h11.Request | None = None  # what is being read, or answered
        self._busy = False  # answering it
        self._rests = False  # before it answers the next, which is here already
        self._headers: Mapping[bytes, bytes] = {}
        self._body = b""
        self._answering: asyncio.Task[None] | None = None
        self._stream: Stream | None = None
        self._backlog = 0  # bytes of the stream that may wait; known with its first event
        self._until = server.loop.time() + PATIENCE  # for its request
        self._reads_until = inf
        self._beat_at = inf

    async def arrive(self, security: ssl.SSLContext | None) -> None:
        self._begun = True
        try:
            await self._server.loop.connect_accepted_socket(
                lambda: self,
                self._peer,
                ssl=security,
                ssl_handshake_timeout=PATIENCE if security else None,
            )
        except OSError:  # no handshake, or it is gone
            self._server.gone(self)
            self._peer.close()

    @property
    def is_idle(self) -> bool:
        return not self._busy and not self.tied

    def abort(self) -> None:
        self._server.gone(self)
        if self.transport is not None:
            self.transport.abort()
        elif not self._begun:
            self.arriving.cancel()
            self._peer.close()
        else:  # a handshake is not cancelled, but fails
            with suppress(OSError):
                self._peer.shutdown(socket.SHUT_RDWR)

    def tick(self, now: float) -> None:
        if now >= self._reads_until or (now >= self._until and not self.tied):
            self.abort()
        elif self._stream is not None and now >= self._beat_at:
            self._beat_at = now + BEAT
            self.push(ALIVE)

    # Called by asyncio

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        # Paused as soon as anything waits.  With high=0, TLS would be, though nothing does.
        self.transport.set_write_buffer_limits(high=1, low=0)
        if self not in self._server.strangers:  # it was replaced meanwhile
            self.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._server.gone(self)
        if self._answering is not None:
            self._answering.cancel()
        if self._stream is not None:
            self._stream.end()
        for told in self.on_lost:
            told(self)

    def pause_writing(self) -> None:
        self._reads_until = self._server.loop.time() + PATIENCE

    def resume_writing(self) -> None:
        self._reads_until = inf
        if self._rests:
            self._server.loop.call_soon(self._go_on)

    def data_received(self, data: bytes) -> None:
        if self._until > (soon := self._server.loop.time() + PATIENCE) and self.is_idle:
            self._until = soon
        self._http.receive_data(data)
        self._read()

    # Reading

    def _read(self) -> None:
        assert self.transport is not None
        while not self._rests and not self.transport.is_closing():
            try:
                event = self._http.next_event()
            except h11.RemoteProtocolError as error:
                self._reply(complaint(error.error_status_hint, str(error)), ends=True)
                return
            if event is h11.NEED_DATA:
                if self._http.they_are_waiting_for_100_continue:
                    self._send(h11.InformationalResponse(status_code=100, headers=[]))
                return
            if event is h11.PAUSED:
                if len(self._http.trailing_data[0]) > HEAD:
                    self.abort()
                return
            if isinstance(event, h11.Request):
                if not self._begin(event):
                    return
            elif isinstance(event, h11.Data):
                self._body += event.data
                if len(self._body) > BODY:
                    self._reply(complaint(413, f"a body has at most {BODY} bytes"), True)
                    return
            elif isinstance(event, h11.EndOfMessage):
                self._answer()

    def _begin(self, head: h11.Request) -> bool:
        """The head has come; whether the request is let in."""
        assert self.transport is not None
        self._asked, self._body, self._headers = head, b"", dict(head.headers)
        path = head.target.decode("latin-1").partition("?")[0]
        refusal = self._server.admits(self._headers, path, self.transport)
        if refusal is not None:
            self._reply(refusal, ends=True)
        return refusal is None

    def _answer(self) -> None:
        head = self._asked
        assert head is not None
        path, _, query = head.target.decode("latin-1").partition("?")
        if not self._server.knows(self, path):
            self._reply(complaint(503, "too many connections: try again later"), ends=True)
            return
        request = HttpRequest(
            head.method.decode(),
            path,
            dict(parse_qsl(query)) if query else {},
            self._headers,
            self._body,
            self,
        )
        self._until, self._busy = inf, True
        try:
            answer = self._server.handler(request)
        except Exception as error:
            answer = self._failed(error)
        if isinstance(answer, Response):
            self._reply(answer)
        elif isinstance(answer, Stream):
            self._begin_stream(answer)
        else:
            self._answering = self._server.loop.create_task(self._answer_later(answer))
            self._answering.add_done_callback(lambda _: answer.close())  # if not begun

    async def _answer_later(self, answer: Coroutine[Any, Any, Answer]) -> None:
        try:
            given = await answer
        except Exception as error:
            given = self._failed(error)
        self._answering = None
        if isinstance(given, Stream):
            self._begin_stream(given)
        else:
            self._reply(given)

    def _failed(self, error: Exception) -> Response:
        """A fault of ours is for the log, not for the client."""
        context = {"message": "peerlock: a request has failed", "exception": error}
        self._server.loop.call_exception_handler(context)
        return complaint(500, "internal error: see the log of the server")

    # Writing

    def _reply(self, response: Response, ends: bool = False) -> None:
        """`ends`: with this, the connection, too."""
        assert self.transport is not None
        if self._http.our_state not in (h11.IDLE, h11.SEND_RESPONSE):
            self.abort()  # it has sent nonsense while it was answered
            return
        self._send(
            h11.Response(
                status_code=response.status,
                reason=HTTPStatus(response.status).phrase.encode(),
                headers=[
                    (b"content-type", response.kind),
                    (b"content-length", b"%d" % len(response.body)),
                    *response.headers,
                    *([(b"connection", b"close")] if ends else ()),
                ],
            ),
            h11.Data(data=b"" if self._is_head else response.body),
            h11.EndOfMessage(),
        )
        self._asked, self._busy = None, False
        self._replied(ends)

    def _replied(self, ends: bool) -> None:
        assert self.transport is not None
        self._until = self._server.loop.time() + (PATIENCE if ends else IDLE)
        if ends or self._http.our_state is not h11.DONE:
            self.transport.close()
        elif self._http.their_state is h11.DONE:
            self._http.start_next_cycle()
            if self._http.trailing_data[0]:
                self._rest()

    def _rest(self) -> None:
        assert self.transport is not None
        self._rests = True
        self.transport.pause_reading()
        if self._reads_until == inf:  # the answer is on its way
            self._server.loop.call_soon(self._go_on)

    def _go_on(self) -> None:
        assert self.transport is not None
        self._rests = False
        self.transport.resume_reading()
        self._read()

    @property
    def _is_head(self) -> bool:
        return self._asked is not None and self._asked.method == b"HEAD"

    def _send(self, *events: Any) -> None:
        assert self.transport is not None
        self.transport.write(b"".join(self._http.send(event) or b"" for event in events))

    def _begin_stream(self, stream: Stream) -> None:
        if self._is_head:
            self._reply(complaint(405, "GET this stream: it has no end"))
            return
        headers = [(b"content-type", EVENTS), (b"cache-control", b"no-store")]
        self._send(h11.Response(status_code=200, reason=b"OK", headers=headers))
        self._stream, self._beat_at = stream, self._server.loop.time() + BEAT
        stream.begin(self)

    def push(self, data: bytes) -> None:
        assert self.transport is not None
        if self.transport.is_closing():
            return
        self._send(h11.Data(data=data))
        self._backlog = self._backlog or BACKLOG + len(data)
        if self.transport.get_write_buffer_size() > self._backlog:
            self.abort()

    def end_stream(self) -> None:
        assert self.transport is not None
        self._stream = None
        if not self.transport.is_closing():
            self._send(h11.EndOfMessage())
            self.transport.close()


def complaint(status: int, words: str, *headers: tuple[bytes, bytes]) -> Response:
    return Response(status, msgspec.json.encode({"error": words}) + b"\n", JSON, headers)


def event(kind: str, value: Any) -> bytes:
    """For a stream."""
    return b"event: %s\ndata: %s\n\n" % (kind.encode(), msgspec.json.encode(value))
