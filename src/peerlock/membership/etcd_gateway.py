"""Questions to etcd, over the JSON gateway that each of its servers has.

A question goes to the server that answered last; if it does not answer, is not there, or
has lost touch with the others, to the next, each once.  So a question may be carried out
twice: callers must ask only what can be repeated.  Every failure is a ClusterError of one
line.

**All servers must belong to one etcd.**  Every answer says to which (`cluster_id`), and the
first answer decides.  An answer of another etcd is not used, now or later: its members and
leases are not ours.  `compare` asks all servers that have not shown yet where they belong.
"""

from __future__ import annotations

import asyncio
import socket
import ssl
from base64 import b64encode
from collections.abc import AsyncGenerator
from contextlib import aclosing, suppress
from typing import Any, NamedTuple, cast

import h11
import msgspec

from peerlock.membership.clock import now
from peerlock.membership.engine import ClusterError
from peerlock.membership.etcd_address import EtcdAddress

NOT_ETCD = "what answers there is not etcd's JSON gateway"
LARGEST = 16 << 20  # bytes of an answer
KEPT = 2  # connections, for the next questions

# What is said to be gone wrong, as gRPC numbers it.
LEASE_NOT_FOUND = 5
PERMISSION_DENIED = 7
NOT_ENABLED = 9
OUT_OF_RANGE = 11
UNAUTHENTICATED = 16
ELSEWHERE = {1, 2, 4, 13, 14}  # this server cannot now; another may
STALE = ("invalid auth token", "revision of auth store is old")

# A connection that has gone silent is given up after 5 + 3 × 2 seconds.
KEEPALIVE = {"TCP_KEEPIDLE": 5, "TCP_KEEPINTVL": 2, "TCP_KEEPCNT": 3}


class RefusedByEtcd(ClusterError):
    """etcd has answered, and the answer is no."""

    def __init__(self, text: str, code: int) -> None:
        super().__init__(text)
        self.code = code


class Unavailable(ClusterError):
    """No server has answered."""


class Elsewhere(Exception):
    """This server cannot answer; another may."""


class AnotherEtcd(Elsewhere):
    """This server belongs to another etcd."""


class StaleToken(Exception):
    """The token for our password has expired: request another one."""


class EtcdAnswer(NamedTuple):
    sent: float  # on the clock of leases, before the question was
    body: dict[str, Any]


class EtcdLine(asyncio.Protocol):
    """A connection: one question at a time.

    asyncio's streams would be shorter, but close themselves when they are forgotten: in a
    forked child that takes them from the loop of its parent.
    """

    def __init__(self, host: str) -> None:
        self._host = host
        self._http = h11.Connection(h11.CLIENT)
        self._news = asyncio.Event()
        self._lost: Exception | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)  # uvloop's is no subclass
        made = transport.get_extra_info("socket")
        made.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in KEEPALIVE.items():
            if hasattr(socket, option):
                made.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)

    def data_received(self, data: bytes) -> None:
        self._http.receive_data(data)
        self._news.set()

    def connection_lost(self, error: Exception | None) -> None:
        self._lost = error or ConnectionResetError("it has closed the connection")
        self._news.set()

    def ask(self, path: str, body: bytes, token: str) -> None:
        if self._lost is not None:
            raise self._lost
        headers = [
            ("host", self._host),
            ("content-type", "application/json"),
            ("content-length", str(len(body))),
            # A server that has lost its leader is to say so, not to be silent.
            ("grpc-metadata-hasleader", "true"),
        ]
        if token:
            headers.append(("authorization", token))
        method = "POST" if body else "GET"
        question = h11.Request(method=method, target=path, headers=headers)
        for event in (question, h11.Data(data=body), h11.EndOfMessage()):
            self._transport.write(self._http.send(event) or b"")

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

    async def _event(self) -> object:
        while (event := self._http.next_event()) is h11.NEED_DATA:
            if self._lost is not None:
                raise self._lost
            self._news.clear()
            await self._news.wait()
        return event

    def can_be_used_again(self) -> bool:
        states = (self._http.our_state, self._http.their_state)
        if states != (h11.DONE, h11.DONE):
            return False
        self._http.start_next_cycle()
        return True

    def close(self) -> None:
        """At once, whatever the other side does; the loop may be about to end."""
        self._transport.abort()


class Gateway:
    def __init__(self, address: EtcdAddress) -> None:
        self.address = address
        self._current = 0  # the server that answered last
        self._idle: dict[int, list[EtcdLine]] = {i: [] for i in self._servers()}
        self._watching: tuple[int, EtcdLine] | None = None
        self._token = ""
        self._closed = False  # and who still asks keeps no line
        self.cluster_id = ""  # of the etcd that answered first
        self._first = 0  # the server that did
        self._foreign: dict[int, ClusterError | None] = {}  # None: it belongs to this etcd

    @property
    def trouble(self) -> ClusterError | None:
        """A server that belongs to another etcd, if there is one."""
        return next(filter(None, self._foreign.values()), None)

    @property
    def uncompared(self) -> list[int]:
        """The servers that have not shown that they belong to this etcd."""
        return [server for server in self._servers() if self._foreign.get(server, True)]

    async def compare(self, patience: float) -> None:
        """Ask them.  A server that does not answer in time stays uncompared."""
        await asyncio.gather(*(self._compare(i, patience) for i in self.uncompared))

    async def ask(self, path: str, question: object, patience: float) -> EtcdAnswer:
        """As `call`, of etcd's own API, in which every answer has a header."""
        answer = await self.call(path, question, patience)
        if "header" not in answer.body:
            raise ClusterError(f"etcd: {NOT_ETCD}")
        return answer

    async def call(self, path: str, question: object, patience: float) -> EtcdAnswer:
        """`patience`: seconds, for all servers together.  No question: what is there?"""
        servers = self._servers()
        share = patience / len(servers)
        body = b"" if question is None else msgspec.json.encode(question)
        troubles: list[str] = []
        for server in servers:
            try:
                async with asyncio.timeout(share):
                    answer = await self._ask_with_password(server, path, body)
            except (OSError, h11.RemoteProtocolError, Elsewhere) as error:
                self._give_up(server)
                troubles.append(self._trouble(server, error))
            else:
                self._current = server
                return answer
        raise Unavailable("; ".join(troubles))

    async def watch(
        self, key: bytes, end: bytes, patience: float
    ) -> AsyncGenerator[Any, None]:
        """From now on, what happens to these keys; the first item says that it has begun.

        It ends, or fails, when the connection does, or when its server is given up.
        """
        wanted = {"create_request": {"key": encoded(key), "range_end": encoded(end)}}
        server = self._current
        line: EtcdLine | None = None
        try:
            async with asyncio.timeout(patience):
                await self._authenticate(server)
                line = await self._connect(server)
                self._watching = server, line
                line.ask("/v3/watch", msgspec.json.encode(wanted), self._token)
                await line.status()
            async with aclosing(self._items(line)) as items:
                async for item in items:
                    result = result_of(item, self.address)
                    self._must_belong(server, result)
                    yield result
        except StaleToken as error:
            self._token = ""
            raise Unavailable(str(error)) from None
        except (OSError, h11.RemoteProtocolError, Elsewhere) as error:
            self._give_up(server)
            raise Unavailable(self._trouble(server, error)) from None
        finally:
            if line is not None:
                line.close()

    def hang_up(self) -> None:
        """End the watch: it does not tell what it should."""
        if self._watching is not None:
            _, line = self._watching
            self._watching = None
            line.close()

    def close(self) -> None:
        self._closed = True
        self.hang_up()
        for lines in self._idle.values():
            while lines:
                lines.pop().close()

    # Inside

    async def _items(self, line: EtcdLine) -> AsyncGenerator[Any, None]:
        """A JSON value per line."""
        begun = b""
        while data := await line.data():
            *whole, begun = (begun + data).split(b"\n")
            for text in whole:
                if text.strip():
                    yield decoded(text)
            if len(begun) > LARGEST:
                raise Elsewhere("it does not stop talking")

    async def _ask_with_password(self, server: int, path: str, body: bytes) -> EtcdAnswer:
        trouble = ""
        for _ in range(2):
            try:
                await self._authenticate(server)
                return await self._ask(server, path, body)
            except StaleToken as error:
                self._token, trouble = "", str(error)
        raise Elsewhere(trouble)

    async def _authenticate(self, server: int) -> None:
        if not self.address.user or self._token:
            return
        who = {"name": self.address.user, "password": self.address.password()}
        question = msgspec.json.encode(who)
        try:
            answer = await self._ask(server, "/v3/auth/authenticate", question)
            self._token = str(answer.body.get("token", ""))
        except RefusedByEtcd as error:
            if error.code == NOT_ENABLED:
                return  # it asks nobody for a password
            text = f"etcd does not take this password of user {self.address.user!r}"
            raise RefusedByEtcd(text, error.code) from None

    async def _ask(self, server: int, path: str, body: bytes) -> EtcdAnswer:
        idle = self._idle[server]
        while idle:  # it may have been closed over there, since
            with suppress(OSError, h11.RemoteProtocolError):
                return await self._ask_on(server, idle.pop(), path, body)
        return await self._ask_on(server, await self._connect(server), path, body)

    async def _ask_on(
        self, server: int, line: EtcdLine, path: str, body: bytes
    ) -> EtcdAnswer:
        idle, kept = self._idle[server], False
        try:
            sent = now()
            line.ask(path, body, self._token)
            status = await line.status()
            text = b""
            while data := await line.data():
                text += data
                if len(text) > LARGEST:
                    raise Elsewhere("it does not stop talking")
            room = len(idle) < KEPT and not self._closed
            kept = room and line.can_be_used_again()
        finally:
            if kept:
                idle.append(line)
            else:
                line.close()
        if status == 404 and not text.startswith(b"{"):
            raise Elsewhere("it has no JSON gateway (etcd's --enable-grpc-gateway)")
        result = result_of(decoded(text), self.address)
        self._must_belong(server, result)
        return EtcdAnswer(sent, result)

    async def _compare(self, server: int, patience: float) -> None:
        with suppress(OSError, h11.RemoteProtocolError, Elsewhere, ClusterError):
            async with asyncio.timeout(patience):
                await self._ask_with_password(server, "/v3/maintenance/status", b"{}")

    def _must_belong(self, server: int, result: dict[str, Any]) -> None:
        header = result.get("header")
        found = header.get("cluster_id") if isinstance(header, dict) else None
        if not isinstance(found, str):
            return
        if not self.cluster_id:
            self.cluster_id, self._first = found, server
        self._foreign[server] = None
        if found != self.cluster_id:
            error = AnotherEtcd(
                f"it is another etcd (cluster_id {found}) than the one at "
                f"{self._name(self._first)} ({self.cluster_id}), which is in use; correct "
                "the address, or restart this process if etcd was restored"
            )
            self._foreign[server] = ClusterError(self._trouble(server, error))
            raise error

    async def _connect(self, server: int) -> EtcdLine:
        host, port = self.address.endpoints[server]
        tls = self.address.tls and self.address.tls()
        _, line = await asyncio.get_running_loop().create_connection(
            lambda: EtcdLine(self._name(server)), host, port, ssl=tls
        )
        if self._closed:
            line.close()
            raise ConnectionAbortedError
        return line

    def _servers(self) -> list[int]:
        """The one that answered last comes first."""
        number = len(self.address.endpoints)
        return [(self._current + i) % number for i in range(number)]

    def _give_up(self, server: int) -> None:
        """For now: the next question, and the watch, go to another one first."""
        lines = self._idle[server]
        while lines:
            lines.pop().close()
        if self._watching is not None and self._watching[0] == server:
            self.hang_up()
        if self._current == server:
            self._current = (server + 1) % len(self.address.endpoints)

    def _name(self, server: int) -> str:
        host, port = self.address.endpoints[server]
        return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"

    def _trouble(self, server: int, error: Exception) -> str:
        return f"etcd at {self._name(server)}: {reason(error, bool(self.address.tls))}"


def encoded(text: bytes) -> str:
    return b64encode(text).decode()


def decoded(text: bytes) -> Any:
    try:
        return msgspec.json.decode(text)
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise Elsewhere(NOT_ETCD) from None


def result_of(answer: Any, address: EtcdAddress) -> dict[str, Any]:
    """An error has one of several shapes: of a stream or not, of older and newer etcds."""
    if not isinstance(answer, dict):
        raise Elsewhere(NOT_ETCD)
    error = answer.get("error")
    if not isinstance(error, dict):
        error = answer
    code = error.get("grpc_code", error.get("code"))
    if not isinstance(code, int):
        result = answer.get("result", answer)
        if not isinstance(result, dict):
            raise Elsewhere(NOT_ETCD)
        return result
    text = str(error.get("message", "")).removeprefix("etcdserver: ")
    if code == UNAUTHENTICATED or any(words in text for words in STALE):
        raise StaleToken(text)
    if code in ELSEWHERE or "too many requests" in text:
        raise Elsewhere(text)
    raise RefusedByEtcd(refusal(code, text, address), code)


def refusal(code: int, text: str, address: EtcdAddress) -> str:
    if "space exceeded" in text:
        return (
            "etcd is full and takes no changes: compact and defragment it, or raise its "
            "quota, then run `etcdctl alarm disarm`"
        )
    if "user name is empty" in text:
        return "etcd wants a password: etcd://user:password@host:2379/name"
    if code == PERMISSION_DENIED:
        who, prefix = address.user or "you", f"/peerlock/{address.cluster}/"
        return f"etcd does not let {who} read and write the keys below {prefix}"
    return f"etcd says: {text}"


def reason(trouble: Exception, tls: bool) -> str:
    if isinstance(trouble, ssl.SSLCertVerificationError):
        return f"its certificate is not trusted: {trouble.verify_message}"
    if isinstance(trouble, ssl.SSLError):
        if "CERTIFICATE_REQUIRED" in str(trouble) or "ALERT" in str(trouble):
            return "it requires a client certificate that it trusts: ?cert=FILE&key=FILE"
        return f"TLS fails: {trouble.reason or trouble}; does it speak TLS there?"
    if isinstance(trouble, socket.gaierror):
        return "the host name is unknown"
    if isinstance(trouble, ConnectionRefusedError):
        return "no process listens there"
    if isinstance(trouble, TimeoutError):
        return "it did not answer in time"
    if isinstance(trouble, ConnectionError | h11.RemoteProtocolError):
        if tls:
            return "it closed the connection; does it speak TLS, and trust ?cert=FILE?"
        return "it closed the connection; does it speak TLS?  Then it is etcds://"
    if isinstance(trouble, OSError):
        return trouble.strerror or "it cannot be reached"
    return str(trouble)
