"""One connection: bytes become frames, and frames bytes."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable
from typing import Protocol, cast

from peerlock.core.peer import RemoteError
from peerlock.runtime.codec import LENGTH, MOST_BYTES, Frame, Garbage, decode, encode

AT_ONCE = 64 * 1024  # bytes
NOTHING = memoryview(b"")


class Listener(Protocol):
    def frame(self, connection: Connection, frame: Frame) -> None:
        """One has come.  A RemoteError ends the connection."""

    def closed(self, connection: Connection) -> None:
        """It is gone."""


class Connection(asyncio.BufferedProtocol):
    """It brings its own buffer: asyncio would make one for each small message that comes,
    a large one, and that takes longer than all we do with the message."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._arrived = NOTHING  # strangers may come in any number, and say nothing
        self._incomplete = bytearray()  # the beginning of a frame
        self._needed = LENGTH  # how much of it must be there before we look at it again
        self._ended = self._lost = False
        self.error: Exception | None = None  # that has ended it
        self.cut: Callable[[], None] | None = None  # ends what has not begun
        self.admits: Callable[[asyncio.BaseTransport], bool] = lambda transport: True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._arrived = memoryview(bytearray(AT_ONCE))
        if self._ended or not self.admits(transport):
            self.end()

    def get_buffer(self, sizehint: int) -> memoryview:
        return self._arrived

    def buffer_updated(self, nbytes: int) -> None:
        data = bytes(self._arrived[:nbytes])
        if self._incomplete:
            self._incomplete += data
            if len(self._incomplete) < self._needed:
                return
            data = bytes(self._incomplete)
            self._incomplete.clear()
            self._needed = LENGTH
        start, end = 0, len(data)
        try:
            while end - start >= LENGTH:
                length = int.from_bytes(data[start : start + LENGTH], "big")
                if length > MOST_BYTES:
                    raise Garbage(f"a frame of {length:,} bytes")
                if end - start < LENGTH + length:
                    self._needed = LENGTH + length
                    break
                start += LENGTH
                frame = decode(data[start : start + length])
                start += length
                self._listener.frame(self, frame)
        except RemoteError:
            self.end()
            return
        if start < end:
            self._incomplete += data[start:]

    def connection_lost(self, error: Exception | None) -> None:
        self._transport = self.cut = None
        self._arrived = NOTHING
        self.error = error
        if not self._lost:
            self._lost = self._ended = True
            self._listener.closed(self)

    @property
    def is_open(self) -> bool:
        return self._transport is not None

    @property
    def ended(self) -> bool:
        """By us, or by the other side."""
        return self._ended

    def send(self, frame: Frame) -> None:
        if self._transport is not None:
            self._transport.write(encode(frame))

    def end(self) -> None:
        self._ended = True
        if self._transport is not None:
            self._transport.abort()
        elif self.cut is not None:
            self.cut()

    def finish(self) -> None:
        """End it when all that was sent has gone out."""
        if self._transport is not None:
            self._transport.close()
        else:
            self.end()

    def abandon(self) -> None:
        """In a forked child: it is our parent's, and must end when that ends."""
        if self._transport is not None:
            give_up_descriptor(self._transport.get_extra_info("socket").fileno())


def give_up_descriptor(number: int) -> None:
    """Let go of the file; the number stays taken, for somebody may still close it."""
    if number >= 0:
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(nothing, number, inheritable=False)
        os.close(nothing)
