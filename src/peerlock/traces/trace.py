"""The steps of a run: recorded by the simulator and the checker, then drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from peerlock.core.peer import NodeId


class Kind(Enum):
    """The kind of a step."""

    REQUEST = "request"  # the user at `node` requests; `note` is "shared" for a reader
    ENTER = "enter"  # the request is granted, with `fence`
    LEAVE = "leave"
    SEND = "send"  # `node` sends `message` to `peer`
    RECEIVE = "receive"  # `node` receives `message` from `peer`
    LOSE = "lose"  # the network drops what `peer` sent to `node`
    TIMER = "timer"  # the timer `note` fires at `node`
    CRASH = "crash"
    RESTART = "restart"
    VIOLATION = "violation"  # `note` says what went wrong at `node`


@dataclass(frozen=True, slots=True)
class Step:
    """One event, at a time, at a node."""

    time: float
    kind: Kind
    node: NodeId
    peer: NodeId | None = None
    message: Any = None
    flight: int | None = None  # the same number for a SEND and its RECEIVE or LOSE
    fence: int | None = None
    note: str = ""


@dataclass
class Trace:
    """`steps` are in the order in which they happened; times never fall.

    A duplicated message has one SEND and two RECEIVEs of one flight.  A message that
    was still under way at the end has no RECEIVE.
    """

    algorithm: str
    nodes: int
    seed: int | None = None
    steps: list[Step] = field(default_factory=list)

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)
