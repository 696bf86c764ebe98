"""A stranger that comes to a member's socket does no harm to locks in use."""

import asyncio
import os
import resource
import secrets
import socket
from collections.abc import AsyncIterator, Awaitable, Callable, Collection
from contextlib import asynccontextmanager, suppress
from math import inf, nan
from pathlib import Path
from typing import Any, get_type_hints

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import peerlock
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.api.tasks import LockNode
from peerlock.core.peer import RemoteError
from peerlock.membership.engine import Renewed
from peerlock.node.node import Node
from peerlock.node.presence import PassOn
from peerlock.node.terms import Demand, Terms
from peerlock.node.views import Member, View
from peerlock.node.waiters import Waiter
from peerlock.node.wire import MESSAGES, Batch, Epoch, NameReport, Open, Stale, ToPeer
from peerlock.runtime.codec import (
    GREETING,
    LENGTH,
    MOST_BYTES,
    VERSION,
    Ask,
    Frame,
    Hello,
    Refusal,
    Seen,
    decode,
    encode,
)
from peerlock.runtime.door import MOST
from tests.support.loops import delivered, on_each_loop, until


@asynccontextmanager
async def in_use(cluster: str) -> AsyncIterator[LockNode]:
    """Two nodes that pass a lock to and fro all the time, and hold another."""
    async with peerlock.join(cluster) as a, peerlock.join(cluster) as b:
        await delivered(a, b)
        entries = 0

        async def work(node: LockNode) -> None:
            nonlocal entries
            while True:
                async with node.lock("x"):
                    entries += 1
                await asyncio.sleep(0)

        tasks = [asyncio.create_task(work(node)) for node in (a, b)]
        grant = await b.lock("held").acquire()
        try:
            yield a
            so_far = entries
            await until(lambda: entries > so_far + 50 or any(t.done() for t in tasks))
            assert not any(task.done() for task in tasks)
        finally:
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)
        assert not grant.is_lost
        with pytest.raises(peerlock.WouldBlock):
            await a.lock("held").try_acquire()
        grant.release()
        async with a.lock("held", timeout=5):
            pass
        assert a.statistics().lost == b.statistics().lost == 0
        assert len(a.host.node.view.members) == 2


async def refused(node: LockNode, data: bytes) -> None:
    """It is read, and the connection is ended from over there."""
    reader, writer = await asyncio.open_unix_connection(node.host.address)
    try:
        writer.write(data)
        assert await reader.read() == b""
    except (ConnectionResetError, BrokenPipeError):
        pass
    finally:
        writer.close()


HERE = View(2**40, (Member(1, "/nowhere", 1),))


def foreign(node: LockNode) -> dict[str, bytes]:
    me = node.host.node.me
    return {
        "text": b"GET / HTTP/1.1\r\n\r\n",
        "random": secrets.token_bytes(5000),
        "a huge length": (2**32 - 1).to_bytes(LENGTH, "big"),
        "another cluster": encode(Hello(VERSION, "another", me)),
        "no cluster": encode(Ask(VERSION, "")),
        "a view at once": encode(Seen(HERE)),
        "a batch at once": encode(Batch(me, 1, 1, 0, 0, 0, (Open(1, "x", Demand(), 0.0),))),
        "an empty frame": (0).to_bytes(LENGTH, "big"),
    }


@on_each_loop
async def test_garbage_and_what_is_meant_for_others_is_refused(cluster: str) -> None:
    async with in_use(cluster) as node:
        before = node.host.node.view
        for what, data in foreign(node).items():
            await refused(node, data)
            assert node.host.node.view == before, what
        assert node.host.door.strangers == len(foreign(node))


@on_each_loop
async def test_who_says_nothing_or_half_of_it_is_borne(cluster: str) -> None:
    whole = encode(Hello(VERSION, "another", 1))
    async with in_use(cluster) as node:
        writers = []
        for data in (b"", b"\0", whole[:3], whole[:10], GREETING.to_bytes(LENGTH, "big")):
            _, writer = await asyncio.open_unix_connection(node.host.address)
            writer.write(data)
            writers.append(writer)
        await until(lambda: len(node.host.door) == len(writers))
    for writer in writers:
        writer.close()


@on_each_loop
async def test_a_stranger_cannot_make_a_member_keep_much(cluster: str) -> None:
    """A frame that is longer than a greeting is refused before it has come."""
    async with in_use(cluster) as node:
        for size in (GREETING + 1, MOST_BYTES):
            await refused(node, size.to_bytes(LENGTH, "big") + b"\x91" * size)
        await until(lambda: not len(node.host.door))


OTHERS = {
    "an older member": encode(Hello(1, "", 5)),
    "a newer one that asks": encode(Ask(VERSION + 1, "")),
    "one whose greeting is longer than ours": (10_000).to_bytes(LENGTH, "big")
    + encode(Hello(1, "", 5))[LENGTH:],
}


@pytest.mark.parametrize("who", OTHERS)
@on_each_loop
async def test_another_version_is_told_so_on_both_sides(cluster: str, who: str) -> None:
    async with in_use(cluster) as node:
        told = await answer(node, OTHERS[who])
        assert isinstance(told, Refusal)
        assert told.version == VERSION
        await until(lambda: not len(node.host.door))
        assert node.host.door.strangers == 1
        version = OTHERS[who][LENGTH + 2]
        older = "it" if version < VERSION else "this member"
        assert str(node.host.trouble) == (
            f"cannot talk with a peer: it speaks protocol version {version}, this member "
            f"speaks {VERSION}: upgrade {older}"
        )


async def answer(node: LockNode, data: bytes) -> Frame:
    reader, writer = await asyncio.open_unix_connection(node.host.address)
    try:
        writer.write(data)
        return decode((await reader.read())[LENGTH:])
    finally:
        writer.close()


def test_a_refusal_says_which_side_to_upgrade() -> None:
    assert Refusal(VERSION, "busy").reason == "busy"
    assert Refusal(VERSION + 1, "").reason.endswith("upgrade this member")
    assert Refusal(VERSION - 1, "").reason.endswith("upgrade it")


async def come_and_go(node: LockNode, number: int) -> None:
    for _ in range(number):
        with socket.socket(socket.AF_UNIX) as stranger:
            stranger.setblocking(False)
            try:
                stranger.connect(node.host.address)
            except BlockingIOError:  # so many wait already
                await asyncio.sleep(0)


async def come_and_stay(node: LockNode, number: int) -> None:
    strangers: list[socket.socket] = []
    try:
        while len(strangers) < number:
            stranger = socket.socket(socket.AF_UNIX)
            stranger.setblocking(False)
            strangers.append(stranger)
            try:
                stranger.connect(node.host.address)
            except BlockingIOError:
                await asyncio.sleep(0)
        await until(lambda: node.host.door.strangers > 0)
        assert len(node.host.door) <= MOST + 1  # one of them, in another thread, just now
        async with peerlock.join(address_of(node)) as late, late.lock("x", timeout=10):
            pass  # members get through
    finally:
        for stranger in strangers:
            stranger.close()


def address_of(node: LockNode) -> str:
    return f"sqlite://{node.host.engine.path}"  # type: ignore[attr-defined]


@pytest.mark.parametrize("how", [come_and_go, come_and_stay])
@on_each_loop
async def test_thousands_of_connections_are_borne(
    cluster: str, how: Callable[[LockNode, int], Awaitable[None]]
) -> None:
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    number = min(2000, soft // 2)
    async with in_use(cluster) as node:
        await how(node, number)
        await until(lambda: len(node.host.door) <= MOST)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become another user")
@on_each_loop
async def test_another_user_is_not_heard(cluster: str) -> None:
    """Although it has got into the directory."""
    async with in_use(cluster) as node:
        folder = Path(node.host.address).parent
        folder.chmod(0o755)
        folder.parent.chmod(0o755)
        Path(node.host.address).chmod(0o777)
        asked = encode(Ask(VERSION, node.host.engine.cluster))
        text = (
            "import os, socket, sys\n"
            "os.setgid(12345); os.setuid(12345)\n"
            "s = socket.socket(socket.AF_UNIX); s.settimeout(10)\n"
            f"s.connect({node.host.address!r})\n"
            "try:\n"
            f"    s.sendall({asked!r}); print(s.recv(100))\n"
            "except ConnectionError:\n"
            "    print(b'')\n"
        )
        process = await asyncio.create_subprocess_exec(
            "python3", "-c", text, stdout=asyncio.subprocess.PIPE
        )
        said, _ = await process.communicate()
        folder.chmod(0o700)
        assert said == b"b''\n"


# A member that talks nonsense


@on_each_loop
async def test_a_view_that_cannot_be_is_asked_for_once_and_is_a_counted_error(
    cluster: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Locks are passed to and fro meanwhile: the engine is not asked after each message."""
    async with peerlock.join(cluster) as home, peerlock.join(cluster) as other:
        await delivered(home, other)
        renewals, renew = 0, home.host.engine.renew

        async def counted(me: int, suspects: Collection[int] = ()) -> Renewed:
            nonlocal renewals
            renewals += 1
            return await renew(me, suspects)

        monkeypatch.setattr(home.host.engine, "renew", counted)
        with other.host.guard:
            for _ in range(10):
                other.host.node.mail.post(home.host.node.me, Stale(2**40, "", 0))
        other.driver.after_step()
        for _ in range(100):
            for node in (home, other):
                async with node.lock("x", timeout=10):
                    pass
        await until(lambda: home.statistics().remote_errors == 10)
        assert renewals <= 5  # some of them as time has passed
        assert home.host.node.remembers()["early"] == 0
        assert home.statistics().lost == other.statistics().lost == 0


def pass_on(sender: LockNode, to: LockNode, view: View) -> None:
    """As a member does that has seen it."""
    sender.host._pass_on(PassOn(to.host.node.me, view))


async def pass_to_and_fro(lock: str, *nodes: LockNode, times: int) -> None:
    for _ in range(times):
        for node in nodes:
            async with node.lock(lock, timeout=10):
                pass


@on_each_loop
async def test_a_view_that_was_never_issued_is_lived_down(cluster: str) -> None:
    """One member believes it, and without the engine would see no newcomer any more."""
    async with (
        peerlock.join(cluster) as liar,
        peerlock.join(cluster) as misled,
        peerlock.join(cluster) as third,
    ):
        await delivered(liar, misled, third)
        kept = await third.lock("kept").acquire()
        lost = await misled.lock("lost").acquire()
        now = liar.host.node.view
        pass_on(liar, misled, View(now.number + 100, now.members))
        await until(lambda: misled.host.node.view.number == now.number + 100)
        await pass_to_and_fro("x", liar, third, times=20)
        misled.driver.soon(misled.host._look_soon)
        await until(lambda: lost.is_lost)
        assert "a view that does not exist" in str(misled.host.trouble)
        await until(lambda: misled.host.trouble is None)
        assert misled.host.node.view.number > now.number + 100
        async with peerlock.join(cluster) as newcomer:
            everybody = (liar, misled, third, newcomer)
            await delivered(*everybody)
            await pass_to_and_fro("lost", *everybody, times=3)
            assert not kept.is_lost
            with pytest.raises(peerlock.WouldBlock):
                await misled.lock("kept").try_acquire()
        kept.release()
        assert [node.statistics().remote_errors for node in everybody] == [0, 1, 0, 0]
        assert [node.statistics().lost for node in everybody] == [0, 1, 0, 0]
        assert misled.statistics().faults == 0


@on_each_loop
async def test_a_view_that_no_engine_can_have_issued_yet_ends_the_connection(
    cluster: str,
) -> None:
    async with peerlock.join(cluster) as liar, peerlock.join(cluster) as other:
        await pass_to_and_fro("x", liar, other, times=3)
        before = other.host.node.view
        way = liar.host._lines[other.host.node.me]
        pass_on(liar, other, View(2**40, before.members))
        await until(lambda: way.ended)
        await pass_to_and_fro("x", liar, other, times=3)
        assert other.host.node.view == before
        assert other.statistics().remote_errors == 1
        assert other.statistics().lost == 0 and other.host.trouble is None


ODD = [a for a in CATALOGUE if a.serves]
small = st.integers(-1, 6)
few_names = st.sampled_from(["x", "y", "z"])
plausible = st.builds(
    Terms,
    st.sampled_from([a.name for a in ODD]),
    st.sampled_from([0, 0, 1, 2]),
    st.booleans(),
    st.integers(-1, 3),
)
wishes = st.builds(
    Demand, st.sampled_from(["", "raymond", "raymond-k"]), st.integers(0, 3), st.booleans()
)


@st.composite
def odd_contents(draw: st.DrawFn) -> Any:
    kind = draw(st.sampled_from(draw(st.sampled_from(ODD)).peer.messages))
    values: list[Any] = []
    for hint in get_type_hints(kind).values():
        if hint is bool:
            values.append(draw(st.booleans()))
        elif hint is int:
            values.append(draw(small))
        elif hint == tuple[int, ...]:
            values.append(tuple(draw(st.lists(small, max_size=4))))
        else:
            values.append(tuple(draw(st.lists(st.sampled_from("RNEH"), max_size=4))))
    return kind(*values)


epochs = st.builds(Epoch, small, small)
circles = st.lists(small, max_size=4).map(tuple)
reports = st.builds(NameReport, few_names, epochs, st.booleans(), plausible, circles)
VALUES: dict[Any, st.SearchStrategy[Any]] = {
    bool: st.booleans(),
    int: small,
    float: st.sampled_from([-1.0, 0.0, 1e300, inf, nan]),
    str: few_names,
    Demand: wishes,
    Terms: plausible,
    Epoch: epochs,
    tuple[int, ...]: circles,
    tuple[tuple[int, ...], ...]: st.lists(circles, max_size=2).map(tuple),
    tuple[NameReport, ...]: st.lists(reports, max_size=3).map(tuple),
    Any: odd_contents(),
}


def odd(kind: Any) -> st.SearchStrategy[Any]:
    return st.builds(kind, *(VALUES[hint] for hint in get_type_hints(kind).values()))


odd_messages = st.one_of(*map(odd, MESSAGES), odd(ToPeer), odd(ToPeer))


@settings(max_examples=300, deadline=None)
@given(st.lists(odd_messages, max_size=12), st.integers(0, 1))
def test_a_member_who_talks_nonsense_crashes_nobody(said: list[Any], rank: int) -> None:
    now = 0.0
    node = Node(lambda: now)
    node.see(View(1, tuple(Member(i, f"/{i}", i) for i in (1, 2, 3))), me=1 + rank)
    for name, wanted in (("x", Demand()), ("y", Demand("", 2)), ("z", Demand("", 0, True))):
        node.acquire(name, Waiter(wanted))
    other = 2 - rank
    for number, message in enumerate(said, 1):
        with suppress(RemoteError):
            node.receive(other, Batch(1 + rank, 1, number, 0, 0, 0, (message,)))
        if number % 3 == 0:
            node.view_asked()
            node.view_answered()
        node.turn()
        node.drain()
