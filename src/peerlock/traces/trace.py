"""The steps of a run: recorded by the simulator and the checker, then drawn."""

from __future__ import annotations

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass, field, fields
from enum import Enum
from typing import Any

from peerlock.core.peer import NodeId, Peer


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


@dataclass(frozen=True, slots=True)
class PeerCopy:
    """A copy of a node's peer, made when this many steps of the trace had happened."""

    steps: int
    node: NodeId
    peer: Peer


@dataclass
class Trace:
    """`steps` are in the order in which they happened; times never fall.

    A duplicated message has one SEND and two RECEIVEs of one flight.  A message that
    was still under way at the end has no RECEIVE.

    `seen` has a copy of each peer at the start and after each of its inputs, if the host
    records them; a trace that was read from a file has none.
    """

    algorithm: str
    nodes: int
    seed: int | None = None
    steps: list[Step] = field(default_factory=list)
    seen: list[PeerCopy] = field(default_factory=list, compare=False, repr=False)

    def see(self, peer: Peer) -> None:
        self.seen.append(PeerCopy(len(self.steps), peer.me, _copied(peer)))

    def keep(self, steps: int) -> None:
        """Forget all but the last steps; each peer's last state before them is kept."""
        gone = len(self.steps) - steps
        del self.steps[:gone]
        before = {s.node: PeerCopy(0, s.node, s.peer) for s in self.seen if s.steps <= gone}
        later = [
            PeerCopy(s.steps - gone, s.node, s.peer) for s in self.seen if s.steps > gone
        ]
        self.seen = [*before.values(), *later]

    def __getstate__(self) -> dict[str, Any]:
        """For another process, which may not have the code of the peers."""
        return {**self.__dict__, "seen": []}

    def __iter__(self) -> Iterator[Step]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)


def _copied(peer: Peer) -> Peer:
    """State fields hold immutable values; a peer within a peer is copied, too."""
    twin = copy(peer)
    for f in fields(peer):
        if isinstance(inner := getattr(peer, f.name, None), Peer):
            setattr(twin, f.name, _copied(inner))
    return twin
