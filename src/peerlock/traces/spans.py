"""What lasts in a trace: messages under way, waits, critical sections, downtimes.

Steps are named by their place in the trace, so that whatever is drawn from a span can
be linked back to the steps it came from.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from peerlock.core.peer import NodeId
from peerlock.traces.trace import Kind, Trace


@dataclass(frozen=True, slots=True)
class Flight:
    """One message: sent once, then received, lost, received twice, or still out."""

    send: int
    arrivals: tuple[int, ...]
    losses: tuple[int, ...]

    @property
    def steps(self) -> tuple[int, ...]:
        return (self.send, *sorted(self.arrivals + self.losses))


def flights(trace: Trace) -> list[Flight]:
    """In the order of sending."""
    sent: dict[int | None, int] = {}
    ends: dict[int, dict[Kind, tuple[int, ...]]] = {}
    for i, step in enumerate(trace):
        if step.kind is Kind.SEND:
            sent[step.flight] = i
            ends[i] = {Kind.RECEIVE: (), Kind.LOSE: ()}
        elif step.kind in (Kind.RECEIVE, Kind.LOSE) and step.flight in sent:
            ends[sent[step.flight]][step.kind] += (i,)
    return [Flight(i, end[Kind.RECEIVE], end[Kind.LOSE]) for i, end in ends.items()]


class SpanState(Enum):
    WAITING = "waiting"
    INSIDE = "inside"
    DOWN = "down"


@dataclass(frozen=True, slots=True)
class Span:
    state: SpanState
    node: NodeId
    first: int
    last: int | None  # None: it lasted until the end

    @property
    def steps(self) -> tuple[int, ...]:
        return (self.first,) if self.last is None else (self.first, self.last)


OPENS = {
    Kind.REQUEST: SpanState.WAITING,
    Kind.ENTER: SpanState.INSIDE,
    Kind.CRASH: SpanState.DOWN,
}
CLOSES = {
    Kind.ENTER: (SpanState.WAITING,),
    Kind.LEAVE: (SpanState.INSIDE,),
    Kind.CRASH: (SpanState.WAITING, SpanState.INSIDE),
    Kind.RESTART: (SpanState.DOWN,),
}


def spans(trace: Trace) -> list[Span]:
    """In the order in which they began."""
    begun: dict[tuple[NodeId, SpanState], int] = {}
    found = []
    for i, step in enumerate(trace):
        for state in CLOSES.get(step.kind, ()):
            if (step.node, state) in begun:
                first = begun.pop((step.node, state))
                found.append(Span(state, step.node, first, i))
        if step.kind in OPENS:
            begun.setdefault((step.node, OPENS[step.kind]), i)
    lasting = [Span(state, n, first, None) for (n, state), first in begun.items()]
    return sorted(found + lasting, key=lambda span: span.first)
