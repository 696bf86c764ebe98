"""What a search begins with: for frames, one of every kind; for nodes, lives by chance."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count
from random import Random
from typing import Any

from fuzz.forger import SERVING, forged
from fuzz.frames import WHOLE
from fuzz.source import Source
from peerlock.node.terms import Demand
from peerlock.node.views import Member, View
from peerlock.node.wire import MESSAGES, Batch, Epoch, Open, ToPeer
from peerlock.runtime.codec import (
    VERSION,
    Ask,
    Frame,
    Hello,
    Refusal,
    Seen,
    StatusTold,
    encode,
)

LIVES = 60


def frames() -> Iterator[bytes]:
    view = View(3, (Member(1, "10.0.0.1:7000", 12), Member(2, "[::1]:7000", 13)))
    firsts: list[Frame] = [
        Hello(VERSION, "cluster", 1),
        Refusal(VERSION, "busy"),
        Seen(view),
        Ask(VERSION, "cluster"),
        StatusTold({"locks": [], "members": {"1": None, "2": 0.5}}),
        Batch(1, 3, 1, 0, 0, 0, (Open(3, "x", Demand("", 2, False), 0.5),)),
    ]
    yield from (WHOLE + encode(frame) for frame in firsts)
    generator = Random(1)
    kinds: list[Any] = list(MESSAGES)
    for kind in kinds:
        made = (forged(Source(generator.randbytes(40))) for _ in count())
        message = next(message for message in made if type(message) is kind)
        yield WHOLE + encode(Batch(1, 3, 1, 0, 0, 0, (message,)))
    for entry in SERVING:
        for kind in entry.peer.messages:
            content = Source(generator.randbytes(40)).some(kind)
            message = ToPeer("x", Epoch(1, 1), entry.name, 2, 1, content)
            yield b"\2\3\7" + encode(Batch(1, 3, 1, 0, 0, 0, (message, message)))


def nodes() -> Iterator[bytes]:
    generator = Random(2)
    for _ in range(LIVES):
        yield generator.randbytes(generator.choice((60, 250, 700)))
