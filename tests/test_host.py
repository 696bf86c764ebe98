"""What a host does about members that it cannot reach, and about faults of its own."""

import asyncio
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import peerlock
from peerlock.membership.engine import Renewed
from peerlock.membership.memory import MemoryEngine
from peerlock.node import presence
from peerlock.node.views import MemberId, View
from peerlock.runtime.host import Host
from peerlock.runtime.transport import Tcp
from tests.listening import Listener
from tests.loops import on_each_loop, until

NOBODY = "127.0.0.1:9"
NEAR = (("127.0.0.1", 9),)


class Asked(MemoryEngine):
    times = 0

    async def renew(self, me: MemberId) -> Renewed:
        self.times += 1
        return await super().renew(me)


class Watching(Asked):
    on_change: Callable[[View | None], None]

    def __init__(self, name: str, lease: float | None) -> None:
        super().__init__(name, lease)
        self.on_change = lambda view: None


@pytest.mark.parametrize("kind", [Asked, Watching])
@on_each_loop
async def test_who_cannot_be_reached_is_asked_about_unless_we_are_told(
    kind: type[Asked],
) -> None:
    name = f"out of reach, {kind.__name__}"
    engine, other = kind(name, None), (await MemoryEngine(name, None).join(NOBODY)).me
    host = Host(engine, Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        line = host.presence._lines[other]
        await until(lambda: line.pause > 0.05)  # after half a dozen attempts
        assert not engine.times if kind is Watching else engine.times > 3
        await until(lambda: host.trouble is not None)
        assert f"cannot reach the member at {NOBODY}: Connect" in str(host.trouble)
    finally:
        await host.stop()


@on_each_loop
async def test_a_step_that_ends_in_the_middle_is_followed_by_a_fresh_start(
    cluster: str,
) -> None:
    """Who holds something is told, others go on, and we are in again."""
    faults: list[dict[str, Any]] = []
    asyncio.get_running_loop().set_exception_handler(lambda _, fault: faults.append(fault))
    async with peerlock.join(cluster) as node, peerlock.join(cluster) as other:
        grant = await node.lock("x").acquire()
        another = await node.lock("y").acquire()
        pure, first = node.host.node, node.host.node.me
        sound = pure.receive

        def unsound(sender: MemberId, batch: Any) -> None:
            pure.receive = sound  # type: ignore[method-assign]
            pure.release(grant)
            raise AssertionError("half of it is done")

        waiting = asyncio.create_task(other.lock("x").acquire())
        pure.receive = unsound  # type: ignore[method-assign]
        second = await waiting
        assert await another.lost and pure.me != first
        second.release()
        async with node.lock("x", timeout=10):
            pass
    assert [str(fault["exception"]) for fault in faults] == ["half of it is done"]


@pytest.mark.parametrize("turns", range(6))
@on_each_loop
async def test_who_does_not_wait_until_we_have_left_leaves_no_member_behind(
    cluster: str, turns: int
) -> None:
    """Cancelled at whichever moment; without a lease it would be a member for ever."""
    async with peerlock.join(cluster, lease=None) as other:
        node = await peerlock.join(cluster, lease=None)
        leaving = asyncio.create_task(node.leave())
        for _ in range(turns):
            await asyncio.sleep(0)
        leaving.cancel()
        await asyncio.wait([leaving])
        async with other.lock("x", timeout=10):
            pass
        await node.leave()
        await until(lambda: len(other.host.node.view.members) == 1)
        assert not node.host._connections


@on_each_loop
async def test_an_address_that_makes_no_sense_is_dialled_like_any_other() -> None:
    other = (await MemoryEngine("nonsense", 10.0).join("a..b:7000")).me
    engine = MemoryEngine("nonsense", 10.0)
    host = Host(engine, Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        await until(lambda: host.presence._lines[other].pause > 0.01)
        assert host.presence._lines[other].dialling
    finally:
        await host.stop()


@on_each_loop
async def test_who_has_lost_its_socket_makes_another(cluster: str) -> None:
    """Something has tidied up: newcomers would wait for a member they cannot reach."""
    async with peerlock.join(cluster) as node, node.lock("x"):
        Path(node.host.address).unlink()
        async with peerlock.join(cluster) as late, late.lock("y", timeout=10):
            assert Path(node.host.address).is_socket()


@pytest.mark.parametrize("first", [True, False])
@on_each_loop
async def test_whom_all_wait_for_is_said(
    first: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is a member, and can be reached, but says nothing."""

    async def listen(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()

    monkeypatch.setattr(presence, "SLOW", 0.05)
    one, other = MemoryEngine("silent", None), MemoryEngine("silent", None)
    host = Host(one, Tcp("127.0.0.1", None, NEAR, None))
    async with Listener(listen) as silent:
        where = f"127.0.0.1:{silent.port}"
        if first:
            await other.join(where)
            await host.start()
        else:
            await host.start()
            await other.join(where)
        try:
            await until(lambda: host.trouble is not None)
            assert (
                str(host.trouble) == f"all wait for the member at {where}, which is silent"
            )
        finally:
            other.close()
            await host.stop()
