"""How members reach one another: Unix sockets on one machine, TCP between many."""

from __future__ import annotations

import asyncio
import os
import secrets
import socket
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Protocol

from peerlock.membership.engine import ClusterError
from peerlock.runtime.connection import Connection, give_up_descriptor

Accept = Callable[[], Connection]


class Transport(Protocol):
    async def listen(self, accept: Accept) -> str:
        """Let others connect; where they can reach us."""

    async def connect(self, address: str, connection: Connection) -> None:
        """To whoever is there; OSError if nobody is."""

    def close(self) -> None:
        """Let nobody else connect."""

    def abandon(self) -> None:
        """In a forked child: it is our parent who listens."""


class UnixSockets:
    """In a directory that only this user can enter; others are refused all the same."""

    def __init__(self, directory: Path) -> None:
        self.address = str(directory / f"{secrets.token_hex(8)}.sock")
        self._server: asyncio.Server | None = None

    async def listen(self, accept: Accept) -> str:
        def accept_ours() -> Connection:
            connection = accept()
            connection.admits = same_user
            return connection

        loop = asyncio.get_running_loop()
        try:
            self._server = await loop.create_unix_server(accept_ours, self.address)
        except OSError as error:
            raise ClusterError(f"cannot listen at {self.address}: {error}") from None
        return self.address

    async def connect(self, address: str, connection: Connection) -> None:
        connection.admits = same_user
        loop = asyncio.get_running_loop()
        await loop.create_unix_connection(lambda: connection, address)

    def close(self) -> None:
        if self._server is not None:
            self._server.close()
        Path(self.address).unlink(missing_ok=True)

    def abandon(self) -> None:
        if self._server is not None:
            for listening in self._server.sockets:
                give_up_descriptor(listening.fileno())


def same_user(transport: asyncio.BaseTransport) -> bool:
    """Whoever is at the other end of a Unix socket runs as we do."""
    connection: socket.socket = transport.get_extra_info("socket")
    size = struct.calcsize("3i")
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _pid, uid, _gid = struct.unpack("3i", peer)
    return bool(uid == os.getuid())
