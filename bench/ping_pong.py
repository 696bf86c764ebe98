"""The floor for a message: bytes over a Unix socket between two asyncio processes.

No frames, no decoding, nothing to do with what arrives.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import struct
import tempfile
import time
from statistics import median
from typing import cast

from bench.crew import HOLD, loop_factory

STAMP = struct.Struct("d")


class Echo(asyncio.Protocol):
    """Sends back what comes: at once, or, `paced`, after a while and with the time."""

    def __init__(self, paced: bool) -> None:
        self.paced = paced
        self.took: list[float] = []  # one-way, of what came paced
        self.arrived = 0
        self.pause = random.Random(1).uniform
        self.over: asyncio.Future[None] = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)

    def data_received(self, data: bytes) -> None:
        self.arrived += 1
        if self.paced:
            self.took.append(time.monotonic() - STAMP.unpack(data)[0])
            asyncio.get_running_loop().call_later(self.pause(*HOLD), self.send)
        else:
            self.transport.write(data)

    def send(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(STAMP.pack(time.monotonic()))

    def connection_lost(self, error: Exception | None) -> None:
        if not self.over.done():
            self.over.set_result(None)


def one_way(seconds: float, loop: str) -> dict[str, float]:
    """Seconds per message: one after the other, and after pauses as between hand-offs."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        path = f"{folder}/socket"
        with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
            return {
                "back to back": runner.run(back_to_back(path, seconds, loop)),
                "after a pause": runner.run(after_a_pause(path, seconds, loop)),
            }


async def back_to_back(path: str, seconds: float, loop: str) -> float:
    ours, took = await play(path, False, seconds, loop)
    return took / (2 * ours.arrived)


async def after_a_pause(path: str, seconds: float, loop: str) -> float:
    ours, _ = await play(path, True, seconds, loop)
    return median(ours.took)


async def play(path: str, paced: bool, seconds: float, loop: str) -> tuple[Echo, float]:
    context = multiprocessing.get_context("spawn")
    other = context.Process(target=serve, args=(path, paced, loop), daemon=True)
    running = asyncio.get_running_loop()
    met: asyncio.Future[Echo] = running.create_future()

    class Ours(Echo):
        def connection_made(self, transport: asyncio.BaseTransport) -> None:
            super().connection_made(transport)
            met.set_result(self)

    server = await running.create_unix_server(lambda: Ours(paced), path)
    other.start()
    try:
        async with asyncio.timeout(30):
            ours = await met
        began = time.monotonic()
        ours.send()
        await asyncio.sleep(seconds)
        ours.transport.abort()
        took = time.monotonic() - began
    finally:
        server.close()
        await running.run_in_executor(None, other.join, 10)
        if other.exitcode is None:
            other.kill()
    return ours, took


def serve(path: str, paced: bool, loop: str) -> None:
    async def answer() -> None:
        _, echo = await asyncio.get_running_loop().create_unix_connection(
            lambda: Echo(paced), path
        )
        await echo.over

    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        runner.run(answer())
