"""What a node remembers as one immutable value, and a node that remembers it again.

- A snapshot holds the state of all parts of a node: two nodes with equal snapshots do the
  same with the same inputs, as long as their clocks and knobs are the same.  Statistics are
  no part of it.
- The parts of a node refer to the same records (a lock, its slots, its waiters), some of
  them in circles.  A record is written down where it is met first, and is a number
  afterwards, so that equal graphs of records make equal snapshots.
- Whatever is no record and no container is an immutable value already, and kept as it is.
- Callables, clocks, knobs and the other parts are wiring: a node that is restored keeps its
  own.  So it restores containers in place, as other parts may refer to them.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from peerlock.node.circles import Circles
from peerlock.node.fences import Fences
from peerlock.node.homes import Entry, Forming, Homes, Taking
from peerlock.node.links import Link
from peerlock.node.locks import Circle, NamedLock, Others, Slot, circle_of
from peerlock.node.mail import Mail
from peerlock.node.succession import Period, Succession
from peerlock.node.turnstile import Turnstile
from peerlock.node.waiters import Waiter

if TYPE_CHECKING:
    from peerlock.node.node import Node

Fields = tuple[str, ...]


PARTS: dict[type, Fields] = {
    Succession: ("_periods",),
    Fences: Fences.__slots__,
    Mail: (
        "me",
        "dirty",
        "_seen",
        "members",
        "_links",
        "mine",
        "_full",
        "_early",
        "_ahead",
        "_questions",
    ),
    Homes: (
        "_entries",
        "_forming",
        "_used_by",
        "_count",
        "_taking",
        "_settled",
        "_me",
        "_view",
    ),
    Circles: ("locks", "view", "_asked", "_idle", "_idle_for_longer", "_swept"),
    Turnstile: (
        "deadline",
        "lost_at",
        "open_for_business",
        "marked",
        "resting",
        "held_back",
    ),
}
OWN: Fields = ("me", "view", "member")

RECORDS: dict[type, Fields] = {
    Period: Period.__slots__,
    Link: Link.__slots__,
    Entry: Entry.__slots__,
    Forming: Forming.__slots__,
    Taking: Taking.__slots__,
    NamedLock: NamedLock.__slots__,
    Slot: Slot.__slots__,
    Others: Others.__slots__,
}


class Container(NamedTuple):
    kind: type
    content: Any


class Record(NamedTuple):
    kind: type
    fields: tuple[tuple[str, Any], ...]


class Again(NamedTuple):
    """A record that was written down before."""

    number: int


class Members(NamedTuple):
    """Of a circle, of which there is one object for equal ones."""

    members: tuple[int, ...]


def snapshot(node: Node) -> tuple[Any, ...]:
    return tuple(map(Writer().value, _values(node)))


def restore(node: Node, state: tuple[Any, ...]) -> None:
    reader = Reader()
    for (owner, name), written in zip(_places(node), state, strict=True):
        value, own = reader.value(written), getattr(owner, name)
        if isinstance(own, dict | set):
            own.clear()
            own.update(value)
        elif isinstance(own, list | deque):
            own.clear()
            own.extend(value)
        else:
            setattr(owner, name, value)
    for lock in reader.locks():
        if lock.slots:
            node._circles.wire(lock)
    for slot, peer in reader.peers:
        assert slot.peer is not None
        slot.peer.restore(peer)


def _places(node: Node) -> Iterator[tuple[object, str]]:
    parts = (
        node._succession,
        node.fences,
        node.mail,
        node.homes,
        node._circles,
        node.turnstile,
    )
    yield from ((node, name) for name in OWN)
    for part in parts:
        yield from ((part, name) for name in PARTS[type(part)])


def _values(node: Node) -> Iterator[Any]:
    return (getattr(owner, name) for owner, name in _places(node))


class Writer:
    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}

    def value(self, value: Any) -> Any:
        kind = type(value)
        if kind in RECORDS or isinstance(value, Waiter):
            return self._record(value)
        if kind is dict:
            items = ((self.value(key), self.value(one)) for key, one in value.items())
            return Container(dict, tuple(items))
        if kind is list or kind is deque:
            return Container(kind, tuple(map(self.value, value)))
        if kind is set:
            return Container(set, frozenset(value))
        if kind is Circle:
            return Members(value.members)
        if kind is tuple:
            return tuple(map(self.value, value))
        return value

    def _record(self, record: Any) -> Record | Again:
        found = self._numbers.get(id(record))
        if found is not None:
            return Again(found)
        self._numbers[id(record)] = len(self._numbers)
        fields = RECORDS.get(type(record)) or fields_of(record)
        return Record(type(record), tuple(self._fields(record, fields)))

    def _fields(self, record: Any, fields: Fields) -> Iterable[tuple[str, Any]]:
        for name in fields:
            value = getattr(record, name)
            if name == "peer" and value is not None:
                yield name, value.snapshot()
            else:
                yield name, self.value(value)


def fields_of(waiter: Waiter) -> Fields:
    """Those that it has set, but for what only `status` looks at; hosts have
    waiters of their own."""
    slots = (
        name for kind in type(waiter).__mro__ for name in vars(kind).get("__slots__", ())
    )
    return tuple(
        sorted({*vars(waiter), *(s for s in slots if hasattr(waiter, s))} - {"asks_since"})
    )


class Reader:
    def __init__(self) -> None:
        self.peers: list[tuple[Slot, tuple[Any, ...]]] = []
        self._records: list[Any] = []

    def locks(self) -> list[NamedLock]:
        return [record for record in self._records if isinstance(record, NamedLock)]

    def value(self, written: Any) -> Any:
        read = READERS.get(type(written))
        return written if read is None else read(self, written)

    def _container(self, written: Container) -> Any:
        if written.kind is dict:
            return {self.value(key): self.value(one) for key, one in written.content}
        if written.kind is set:
            return set(written.content)
        return written.kind(map(self.value, written.content))

    def _record(self, written: Record) -> Any:
        record: Any = object.__new__(written.kind)
        self._records.append(record)
        for name, value in written.fields:
            if name == "peer" and value is not None:
                self.peers.append((record, value))
            else:
                setattr(record, name, self.value(value))
        return record

    def _again(self, written: Again) -> Any:
        return self._records[written.number]

    def _circle(self, written: Members) -> Circle:
        return circle_of(written.members)

    def _tuple(self, written: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(map(self.value, written))


READERS: dict[type, Callable[[Reader, Any], Any]] = {
    Container: Reader._container,
    Record: Reader._record,
    Again: Reader._again,
    Members: Reader._circle,
    tuple: Reader._tuple,
}
