"""The door: connections whose other end has not said who it is.

Strangers may come in any number.  At most MOST connections wait here, each for PATIENCE
seconds at most, so that strangers cannot take all descriptors.
"""

from __future__ import annotations

import asyncio

from peerlock.runtime.connection import Connection

MOST = 128
PATIENCE = 10.0  # seconds


class Door:
    def __init__(self) -> None:
        self.strangers = 0  # connections that ended before their other end was known
        self._waiting: dict[Connection, asyncio.TimerHandle] = {}  # oldest first

    def __len__(self) -> int:
        return len(self._waiting)

    def wait(self, connection: Connection) -> None:
        """It was accepted; until its first frame is good, it waits here."""
        loop = asyncio.get_running_loop()
        self._waiting[connection] = loop.call_later(PATIENCE, self._turn_away, connection)
        if len(self._waiting) > MOST:
            self._turn_away(next(iter(self._waiting)))

    def pass_in(self, connection: Connection) -> bool:
        """Its other end is known now; False if it was before."""
        timer = self._waiting.pop(connection, None)
        if timer is not None:
            timer.cancel()
        return timer is not None

    def closed(self, connection: Connection) -> None:
        """If it still waited, its other end was a stranger."""
        if self.pass_in(connection):
            self.strangers += 1

    def _turn_away(self, connection: Connection) -> None:
        self.closed(connection)
        connection.end()
