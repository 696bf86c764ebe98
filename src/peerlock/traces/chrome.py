"""A trace in the Chrome Trace Event format, for Perfetto and chrome://tracing.

Each node is a thread.  Waits, critical sections and downtimes are slices; a message is two
tiny slices with an arrow between them.  One unit of time is shown as a millisecond.

Slices of a thread must nest.  So each step gets a moment of its own: steps of one node
at one time are laid side by side, a microsecond each, or less where the next step of
that node is near.  Moments are whole nanoseconds, since that is what viewers count in:
fractions would be rounded, and neighbours overlap.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import groupby, pairwise
from typing import Any

from peerlock.core.peer import NodeId, label
from peerlock.traces import text
from peerlock.traces.spans import Flight, Span, flights, spans
from peerlock.traces.trace import Kind, Step, Trace

Event = dict[str, Any]

UNIT = 1_000_000  # nanoseconds
LONGEST = 1000  # nanoseconds of a step


@dataclass(frozen=True, slots=True)
class Moment:
    start: int
    end: int


def render(trace: Trace) -> str:
    """One event a line, so that two traces can be compared with diff."""
    when = moments(trace)
    events = [*_names(trace), *_slices(trace, when), *_messages(trace, when)]
    events += [_instant(trace.steps[i], when[i]) for i in _instants(trace)]
    body = ",\n".join(json.dumps(event) for event in events)
    return f'{{"displayTimeUnit": "ms", "traceEvents": [\n{body}\n]}}\n'


def moments(trace: Trace) -> list[Moment]:
    """When each step takes place; no two steps of a node overlap."""
    found: dict[int, Moment] = {}
    for node in sorted({step.node for step in trace}):
        here = [i for i, step in enumerate(trace) if step.node == node]
        found |= _side_by_side({i: round(trace.steps[i].time * UNIT) for i in here})
    return [found[i] for i in range(len(trace))]


def _side_by_side(times: dict[int, int]) -> dict[int, Moment]:
    following = dict(pairwise(dict.fromkeys(times.values())))
    found: dict[int, Moment] = {}
    end = 0
    for time, group in groupby(times, key=times.__getitem__):
        steps = list(group)
        room = following.get(time, time + UNIT) - time
        duration = max(1, min(LONGEST, room // (len(steps) + 1)))
        start = max(time, end)
        for i in steps:
            end = start + duration
            found[i] = Moment(start, end)
            start = end
    return found


def _names(trace: Trace) -> Iterator[Event]:
    yield _metadata("process_name", 0, {"name": text.title(trace)})
    for node in range(1, trace.nodes + 1):
        yield _metadata("thread_name", node, {"name": f"node {node}"})
        yield _metadata("thread_sort_index", node, {"sort_index": node})


def _metadata(name: str, node: NodeId, args: dict[str, Any]) -> Event:
    return {"ph": "M", "name": name, "pid": 1, "tid": node, "args": args}


def _slices(trace: Trace, when: list[Moment]) -> Iterator[Event]:
    end = max((moment.end for moment in when), default=0)
    for span in spans(trace):
        stop = end if span.last is None else when[span.last].start
        moment = Moment(when[span.first].start, stop)
        yield _slice(_span_name(trace, span), "lock", span.node, moment)


def _span_name(trace: Trace, span: Span) -> str:
    fence = trace.steps[span.first].fence
    return span.state.value if fence is None else f"{span.state.value}, fence {fence}"


def _slice(name: str, category: str, node: NodeId, moment: Moment) -> Event:
    duration = {"dur": _microseconds(moment.end - moment.start)}
    return _event("X", name, category, node, moment) | duration


def _event(phase: str, name: str, category: str, node: NodeId, moment: Moment) -> Event:
    where = {"pid": 1, "tid": node, "ts": _microseconds(moment.start)}
    return {"ph": phase, "name": name, "cat": category} | where


def _microseconds(nanoseconds: int) -> float:
    return nanoseconds / 1000


def _messages(trace: Trace, when: list[Moment]) -> Iterator[Event]:
    """A flow ends only once, so a message that comes twice is two flows."""
    number = 0
    for flight in flights(trace):
        for i in (flight.send, *flight.arrivals):
            step = trace.steps[i]
            yield _slice(text.what(step), "message", step.node, when[i])
        for arrival in flight.arrivals:
            number += 1
            yield from _flow(trace, flight, arrival, when, number)


def _flow(
    trace: Trace, flight: Flight, arrival: int, when: list[Moment], number: int
) -> Iterator[Event]:
    send, receive = trace.steps[flight.send], trace.steps[arrival]
    name = label(send.message)
    start = _event("s", name, "message", send.node, when[flight.send])
    end = _event("f", name, "message", receive.node, when[arrival])
    yield start | {"id": number}
    yield end | {"id": number, "bp": "e"}


def _instants(trace: Trace) -> Iterator[int]:
    shown = (Kind.LOSE, Kind.TIMER, Kind.CRASH, Kind.RESTART, Kind.VIOLATION)
    return (i for i, step in enumerate(trace) if step.kind in shown)


def _instant(step: Step, moment: Moment) -> Event:
    scope = "g" if step.kind is Kind.VIOLATION else "t"
    event = _event("i", text.what(step), step.kind.value, step.node, moment)
    return event | {"s": scope}
