"""What members have sent and the node has not received yet, for other threads.

A thread that takes a turn of the node (`api/driver.py`) first checks whether other members
have sent something.  What they sent is in a socket until the node's loop reads it; and
while the loop waits for the interpreter, between reading and telling the node, it is in
neither.
"""

from __future__ import annotations

import selectors
import threading
from collections.abc import Callable

from peerlock.runtime.connection import Connection


class Arrivals:
    def __init__(self, guard: threading.RLock) -> None:
        self.reading = False  # something was read, and the node has not heard of it
        self.on_heard: Callable[[Connection], object] = lambda connection: None
        self._guard = guard
        self._sockets: selectors.BaseSelector | None = selectors.DefaultSelector()

    def waiting(self) -> list[Connection]:
        """Those on which there is something to read."""
        with self._guard:
            if self._sockets is None:
                return []
            return [key.data for key, _ in self._sockets.select(0)]

    def heard(self, connection: Connection) -> None:
        """In the node's loop: what was read has been received."""
        self.reading = False
        self.on_heard(connection)

    def watch(self, connection: Connection) -> None:
        with self._guard:
            self._forget(connection.descriptor)  # a number may be taken again
            if self._sockets is not None and connection.descriptor >= 0:
                connection.arrivals = self
                event = selectors.EVENT_READ
                self._sockets.register(connection.descriptor, event, connection)

    def closed(self, connection: Connection) -> None:
        with self._guard:
            self._forget(connection.descriptor, connection)

    def _forget(self, number: int, owner: Connection | None = None) -> None:
        known = self._sockets.get_map().get(number) if self._sockets else None
        if self._sockets and known and owner in (None, known.data):
            self._sockets.unregister(number)

    def close(self) -> None:
        """Also in a forked child, where none of them is ours to unregister."""
        with self._guard:
            if self._sockets is not None:
                self._sockets.close()
                self._sockets = None
