"""The frame decoder: bytes off a connection, cut into pieces by chance."""

from __future__ import annotations

import asyncio
from contextlib import suppress
from typing import cast

from fuzz.source import Source
from peerlock.runtime.codec import (
    LENGTH,
    MOST_BYTES,
    Frame,
    Garbage,
    decode,
    encode,
)
from peerlock.runtime.connection import AT_ONCE, Connection

WHOLE = b"\0"  # in front of an input: it comes in one piece


class Far:
    """The other end, as far as a connection needs one."""

    aborted = False

    def abort(self) -> None:
        self.aborted = True


class Ear:
    def __init__(self) -> None:
        self.heard: list[bytes] = []

    def frame(self, connection: Connection, frame: Frame) -> None:
        self.heard.append(encode(frame))

    def closed(self, connection: Connection) -> None:
        raise AssertionError("nobody has closed it")


def feed(data: bytes, pieces: list[int]) -> tuple[list[bytes], bool]:
    """What was heard, and whether the connection was ended."""
    ear, far = Ear(), Far()
    connection = Connection(ear)
    connection.connection_made(cast(asyncio.Transport, far))
    at = turn = 0
    while at < len(data) and not far.aborted:
        size = pieces[turn % len(pieces)]
        buffer = connection.get_buffer(-1)
        piece = data[at : at + min(size, len(buffer))]
        buffer[: len(piece)] = piece
        connection.buffer_updated(len(piece))
        at, turn = at + len(piece), turn + 1
        assert len(connection._incomplete) <= MOST_BYTES + LENGTH + AT_ONCE
    return ear.heard, far.aborted


def harness(data: bytes) -> None:
    """However it is cut, the same is heard; and what is heard can be said again."""
    source = Source(data[:4])
    count = source.byte() % 4
    pieces = [1 + source.byte() % 64 for _ in range(count)] or [AT_ONCE]
    body = data[1 + count :]
    heard, ended = feed(body, pieces)
    assert (heard, ended) == feed(body, [AT_ONCE])
    for said in heard:
        assert encode(decode(said[LENGTH:])) == said
    with suppress(Garbage):
        decode(body)
