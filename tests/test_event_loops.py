"""What differs between event loops, and must not matter."""

import asyncio
import gc
import socket
import time
from typing import Any

import pytest

from peerlock.membership.engine import ClusterError, Renewed
from peerlock.membership.etcd_address import Address
from peerlock.membership.etcd_gateway import Gateway
from peerlock.membership.memory import MemoryEngine
from peerlock.node.views import MemberId, View
from peerlock.runtime.host import Host
from peerlock.runtime.transport import Tcp, host_and_port
from tests.listening import Listener
from tests.loops import on_each_loop

ANSWER = b'HTTP/1.1 200 OK\r\ncontent-length: 11\r\n\r\n{"TTL":"3"}'


@on_each_loop
async def test_etcd_is_asked_on_each_loop() -> None:
    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.readuntil(b"}")
        writer.write(ANSWER)

    async with Listener(serve) as server:
        gateway = Gateway(Address((("127.0.0.1", server.port),), "prod"))
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
        gateway = Gateway(Address((("127.0.0.1", server.port),), "prod"))
        answer = await gateway.call("/v3/lease/grant", {"TTL": 3}, 10.0)
        await ended.wait()

    assert answer.body == {"TTL": "3"}


@on_each_loop
async def test_a_timer_that_comes_a_little_early_does_not_let_the_lease_run_on(
    monkeypatch: Any,
) -> None:
    """uvloop's do, by less than a millisecond; nobody would look before the next tick."""
    host = Host(MemoryEngine("early", 10.0), Tcp("", None, (("", 0),), None))
    host.loop = asyncio.get_running_loop()
    host.node.member = True
    monkeypatch.setattr(host, "_look_soon", lambda: None)
    host.node.renewed(time.monotonic() + 0.05)

    host._lease_ends()
    assert host.node.member
    while host.node.member:
        await asyncio.sleep(0.001)

    assert 0 <= time.monotonic() - host.node.deadline < 5


class OutOfTouch(MemoryEngine):
    async def renew(self, me: MemberId) -> Renewed:
        raise ClusterError("nobody answers")


@on_each_loop
async def test_who_has_lost_its_lease_leaves_its_users_the_time_to_stop() -> None:
    """It could be in again within milliseconds, and then others have what was lost."""
    engine = OutOfTouch("time to stop", 2.0)
    host = Host(engine, Tcp("127.0.0.1", None, (("127.0.0.1", 9),), None))
    await host.start()
    try:
        first, ends = host.node.me, time.monotonic() + 1.0
        host._renewed_until(ends)  # told 0.2 s before
        while host.node.member:
            await asyncio.sleep(0.001)
        while not host.node.member:
            await asyncio.sleep(0.001)
        assert host.node.me != first
        assert time.monotonic() > ends - 0.01
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
