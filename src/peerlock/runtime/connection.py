"""One connection: bytes become frames, and frames bytes."""

from __future__ import annotations

import asyncio
import socket
import struct
from os import getuid
from typing import Protocol, cast

from peerlock.core.peer import RemoteError
from peerlock.runtime.codec import LENGTH, MOST_BYTES, Frame, Garbage, decode, encode


class Listener(Protocol):
    def frame(self, connection: Connection, frame: Frame) -> None:
        """One has come.  A RemoteError ends the connection."""

    def closed(self, connection: Connection) -> None:
        """It is gone."""


class Connection(asyncio.Protocol):
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._buffer = b""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if not same_user(transport.get_extra_info("socket")):
            self.end()

    def data_received(self, data: bytes) -> None:
        if self._buffer:
            data = self._buffer + data
        start, end = 0, len(data)
        try:
            while end - start >= LENGTH:
                length = int.from_bytes(data[start : start + LENGTH], "big")
                if length > MOST_BYTES:
                    raise Garbage(f"a frame of {length:,} bytes")
                if end - start < LENGTH + length:
                    break
                start += LENGTH
                frame = decode(data[start : start + length])
                start += length
                self._listener.frame(self, frame)
        except RemoteError:
            self.end()
            return
        self._buffer = data[start:] if start < end else b""

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = None
        self._listener.closed(self)

    def send(self, frame: Frame) -> None:
        if self._transport is not None:
            self._transport.write(encode(frame))

    def end(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    def finish(self) -> None:
        """End it when all that was sent has gone out."""
        if self._transport is not None:
            self._transport.close()


def same_user(connection: socket.socket) -> bool:
    """Whoever is at the other end of a Unix socket runs as we do."""
    size = struct.calcsize("3i")
    peer = connection.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size)
    _pid, uid, _gid = struct.unpack("3i", peer)
    return bool(uid == getuid())
