"""Sockets that listen: each turn of the event loop accepts a few connections.

The rest wait in the kernel, in the order in which they came, and members are served in
between.  A server of asyncio's accepts a hundred in each turn, and loses a connection that
comes while it is being closed.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable, Sequence
from contextlib import suppress

from peerlock.runtime.connection import give_up_descriptor

EVERYWHERE = ("", "0.0.0.0", "::")
BACKLOG = 128  # connections that wait in the kernel
AT_ONCE = 64  # are accepted in one turn
PAUSE = 0.1  # seconds, when there are no descriptors left


class Listening:
    def __init__(
        self, sockets: Sequence[socket.socket], arrive: Callable[[socket.socket], None]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._sockets = sockets
        self._arrive = arrive
        self._hidden = False
        for listening in sockets:
            listening.setblocking(False)
            listening.listen(BACKLOG)
            self._listen(listening)

    def _listen(self, listening: socket.socket) -> None:
        if not self._hidden:
            self._loop.add_reader(listening, self._accept, listening)

    def _accept(self, listening: socket.socket) -> None:
        for _ in range(AT_ONCE):
            try:
                peer, _address = listening.accept()
            except (BlockingIOError, InterruptedError, ConnectionAbortedError):
                return
            except OSError:  # no descriptor is left, or no memory
                self._loop.remove_reader(listening)
                self._loop.call_later(PAUSE, self._listen, listening)
                return
            peer.setblocking(False)
            self._arrive(peer)

    def hide(self) -> None:
        """New connections reach the port, but are not accepted."""
        if not self._hidden:
            self._hidden = True
            for listening in self._sockets:
                self._loop.remove_reader(listening)

    def close(self) -> None:
        self.hide()
        for listening in self._sockets:
            listening.close()

    def abandon(self) -> None:
        for listening in self._sockets:
            give_up_descriptor(listening.fileno())


async def listening_at(host: str, port: int) -> list[socket.socket]:
    """Sockets bound to all addresses of a host, or to all that this machine has."""
    if host in EVERYWHERE:
        return [everywhere(host, port)]
    loop = asyncio.get_running_loop()
    found = await loop.getaddrinfo(
        host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
    )
    sockets: list[socket.socket] = []
    try:
        for family, *_, where in dict.fromkeys(found):
            if port == 0 and sockets:  # the same port at all of them
                where = (where[0], sockets[0].getsockname()[1], *where[2:])
            sockets.append(bound(family, where))
    except OSError:
        for each in sockets:
            each.close()
        raise
    return sockets


def bound(family: int, where: tuple[object, ...]) -> socket.socket:
    made = socket.socket(family)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if family == socket.AF_INET6:
            made.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
        made.bind(where)
    except OSError:
        made.close()
        raise
    return made


def everywhere(host: str, port: int) -> socket.socket:
    """At all addresses: those of IPv4, and those of IPv6, too, where there are any."""
    if host != "0.0.0.0" and socket.has_dualstack_ipv6():
        with suppress(OSError):
            return socket.create_server(
                ("::", port), family=socket.AF_INET6, dualstack_ipv6=True
            )
    return socket.create_server(("0.0.0.0", port))
