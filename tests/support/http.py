"""A client of `peerlock serve` in a few lines, and the ports in the test's own loop."""

import asyncio
import json
import ssl
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import peerlock
from peerlock.api.meeting import USUAL, rendezvous
from peerlock.api.tasks import LockNode
from peerlock.membership.engine import Engine
from peerlock.serve.access import UNIX, Keys
from peerlock.serve.ports import Ports

DEADLINE = 30.0  # seconds for anything to happen, on a busy machine


class Client:
    """One connection."""

    def __init__(self, where: str, security: ssl.SSLContext | None = None) -> None:
        self._where = where
        self._security = security
        self.headers: dict[str, str] = {}

    async def __aenter__(self) -> "Client":
        if self._where.startswith(UNIX):
            opening = asyncio.open_unix_connection(self._where[len(UNIX) :])
        else:
            host, _, port = self._where.rpartition(":")
            opening = asyncio.open_connection(host, port, ssl=self._security)
        self.reader, self.writer = await opening
        return self

    async def __aexit__(self, *_: object) -> None:
        self.writer.transport.abort()
        await asyncio.sleep(0)

    async def ask(
        self, method: str, path: str, body: object = None, **headers: str
    ) -> tuple[int, Any]:
        self.send(method, path, body, **headers)
        return await self.answer()

    def send(self, method: str, path: str, body: object = None, **headers: str) -> None:
        data = b"" if body is None else json.dumps(body).encode()
        sent = {"Host": "x", **self.headers, **headers, "Content-Length": str(len(data))}
        lines = [f"{method} {path} HTTP/1.1", *(f"{k}: {v}" for k, v in sent.items())]
        self.writer.write("\r\n".join([*lines, "", ""]).encode() + data)

    async def answer(self) -> tuple[int, Any]:
        status, headers = await self.head()
        data = await within(self.reader.readexactly(int(headers["content-length"])))
        is_json = headers["content-type"] == "application/json"
        return status, json.loads(data) if is_json else data.decode()

    async def head(self) -> tuple[int, dict[str, str]]:
        lines = (await within(self.reader.readuntil(b"\r\n\r\n"))).decode().splitlines()
        pairs = (line.split(": ", 1) for line in lines[1:] if line)
        return int(lines[0].split()[1]), {name.lower(): value for name, value in pairs}

    async def event(self) -> tuple[str, Any]:
        """The next one of a stream; signs of life are skipped."""
        while True:
            size = int(await within(self.reader.readline()), 16)
            if not size:
                raise EOFError
            chunk = await within(self.reader.readexactly(size))
            await within(self.reader.readexactly(2))
            if not chunk.startswith(b":"):
                kind, data = chunk.decode().split("\ndata: ", 1)
                return kind.removeprefix("event: "), json.loads(data.split("\n\n")[0])

    async def has_ended(self) -> bool:
        try:
            return bool(await within(self.reader.read()) == b"")
        except ConnectionResetError:
            return True

    async def session(self, **wanted: object) -> str:
        """A new one; the beginning of its address."""
        status, opened = await self.ask("POST", "/v1/sessions", wanted)
        assert status == 201, opened
        return f"/v1/sessions/{opened['session']}"


async def within(work: Any) -> Any:
    return await asyncio.wait_for(work, DEADLINE)


def reader() -> Engine:
    return rendezvous("memory://served", None, USUAL)[0]


class Served:
    """A member with its ports."""

    def __init__(self, node: LockNode, ports: Ports, where: dict[str, str]) -> None:
        self.node, self.ports, self.where = node, ports, where

    def client(self, port: str = "api", security: ssl.SSLContext | None = None) -> Client:
        return Client(self.where[port], security)


@asynccontextmanager
async def served(
    api: str | None = None,
    web: str | None = None,
    keys: Keys | None = None,
    lease: float | None = 10.0,
) -> AsyncIterator[Served]:
    async with AsyncExitStack() as stack:
        node = peerlock.join("memory://served", thread=False, lease=lease)
        ports = Ports(node.host, reader, keys or Keys(), "127.0.0.1:0", api, web)
        where = await stack.enter_async_context(ports.open())
        await stack.enter_async_context(node)
        stack.callback(ports.end_sessions)
        yield Served(node, ports, where)
