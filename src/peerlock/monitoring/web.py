"""A few pages for monitoring, over HTTP.

They are served by the loop that steps the node: if it hangs, no request is answered, which
is an answer, too.  A connection carries one request, of a few thousand bytes and within a
few seconds.  The port may be open to many clients, and must not take resources that the
locks need: the number of connections is limited, and a new one replaces the oldest.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from http import HTTPStatus
from typing import cast

from peerlock.core.errors import UsageError
from peerlock.runtime.transport import address, host_and_port

Answer = tuple[int, bytes]
Pages = Mapping[str, Callable[[], Answer]]

MOST = 16  # connections at a time
PATIENCE = 5.0  # seconds for a connection
LONGEST = 8192  # bytes of a request


@asynccontextmanager
async def served(where: str, pages: Pages) -> AsyncIterator[str]:
    """Serves the pages at HOST:PORT; yields the address, with its real port if it was 0."""
    host, port = host_and_port(where)
    visitors: dict[Visitor, None] = {}
    loop = asyncio.get_running_loop()
    try:
        server = await loop.create_server(
            lambda: Visitor(pages, visitors), host or "127.0.0.1", port, backlog=MOST
        )
    except OSError as error:
        raise UsageError(f"cannot listen at {where}: {reason(error)}") from None
    try:
        yield address(*server.sockets[0].getsockname()[:2])
    finally:
        server.close()
        for visitor in visitors:
            visitor.transport.abort()


def reason(error: OSError) -> str:
    """The text of the system; that of asyncio repeats the address."""
    if isinstance(error, socket.gaierror) or error.errno is None:
        return str(error.strerror or error)
    return os.strerror(error.errno)


class Visitor(asyncio.Protocol):
    def __init__(self, pages: Pages, visitors: dict[Visitor, None]) -> None:
        self._pages = pages
        self._visitors = visitors
        self._asked = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        loop = asyncio.get_running_loop()
        self._tired = loop.call_later(PATIENCE, self.transport.abort)
        self._visitors[self] = None
        if len(self._visitors) > MOST:
            oldest = next(iter(self._visitors))
            del self._visitors[oldest]
            oldest.transport.abort()

    def connection_lost(self, error: Exception | None) -> None:
        self._tired.cancel()
        self._visitors.pop(self, None)

    def data_received(self, data: bytes) -> None:
        self._asked += data
        if b"\r\n\r\n" in self._asked:
            self.transport.write(answered(self._asked, self._pages))
            self.transport.close()
        elif len(self._asked) > LONGEST:
            self.transport.abort()


def answered(question: bytes, pages: Pages) -> bytes:
    method, _, rest = question.decode("latin-1").partition(" ")
    path = rest.partition(" ")[0].partition("?")[0]
    if method not in ("GET", "HEAD"):
        status, body = 405, b"GET and HEAD, nothing else\n"
    elif path in pages:
        status, body = pages[path]()
    else:
        status, body = 404, b"try /metrics\n"
    head = (
        f"HTTP/1.1 {status} {HTTPStatus(status).phrase}\r\n"
        "Content-Type: text/plain; version=0.0.4; charset=utf-8\r\n"
        f"Content-Length: {len(body)}\r\n"
        "Connection: close\r\n\r\n"
    )
    return head.encode() + (b"" if method == "HEAD" else body)
