"""The API for programs in other languages: sessions and locks over HTTP, as JSON.

`sessions.py` has the rules: what a session is, when a claim ends, what a client may assume.
This file adds what HTTP has to do with them.

- To acquire is `PUT …/locks/KEY`.  The answer waits for the lock, for `wait` seconds and at
  most half a time to live; 202 says that the claim is still waiting, and has its place.  A
  client then asks again, which renews its session.
- A stream of events begins with the session and all its claims as they are, and then has
  an event for each change.  So a client that reads a new stream after a broken connection
  has missed nothing.  A session has one stream; a new one ends the old one.
- A session that is opened over a Unix socket is tied to its connection unless the client
  says otherwise.  The answer to its opening may be its stream of events: then the
  connection is used for nothing else.
- Keys, and the names of locks, are any text; a key stands in the path, percent-encoded.
"""

from __future__ import annotations

import asyncio
import secrets
import socket
from collections.abc import Callable, Coroutine
from typing import Any
from urllib.parse import unquote

import msgspec

from peerlock.algorithms.index import INDEX
from peerlock.api.names import asked_for
from peerlock.core.errors import UsageError, unknown
from peerlock.membership import clock
from peerlock.membership.engine import ClusterError
from peerlock.runtime.host import Host
from peerlock.serve.http import (
    EVENTS,
    Answer,
    HttpRequest,
    Response,
    Stream,
    Visitor,
    complaint,
    event,
)
from peerlock.serve.openapi import description
from peerlock.serve.sessions import (
    LEAST_TTL,
    MOST_TTL,
    Claim,
    ClaimPhase,
    Full,
    Mismatch,
    Session,
    Sessions,
    Unknown,
)
from peerlock.serve.users import ClaimUser

ROOT = "/v1/"
LONGEST_LABEL = 100  # characters
PRECISION = 0.001  # seconds: an event loop may be early by as much
SLEEP = 1.0  # seconds at most: the loop's clock stops while the machine is suspended

STATUS = {
    ClaimPhase.WAITING: 202,
    ClaimPhase.HELD: 200,
    ClaimPhase.REFUSED: 409,
    ClaimPhase.BUSY: 423,
    ClaimPhase.LOST: 410,
}
ERRORS: dict[type[Exception], int] = {
    Unknown: 404,
    Full: 503,
    Mismatch: 409,
    ClusterError: 503,
    UsageError: 400,
    msgspec.MsgspecError: 400,
    UnicodeDecodeError: 400,
}


class Opening(msgspec.Struct, forbid_unknown_fields=True):
    ttl: float = 10.0
    label: str = ""
    tied: bool | None = None


class Acquiring(msgspec.Struct, forbid_unknown_fields=True):
    name: str | None = None
    shared: bool = False
    permits: int = 0
    algorithm: str | None = None
    nonblock: bool = False
    wait: float | None = None


Later = Coroutine[Any, Any, Answer]
Route = Callable[..., Answer | Later]
Survey = Callable[[], Coroutine[Any, Any, dict[str, Any]]]
reading_opening = msgspec.json.Decoder(Opening).decode
reading_acquiring = msgspec.json.Decoder(Acquiring).decode


class Api:
    """The handler of the API's port, and the host of its sessions."""

    def __init__(self, host: Host, survey: Survey) -> None:
        self.sessions = Sessions(self, clock.now, lambda: secrets.token_urlsafe(24))
        self._host = host
        self._survey = survey
        self._polls: dict[Claim, set[asyncio.Future[None]]] = {}
        self._streams: dict[Session, Stream] = {}
        self._timer: asyncio.TimerHandle | None = None
        self._routes = self.routes()

    def routes(self) -> dict[tuple[str, str, str], Route]:
        """By method, first part of the path, and what the third part is."""
        return {
            ("GET", "openapi.json", ""): self._describe,
            ("GET", "status", ""): self._status,
            ("POST", "sessions", ""): self._open,
            ("GET", "sessions", "*"): self._show,
            ("DELETE", "sessions", "*"): self._close,
            ("POST", "sessions", "renew"): self._renew,
            ("GET", "sessions", "events"): self._events,
            ("PUT", "sessions", "locks"): self._acquire,
            ("GET", "sessions", "locks"): self._poll,
            ("DELETE", "sessions", "locks"): self._release,
        }

    def handle(self, request: HttpRequest) -> Answer | Later:
        if request.path == "/healthz":
            return Response(200, b'{"status":"ok"}\n')
        try:
            route, arguments = self._find(request)
            return route(request, *arguments)
        except tuple(ERRORS) as error:
            return complaint(status_of(error), str(error))

    def close(self) -> None:
        """The server ends: every session does."""
        if self._timer is not None:
            self._timer.cancel()
        self.sessions.close_all()

    def _find(self, request: HttpRequest) -> tuple[Route, list[str]]:
        if not request.path.startswith(ROOT):
            raise Unknown("no such page: see /v1/openapi.json")
        parts = request.path.removeprefix(ROOT).split("/")[:5]
        place, arguments = (parts[0], ""), [unquote(p, errors="strict") for p in parts[1:]]
        if len(parts) == 2:
            place = (parts[0], "*")
        elif len(parts) in (3, 4):
            place = (parts[0], parts[2])
            arguments = [arguments[0], *arguments[2:]]
        route = self._routes.get((request.method, *place))
        if route is None or len(arguments) != PARTS.get(place[1], 1):
            raise Unknown(f"no such page for {request.method}: see /v1/openapi.json")
        return route, arguments

    # Pages

    def _describe(self, request: HttpRequest) -> Response:
        return shown(200, description())

    async def _status(self, request: HttpRequest) -> Response:
        return shown(200, await self._survey())

    def _open(self, request: HttpRequest) -> Answer:
        self._host.must_be_in()
        wanted = reading_opening(request.body or b"{}")
        if not LEAST_TTL <= wanted.ttl <= MOST_TTL:
            raise UsageError(f"ttl must be {LEAST_TTL:g} to {MOST_TTL:g} seconds")
        if len(wanted.label) > LONGEST_LABEL:
            raise UsageError(f"a label has at most {LONGEST_LABEL} characters")
        if not wanted.label.isprintable():
            raise UsageError(f"a label must be printable, got {wanted.label!r:.50}")
        visitor = request.visitor
        tied = is_local(visitor) if wanted.tied is None else wanted.tied
        session = self.sessions.open(wanted.ttl, wanted.label, visitor if tied else None)
        if tied:
            visitor.tied += 1
            if self.sessions.disconnected not in visitor.on_lost:
                visitor.on_lost.append(self.sessions.disconnected)
        self._set_timer()
        if request.headers.get(b"accept", b"").startswith(EVENTS):
            return self._stream(session)
        return shown(201, of_session(session))

    def _show(self, request: HttpRequest, id: str) -> Response:  # noqa: A002
        return shown(200, of_session(self.sessions.renew(id)))

    def _close(self, request: HttpRequest, id: str) -> Response:  # noqa: A002
        self.sessions.close(self.sessions.renew(id))
        return shown(200, {"state": "closed"})

    def _renew(self, request: HttpRequest, id: str) -> Response:  # noqa: A002
        return shown(200, {"ttl": self.sessions.renew(id).ttl})

    def _events(self, request: HttpRequest, id: str) -> Stream:  # noqa: A002
        return self._stream(self.sessions.renew(id))

    def _acquire(self, request: HttpRequest, id: str, key: str) -> Answer | Later:  # noqa: A002
        wanted = reading_acquiring(request.body or b"{}")
        if wanted.algorithm is not None and wanted.algorithm not in INDEX:
            raise UsageError(unknown("algorithm", wanted.algorithm, INDEX))
        name, demand = asked_for(
            key if wanted.name is None else wanted.name,
            wanted.algorithm,
            wanted.permits,
            wanted.shared,
        )
        asked_for(key, None, 0, False)  # a key is like a name
        session = self.sessions.renew(id)
        claim = self.sessions.claim(session, key, name, demand, wanted.nonblock)
        return self._answer(claim, wanted.wait)

    def _poll(self, request: HttpRequest, id: str, key: str) -> Answer | Later:  # noqa: A002
        claim = self.sessions.find(self.sessions.renew(id), key)
        return self._answer(claim, seconds(request.query.get("wait", "0")))

    def _release(self, request: HttpRequest, id: str, key: str) -> Response:  # noqa: A002
        claim = self.sessions.drop(self.sessions.renew(id), key)
        self._wake(claim)
        if claim.phase is ClaimPhase.LOST:
            return shown(410, of_claim(claim))
        return shown(200, {"key": key, "name": claim.name, "state": "released"})

    # Waiting

    def _answer(self, claim: Claim, wait: float | None) -> Answer | Later:
        longest = claim.session.ttl / 2
        wait = longest if wait is None else min(wait, longest)
        if claim.is_settled or not wait > 0:
            return shown(STATUS[claim.phase], of_claim(claim))
        return self._answer_later(claim, wait)

    async def _answer_later(self, claim: Claim, wait: float) -> Response:
        if is_pending(claim):  # still, now that this task has begun
            await self._until_woken(claim, wait)
        if not is_known(claim):
            return complaint(404, "this claim, or its session, has ended meanwhile")
        return shown(STATUS[claim.phase], of_claim(claim))

    async def _until_woken(self, claim: Claim, wait: float) -> None:
        settled = asyncio.get_running_loop().create_future()
        waiting = self._polls.setdefault(claim, set())
        waiting.add(settled)
        try:
            await asyncio.wait([settled], timeout=wait)
        finally:
            waiting.discard(settled)
            if not waiting and self._polls.get(claim) is waiting:
                del self._polls[claim]

    def _wake(self, claim: Claim) -> None:
        for settled in self._polls.pop(claim, ()):
            if not settled.done():
                settled.set_result(None)

    def _stream(self, session: Session) -> Stream:
        def opened(stream: Stream) -> None:
            before = self._streams.pop(session, None)
            self._streams[session] = stream
            if before is not None:
                before.end()
            stream.send(event("session", of_session(session)))

        def closed(stream: Stream) -> None:
            if self._streams.get(session) is stream:
                del self._streams[session]

        return Stream(opened, closed)

    # Effects of the sessions

    def ask(self, claim: Claim) -> None:
        claim.user = ClaimUser(self._host, self.sessions, claim)
        claim.user.ask()

    def drop(self, claim: Claim) -> None:
        assert isinstance(claim.user, ClaimUser)
        claim.user.drop()

    def tell(self, session: Session, claim: Claim | None) -> None:
        stream = self._streams.get(session)
        if claim is not None:
            self._wake(claim)
            if stream is not None:
                stream.send(event(claim.phase.value, of_claim(claim)))
            return
        for waiting in [c for c in self._polls if c.session is session]:
            self._wake(waiting)
        if isinstance(session.tie, Visitor):
            session.tie.tied -= 1
        if stream is not None and session.ended is not None:
            stream.send(event("end", {"reason": session.ended.value}))
            stream.end()

    # Time

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
        if self.sessions:
            left = max(self.sessions.wake_at - clock.now(), PRECISION)
            self._timer = self._host.loop.call_later(min(left, SLEEP), self._ring)

    def _ring(self) -> None:
        self._timer = None
        self.sessions.wake()
        self._set_timer()


PARTS = {"": 0, "*": 1, "renew": 1, "events": 1, "locks": 2}  # arguments in the path


def status_of(error: Exception) -> int:
    return next(code for kind, code in ERRORS.items() if isinstance(error, kind))


def is_local(visitor: Visitor) -> bool:
    assert visitor.transport is not None
    peer = visitor.transport.get_extra_info("socket")
    return bool(peer.family == socket.AF_UNIX)


def is_known(claim: Claim) -> bool:
    """Otherwise it was dropped, or its session has ended."""
    return claim.session.claims.get(claim.key) is claim


def is_pending(claim: Claim) -> bool:
    return is_known(claim) and not claim.is_settled


def seconds(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise UsageError(f"wait must be a number of seconds, got {text!r:.50}") from None


def of_session(session: Session) -> dict[str, Any]:
    return {
        "session": session.id,
        "ttl": session.ttl,
        "label": session.label,
        "tied": session.tie is not None,
        "locks": [of_claim(claim) for claim in session.claims.values()],
    }


def of_claim(claim: Claim) -> dict[str, Any]:
    told: dict[str, Any] = {
        "key": claim.key,
        "name": claim.name,
        "state": claim.phase.value,
    }
    if claim.fence:
        told["fence"] = claim.fence
    if claim.reason:
        told["error"] = claim.reason
    return told


def shown(status: int, value: Any) -> Response:
    return Response(status, msgspec.json.encode(value) + b"\n")
