"""The frame decoder: bytes off a connection, cut into pieces by chance.

The same bytes come from a member, and from an end that has not said who it is.
"""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import cast

from fuzz.source import Source
from peerlock.core.peer import RemoteError
from peerlock.runtime.codec import (
    GREETING,
    LENGTH,
    MOST_BYTES,
    Ask,
    Foreign,
    Frame,
    Garbage,
    Hello,
    Refusal,
    decode,
    decode_greeting,
    encode,
)
from peerlock.runtime.connection import AT_ONCE, Connection

WHOLE = b"\0"  # in front of an input: it comes in one piece


class Far:
    """The other end, as far as a connection needs one."""

    aborted = False

    def abort(self) -> None:
        self.aborted = True

    def get_extra_info(self, name: str) -> None:
        """There is no socket."""


class Ear:
    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def frame(self, connection: Connection, frame: Frame | Foreign) -> None:
        if isinstance(frame, Foreign):
            raise RemoteError("of another version")
        self.heard.append(encode(frame))

    def closed(self, connection: Connection) -> None:
        raise AssertionError("nobody has closed it")


def feed(data: bytes, pieces: list[int], known: bool = True) -> tuple[list[bytes], bool]:
    """What was heard, and whether the connection was ended."""
    ear, far = Ear(), Far()
    connection = Connection(ear)
    connection.connection_made(cast(asyncio.Transport, far))
    most = GREETING
    if known:
        connection.welcome()
        most = MOST_BYTES
    at = turn = 0
    while at < len(data) and not far.aborted:
        size = pieces[turn % len(pieces)]
        buffer = connection.get_buffer(-1)
        piece = data[at : at + min(size, len(buffer))]
        buffer[: len(piece)] = piece
        connection.buffer_updated(len(piece))
        at, turn = at + len(piece), turn + 1
        assert len(connection._incomplete) <= most + LENGTH + len(buffer)
    return ear.heard, far.aborted


def harness(data: bytes) -> None:
    """However it is cut, the same is heard; and what is heard can be said again."""
    source = Source(data[:4])
    count = source.byte() % 4
    pieces = [1 + source.byte() % 64 for _ in range(count)] or [AT_ONCE]
    body = data[1 + count :]
    for known in (True, False):
        heard, ended = feed(body, pieces, known)
        assert (heard, ended) == feed(body, [AT_ONCE], known)
        for said in heard:
            frame = decode(said[LENGTH:])
            assert encode(frame) == said
            assert known or isinstance(frame, Hello | Ask | Refusal)
    with suppress(Garbage):
        decode(body)
    with suppress(Garbage):
        decode_greeting(body)
