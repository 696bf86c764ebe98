"""Frames: a length of four bytes, then msgpack.  What does not fit its type is refused."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import attrgetter, or_
from typing import Annotated, Any, get_type_hints

import msgspec
from msgspec.structs import astuple

from peerlock.algorithms.catalogue import algorithm
from peerlock.core.errors import UsageError
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
TO_PEER = TAGS[ToPeer]
ToPeerStruct: Any = STRUCTS[ToPeer]

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
        messages = [_bare(message) for message in frame.messages]
        body = encoder.encode((BUNDLE, *frame[:-1], messages))
        if len(body) > MOST_BYTES and len(messages) > 1:
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


def _bare(message: Message) -> tuple[Any, ...]:
    if type(message) is not ToPeer:
        return (TAGS[type(message)], *message)
    name, epoch, algorithm, sender, receiver, content = message
    kind, take_apart = KINDS[algorithm][type(content)]
    return (TO_PEER, name, epoch, algorithm, sender, receiver, kind, take_apart(content))


TakeApart = Callable[[Any], tuple[Any, ...]]


class Kinds(dict[str, dict[type, tuple[int, TakeApart]]]):
    """By algorithm: the number of each type of message, and how to take it apart."""

    def __missing__(self, name: str) -> dict[type, tuple[int, TakeApart]]:
        types = algorithm(name).peer.messages
        self[name] = {kind: (i, _taking_apart(kind)) for i, kind in enumerate(types)}
        return self[name]


KINDS = Kinds()


def _taking_apart(kind: type) -> TakeApart:
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


# A named tuple is made faster without the function that checks how many values there are.
named: Callable[..., Any] = tuple.__new__


def _batch(bundle: Any) -> Batch:
    messages = tuple([_original(struct) for struct in bundle.messages])
    return named(Batch, (*astuple(bundle)[:-1], messages))  # type: ignore[no-any-return]


def _original(struct: Any) -> Message:
    if type(struct) is not ToPeerStruct:
        return named(ORIGINALS[type(struct)], astuple(struct))  # type: ignore[no-any-return]
    *head, kind, content = astuple(struct)
    make, decoder = MAKERS[struct.algorithm][kind]
    return named(ToPeer, (*head, make(*decoder.decode(content))))  # type: ignore[no-any-return]


class Makers(dict[str, list[tuple[type, msgspec.msgpack.Decoder[Any]]]]):
    """By algorithm: each type of message, and a decoder of its fields."""

    def __missing__(self, name: str) -> list[tuple[type, msgspec.msgpack.Decoder[Any]]]:
        self[name] = [(kind, _decoder(kind)) for kind in algorithm(name).peer.messages]
        return self[name]


MAKERS = Makers()


def _decoder(kind: type) -> msgspec.msgpack.Decoder[Any]:
    types = tuple(get_type_hints(kind).values())
    return msgspec.msgpack.Decoder(tuple[types] if types else tuple[()])  # type: ignore[valid-type]
