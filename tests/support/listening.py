"""Servers that live as long as a test, and leave no connection open behind them."""

import asyncio
import ssl
from collections.abc import Awaitable, Callable
from typing import Self

Talk = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]

TURNS = 10  # of the loop: more than asyncio needs to accept a connection and to close it


class Listener:
    """Every visitor is talked to, until the talk ends or the listener does.

    A coroutine that asyncio's server begins by itself may be cancelled before its first
    line, and then nobody closes what it was given.  So the connection is closed by us.
    """

    def __init__(self, talk: Talk, security: ssl.SSLContext | None = None) -> None:
        self._talk = talk
        self._security = security
        self._talks: set[asyncio.Task[None]] = set()
        self._ended = False
        self.port = 0

    async def __aenter__(self) -> Self:
        self._server = await asyncio.start_server(
            self._came, "127.0.0.1", 0, ssl=self._security
        )
        self.port = self._server.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        # asyncio would forget who comes at the very moment of closing (CPython's 109564).
        asyncio.get_running_loop().remove_reader(self._server.sockets[0].fileno())
        self._ended = True
        await self.hang_up()
        for _turn in range(TURNS):
            await asyncio.sleep(0)
        self._server.close()

    async def hang_up(self) -> None:
        """End the talks that there are; others may come."""
        talks = list(self._talks)
        for talk in talks:
            talk.cancel()
        await asyncio.gather(*talks, return_exceptions=True)

    def _came(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._ended:
            writer.transport.abort()
            return

        async def talk() -> None:
            await self._talk(reader, writer)

        def over(task: asyncio.Task[None]) -> None:
            self._talks.discard(task)
            if task.cancelled():
                writer.transport.abort()
            else:
                writer.close()

        task = asyncio.create_task(talk())
        self._talks.add(task)
        task.add_done_callback(over)
