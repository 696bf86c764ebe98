"""Questions to etcd, over the JSON gateway that each of its servers has.

A question goes to the server that answered last; if it does not answer, is not there, or
has lost touch with the others, to the next, each once.  So a question may be carried out
twice: whoever asks must ask what can be asked twice.  Whatever goes wrong is a
ClusterError of one line.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from base64 import b64encode
from collections.abc import AsyncIterator
from typing import Any, NamedTuple

import h11
import msgspec

from peerlock.membership.engine import ClusterError
from peerlock.membership.etcd_address import Address

LARGEST = 16 << 20  # bytes of an answer
KEPT = 2  # connections, for the next questions

# What is said to be gone wrong, as gRPC numbers it.
LEASE_NOT_FOUND = 5
PERMISSION_DENIED = 7
EXHAUSTED = 8
NOT_ENABLED = 9
UNAUTHENTICATED = 16
ELSEWHERE = {1, 2, 4, 13, 14}  # this server cannot now; another may
STALE = ("invalid auth token", "revision of auth store is old")

# A connection that has gone silent is given up after 5 + 3 × 2 seconds.
KEEPALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3}


class Refused(ClusterError):
    """etcd has answered, and the answer is no."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class Unavailable(ClusterError):
    """No server has answered."""


class Elsewhere(Exception):
    """This server cannot answer; another may."""


class Stale(Exception):
    """What we got for our password is not valid any more: ask for it again."""


class Answer(NamedTuple):
    sent: float  # on our monotonic clock, before the question was
    body: dict[str, Any]


class Line:
    """A connection: one question at a time."""

    def __init__(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, host: str
    ) -> None:
        self._reader = reader
        self._writer = writer
        self._host = host
        self._http = h11.Connection(h11.CLIENT)

    def ask(self, path: str, body: bytes, token: str) -> None:
        headers = [
            ("host", self._host),
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            # A server that has lost its leader is to say so, not to be silent.
            ("grpc-metadata-hasleader", "true"),
        ]
        if token:
            headers.append(("authorization", token))
        question = h11.Request(method="POST", target=path, headers=headers)
        for event in (question, h11.Data(data=body), h11.EndOfMessage()):
            self._writer.write(self._http.send(event) or b"")

    async def status(self) -> int:
        event = await self._event()
        while isinstance(event, h11.InformationalResponse):
            event = await self._event()
        if not isinstance(event, h11.Response):
            raise ConnectionResetError("it has closed the connection")
        return event.status_code

    async def data(self) -> bytes:
        """Some of the answer; nothing when that was all."""
        event = await self._event()
        return bytes(event.data) if isinstance(event, h11.Data) else b""

    async def _event(self) -> h11.Event | type[h11.PAUSED]:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            self._http.receive_data(await self._reader.read(65536))
        return event  # type: ignore[return-value]  # mypy cannot rule out NEED_DATA

    def can_be_used_again(self) -> bool:
        states = (self._http.our_state, self._http.their_state)
        if states != (h11.DONE, h11.DONE):
            return False
        self._http.start_next_cycle()
        return True

    def close(self) -> None:
        """At once, whatever the other side does; the loop may be about to end."""
        self._writer.transport.abort()


class Gateway:
    def __init__(self, address: Address) -> None:
        self.address = address
        self._current = 0  # of the endpoints
        self._idle: list[Line] = []
        self._watching: Line | None = None
        self._token = ""

    async def call(self, path: str, question: object, patience: float) -> Answer:
        """`patience`: seconds, for all servers together."""
        share = patience / len(self.address.endpoints)
        body = msgspec.json.encode(question)
        trouble: Exception = Elsewhere("nobody was asked")
        for _ in self.address.endpoints:
            try:
                async with asyncio.timeout(share):
                    return await self._ask_with_password(path, body)
            except TimeoutError:
                trouble = Elsewhere(f"it did not answer within {share:.3g} s")
            except (OSError, h11.RemoteProtocolError, Elsewhere) as error:
                trouble = error
            where = self._name()
            self._go_on()
        raise Unavailable(self._unavailable(where, trouble)) from None

    async def watch(self, key: bytes, end: bytes, patience: float) -> AsyncIterator[Any]:
        """From now on, what happens to these keys; the first item says that it has begun.

        It ends, or fails, when the connection does, or when its server is left for
        another.
        """
        wanted = {"create_request": {"key": encoded(key), "range_end": encoded(end)}}
        line: Line | None = None
        try:
            async with asyncio.timeout(patience):
                await self._authenticate()
                line = self._watching = await self._connect()
                line.ask("/v3/watch", msgspec.json.encode(wanted), self._token)
                await line.status()
            async for item in self._items(line):
                yield result_of(item)
        except (OSError, TimeoutError, h11.RemoteProtocolError, Elsewhere) as error:
            where = self._name()
            if self._watching is line:
                self._go_on()
            raise Unavailable(self._unavailable(where, error)) from None
        except Stale:
            self._token = ""
            raise Unavailable("etcd has forgotten us") from None
        finally:
            if line is not None:
                line.close()

    def hang_up(self) -> None:
        """End the watch: it does not tell what it should."""
        if self._watching is not None:
            self._watching.close()
            self._watching = None

    def close(self) -> None:
        self.hang_up()
        while self._idle:
            self._idle.pop().close()

    # Inside

    async def _items(self, line: Line) -> AsyncIterator[Any]:
        """A JSON value per line."""
        begun = b""
        while data := await line.data():
            *whole, begun = (begun + data).split(b"\n")
            for text in whole:
                if text.strip():
                    yield decoded(text)
            if len(begun) > LARGEST:
                raise Elsewhere("it does not stop talking")

    async def _ask_with_password(self, path: str, body: bytes) -> Answer:
        await self._authenticate()
        try:
            return await self._ask(path, body)
        except Stale:
            self._token = ""
        await self._authenticate()
        try:
            return await self._ask(path, body)
        except Stale as error:
            raise Elsewhere(str(error)) from None

    async def _authenticate(self) -> None:
        if not self.address.user or self._token:
            return
        who = {"name": self.address.user, "password": self.address.password}
        try:
            answer = await self._ask("/v3/auth/authenticate", msgspec.json.encode(who))
            self._token = str(answer.body["token"])
        except Refused as error:
            if error.code == NOT_ENABLED:
                return  # it asks nobody for a password
            text = f"etcd does not take this password of user {self.address.user!r}"
            raise Refused(text, error.code) from None

    async def _ask(self, path: str, body: bytes) -> Answer:
        while self._idle:  # it may have been closed over there, since
            line = self._idle.pop()
            try:
                return await self._ask_on(line, path, body)
            except (OSError, h11.RemoteProtocolError):
                continue
        return await self._ask_on(await self._connect(), path, body)

    async def _ask_on(self, line: Line, path: str, body: bytes) -> Answer:
        kept = False
        try:
            sent = time.monotonic()
            line.ask(path, body, self._token)
            status = await line.status()
            text = b""
            while data := await line.data():
                text += data
                if len(text) > LARGEST:
                    raise Elsewhere("it does not stop talking")
            kept = len(self._idle) < KEPT and line.can_be_used_again()
        finally:
            if kept:
                self._idle.append(line)
            else:
                line.close()
        if status == 404 and not text.startswith(b"{"):
            raise Elsewhere("it has no JSON gateway (etcd's --enable-grpc-gateway)")
        return Answer(sent, result_of(decoded(text), self.address))

    async def _connect(self) -> Line:
        host, port = self.address.endpoints[self._current]
        tls = self.address.tls
        reader, writer = await asyncio.open_connection(host, port, ssl=tls)
        made = writer.get_extra_info("socket")
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            if hasattr(socket, option):
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)
        return Line(reader, writer, self._name())

    def _go_on(self) -> None:
        """To the next server, with everything."""
        self.close()
        self._current = (self._current + 1) % len(self.address.endpoints)

    def _name(self) -> str:
        host, port = self.address.endpoints[self._current]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _unavailable(self, where: str, trouble: Exception) -> str:
        others = len(self.address.endpoints) - 1
        which = f"etcd at {where}" + (f" (and {others} more)" if others else "")
        return f"{which} cannot be asked: {reason(trouble, bool(self.address.tls))}"


def encoded(text: bytes) -> str:
    return b64encode(text).decode()


def decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Elsewhere("what answers there is not etcd's JSON gateway") from None


def result_of(answer: Any, address: Address | None = None) -> dict[str, Any]:
    """An error has one of several shapes: of a stream or not, of older and newer etcds."""
    if not isinstance(answer, dict):
        raise Elsewhere("what answers there is not etcd's JSON gateway")
    error = answer.get("error", answer)
    if isinstance(error, str):
        error = answer
    code = error.get("grpc_code", error.get("code"))
    if code is None:
        result: dict[str, Any] = answer.get("result", answer)
        return result
    text = str(error.get("message", "")).removeprefix("etcdserver: ")
    if code == UNAUTHENTICATED or any(words in text for words in STALE):
        raise Stale(text)
    if code in ELSEWHERE or "too many requests" in text:
        raise Elsewhere(text)
    raise Refused(refusal(code, text, address), code)


def refusal(code: int, text: str, address: Address | None) -> str:
    who = f"user {address.user!r}" if address and address.user else "who gives no name"
    if "space exceeded" in text:
        return (
            "etcd is full and takes no changes: compact and defragment it, or raise its "
            "quota, then run `etcdctl alarm disarm`"
        )
    if "user name is empty" in text:
        return "etcd wants a password: etcd://user:password@host:2379/name"
    if code == PERMISSION_DENIED:
        return (
            f"etcd does not let {who} read and write our keys: "
            f"grant it a role for the prefix /peerlock/{address.cluster if address else ''}/"
        )
    return f"etcd says: {text}"


def reason(trouble: Exception, tls: bool) -> str:
    if isinstance(trouble, ssl.SSLCertVerificationError):
        return f"its certificate is not to be trusted: {trouble.verify_message}"
    if isinstance(trouble, ssl.SSLError):
        if "CERTIFICATE_REQUIRED" in str(trouble) or "ALERT" in str(trouble):
            return "it wants a certificate of ours that it trusts: ?cert=FILE&key=FILE"
        return f"TLS fails: {trouble.reason or trouble}; does it speak TLS there?"
    if isinstance(trouble, socket.gaierror):
        return "there is no host of that name"
    if isinstance(trouble, ConnectionRefusedError):
        return "nobody listens there"
    if isinstance(trouble, TimeoutError):
        return "it did not answer in time"
    if isinstance(trouble, ConnectionError | h11.RemoteProtocolError):
        hint = "?cert=FILE&key=FILE" if tls else "etcds://"
        return f"it closed the connection; if it always does, it may want {hint}"
    if isinstance(trouble, OSError):
        return trouble.strerror or str(trouble)
    return str(trouble)
