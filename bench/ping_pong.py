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
from typing import NamedTuple, cast

from bench.crew import HOLD, loop_factory

STAMP = struct.Struct("d")


Pause = tuple[float, float]  # seconds, at least and at most


class Player:
    """Returns what comes: at once, or after a pause and with the time."""

    def __init__(self, pause: Pause | None) -> None:
        self.pause = pause
        self.took: list[float] = []  # one-way, of what came after a pause
        self.arrived = 0
        self.random = random.Random(1)
        self.loop = asyncio.get_running_loop()
        self.met: asyncio.Future[None] = self.loop.create_future()
        self.over: asyncio.Future[None] = self.loop.create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = cast(asyncio.Transport, transport)
        self.met.set_result(None)

    def came(self, data: bytes) -> None:
        self.arrived += 1
        if self.pause:
            self.took.append(time.monotonic() - STAMP.unpack(data)[0])
            self.loop.call_later(self.random.uniform(*self.pause), self.send)
        else:
            self.transport.write(data)

    def send(self) -> None:
        if not self.transport.is_closing():
            self.transport.write(STAMP.pack(time.monotonic()))

    def connection_lost(self, error: Exception | None) -> None:
        self.over.set_result(None)


class Plain(Player, asyncio.Protocol):
    def data_received(self, data: bytes) -> None:
        self.came(data)


class Buffered(Player, asyncio.BufferedProtocol):
    """With a buffer of its own, where asyncio makes one of 256 KiB for each message."""

    def __init__(self, pause: Pause | None) -> None:
        super().__init__(pause)
        self.buffer = memoryview(bytearray(4096))

    def get_buffer(self, sizehint: int) -> memoryview:
        return self.buffer

    def buffer_updated(self, nbytes: int) -> None:
        self.came(bytes(self.buffer[:nbytes]))


class Game(NamedTuple):
    player: type[Plain | Buffered]
    pause: Pause | None
    loop: str = "asyncio"


# After pauses as there are between hand-offs; and one right after the other.
GAMES = {
    "bare ping-pong": Game(Plain, HOLD),
    "bare ping-pong, own buffer": Game(Buffered, HOLD),
    "bare ping-pong, no pauses": Game(Plain, None),
}


def one_way(game: Game, seconds: float) -> float:
    """Seconds per message."""
    with (
        tempfile.TemporaryDirectory(prefix="bench-") as folder,
        asyncio.Runner(loop_factory=loop_factory(game.loop)) as runner,
    ):
        ours, took = runner.run(play(game, f"{folder}/socket", seconds))
    return median(ours.took) if game.pause else took / (2 * ours.arrived)


async def play(game: Game, path: str, seconds: float) -> tuple[Player, float]:
    context = multiprocessing.get_context("spawn")
    other = context.Process(target=play_along, args=(game, path), daemon=True)
    ours = game.player(game.pause)
    server = await ours.loop.create_unix_server(lambda: ours, path)
    other.start()
    try:
        async with asyncio.timeout(30):
            await ours.met
        began = time.monotonic()
        ours.send()
        await asyncio.sleep(seconds)
        ours.transport.abort()
        took = time.monotonic() - began
    finally:
        server.close()
        await ours.loop.run_in_executor(None, other.join, 10)
        if other.exitcode is None:
            other.kill()
    return ours, took


def play_along(game: Game, path: str) -> None:
    async def until_over() -> None:
        theirs = game.player(game.pause)
        await theirs.loop.create_unix_connection(lambda: theirs, path)
        await theirs.over

    with asyncio.Runner(loop_factory=loop_factory(game.loop)) as runner:
        runner.run(until_over())
