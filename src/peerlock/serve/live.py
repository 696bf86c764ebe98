"""The cluster, alive: what its members say, what has changed, and its viewers.

As long as a client watches, every member is asked again and again.  A round rests nine
times as long as the last one took, and at least REST seconds: it takes a tenth of the time
of this process, at most.  The members are read by an engine of its own, as `peerlock
status` does; if it does not answer, they are those of the node's view.  What changed from
one round to the next is reported as events; what begins and ends in between is not seen.  A
member that no longer answers keeps the label and the losses that it told last.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator
from importlib.resources import files
from typing import Any

from peerlock.api.status import summed_up
from peerlock.membership.engine import ClusterError, Engine
from peerlock.node.views import Member
from peerlock.runtime.host import Host
from peerlock.runtime.questions import answer_of
from peerlock.serve.http import TEXT, Answer, HttpRequest, Response, Stream, event

REST = 0.25  # seconds
REMEMBERED = 50  # events, for a page that is opened

HTML = b"text/html; charset=utf-8"
POLICY = (
    b"content-security-policy",
    b"default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
    b"connect-src 'self'; img-src data:; base-uri 'none'; frame-ancestors 'none'",
)
HEADERS = (POLICY, (b"cache-control", b"no-store"), (b"x-content-type-options", b"nosniff"))

Status = dict[str, Any]
Happening = dict[str, Any]


class StatusRounds:
    """What all members say; pages that ask at the same time share a round of questions."""

    def __init__(self, host: Host, reading: Callable[[], Engine]) -> None:
        self._host = host
        self._reading = reading
        self._engine: Engine | None = None
        self._round: asyncio.Task[Status] | None = None

    def close(self) -> None:
        if self._round is not None:
            self._round.cancel()
        if self._engine is not None:
            self._engine.close()

    async def take(self) -> Status:
        if self._round is None or self._round.done():
            self._round = asyncio.get_running_loop().create_task(self._ask())
        return await asyncio.shield(self._round)

    async def _ask(self) -> Status:
        host = self._host
        try:
            self._engine = self._engine or self._reading()
            view = await self._engine.read()
        except ClusterError:  # the members are still there
            view = host.node.view
        told = await asyncio.gather(*(self._answer(member) for member in view.members))
        found = summed_up(view, told)
        for member, answer in zip(found["members"], told, strict=True):
            member["lost"] = answer["lost"] if answer else None
        return {**found, "me": host.node.me if host.node.member else None}

    async def _answer(self, member: Member) -> Status | None:
        host = self._host
        if member.id == host.node.me:
            with host.guard:
                return host.describe(host.node)
        told = await answer_of(member, host.engine.cluster, host.transport)
        return told if isinstance(told, dict) else None


def remember(before: Status | None, after: Status) -> None:
    """What a member that does not answer now has told before."""
    told = {member["id"]: member for member in before["members"]} if before else {}
    for member in after["members"]:
        if not member["answers"] and member["id"] in told:
            for key in ("label", "lost"):
                member[key] = told[member["id"]][key]


def changes(before: Status, after: Status) -> Iterator[Happening]:
    """What has happened between two rounds."""
    yield from member_changes(before, after)
    earlier = {lock["name"]: lock for lock in before["locks"]}
    for lock in after["locks"]:
        then = earlier.pop(lock["name"], None)
        yield from lock_changes(lock["name"], then["holders"] if then else [], lock)
    for name, lock in earlier.items():
        yield from lock_changes(name, lock["holders"], {**lock, "holders": []})


def member_changes(before: Status, after: Status) -> Iterator[Happening]:
    were = {member["id"]: member for member in before["members"]}
    are = {member["id"]: member for member in after["members"]}
    if before["view"] != after["view"]:
        yield {"what": "view", "view": after["view"]}
    for id in sorted({*were, *are}):  # noqa: A001
        if id not in were:
            yield {"what": "joined", **who(are[id])}
        elif id not in are:
            yield {"what": "left", **who(were[id])}
        else:
            yield from one_member(were[id], are[id])


def one_member(was: Status, now: Status) -> Iterator[Happening]:
    if was["answers"] != now["answers"]:
        yield {"what": "answers" if now["answers"] else "does not answer", **who(now)}
    if was["lost"] is not None and now["lost"] > was["lost"]:
        yield {"what": "lost", "grants": now["lost"] - was["lost"], **who(now)}


def lock_changes(name: str, were: list[Any], lock: Status) -> Iterator[Happening]:
    """Each grant has a fence of its own; of a lock with one holder, it is a hand-over."""
    held = {holder["fence"] for holder in lock["holders"]}
    known = {holder["fence"] for holder in were}
    gone = [holder for holder in were if holder["fence"] not in held]
    new = [holder for holder in lock["holders"] if holder["fence"] not in known]
    alone = not lock["permits"] and not any(holder["shared"] for holder in gone + new)
    if alone and gone and new:
        told = {"what": "handed over", "name": name, "fence": new[0]["fence"]}
        yield {**told, "from": who(gone[0]), **who(new[0])}
        return
    for what, holders in (("released", gone), ("granted", new)):
        for holder in holders:
            yield {"what": what, "name": name, "fence": holder["fence"], **who(holder)}


def who(entry: Status) -> Status:
    return {key: entry.get(key) for key in ("id", "pid", "address", "label")}


class Live:
    """The handler of the live page's port."""

    def __init__(self, census: StatusRounds) -> None:
        self._census = census
        self._watchers: set[Stream] = set()
        self._happened: deque[Happening] = deque(maxlen=REMEMBERED)
        self._last: Status | None = None
        self._watching: asyncio.Task[None] | None = None

    def handle(self, request: HttpRequest) -> Answer:
        if request.method not in ("GET", "HEAD"):
            return Response(405, b"GET and HEAD, nothing else\n", TEXT)
        if request.path == "/":
            return Response(200, page(), HTML, HEADERS)
        if request.path == "/events":
            return Stream(self._opened, self._closed)
        return Response(404, b"try /\n", TEXT)

    def close(self) -> None:
        if self._watching is not None:
            self._watching.cancel()

    def _opened(self, stream: Stream) -> None:
        self._watchers.add(stream)
        if self._watching is None or self._watching.done():
            self._last = None  # no page was open meanwhile
            self._watching = asyncio.get_running_loop().create_task(self._watch())
        elif self._last is not None:
            stream.send(event("status", self._last))
            stream.send(event("happened", list(self._happened)))

    def _closed(self, stream: Stream) -> None:
        self._watchers.discard(stream)

    async def _watch(self) -> None:
        while self._watchers:
            began = time.monotonic()
            status = await self._census.take()
            took = time.monotonic() - began
            remember(self._last, status)
            news = [] if self._last is None else list(changes(self._last, status))
            for happening in news:
                happening["at"] = time.time()
            if self._last is None:
                self._happened.clear()
            self._happened.extend(news)
            self._last = status
            told = event("status", status) + (event("happened", news) if news else b"")
            for stream in list(self._watchers):
                stream.send(told)
            await asyncio.sleep(max(REST, 9 * took))


def page() -> bytes:
    return files("peerlock.serve").joinpath("page.html").read_bytes()
