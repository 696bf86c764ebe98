"""What differs between event loops, and must not matter."""

import asyncio
import gc
import socket
from collections.abc import Collection
from typing import Any

import pytest

from peerlock.membership import clock
from peerlock.membership.engine import ClusterError, Renewed
from peerlock.membership.etcd_address import EtcdAddress
from peerlock.membership.etcd_gateway import Gateway
from peerlock.membership.memory import MemoryEngine
from peerlock.node.presence import margin
from peerlock.node.terms import demand
from peerlock.node.views import MemberId, View
from peerlock.node.waiters import State, Waiter
from peerlock.runtime.host import Host
from peerlock.runtime.transport import Tcp, host_and_port
from tests.support.listening import Listener
from tests.support.loops import on_each_loop

NEAR = (("127.0.0.1", 9),)
ANSWER = b'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"TTL":"3"}'


class OutOfTouch(MemoryEngine):
    async def renew(self, me: MemberId, suspects: Collection[MemberId] = ()) -> Renewed:
        raise ClusterError("nobody answers")


@on_each_loop
async def test_etcd_is_asked_on_each_loop() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(ANSWER)

    async with Listener(serve) as server:
        gateway = Gateway(EtcdAddress((("127.0.0.1", server.port),), "prod"))
        answer = await gateway.call("/v3/lease/grant", {"TTL": 3}, 10.0)
        gateway.close()

    assert answer.body == {"TTL": "3"}


@on_each_loop
async def test_who_still_asks_etcd_when_all_is_closed_keeps_no_connection() -> None:
    ended = asyncio.Event()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        gateway.close()
        writer.write(ANSWER)
        assert await reader.read() == b""
        ended.set()

    async with Listener(serve) as server:
        gateway = Gateway(EtcdAddress((("127.0.0.1", server.port),), "prod"))
        answer = await gateway.call("/v3/lease/grant", {"TTL": 3}, 10.0)
        await ended.wait()

    assert answer.body == {"TTL": "3"}


@on_each_loop
async def test_a_timer_that_comes_early_does_not_let_the_lease_run_on() -> None:
    """uvloop's come early by less than a millisecond; it must be set again."""
    host = Host(OutOfTouch("early", 0.5), Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        first, ends = host.node.me, host.node.deadline
        while host.node.me == first:
            assert host._timer is not None
            host._timer.cancel()
            host._wake()
            await asyncio.sleep(0)
        assert 0 <= clock.now() - ends < 5
    finally:
        await host.stop()


@on_each_loop
async def test_who_has_lost_its_lease_leaves_its_users_the_time_to_stop() -> None:
    """It could be in again within milliseconds, and then others have what was lost."""
    engine = OutOfTouch("time to stop", 1.0)
    host = Host(engine, Tcp("127.0.0.1", None, NEAR, None))
    await host.start()
    try:
        lost = Waiter(demand())
        host.step(host.node.acquire, "x", lost)
        first, ends = host.node.me, host.node.deadline + margin(1.0)
        while host.node.member:
            await asyncio.sleep(0.001)
        assert lost.state is State.LOST
        while not host.node.member:
            await asyncio.sleep(0.001)
        assert host.node.me != first
        assert clock.now() > ends - 0.01
    finally:
        await host.stop()


@pytest.mark.parametrize("turns", range(6))
@on_each_loop
async def test_who_comes_while_we_close_the_door_leaves_nothing_open(
    turns: int, monkeypatch: Any
) -> None:
    """The garbage collector would find it, and pytest fail this test."""
    engine = MemoryEngine("door", 10.0)
    host = Host(engine, Tcp("127.0.0.1:0", None, (("127.0.0.1", 0),), None))
    with socket.socket() as stranger:

        async def leave(me: MemberId) -> View:
            stranger.connect(host_and_port(host.address))
            for _ in range(turns):
                await asyncio.sleep(0)
            return View(0, ())

        monkeypatch.setattr(engine, "leave", leave)
        await host.start()
        await host.stop()
    gc.collect()
