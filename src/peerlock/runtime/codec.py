"""Frames: a length of four bytes, then msgpack.  What does not fit its type is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, reduce
from operator import attrgetter, or_
from typing import Annotated, Any, get_type_hints

import msgspec

from peerlock.algorithms.catalogue import UsageError, algorithm
from peerlock.core.peer import RemoteError
from peerlock.node.views import MemberId, View
from peerlock.node.wire import MESSAGES, Batch, Message, ToPeer

VERSION = 1

# Nobody who is in his right mind sends a larger frame.
MOST_BYTES = 16 * 1024 * 1024
LENGTH = 4


class Hello(msgspec.Struct, array_like=True, tag=0, frozen=True):
    """The first frame of every connection between members."""

    version: int
    cluster: str
    sender: MemberId
    view: View


class Seen(msgspec.Struct, array_like=True, tag=1, frozen=True):
    """There is a new view."""

    view: View


class Ask(msgspec.Struct, array_like=True, tag=2, frozen=True):
    """Somebody wants to know what goes on here; he is no member."""

    version: int
    cluster: str


class Told(msgspec.Struct, array_like=True, tag=3, frozen=True):
    """What goes on here."""

    status: dict[str, Any]


def _struct(tag: int, message: type) -> type[msgspec.Struct]:
    """The same fields, as the decoder wants them."""
    hints = get_type_hints(message)
    if message is ToPeer:
        del hints["message"]
        kind = Annotated[int, msgspec.Meta(ge=0)]
        hints |= {"kind": kind, "content": msgspec.Raw}
    fields = list(hints.items())
    return msgspec.defstruct(message.__name__, fields, array_like=True, tag=tag)


TAGS = {message: tag for tag, message in enumerate(MESSAGES)}
STRUCTS = {message: _struct(tag, message) for message, tag in TAGS.items()}
ORIGINALS = {struct: message for message, struct in STRUCTS.items()}


BUNDLE = 4

# A batch, before its messages are made.
Bundle: Any = msgspec.defstruct(
    "Bundle",
    [
        *((name, int) for name in Batch._fields[:-1]),
        ("messages", tuple[reduce(or_, STRUCTS.values()), ...]),  # type: ignore[misc]
    ],
    array_like=True,
    tag=BUNDLE,
)

encoder = msgspec.msgpack.Encoder()
frames: Any = msgspec.msgpack.Decoder(Hello | Seen | Ask | Told | Bundle)

Frame = Hello | Seen | Ask | Told | Batch


class Garbage(RemoteError):
    """Bytes that are no frame of ours."""


def encode(frame: Frame) -> bytes:
    """With its length in front; a batch that is too large becomes several."""
    if type(frame) is Batch:
        body = encoder.encode((BUNDLE, *frame[:-1], _bare(frame)))
        if len(body) > MOST_BYTES and len(frame.messages) > 1:
            return b"".join(map(encode, _halves(frame)))
    else:
        body = encoder.encode(frame)
    return len(body).to_bytes(LENGTH, "big") + body


def _halves(batch: Batch) -> tuple[Batch, Batch]:
    half = len(batch.messages) // 2
    first, second = batch.messages[:half], batch.messages[half:]
    return (
        batch._replace(messages=first),
        batch._replace(first=batch.first + half, messages=second),
    )


def _bare(batch: Batch) -> list[tuple[Any, ...]]:
    return [
        _bare_to_peer(message)
        if type(message) is ToPeer
        else (TAGS[type(message)], *message)
        for message in batch.messages
    ]


def _bare_to_peer(message: ToPeer) -> tuple[Any, ...]:
    content = message.message
    kind, fields = _kinds(message.terms.algorithm)[type(content)]
    return (TAGS[ToPeer], *message[:-1], kind, fields(content))


@cache
def _kinds(name: str) -> dict[type, tuple[int, Callable[[Any], tuple[Any, ...]]]]:
    """For each type of message of an algorithm: its number, and how to take it apart."""
    types = algorithm(name).peer.messages
    return {kind: (i, _taking_apart(kind)) for i, kind in enumerate(types)}


def _taking_apart(kind: type) -> Callable[[Any], tuple[Any, ...]]:
    names = list(get_type_hints(kind))
    if not names:
        return lambda content: ()
    if len(names) == 1:
        get = attrgetter(names[0])
        return lambda content: (get(content),)
    return attrgetter(*names)


REFUSALS = (
    msgspec.DecodeError,
    UnicodeDecodeError,
    RecursionError,
    UsageError,  # no such algorithm
    IndexError,  # no such type of message
)


def decode(body: bytes | memoryview) -> Frame:
    try:
        frame = frames.decode(body)
        return _batch(frame) if type(frame) is Bundle else frame
    except REFUSALS as error:
        raise Garbage(str(error)) from None


def _batch(bundle: Any) -> Batch:
    to, view, first, received, counter, messages = msgspec.structs.astuple(bundle)
    return Batch(to, view, first, received, counter, tuple(map(_original, messages)))


def _original(struct: Any) -> Message:
    message = ORIGINALS[type(struct)]
    if message is not ToPeer:
        return message(*msgspec.structs.astuple(struct))  # type: ignore[no-any-return]
    name, epoch, terms, sender, receiver, kind, content = msgspec.structs.astuple(struct)
    make, decoder = _makers(terms.algorithm)[kind]
    fields = decoder.decode(content)
    return ToPeer(name, epoch, terms, sender, receiver, make(*fields))


@cache
def _makers(name: str) -> list[tuple[type, msgspec.msgpack.Decoder[Any]]]:
    """For each number of a type of message: the type, and a decoder of its fields."""
    return [(kind, _decoder(kind)) for kind in algorithm(name).peer.messages]


def _decoder(kind: type) -> msgspec.msgpack.Decoder[Any]:
    types = tuple(get_type_hints(kind).values())
    return msgspec.msgpack.Decoder(tuple[types] if types else tuple[()])  # type: ignore[valid-type]
