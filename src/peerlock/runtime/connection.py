"""One connection: bytes become frames, and frames bytes.

Until its other end is known (`welcome`), a connection takes nothing but a greeting of a few
kilobytes, and has a buffer of that size, because any number of strangers may connect.
"""

from __future__ import annotations

import asyncio
import os
import socket
from collections.abc import Callable
from typing import TYPE_CHECKING, NoReturn, Protocol, cast

from peerlock.core.peer import RemoteError
from peerlock.runtime.codec import (
    GREETING,
    LENGTH,
    MOST_BYTES,
    VERSION_AT,
    Foreign,
    Frame,
    Garbage,
    decode,
    decode_greeting,
    encode,
    version_of,
)

if TYPE_CHECKING:
    from peerlock.runtime.arrivals import Arrivals

AT_ONCE = 64 * 1024  # bytes
Admits = Callable[[socket.socket], bool]
NOTHING = memoryview(b"")


class Listener(Protocol):
    def frame(self, connection: Connection, frame: Frame | Foreign) -> None:
        """A frame has arrived.  A RemoteError ends the connection."""

    def closed(self, connection: Connection) -> None:
        """It is gone."""


class Connection(asyncio.BufferedProtocol):
    """It brings its own buffer: asyncio would make one for each small message that comes,
    a large one, and that takes longer than all we do with the message."""

    def __init__(self, listener: Listener) -> None:
        self._listener = listener
        self._transport: asyncio.Transport | None = None
        self._arrived = NOTHING
        self._decode: Callable[[bytes], Frame | Foreign] = decode_greeting
        self._most = GREETING
        self._incomplete = bytearray()  # the beginning of a frame
        self._needed = LENGTH  # how much of it must be there before we look at it again
        self._ended = self._lost = False
        self.descriptor = -1  # of its socket
        self._encrypted = False
        self.arrivals: Arrivals | None = None  # to be told of what arrives
        self.lent = False
        self.error: Exception | None = None  # that has ended it
        self.cut: Callable[[], None] | None = None  # ends what has not begun
        self.admits: Admits = lambda peer: True

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        if (own := transport.get_extra_info("socket")) is not None:
            self.descriptor = own.fileno()
        self._encrypted = transport.get_extra_info("ssl_object") is not None
        self._make_buffer()
        if self._ended or not self._is_admitted():
            self.end()

    def _is_admitted(self) -> bool:
        """If that cannot be found out, it is not."""
        assert self._transport is not None
        try:
            return self.admits(self._transport.get_extra_info("socket"))
        except Exception:
            return False

    def welcome(self) -> None:
        """Its other end is known: every frame is heard from now on."""
        self._decode = decode
        self._most = MOST_BYTES
        self._make_buffer()

    def _make_buffer(self) -> None:
        if self._transport is not None:
            self._arrived = memoryview(bytearray(min(self._most, AT_ONCE)))

    def get_buffer(self, sizehint: int) -> memoryview:
        if self.arrivals is not None:
            self.arrivals.reading = True
        return self._arrived

    def buffer_updated(self, nbytes: int) -> None:
        try:
            self._hear(nbytes)
        except RemoteError:
            self._end_unless_finished()
        finally:
            if self.arrivals is not None:
                self.arrivals.heard(self)

    # In another thread than the loop's (`lending`)

    @property
    def can_be_lent(self) -> bool:
        return (
            self.is_open and self.descriptor >= 0 and not (self._encrypted or self._ended)
        )

    def lend(self) -> None:
        """Another thread reads it now."""
        assert self._transport is not None
        self.lent = True
        self._transport.pause_reading()

    def take_back(self) -> None:
        self.lent = False
        if self._transport is not None and not self._ended:
            self._transport.resume_reading()

    def hear_now(self) -> bool:
        """What has come; False if the connection has ended."""
        try:
            nbytes = os.readv(self.descriptor, [self._arrived])
        except BlockingIOError:
            return True
        except OSError:
            return False
        self._hear(nbytes)
        return nbytes > 0

    # Bytes to frames

    def _hear(self, nbytes: int) -> None:
        if self._ended:
            return
        data = bytes(self._arrived[:nbytes])
        if self._incomplete:
            self._incomplete += data
            if len(self._incomplete) < self._needed:
                return
            data = bytes(self._incomplete)
            self._incomplete.clear()
            self._needed = LENGTH
        start, end = 0, len(data)
        while end - start >= LENGTH and not self._ended:
            length = int.from_bytes(data[start : start + LENGTH], "big")
            if length > self._most:
                self._refuse_length(length, data[start + LENGTH :])
            if end - start < LENGTH + length:
                self._needed = LENGTH + length
                break
            start += LENGTH
            frame = self._decode(data[start : start + length])
            start += length
            self._listener.frame(self, frame)
        if start < end:
            self._incomplete += data[start:]

    def _refuse_length(self, length: int, beginning: bytes) -> NoReturn:
        """A greeting of another version may be longer than ours, and is answered."""
        if self._decode is decode_greeting and version_of(beginning) is not None:
            self._listener.frame(self, decode_greeting(beginning[: VERSION_AT + 1]))
        raise Garbage(f"a frame of {length:,} bytes")

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
        self.write(encode(frame))

    def write(self, data: bytes) -> None:
        if self._transport is not None:
            self._transport.write(data)

    def send_at_once(self, frame: Frame) -> bytes:
        """In another thread than the loop's, while that sends nothing and does not close
        the connection; what did not go out is returned, for the loop to write."""
        data = encode(frame)
        transport = self._transport
        if transport is None or transport.is_closing():
            return b""  # as for `send`
        if self._encrypted or self.descriptor < 0 or transport.get_write_buffer_size():
            return data
        try:
            return data[os.write(self.descriptor, data) :]
        except OSError:  # it is full, or it is broken, which the loop finds out
            return data

    def end(self) -> None:
        self._ended = True
        if self._transport is not None:
            self._transport.abort()
        elif self.cut is not None:
            cut, self.cut = self.cut, None
            cut()

    def _end_unless_finished(self) -> None:
        """A refusal must arrive before the connection is closed."""
        if not self._ended:
            self.end()

    def finish(self) -> None:
        """End it when all that was sent has gone out; nothing is heard any more."""
        if self._transport is not None:
            self._ended = True
            self._transport.close()
        else:
            self.end()

    def abandon(self) -> None:
        """In a forked child: it is our parent's, and must end when that ends."""
        if self._transport is not None:
            give_up_descriptor(self._transport.get_extra_info("socket").fileno())


def give_up_descriptor(number: int) -> None:
    """Release the file; the descriptor stays taken, because it may still be closed."""
    if number >= 0:
        nothing = os.open(os.devnull, os.O_RDWR | os.O_CLOEXEC)
        os.dup2(nothing, number, inheritable=False)
        os.close(nothing)
