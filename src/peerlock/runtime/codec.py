"""Frames: a length of four bytes, then msgpack.  What does not fit its type is refused.

The first frame of a connection says which protocol the other end speaks.  Its first three
bytes mean the same in every version, so that each can recognise every other: an array, the
tag of `Hello` or `Ask`, and the version.  VERSION goes up when the bytes of a frame change;
tests/golden keeps the bytes of each version.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from operator import attrgetter, or_
from typing import Any, NamedTuple, get_type_hints

import msgspec
from msgspec.structs import astuple

from peerlock.algorithms.lookup import is_strange, known
from peerlock.core.errors import UsageError
from peerlock.core.peer import RemoteError
from peerlock.node.views import MemberId, View
from peerlock.node.wire import TAGS, Batch, Message, ToPeer, kinds_of

VERSION = 3

# A member sends no larger frame; and before its other end is known, a connection carries
# none that is larger than a greeting.
MOST_BYTES = 16 * 1024 * 1024
GREETING = 4 * 1024
LENGTH = 4
VERSION_AT = 2  # in a greeting


class Hello(msgspec.Struct, array_like=True, tag=0, frozen=True):
    """The first frame of every connection between members; the view follows (`Seen`)."""

    version: int
    cluster: str
    sender: MemberId


class Seen(msgspec.Struct, array_like=True, tag=1, frozen=True):
    """There is a new view."""

    view: View


class Ask(msgspec.Struct, array_like=True, tag=2, frozen=True):
    """The first frame of a process that is not a member: it asks for the status."""

    version: int
    cluster: str


class StatusTold(msgspec.Struct, array_like=True, tag=3, frozen=True):
    """The status of a member."""

    status: dict[str, Any]


class Refusal(msgspec.Struct, array_like=True, tag=5, frozen=True):
    """To an end whose greeting was not accepted, before the connection is closed."""

    version: int  # that this member speaks
    why: str

    @property
    def reason(self) -> str:
        return self.why if self.version == VERSION else other_version(self.version)


class Foreign(NamedTuple):
    """What is known of a greeting in another version of the protocol."""

    version: int


def other_version(version: int) -> str:
    upgrade = "it" if version < VERSION else "this member"
    return (
        f"it speaks protocol version {version}, this member speaks {VERSION}: "
        f"upgrade {upgrade}"
    )


def _struct(tag: int, message: type) -> type[msgspec.Struct]:
    """The same fields, as the decoder wants them."""
    hints = get_type_hints(message)
    if message is ToPeer:
        del hints["message"]
        hints |= {"kind": int | str, "content": msgspec.Raw}
    fields = list(hints.items())
    return msgspec.defstruct(message.__name__, fields, array_like=True, tag=tag)


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
frames: Any = msgspec.msgpack.Decoder(Hello | Seen | Ask | StatusTold | Refusal | Bundle)
greetings = msgspec.msgpack.Decoder(Hello | Ask | Refusal)

Frame = Hello | Seen | Ask | StatusTold | Refusal | Batch


class Garbage(RemoteError):
    """Bytes that are not a valid frame."""


def encode(frame: Frame) -> bytes:
    """With its length in front; a batch that is too large becomes several."""
    if type(frame) is Batch:
        to, view, first, received, fence, limit, said = frame
        messages = [_bare(said[0])] if len(said) == 1 else list(map(_bare, said))
        body = encoder.encode((BUNDLE, to, view, first, received, fence, limit, messages))
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


class Kinds(dict[str, dict[type, tuple[int | str, TakeApart]]]):
    """By algorithm: what stands for each type of message, and how to take it apart."""

    def __missing__(self, name: str) -> dict[type, tuple[int | str, TakeApart]]:
        tags = kinds_of(name, _message_types(name))
        self[name] = {kind: (tag, _taking_apart(kind)) for kind, tag in tags.items()}
        return self[name]


KINDS = Kinds()


def _message_types(name: str) -> tuple[type, ...]:
    entry = known(name)
    if entry is None:
        raise UsageError(f"this process has not asked for an algorithm {name}")
    return entry.peer.messages


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
    KeyError,  # no such type of message
)


def version_of(body: bytes | memoryview) -> int | None:
    """Which version of the protocol a Hello or an Ask speaks, whatever follows."""
    if len(body) <= VERSION_AT or body[0] & 0xF0 != 0x90 or body[1] not in (0, 2):
        return None
    return body[VERSION_AT] if body[VERSION_AT] < 0x80 else None


def decode_greeting(body: bytes | memoryview) -> Hello | Ask | Refusal | Foreign:
    """The first frame of a connection; of a Foreign one, its first bytes are enough."""
    version = version_of(body)
    if version is not None and version != VERSION:
        return Foreign(version)
    try:
        return greetings.decode(body)  # type: ignore[no-any-return]
    except REFUSALS as error:
        raise Garbage(str(error)) from None


def decode(body: bytes | memoryview) -> Frame:
    try:
        frame = frames.decode(body)
        if type(frame) is not Bundle:
            return frame  # type: ignore[no-any-return]
        to, view, first, received, fence, limit, said = astuple(frame)
        one = len(said) == 1  # as nearly always
        messages = (_original(said[0]),) if one else tuple(map(_original, said))
        return named(Batch, (to, view, first, received, fence, limit, messages))  # type: ignore[no-any-return]
    except REFUSALS as error:
        raise Garbage(str(error)) from None


# A named tuple is made faster without the function that checks how many values there are.
named: Callable[..., Any] = tuple.__new__


def _original(struct: Any) -> Message:
    if type(struct) is not ToPeerStruct:
        return named(ORIGINALS[type(struct)], astuple(struct))  # type: ignore[no-any-return]
    name, epoch, algorithm, sender, receiver, kind, content = astuple(struct)
    makers = MAKERS[algorithm]
    said = None
    if makers or not is_strange(algorithm):  # otherwise the node refuses it
        make, decoder = makers[kind]
        said = make(*decoder.decode(content))
    return named(ToPeer, (name, epoch, algorithm, sender, receiver, said))  # type: ignore[no-any-return]


class Makers(dict[str, dict[int | str, tuple[type, msgspec.msgpack.Decoder[Any]]]]):
    """By algorithm and tag: each type of message, and a decoder of its fields."""

    def __missing__(
        self, name: str
    ) -> dict[int | str, tuple[type, msgspec.msgpack.Decoder[Any]]]:
        if is_strange(name):
            return {}
        tags = kinds_of(name, _message_types(name))
        self[name] = {tag: (kind, _decoder(kind)) for kind, tag in tags.items()}
        return self[name]


MAKERS = Makers()


def _decoder(kind: type) -> msgspec.msgpack.Decoder[Any]:
    types = tuple(get_type_hints(kind).values())
    return msgspec.msgpack.Decoder(tuple[types] if types else tuple[()])  # type: ignore[valid-type]
