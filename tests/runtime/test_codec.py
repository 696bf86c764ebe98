"""What goes over the wire comes out as it went in, and nothing else comes out."""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any, cast, get_type_hints

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import RemoteError
from peerlock.node.fences import Fences
from peerlock.node.links import Link
from peerlock.node.terms import Demand, Terms
from peerlock.node.views import Member, View
from peerlock.node.wire import MESSAGES, Batch, Epoch, Message, Open, ToPeer
from peerlock.runtime import codec
from peerlock.runtime.codec import (
    GREETING,
    LENGTH,
    MOST_BYTES,
    VERSION,
    Ask,
    Foreign,
    Frame,
    Garbage,
    Hello,
    Refusal,
    Seen,
    StatusTold,
    decode,
    decode_greeting,
    encode,
)
from peerlock.runtime.connection import Connection

SERVING = [a for a in CATALOGUE if a.serves]

quick = settings(max_examples=60, deadline=None)
quicker = settings(max_examples=15, deadline=None)

numbers = st.integers(0, 2**63 - 1)
names = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=50)
st.register_type_strategy(int, numbers)
st.register_type_strategy(str, names)
st.register_type_strategy(float, st.floats(allow_nan=False))

epochs = st.builds(Epoch, numbers, numbers)
demands = st.builds(Demand, names, numbers, st.booleans())
members = st.builds(Member, numbers, names, numbers)
views = st.builds(View, numbers, st.lists(members, max_size=5).map(tuple))


def terms_of(entry: Algorithm) -> Any:
    return st.builds(Terms, st.just(entry.name), numbers, st.booleans(), numbers)


def to_peer(entry: Algorithm) -> Any:
    """Any message of the algorithm, on its way."""
    contents = st.one_of(
        [st.builds(kind, **fields_of(kind)) for kind in entry.peer.messages]
    )
    who = st.just(entry.name)
    return st.builds(ToPeer, names, epochs, who, numbers, numbers, contents)


def fields_of(kind: type) -> dict[str, Any]:
    return {name: st.from_type(hint) for name, hint in get_type_hints(kind).items()}


any_terms = st.sampled_from(SERVING).flatmap(terms_of)
st.register_type_strategy(Demand, demands)
st.register_type_strategy(Terms, any_terms)

own = [st.builds(kind, **fields_of(kind)) for kind in MESSAGES if kind is not ToPeer]
messages = st.one_of(*own, st.sampled_from(SERVING).flatmap(to_peer))
batches = st.builds(
    Batch,
    *[numbers] * 6,
    st.lists(messages, max_size=5).map(tuple),
)
status = st.dictionaries(st.text("abc"), st.integers(0, 5) | st.lists(st.text("abc")))
frames = st.one_of(
    batches,
    st.builds(Hello, numbers, names, numbers),
    st.builds(Seen, views),
    st.builds(Ask, numbers, names),
    st.builds(StatusTold, status),
    st.builds(Refusal, numbers, names),
)


def body_of(frame: Frame) -> bytes:
    data = encode(frame)
    assert int.from_bytes(data[:LENGTH], "big") == len(data) - LENGTH
    return data[LENGTH:]


# There and back


@pytest.mark.parametrize("entry", SERVING, ids=lambda a: a.name)
@quicker
@given(data=st.data())
def test_every_message_of_every_algorithm_comes_out_as_it_went_in(
    entry: Algorithm, data: st.DataObject
) -> None:
    batch = Batch(1, 2, 3, 4, 5, 6, tuple(data.draw(st.lists(to_peer(entry), max_size=3))))
    assert same(decode(body_of(batch)), batch)


@pytest.mark.parametrize("entry", SERVING, ids=lambda a: a.name)
def test_every_type_of_message_of_an_algorithm_has_a_number_of_its_own(
    entry: Algorithm,
) -> None:
    kinds = codec.KINDS[entry.name]
    assert sorted(number for number, _ in kinds.values()) == list(range(len(kinds)))
    assert set(kinds) == set(entry.peer.messages)


@quick
@given(frames)
def test_every_frame_comes_out_as_it_went_in(frame: Frame) -> None:
    assert same(decode(body_of(frame)), frame)


def same(a: object, b: object) -> bool:
    """Equal, and of the same types all the way down: a tuple is not a list."""
    return a == b and repr(a) == repr(b)


# What is not ours


def must_be_refused_or_read(body: bytes) -> None:
    """Nothing but Garbage is ever raised; what is read can be written again."""
    try:
        frame = decode(body)
    except Garbage as error:
        assert str(error)
    else:
        encode(frame)


@quick
@given(st.binary(max_size=200))
def test_random_bytes(body: bytes) -> None:
    must_be_refused_or_read(body)


@quick
@given(frames, st.data())
def test_a_frame_cut_short_or_with_something_behind_it(
    frame: Frame, data: st.DataObject
) -> None:
    body = body_of(frame)
    with pytest.raises(Garbage):
        decode(body[: data.draw(st.integers(0, len(body) - 1))])
    with pytest.raises(Garbage):
        decode(body + data.draw(st.binary(min_size=1, max_size=5)))


@quick
@given(frames, st.data())
def test_a_frame_with_some_bytes_changed(frame: Frame, data: st.DataObject) -> None:
    body = bytearray(body_of(frame))
    for _ in range(data.draw(st.integers(1, 4))):
        body[data.draw(st.integers(0, len(body) - 1))] = data.draw(st.integers(0, 255))
    must_be_refused_or_read(bytes(body))


values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | st.floats() | names,
    lambda inner: st.lists(inner, max_size=6) | st.dictionaries(names, inner, max_size=3),
    max_leaves=30,
)


@quick
@given(st.integers(-1, 6), st.lists(values, max_size=7))
def test_well_formed_msgpack_of_another_shape(tag: int, fields: list[Any]) -> None:
    must_be_refused_or_read(msgspec.msgpack.encode([tag, *fields]))


@quick
@given(st.data(), values)
def test_a_frame_with_one_field_replaced(data: st.DataObject, value: Any) -> None:
    whole = msgspec.msgpack.decode(body_of(data.draw(frames)))
    place = whole
    while True:
        index = data.draw(st.integers(0, len(place) - 1))
        inner = place[index]
        if not isinstance(inner, list) or not inner or data.draw(st.booleans()):
            break
        place = inner
    place[index] = value
    must_be_refused_or_read(msgspec.msgpack.encode(whole))


HOSTILE = {
    "nothing": b"",
    "deep arrays": b"\x91" * 100_000,
    "deep maps": b"\x81\xa1a" * 100_000,
    "an array of 4 billion": b"\xdd\xff\xff\xff\xff",
    "a string of 4 billion": b"\xdb\xff\xff\xff\xff",
    "a map of 4 billion": b"\x92\x03\xdf\xff\xff\xff\xff",
    "no UTF-8": b"\x93\x02\x01\xa2\xff\xfe",
    "a date that is none": b"\x92\x03\x81\xa1a\xc7\x0c\xff" + b"\xff" * 12,
    "an unknown byte": b"\xc1",
    "an unknown algorithm": msgspec.msgpack.encode(
        [4, 1, 1, 1, 1, 1, 1, [[11, "x", 1, ["no-such", 0, False, 0], 1, 1, 0, []]]]
    ),
    "an unknown kind": msgspec.msgpack.encode(
        [4, 1, 1, 1, 1, 1, 1, [[11, "x", 1, ["central", 0, False, 0], 1, 1, 99, []]]]
    ),
    "a kind below the first": msgspec.msgpack.encode(
        [4, 1, 1, 1, 1, 1, 1, [[11, "x", 1, ["central", 0, False, 0], 1, 1, -1, []]]]
    ),
    "too many fields": msgspec.msgpack.encode(
        [4, 1, 1, 1, 1, 1, 1, [[11, "x", 1, ["central", 0, False, 0], 1, 1, 0, [5]]]]
    ),
}


@pytest.mark.parametrize("what", HOSTILE)
def test_hostile_bytes_are_refused(what: str) -> None:
    with pytest.raises(Garbage):
        decode(HOSTILE[what])


# Connections


class Heard:
    """A listener that keeps what it hears."""

    def __init__(self) -> None:
        self.frames: list[Frame | Foreign] = []
        self.is_closed = False

    def frame(self, connection: Connection, frame: Frame | Foreign) -> None:
        self.frames.append(frame)

    def closed(self, connection: Connection) -> None:
        self.is_closed = True


class Wire(asyncio.Transport):
    """A transport that keeps what is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = b""
        self.aborted = False

    def write(self, data: Any) -> None:
        self.written += bytes(data)

    def abort(self) -> None:
        self.aborted = True

    def close(self) -> None:
        """All that was written has gone out."""


def connection(known: bool = True) -> tuple[Connection, Heard, Wire]:
    heard, wire = Heard(), Wire()
    made = Connection(heard)
    made.connection_made(wire)
    if known:
        made.welcome()
    return made, heard, wire


def feed(connection: Connection, data: bytes) -> None:
    """As an event loop does, which stops when the connection has ended."""
    start = 0
    while start < len(data) and not cast(Wire, connection._transport).aborted:
        buffer = connection.get_buffer(-1)
        part = data[start : start + len(buffer)]
        buffer[: len(part)] = part
        connection.buffer_updated(len(part))
        start += len(part)


SAMPLE: list[Frame] = [
    Hello(VERSION, "cluster", 5),
    Batch(
        1, 2, 1, 0, 9, 10, (Open(2, "x", Demand(), 0.5), Open(2, "y", Demand("", 3), 0.0))
    ),
    Seen(View(8, ())),
]


def test_frames_split_at_every_byte_are_put_together_again() -> None:
    data = b"".join(map(encode, SAMPLE))
    for first in range(len(data) + 1):
        for second in range(first, len(data) + 1, 7):
            ours, heard, wire = connection()
            for part in (data[:first], data[first:second], data[second:]):
                feed(ours, part)
            assert heard.frames == SAMPLE
            assert not wire.aborted


def test_frames_that_come_byte_by_byte() -> None:
    ours, heard, _ = connection()
    for byte in b"".join(map(encode, SAMPLE)):
        feed(ours, bytes([byte]))
    assert heard.frames == SAMPLE


@quick
@given(st.lists(frames, max_size=5), st.data())
def test_frames_in_pieces_of_any_size(sent: list[Frame], data: st.DataObject) -> None:
    ours, heard, _ = connection()
    rest = b"".join(map(encode, sent))
    while rest:
        size = data.draw(st.integers(1, len(rest)))
        feed(ours, rest[:size])
        rest = rest[size:]
    assert heard.frames == sent


def refusal(data: bytes, known: bool = True) -> list[Frame | Foreign]:
    """What was heard before the connection was ended."""
    ours, heard, wire = connection(known)
    feed(ours, data)
    assert wire.aborted
    return heard.frames


def test_a_frame_that_is_too_large_is_refused_before_it_has_come() -> None:
    assert refusal((MOST_BYTES + 1).to_bytes(LENGTH, "big")) == []
    assert refusal(b"\xff\xff\xff\xff") == []
    assert refusal(encode(SAMPLE[0]) + b"\xff\xff\xff\xff") == SAMPLE[:1]


def test_garbage_ends_the_connection_and_what_follows_is_not_heard() -> None:
    garbage = (3).to_bytes(LENGTH, "big") + b"abc"
    assert refusal(encode(SAMPLE[0]) + garbage + encode(SAMPLE[1])) == SAMPLE[:1]
    assert refusal((0).to_bytes(LENGTH, "big")) == []


def test_what_a_listener_refuses_ends_the_connection() -> None:
    ours, heard, wire = connection()

    def refuse(connection: Connection, frame: Frame | Foreign) -> None:
        raise RemoteError("no")

    heard.frame = refuse  # type: ignore[method-assign]
    feed(ours, encode(SAMPLE[0]))
    assert wire.aborted


# Before the other end is known


def asking(size: int) -> bytes:
    """A greeting whose frame has this many bytes."""
    empty = len(encode(Ask(VERSION, "x" * 300))) - 300 - LENGTH
    made = encode(Ask(VERSION, "x" * (size - empty)))
    assert len(made) == LENGTH + size
    return made


def test_a_greeting_has_a_few_kilobytes_at_most() -> None:
    ours, heard, wire = connection(known=False)
    assert len(ours.get_buffer(-1)) <= GREETING
    feed(ours, asking(GREETING))
    assert len(heard.frames) == 1
    assert not wire.aborted
    assert refusal(asking(GREETING + 1), known=False) == []
    assert refusal(MOST_BYTES.to_bytes(LENGTH, "big"), known=False) == []


def test_once_it_is_known_a_connection_takes_large_frames() -> None:
    ours, heard, wire = connection(known=False)
    feed(ours, encode(SAMPLE[0]))
    ours.welcome()
    large = StatusTold({"x": "y" * 3 * GREETING})
    feed(ours, encode(large) + encode(SAMPLE[1]))
    assert heard.frames == [SAMPLE[0], large, SAMPLE[1]]
    assert not wire.aborted


@pytest.mark.parametrize("frame", [SAMPLE[1], SAMPLE[2], StatusTold({})], ids=type)
def test_nothing_but_a_greeting_is_understood_first(frame: Frame) -> None:
    with pytest.raises(Garbage):
        decode_greeting(body_of(frame))
    assert refusal(encode(frame), known=False) == []


@quick
@given(st.binary(max_size=200))
def test_random_bytes_for_a_greeting(body: bytes) -> None:
    with suppress(Garbage):
        assert isinstance(decode_greeting(body), Hello | Ask | Refusal | Foreign)


@pytest.mark.parametrize("version", [0, 1, VERSION + 1, 127])
def test_a_greeting_of_another_version_says_which(version: int) -> None:
    """However long it is, and whatever follows its first bytes."""
    for greeting in (Hello(version, "c", 5), Ask(version, "c")):
        body = body_of(greeting)
        for rest in (body[3:], b"", bytes(range(256))):
            assert decode_greeting(body[:3] + rest) == Foreign(version)
        ours, heard, _ = connection(known=False)
        feed(ours, (GREETING + 1).to_bytes(LENGTH, "big") + body)
        assert heard.frames == [Foreign(version)]


def test_a_short_frame_is_heard_at_once_after_a_long_one() -> None:
    ours, heard, _ = connection()
    long = encode(StatusTold({"x": "y" * 1_000}))
    short = encode(SAMPLE[0])
    for part in (long[:500], long[500:] + short[:7], short[7:]):
        feed(ours, part)
    assert len(heard.frames) == 2


def test_after_the_last_word_nothing_is_heard() -> None:
    ours, heard, wire = connection()
    feed(ours, encode(SAMPLE[0])[:5])
    ours.finish()
    feed(ours, encode(SAMPLE[0])[5:] + encode(SAMPLE[1]))
    assert heard.frames == []
    assert not wire.aborted  # what we said last may still be on its way

    def finish(connection: Connection, frame: Frame | Foreign) -> None:
        heard.frames.append(frame)
        connection.finish()

    ours, heard, wire = connection()
    heard.frame = finish  # type: ignore[method-assign]
    feed(ours, encode(SAMPLE[0]) + encode(SAMPLE[1]) + b"\xff" * 9)
    assert heard.frames == SAMPLE[:1]
    assert not wire.aborted


def test_if_it_cannot_be_known_who_it_is_the_connection_ends() -> None:
    def fails(peer: object) -> bool:
        raise AttributeError("no SO_PEERCRED")

    for admits, ended in (
        (fails, True),
        (lambda peer: False, True),
        (lambda peer: True, False),
    ):
        wire = Wire()
        made = Connection(Heard())
        made.admits = admits
        made.connection_made(wire)
        assert wire.aborted is ended


def test_a_batch_that_is_too_large_goes_as_several_and_arrives_whole() -> None:
    """A link may hold ten thousand messages back, and a name may be long."""
    name: Callable[[int], str] = lambda i: f"{i:05}" + "🔒" * 995  # noqa: E731
    sender, receiver, fences = Link(), Link(), Fences()
    fences.enter(1)
    posted: list[Message] = [Open(1, name(i), Demand(), 0.0) for i in range(10_000)]
    for message in posted:
        sender.post(message)
    ours, _, wire = connection()
    ours.send(sender.batch(1, fences))
    assert len(wire.written) > 2 * MOST_BYTES

    theirs, heard, their_wire = connection()
    feed(theirs, wire.written)
    assert not their_wire.aborted
    arrived: list[Message] = []
    for frame in heard.frames:
        assert isinstance(frame, Batch)
        arrived.extend(receiver.accept(frame, fences))
    assert arrived == posted
