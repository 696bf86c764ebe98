"""The ground every algorithm stands on: inputs in, effects out, no I/O.

A peer is one node's half of an algorithm.  Its host calls an input (`start`,
`acquire`, `release`, `receive`, `timer`); the input runs to its end without waiting
and leaves effects in the outbox; the host carries them out, in order.  The same peer
is hosted by the simulator, by the checker and by a real lock node.

The rules that make this work:
  * State fields hold immutable values only, so a snapshot is a cheap, hashable tuple.
  * Nodes are numbered 1..N, as in the papers.  A host that knows its nodes by other
    names keeps the table (TR-869 calls it NAMES).
  * A message to oneself is not a message: it is handled in place and never counted.
  * A message that makes no sense raises RemoteError before it has changed anything.
    An AssertionError, in contrast, is a bug of ours.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from typing import Any, ClassVar, NamedTuple

NodeId = int


class RemoteError(Exception):
    """Another node sent what no correct node would send here."""


# Effects.  The two that every message pays for are tuples, which are quick to make.


class Send(NamedTuple):
    to: NodeId
    message: Any


class Broadcast(NamedTuple):
    """The same message to every other member; one message on a medium that has it."""

    message: Any


@dataclass(frozen=True, slots=True)
class Grant:
    """The local user may enter its critical section."""


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call `timer(name)` after `delay`; setting it again starts it anew."""

    name: str
    delay: float


@dataclass(frozen=True, slots=True)
class CancelTimer:
    name: str


Effect = Send | Broadcast | Grant | SetTimer | CancelTimer
GRANT = Grant()

Handler = Callable[[Any, NodeId, Any], None]


def setting(default: Any = None) -> Any:
    """A constructor argument that never changes and is no part of the state."""
    return field(default=default, kw_only=True, metadata={"setting": True})


@dataclass(eq=False)
class Peer(ABC):
    """A subclass names its `messages`, declares its state and says what inputs do.

    A message of type TokenMissing is handled by the method `receive_token_missing`.
    """

    messages: ClassVar[tuple[type, ...]] = ()
    handlers: ClassVar[Mapping[type, Handler]] = {}

    me: NodeId = field(metadata={"setting": True})
    members: tuple[NodeId, ...] = field(metadata={"setting": True}, repr=False)
    outbox: list[Effect] = field(
        default_factory=list, kw_only=True, repr=False, metadata={"setting": True}
    )

    def __init_subclass__(cls) -> None:
        cls.handlers = {m: getattr(cls, f"receive_{snake(m)}") for m in cls.messages}

    def __post_init__(self) -> None:
        assert 1 <= self.me <= len(self.members) == self.members[-1]

    # Inputs

    def start(self) -> None:  # noqa: B027 - most algorithms wait until they are asked
        """Called once, before any other input."""

    @abstractmethod
    def acquire(self) -> None:
        """The local user wants in; a Grant follows, now or later."""

    @abstractmethod
    def release(self) -> None:
        """The local user, once granted, has left."""

    def receive(self, sender: NodeId, message: Any) -> None:
        """A host in a hurry may look the handler up in `handlers` itself."""
        handler = self.handlers.get(type(message))
        if handler is None:
            raise RemoteError(f"{sender} sent {label(message)}, which is not of ours")
        handler(self, sender, message)

    def timer(self, name: str) -> None:
        raise AssertionError(f"{type(self).__name__} never set a timer {name!r}")

    # Effects

    def send(self, to: NodeId, message: Any) -> None:
        self.outbox.append(Send(to, message))

    def broadcast(self, message: Any) -> None:
        self.outbox.append(Broadcast(message))

    def grant(self) -> None:
        self.outbox.append(GRANT)

    def set_timer(self, name: str, delay: float) -> None:
        self.outbox.append(SetTimer(name, delay))

    def cancel_timer(self, name: str) -> None:
        self.outbox.append(CancelTimer(name))

    def drain(self) -> list[Effect]:
        """Hand the host what the last input led to, in order, and forget it."""
        effects = self.outbox.copy()
        self.outbox.clear()
        return effects

    # State

    def others(self) -> Iterator[NodeId]:
        return (j for j in self.members if j != self.me)

    @classmethod
    def state_fields(cls) -> tuple[str, ...]:
        return tuple(f.name for f in fields(cls) if "setting" not in f.metadata)

    def snapshot(self) -> tuple[Any, ...]:
        assert not self.outbox, "drain before taking a snapshot"
        return tuple([getattr(self, name) for name in self.state_fields()])

    def restore(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(self.state_fields(), state, strict=True):
            setattr(self, name, value)


def snake(message_type: type) -> str:
    """TokenMissing becomes token_missing."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", message_type.__name__).lower()


def label(message: Any) -> str:
    """A message as the papers print it: REQUEST(3), PRIVILEGE([2 5], [0 1 0 0 0])."""
    values = [getattr(message, f.name) for f in fields(message)]
    name = snake(type(message)).upper()
    return f"{name}({', '.join(map(_compact, values))})" if values else name


def _compact(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{' '.join(map(_compact, value))}]"
    return str(value)
