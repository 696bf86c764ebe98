"""The door: who waits there, who goes first, who is turned away, and what they are told."""

from __future__ import annotations

import asyncio
import ctypes
import gc
import os
import socket
import ssl
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import ExitStack, asynccontextmanager, suppress
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from peerlock.membership.engine import ClusterError
from peerlock.membership.memory import MemoryEngine
from peerlock.node.views import Member, View
from peerlock.runtime import door, listening, questions, transport
from peerlock.runtime.certificates import issue, new_authority
from peerlock.runtime.codec import (
    LENGTH,
    VERSION,
    Ask,
    Foreign,
    Hello,
    Refusal,
    decode,
    encode,
)
from peerlock.runtime.connection import Connection
from peerlock.runtime.door import BUSY, FEW, MOST, SHAKING, Caller, Door, Prospects
from peerlock.runtime.host import Host
from peerlock.runtime.questions import Busy, RefusedByMember, ask, must_be_welcome
from peerlock.runtime.tls import Files, Mutual
from peerlock.runtime.transport import Tcp, UnixSockets, host_and_port, same_user, user_of
from tests.support.loops import PATIENCE, on_each_loop, until

CLUSTER = "memory://door"


@pytest.fixture
def certificates(tmp_path: Path) -> Path:
    new_authority(tmp_path / "certs")
    issue(tmp_path / "certs", "127.0.0.1")
    return tmp_path / "certs"


@pytest.fixture(params=["plain", "tls"])
def security(request: pytest.FixtureRequest) -> Mutual | None:
    if request.param == "plain":
        return None
    return Mutual(Files.of_host(request.getfixturevalue("certificates"), "127.0.0.1"))


@pytest.fixture
def tls(certificates: Path) -> Mutual:
    return Mutual(Files.of_host(certificates, "127.0.0.1"))


@asynccontextmanager
async def member(security: Mutual | None) -> AsyncIterator[Host]:
    """One that listens on loopback."""
    reach = Tcp("127.0.0.1:0", None, (("127.0.0.1", 9),), security)
    host = Host(MemoryEngine("door", None), reach)
    await host.start()
    try:
        yield host
    finally:
        await host.stop()


async def asked(host: Host, security: Mutual | None) -> dict[str, Any]:
    """The answer that an honest process gets."""
    reach = Tcp("127.0.0.1:0", None, (), security)
    return await ask(Member(1, host.address, 1), CLUSTER, reach)


async def dialled(
    host: Host, security: Mutual | None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    """A connection with nothing said yet but, perhaps, who we are."""
    where, port = host_and_port(host.address)
    return await asyncio.open_connection(
        where,
        port,
        ssl=security.for_client() if security else None,
        server_hostname=where if security else None,
    )


def test_a_caller_that_is_being_let_in_as_the_loop_ends_is_closed() -> None:
    ours, theirs = socket.socketpair()

    async def let_in() -> None:
        ours.setblocking(False)
        theirs.send(b"x")
        entrance = Door()
        listener = SimpleNamespace(closed=entrance.closed)
        caller = Caller(ours, None, same_user)
        entrance.wait(Connection(cast(Any, listener)), caller)
        entrance._begin_some()
        assert caller.handshake
        caller.handshake.cancel()

    asyncio.run(let_in())
    assert ours.fileno() == -1
    theirs.close()


@pytest.fixture
def stack() -> Iterator[ExitStack]:
    with ExitStack() as made:
        yield made


async def flood(
    host: Host, stack: ExitStack, number: int, said: bytes = b"", source: str = "127.0.0.1"
) -> list[socket.socket]:
    """Connections that come, say something or nothing, and stay."""
    where = host_and_port(host.address)
    made = []
    for i in range(number):
        came = socket.create_connection(where, PATIENCE, source_address=(source, 0))
        made.append(stack.enter_context(came))
        came.sendall(said)
        if i % 16 == 0:
            await asyncio.sleep(0)
    return made


def beginning_of_tls() -> bytes:
    outgoing = ssl.MemoryBIO()
    client = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), outgoing, False, "h")
    with suppress(ssl.SSLWantReadError):
        client.do_handshake()
    return outgoing.read()


HELLO = beginning_of_tls()


# Which connections are closed first


def waiting(*callers: tuple[Prospects, str]) -> tuple[Door, list[Connection]]:
    """A door at which these wait, oldest first."""
    made = Door()
    for prospects, host in callers:
        caller = SimpleNamespace(prospects=prospects, host=host, tired=None)
        made._waiting[Connection(cast(Any, None))] = cast(Caller, caller)
    return made, list(made._waiting)


def order(made: Door, connections: list[Connection]) -> list[int]:
    """Which of them are turned away first."""
    return [connections.index(c) for c in sorted(made._waiting, key=made._order())]


SILENT, SPEAKS, SHAKES, PROVEN = Prospects


def test_the_worst_prospects_go_first_and_of_equals_the_oldest() -> None:
    steps = [PROVEN, SILENT, SHAKES, SPEAKS, SILENT]
    made, all_ = waiting(*((step, "h") for step in steps))
    assert order(made, all_) == [1, 4, 3, 2, 0]


def test_a_host_with_many_connections_goes_before_one_with_few() -> None:
    crowd = [(SPEAKS, "crowd")] * (FEW + 1)
    made, all_ = waiting((SILENT, "newcomer"), (SPEAKS, "two"), (SPEAKS, "two"), *crowd)
    assert order(made, all_)[-3:] == [0, 1, 2]
    made, all_ = waiting((SPEAKS, "one"), (SPEAKS, "two"), (SPEAKS, "two"))
    assert order(made, all_) == [1, 2, 0]


def test_a_host_from_which_a_member_came_is_one_step_better() -> None:
    made, all_ = waiting((SPEAKS, "known"), (SPEAKS, "other"), (SHAKES, "third"))
    made.pass_in(all_[0], member=True)
    made._waiting[all_[0]] = cast(Caller, SimpleNamespace(prospects=SPEAKS, host="known"))
    assert order(made, all_)[0] == 1
    made.pass_in(all_[1])  # it has asked, and is no member
    assert list(made._hosts) == ["known"]


def test_a_certificate_outweighs_all_else() -> None:
    crowd = [(PROVEN, "crowd")] * (FEW + 1)
    made, all_ = waiting(*crowd, (SHAKES, "known"))
    made._hosts["known"] = None
    assert order(made, all_)[0] == FEW + 1


def test_hosts_of_members_are_remembered_up_to_a_number(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(door, "MOST_HOSTS", 2)
    made, all_ = waiting(*((SPEAKS, host) for host in "abac"))
    for connection in all_:
        made.pass_in(connection, member=True)
    assert list(made._hosts) == ["a", "c"]


# Floods


@pytest.mark.parametrize("source", ["127.0.0.1", "127.0.0.2"])
@on_each_loop
async def test_a_flood_that_says_nothing_keeps_nobody_out(
    security: Mutual | None, source: str, stack: ExitStack
) -> None:
    async with member(security) as host:
        strangers = await flood(host, stack, 3 * MOST, source=source)
        assert await asked(host, security) == {}
        await until(lambda: len(host.door) <= MOST)
        await until(lambda: host.door.strangers >= 2 * MOST - 16)
        told = await asyncio.to_thread(strangers[0].recv, 1_000)
        if security is None:
            assert decode(told[LENGTH:]) == Refusal(VERSION, BUSY)
        else:
            assert told == bytes.fromhex("15030300020250")


@on_each_loop
async def test_a_flood_of_handshakes_from_elsewhere_keeps_nobody_out(
    tls: Mutual, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "SLOW", 0.05)
    most = 0
    async with member(tls) as host:
        for _ in range(4):
            await flood(host, stack, MOST // 2, HELLO, "127.0.0.2")
            asking = asyncio.create_task(asked(host, tls))
            while not asking.done():
                most = max(most, len(host.door._shaking))
                await asyncio.sleep(0)
            assert await asking == {}
    assert most <= SHAKING


@on_each_loop
async def test_handshakes_that_stand_still_make_room(
    tls: Mutual, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many as may run have begun, and none goes on; the kernel has room for more."""
    monkeypatch.setattr(door, "SLOW", 0.05)
    async with member(tls) as host:
        await flood(host, stack, SHAKING, HELLO[:20])
        await until(lambda: len(host.door._shaking) == SHAKING)
        assert await asked(host, tls) == {}
        assert host.door.strangers > 0


@on_each_loop
async def test_one_that_has_shown_a_certificate_is_not_turned_away(
    tls: Mutual, stack: ExitStack
) -> None:
    async with member(tls) as host:
        reader, writer = await dialled(host, tls)
        await until(lambda: any(c.prospects is PROVEN for c in waiting_at(host)))
        await flood(host, stack, 2 * MOST, HELLO[:20])
        writer.write(encode(Ask(VERSION, CLUSTER)))
        assert len(await reader.read()) > LENGTH
        writer.close()


def waiting_at(host: Host) -> list[Caller]:
    return list(host.door._waiting.values())


@on_each_loop
async def test_what_begins_no_handshake_is_closed_at_once(
    tls: Mutual, stack: ExitStack
) -> None:
    async with member(tls) as host:
        for said in (b"GET / HTTP/1.1", b"\0\0\0\5hello", b"\x15\3\3"):
            [stranger] = await flood(host, stack, 1, said)
            with suppress(ConnectionResetError):
                assert await asyncio.to_thread(stranger.recv, 10) == b""
        assert host.door.strangers == 3
        assert not len(host.door)
        assert not host.door._shaking


@on_each_loop
async def test_patience_ends_and_descriptors_are_given_back(
    security: Mutual | None, stack: ExitStack, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "PATIENCE", 0.05)
    async with member(security) as host:
        before = len(os.listdir("/proc/self/fd"))
        strangers = await flood(host, stack, 5)
        strangers += await flood(host, stack, 5, HELLO[:1] if security else b"\0")
        await until(lambda: host.door.strangers == 10)
        mine = before + len(strangers) + 2  # a loop may open some of its own
        await until(lambda: len(os.listdir("/proc/self/fd")) <= mine)
        for stranger in strangers:
            with suppress(ConnectionResetError):
                told = await asyncio.to_thread(stranger.recv, 10)
                assert told == b""  # and it is not told that we are busy


@on_each_loop
async def test_one_that_comes_when_all_descriptors_are_taken_is_let_in_later(
    security: Mutual | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    failed = 0

    class Poor:
        """A listening socket in a process that has no descriptor left, twice."""

        def __init__(self, real: socket.socket) -> None:
            self._real = real

        def accept(self) -> Any:
            nonlocal failed
            failed += 1
            if failed <= 2:
                raise OSError(24, "Too many open files")
            return self._real.accept()

        def __getattr__(self, name: str) -> Any:
            return getattr(self._real, name)

    original = listening.bound

    def bound(*arguments: Any) -> Any:
        return Poor(original(*arguments))

    monkeypatch.setattr(listening, "bound", bound)
    monkeypatch.setattr(listening, "PAUSE", 0.05)
    async with member(security) as host:
        assert await asked(host, security) == {}
        assert failed <= 5  # it did not try all the time


def test_one_that_is_hidden_does_not_listen_again() -> None:
    async def work() -> None:
        accepted: list[socket.socket] = []
        [made] = await listening.listening_at("127.0.0.1", 0)
        server = listening.Listening([made], accepted.append)
        server.hide()
        server._listen(made)  # as after a pause
        with socket.create_connection(made.getsockname()):
            for _ in range(5):
                await asyncio.sleep(0.01)
        server.close()
        assert accepted == []

    asyncio.run(work())


# What a newcomer is told


class Crowded:
    """An engine and a transport in one: its only member has an answer of its own."""

    cluster = CLUSTER

    def __init__(self, *errors: Exception | None) -> None:
        self.errors = list(errors)

    async def read(self) -> View:
        return View(1, (Member(1, "127.0.0.1:9", 1),))

    async def answer(self, *_: object) -> Any:
        return (self.errors.pop(0) if len(self.errors) > 1 else self.errors[0]) or {}


def welcome(crowded: Crowded, monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """How long the newcomer has waited between its questions."""
    pauses: list[float] = []

    async def sleep(seconds: float) -> None:
        pauses.append(seconds)

    monkeypatch.setattr(questions, "answer_of", crowded.answer)
    monkeypatch.setattr(asyncio, "sleep", sleep)
    asyncio.run(must_be_welcome(cast(Any, crowded), cast(Any, crowded)))
    return pauses


def test_a_newcomer_is_patient_with_members_that_are_busy(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    busy = Busy(BUSY)
    assert len(welcome(Crowded(*[busy] * 8, None), monkeypatch)) == 9
    with pytest.raises(ClusterError, match="busy with connections of strangers") as told:
        welcome(Crowded(busy), monkeypatch)
    assert "certificate" not in str(told.value)


def test_a_newcomer_asks_three_times_before_it_believes_a_refusal(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    no = RefusedByMember("no")
    assert len(welcome(Crowded(no, no, None), monkeypatch)) == 3
    with pytest.raises(ClusterError, match="do not talk with us: no"):
        welcome(Crowded(no), monkeypatch)


@on_each_loop
async def test_a_busy_member_says_so_to_one_that_asks(
    security: Mutual | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(door, "MOST", 0)

    def make_room(made: Door) -> None:
        for connection, caller in list(made._waiting.items()):
            caller.say_busy()
            connection.end()

    monkeypatch.setattr(Door, "_make_room", make_room)
    async with member(security) as host:
        with pytest.raises(Busy, match=BUSY):
            await asked(host, security)


@on_each_loop
async def test_a_member_of_another_version_says_so_to_one_that_asks(
    security: Mutual | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(self: Host, connection: Connection) -> None:
        connection.send(Refusal(9, ""))
        connection.finish()

    monkeypatch.setattr(Host, "_answer", answer)
    async with member(security) as host:
        with pytest.raises(RefusedByMember, match="speaks protocol version 9") as told:
            await asked(host, security)
        assert not isinstance(told.value, Busy)


@on_each_loop
async def test_a_question_that_was_given_up_leaves_no_complaint() -> None:
    """Its connection may be lost later."""
    complaints: list[Any] = []
    loop = asyncio.get_running_loop()
    loop.set_exception_handler(lambda loop, context: complaints.append(context))
    asker = questions.Asker()
    asker.closed(Connection(asker))
    del asker
    gc.collect()
    await asyncio.sleep(0)
    assert complaints == []


# Versions


def test_trouble_with_another_version_ends_when_it_stays_away(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = Door()
    connection = Connection(cast(Any, None))
    made.refuse(connection, Foreign(1))
    assert "speaks protocol version 1, this member speaks" in str(made.trouble)
    later = time.monotonic() + door.REMEMBERED + 1
    monkeypatch.setattr(time, "monotonic", lambda: later)
    assert made.trouble is None


@on_each_loop
async def test_a_member_that_is_refused_for_its_version_says_so(
    security: Mutual | None,
) -> None:
    """It has got into the view all the same; as one that dials it sees it."""

    async with member(security) as other, member(security) as host:
        host._tell(host.presence.wanted, other.node.me)
        await until(lambda: bool(other._incoming))
        for incoming in list(other._incoming):
            incoming.send(Refusal(VERSION + 1, ""))
        await until(lambda: host.trouble is not None)
        assert str(host.trouble) == (
            f"cannot talk with the member at {other.address}: it speaks protocol version "
            f"{VERSION + 1}, this member speaks {VERSION}: upgrade this member"
        )


# Whose process it is


@pytest.fixture
def pair() -> Iterator[tuple[socket.socket, socket.socket]]:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        yield ours, theirs


def test_the_kernel_says_whose_process_is_at_the_other_end(
    pair: tuple[socket.socket, socket.socket],
) -> None:
    assert user_of(pair[0]) == os.getuid()
    assert same_user(pair[0])


@pytest.mark.parametrize("difference", [-1, 1, 1000])
def test_another_user_is_another_user(
    pair: tuple[socket.socket, socket.socket],
    difference: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    ours = os.getuid()
    monkeypatch.setattr(os, "getuid", lambda: ours + difference)
    assert not same_user(pair[0])


class Library:
    """A C library of a system that has getpeereid, or a broken one."""

    def __init__(self, user: int | None) -> None:
        self.user = user

    def getpeereid(self, descriptor: int, user: Any, group: Any) -> int:
        assert descriptor >= 0
        if self.user is None:
            return -1
        user._obj.value, group._obj.value = self.user, 4711
        return 0


def test_elsewhere_getpeereid_says_it(
    pair: tuple[socket.socket, socket.socket], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    for user, same in ((os.getuid(), True), (os.getuid() + 1, False)):
        monkeypatch.setattr(ctypes, "CDLL", lambda name, user=user: Library(user))
        assert same_user(pair[0]) is same
    monkeypatch.setattr(ctypes, "CDLL", lambda name: Library(None))
    with pytest.raises(OSError, match="cannot be identified"):
        same_user(pair[0])


def fails(peer: socket.socket) -> bool:
    raise AttributeError("module 'socket' has no attribute 'SO_PEERCRED'")


@on_each_loop
async def test_if_it_cannot_be_known_whose_process_dials_it_is_refused(
    short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    reach = UnixSockets(short_path)
    host = Host(MemoryEngine("unix door", None), reach)
    await host.start()
    try:
        asking = Member(1, host.address, 1), "memory://unix door", UnixSockets(short_path)
        assert await ask(*asking) == {}
        asking[2].connect = dial_anybody  # type: ignore[method-assign]
        monkeypatch.setattr(transport, "same_user", fails)
        with pytest.raises(RefusedByMember):
            await ask(*asking)
        assert not host._incoming
    finally:
        await host.stop()


async def dial_anybody(address: str, connection: Connection) -> None:
    loop = asyncio.get_running_loop()
    await loop.create_unix_connection(lambda: connection, address)


class Silent:
    def frame(self, connection: Connection, frame: object) -> None:
        raise AssertionError("nobody says anything")

    def closed(self, connection: Connection) -> None:
        """As it should be."""


@on_each_loop
async def test_if_it_cannot_be_known_whose_process_was_dialled_nothing_is_said(
    short_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: asyncio.Future[bytes] = asyncio.get_running_loop().create_future()

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        with suppress(ConnectionResetError):
            heard.set_result(await reader.read())
        writer.close()

    monkeypatch.setattr(transport, "same_user", fails)
    where = str(short_path / "other.sock")
    server = await asyncio.start_unix_server(listen, where)
    made = Connection(Silent())
    await UnixSockets(short_path).connect(where, made)
    await until(lambda: not made.is_open)
    made.send(Ask(VERSION, CLUSTER))
    assert await heard == b""
    server.close()


# A member that misbehaves after it has been let in


@pytest.mark.parametrize(
    "said",
    [b"\xff" * 50, (9).to_bytes(LENGTH, "big") + b"nonsense!", b"\0\0\0\0"],
    ids=["too long", "garbage", "empty"],
)
@on_each_loop
async def test_garbage_from_a_member_ends_its_connection_and_nothing_else(
    security: Mutual | None, said: bytes
) -> None:
    async with member(security) as host:
        reader, writer = await dialled(host, security)
        writer.write(encode(Hello(VERSION, CLUSTER, 77)))
        await until(lambda: 77 in host._incoming.values())
        assert not len(host.door)
        writer.write(said)
        with suppress(ConnectionResetError):
            assert await reader.read() == b""
        writer.transport.abort()
        await until(lambda: not host._incoming)
        assert await asked(host, security) == {}


@on_each_loop
async def test_a_member_that_sends_byte_by_byte_is_heard(security: Mutual | None) -> None:
    async with member(security) as host:
        reader, writer = await dialled(host, security)
        for byte in encode(Ask(VERSION, CLUSTER)):
            writer.write(bytes([byte]))
            await asyncio.sleep(0.001)
        assert decode((await reader.read())[LENGTH:])
        writer.close()


def test_a_forked_child_keeps_nobody_at_the_door() -> None:
    ours, theirs = socket.socketpair()
    with ours, theirs:
        made = Door()
        caller = Caller(ours, None, same_user)
        made._waiting[Connection(cast(Any, None))] = caller
        made.abandon()  # in a child, whose descriptors are its own
        assert theirs.recv(1) == b""
