"""The base of every algorithm: inputs in, effects out, no I/O.

A peer is one node's half of an algorithm.  Its host calls an input (`start` or
`restart`, `acquire`, `release`, `receive`, `timer`); the input runs to its end without
waiting and leaves effects in its outbox; the host carries them out, in order.  The same
peer is hosted by the simulator, by the checker and by a real lock node.

The rules that make this work:
  * State fields hold immutable values only, so a snapshot is a cheap, hashable tuple.
  * Nodes are numbered 1..N, as in the papers.  A host that knows its nodes by other
    names keeps the table (TR-869 calls it NAMES).
  * A message to oneself is not a message: it is handled in place and never counted.
  * An invalid message raises RemoteError before it has changed anything.
    An AssertionError, in contrast, is a bug of ours.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, ClassVar, NamedTuple, Protocol

from peerlock.core.errors import UsageError

NodeId = int

SHARED = "shared"  # what a reader's request is for


class RemoteError(Exception):
    """Another node sent a message that no correct node would send here."""


@dataclass(frozen=True, slots=True)
class Down:
    """The sender has stopped for good, and all that it had sent before has arrived.

    A peer that has this among its `messages` receives it from its host, as at the end of a
    connection.  It is a report, and not counted as a message.
    """


# Effects.  The two that every message costs are tuples, which are quick to make.


class Send(NamedTuple):
    to: NodeId
    message: Any


class Broadcast(NamedTuple):
    """The same message to every other member; one message on a medium that has it."""

    message: Any


@dataclass(frozen=True, slots=True)
class Enter:
    """The local user may enter its critical section."""


@dataclass(frozen=True, slots=True)
class SetTimer:
    """Call `timer(name)` after `delay`; setting it again starts it anew."""

    name: str
    delay: float


@dataclass(frozen=True, slots=True)
class CancelTimer:
    name: str


Effect = Send | Broadcast | Enter | SetTimer | CancelTimer


class Effects(Protocol):
    """Where a peer's effects go.

    An Outbox keeps them until its host drains it.  A host may also carry them out on the
    spot, as the simulator does for speed, as long as that calls no input of the peer.
    """

    @property
    def send(self) -> Callable[[NodeId, Any], None]: ...
    @property
    def broadcast(self) -> Callable[[Any], None]: ...
    def grant(self) -> None: ...
    def set_timer(self, name: str, delay: float) -> None: ...
    def cancel_timer(self, name: str) -> None: ...


class Outbox:
    def __init__(self) -> None:
        self.effects: list[Effect] = []

    def send(self, to: NodeId, message: Any) -> None:
        self.effects.append(Send(to, message))

    def broadcast(self, message: Any) -> None:
        self.effects.append(Broadcast(message))

    def grant(self) -> None:
        self.effects.append(Enter())

    def set_timer(self, name: str, delay: float) -> None:
        self.effects.append(SetTimer(name, delay))

    def cancel_timer(self, name: str) -> None:
        self.effects.append(CancelTimer(name))


Handler = Callable[[Any, NodeId, Any], None]


def fixed(**options: Any) -> Any:
    """A field that never changes and so is not part of the state."""
    return field(repr=False, metadata={"fixed": True}, **options)


def setting(default: Any = None) -> Any:
    """A constructor argument of an algorithm: its structure, or the first owner of the
    token."""
    return fixed(default=default, kw_only=True)


@dataclass(eq=False)
class Peer(ABC):
    """A subclass names its `messages`, declares its state and says what inputs do.

    A message of type TokenMissing is handled by the method `receive_token_missing`.
    """

    messages: ClassVar[tuple[type, ...]] = ()
    handlers: ClassVar[Mapping[type, Handler]] = {}

    me: NodeId = fixed()
    members: tuple[NodeId, ...] = fixed()
    effects: Effects = fixed(default_factory=Outbox, kw_only=True)

    # Taken from `effects` once, because every message uses them.
    send: Callable[[NodeId, Any], None] = fixed(init=False)
    broadcast: Callable[[Any], None] = fixed(init=False)

    def __init_subclass__(cls) -> None:
        for message in cls.messages:
            if not hasattr(cls, f"receive_{snake(message)}"):
                raise UsageError(
                    f"{cls.__name__} has no handler for its message {message.__name__}: "
                    f"add a method receive_{snake(message)}(self, sender, message)"
                )
        cls.handlers = {m: getattr(cls, f"receive_{snake(m)}") for m in cls.messages}

    def __post_init__(self) -> None:
        assert 1 <= self.me <= len(self.members) == self.members[-1]
        self.send, self.broadcast = self.effects.send, self.effects.broadcast

    # Inputs

    def start(self) -> None:  # noqa: B027 - most algorithms have nothing to do at the start
        """Called once, before any other input."""

    def restart(self) -> None:
        """Called instead of `start` on a node that has crashed and comes back.

        Its memory and its user's requests are lost.  Most algorithms have no recovery, and
        start as if nothing had happened.
        """
        self.start()

    @abstractmethod
    def acquire(self) -> None:
        """The local user requests the critical section; an Enter follows, now or later."""

    def acquire_shared(self) -> None:
        """The same for a reader; without readers in the algorithm, it enters alone."""
        self.acquire()

    def acquire_for(self, demand: Any) -> None:
        """The same for a request that is for something: see `core.demands`."""
        if demand == SHARED:
            self.acquire_shared()
        else:
            self.acquire()

    @abstractmethod
    def release(self) -> None:
        """The local user, once granted, has left."""

    def receive(self, sender: NodeId, message: Any) -> None:
        """A host may also look up the handler in `handlers` itself, for speed."""
        handler = self.handlers.get(type(message))
        if handler is None:
            raise RemoteError(
                f"{sender} sent {message!r:.80}, which is not a message of this algorithm"
            )
        handler(self, sender, message)

    def timer(self, name: str) -> None:
        raise AssertionError(f"{type(self).__name__} never set a timer {name!r}")

    # The rarer effects, and what becomes of them

    def grant(self) -> None:
        self.effects.grant()

    def set_timer(self, name: str, delay: float) -> None:
        self.effects.set_timer(name, delay)

    def cancel_timer(self, name: str) -> None:
        self.effects.cancel_timer(name)

    def drain(self) -> list[Effect]:
        """Return the effects of the last input to the host, in order, and clear them."""
        assert isinstance(self.effects, Outbox)
        effects, self.effects.effects = self.effects.effects, []
        return effects

    # State

    @property
    def others_may_wait(self) -> bool:
        """For what this node holds.

        An algorithm that knows its waiters can deny it: then no other node waits for this
        one's release, and before one does, this one gets a message.
        """
        return True

    def others(self) -> Iterator[NodeId]:
        return (j for j in self.members if j != self.me)

    def snapshot(self) -> tuple[Any, ...]:
        return tuple([getattr(self, name) for name in state_fields(type(self))])

    def restore(self, state: tuple[Any, ...]) -> None:
        for name, value in zip(state_fields(type(self)), state, strict=True):
            setattr(self, name, value)


@cache
def state_fields(peer: type[Peer]) -> tuple[str, ...]:
    return tuple(f.name for f in fields(peer) if "fixed" not in f.metadata)


def snake(message_type: type) -> str:
    """TokenMissing becomes token_missing."""
    return re.sub(r"(?<!^)(?=[A-Z])", "_", message_type.__name__).lower()


def label(message: Any) -> str:
    """A message as the papers print it: REQUEST(3), PRIVILEGE([2 5], [0 1 0 0 0]).

    One that has a `label` is printed as that.
    """
    if (own := getattr(message, "label", None)) is not None:
        return str(own)
    values = [getattr(message, f.name) for f in fields(message)]
    name = snake(type(message)).upper()
    return f"{name}({', '.join(map(_compact, values))})" if values else name


def _compact(value: Any) -> str:
    if isinstance(value, tuple):
        return f"[{' '.join(map(_compact, value))}]"
    return str(value)


def listed(nodes: Iterable[NodeId]) -> str:
    """As text: 1, 2 and 5."""
    *most, last = map(str, sorted(nodes))
    return f"{', '.join(most)} and {last}" if most else last
