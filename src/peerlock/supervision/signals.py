"""The signals that were received, one by one, each with whether it was for the whole group.

timeout(1) sends a signal to this process and then to the group.  They count as one, as they
do for the kernel while the first is pending.
"""

from __future__ import annotations

import asyncio

from peerlock.supervision.neighbour import Neighbour

SOON = 0.05  # seconds within which signals that belong together arrive


class Signals:
    def __init__(self, neighbour: Neighbour) -> None:
        self._line = neighbour.line
        self._came: asyncio.Queue[int] = asyncio.Queue()
        self._under_way: set[int] = set()

    def came(self, number: int) -> None:
        if number not in self._under_way:
            self._under_way.add(number)
            self._came.put_nowait(number)

    async def next(self) -> tuple[int, bool]:
        """The next signal, and whether it was for the whole group."""
        number = await self._came.get()
        await asyncio.sleep(SOON)
        for_all = await self._came_to_neighbour(number)
        self._under_way.discard(number)
        return number, for_all

    async def _came_to_neighbour(self, number: int) -> bool:
        loop = asyncio.get_running_loop()
        try:
            await loop.sock_sendall(self._line, bytes([number]))
            return await loop.sock_recv(self._line, 1) == b"1"
        except OSError:
            return False  # it was killed
