"""From a trace to its space-time diagram: where each element is placed."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter, defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, replace
from math import ceil
from statistics import median

from peerlock.core.peer import NodeId, label, snake
from peerlock.traces import labels, text, timescale
from peerlock.traces.diagram import (
    MARGIN,
    NAMES,
    TOP,
    Alarm,
    Arrow,
    Bar,
    Diagram,
    Fate,
    Leg,
    Mark,
    reminders,
)
from peerlock.traces.labels import Box, Crowd, Point
from peerlock.traces.spans import Flight, Span, SpanState, flights, spans
from peerlock.traces.timescale import TimeScale
from peerlock.traces.trace import Kind, Trace

LEAD, TAIL = 26.0, 64.0  # life before the first step and after the last
NARROWEST = 620.0
LANE, ALARM_SIZE = 20.0, 12.0  # for the text of a violation, and its letters
LABEL_ROOM = 8000.0  # square pixels of diagram for each message
CROWDED = 15  # nodes: among more of them, arrows are longer and need more room
BEND = 11.0  # how far an arrow swerves from another, or from a node it passes


def lay_out(trace: Trace) -> Diagram:
    messages = flights(trace)
    scale = _scale(trace, messages)
    right = max(scale.places[-1] + TAIL, NARROWEST - MARGIN)
    alarms = _alarms(trace, scale, right)
    top = TOP + LANE * len(alarms)
    rows = {node: top + y for node, y in _rows(trace.nodes).items()}
    plan = Plan(trace, scale, rows, right, _typical_flight(trace, messages))
    bars = list(plan.bars())
    arrows = _bend([plan.arrow(flight) for flight in messages], list(rows.values()))
    crowd = _crowd(plan, arrows, bars)
    for alarm in alarms:
        crowd.add_line(Point(alarm.x, 0), Point(alarm.x, max(rows.values())), labels.LINE)
    return Diagram(
        trace=trace,
        scale=scale,
        rows=rows,
        right=right,
        types=list(dict.fromkeys(arrow.type for arrow in arrows)),
        arrows=_place_labels(crowd, arrows, row_gap(trace.nodes)),
        bars=bars,
        marks=list(plan.marks()),
        alarms=alarms,
        clashes=list(plan.clashes()),
    )


def row_gap(nodes: int) -> float:
    """Few nodes are drawn far apart, many as near as labels allow."""
    return min(100.0, max(62.0, 480.0 / max(nodes - 1, 1)))


def _rows(nodes: int) -> dict[NodeId, float]:
    return {node: (node - 1) * row_gap(nodes) for node in range(1, nodes + 1)}


def _scale(trace: Trace, messages: list[Flight]) -> TimeScale:
    height = row_gap(trace.nodes) * max(trace.nodes - 1, 1)
    crowding = max(1.0, trace.nodes / CROWDED)
    wanted = len(messages) * LABEL_ROOM * crowding / height
    flight = _typical_flight(trace, messages)
    times = (step.time for step in trace)
    return timescale.fit(times, flight, wanted, left=NAMES + LEAD)


def _typical_flight(trace: Trace, messages: list[Flight]) -> float:
    steps = trace.steps
    taken = [
        steps[i].time - steps[flight.send].time
        for flight in messages
        for i in flight.arrivals
    ]
    slow = [time for time in taken if time > 0]
    return median(slow) if slow else 1.0


@dataclass(frozen=True, slots=True)
class Plan:
    """From steps to places."""

    trace: Trace
    scale: TimeScale
    rows: dict[NodeId, float]
    right: float
    typical_flight: float

    def at(self, i: int) -> Point:
        step = self.trace.steps[i]
        return Point(self.scale.place(step.time), self.rows[step.node])

    def time(self, i: int) -> str:
        return text.clock(self.trace.steps[i].time)

    # Messages

    def arrow(self, flight: Flight) -> Arrow:
        send = self.trace.steps[flight.send]
        return Arrow(
            type=snake(type(send.message)).upper(),
            label=labels.shorten(text.one_line(label(send.message))),
            legs=tuple(self._legs(flight)),
            story="\n".join(self._story(flight)),
            steps=flight.steps,
        )

    def _legs(self, flight: Flight) -> Iterator[Leg]:
        start = self.at(flight.send)
        for k, i in enumerate(flight.arrivals):
            yield Leg(start, self.at(i), Fate.AGAIN if k else Fate.ARRIVES)
        for i in flight.losses:
            yield Leg(start, self._lost_at(flight, i), Fate.LOST)
        if not flight.arrivals and not flight.losses:
            yield Leg(start, self._fades_at(flight), Fate.UNDER_WAY)

    def _lost_at(self, flight: Flight, loss: int) -> Point:
        """On the way, between two nodes, even if it was lost as soon as it was sent."""
        start, step = self.at(flight.send), self.trace.steps[loss]
        down = self.rows[step.node] - start.y
        crossed = abs(step.node - self.trace.steps[flight.send].node)
        typical = min(self.scale.unit * self.typical_flight, 2 * timescale.FLIGHT)
        x = max(self.at(loss).x, start.x + 0.5 * typical)
        return Point(min(x, self.right), start.y + down * (crossed // 2 + 0.5) / crossed)

    def _fades_at(self, flight: Flight) -> Point:
        """On the way to a place beyond the end."""
        receiver = self.trace.steps[flight.send].peer
        assert receiver is not None
        beyond = Point(self.right + MARGIN, self.rows[receiver])
        way = Leg(self.at(flight.send), beyond, Fate.UNDER_WAY)
        return way.at(min(0.6, 1.2 * timescale.FLIGHT / way.length))

    def _story(self, flight: Flight) -> Iterator[str]:
        send = self.trace.steps[flight.send]
        yield f"{text.one_line(label(send.message))} from {send.node} to {send.peer}"
        yield f"sent at {self.time(flight.send)}"
        for k, i in enumerate(flight.arrivals):
            yield f"received {'again ' if k else ''}at {self.time(i)}"
        for i in flight.losses:
            yield f"lost at {self.time(i)}"
        if not flight.arrivals and not flight.losses:
            yield "still under way at the end"

    # Bars

    def bars(self) -> Iterator[Bar]:
        clashing = {span for group in self._clashing() for span in group}
        for span in spans(self.trace):
            left, right = self._reach(span)
            fence = self.trace.steps[span.first].fence
            yield Bar(
                state=span.state,
                left=left,
                right=right,
                y=self.rows[span.node],
                fence="" if fence is None else str(fence),
                clashing=span in clashing,
                story=self._span_story(span),
                steps=span.steps,
            )

    def _reach(self, span: Span) -> tuple[float, float]:
        left = self.at(span.first).x
        return left, self.right if span.last is None else self.at(span.last).x

    def _span_story(self, span: Span) -> str:
        fence = self.trace.steps[span.first].fence
        token = "" if fence is None else f", fence {fence}"
        end = "the end" if span.last is None else self.time(span.last)
        what = f"node {span.node} is {span.state.value}{token}"
        return f"{what}\nfrom {self.time(span.first)} to {end}"

    def _clashing(self) -> Iterator[list[Span]]:
        """At each violation, those inside.  (Two readers inside do not violate
        anything.)"""
        inside = [span for span in spans(self.trace) if span.state is SpanState.INSIDE]
        for i, step in enumerate(self.trace):
            if step.kind is not Kind.VIOLATION:
                continue
            group = [s for s in inside if s.first <= i and (s.last is None or s.last > i)]
            if len(group) > 1:
                yield group

    def clashes(self) -> Iterator[Box]:
        for group in self._clashing():
            reaches = [self._reach(span) for span in group]
            rows = [self.rows[span.node] for span in group]
            left, right = max(a for a, _ in reaches), min(b for _, b in reaches)
            yield Box(left, min(rows), right, max(rows))

    # Marks

    def marks(self) -> Iterator[Mark]:
        for i, step in enumerate(self.trace):
            if step.kind in (Kind.REQUEST, Kind.TIMER, Kind.CRASH, Kind.RESTART):
                story = f"node {step.node} {text.one_line(text.what(step))}"
                yield Mark(step.kind, self.at(i), f"{story}\nat {self.time(i)}", (i,))


def _alarms(trace: Trace, scale: TimeScale, right: float) -> list[Alarm]:
    """Each in a lane of its own, in such an order that no line crosses a text."""
    found = [i for i, step in enumerate(trace) if step.kind is Kind.VIOLATION]
    places = [scale.place(trace.steps[i].time) for i in found]
    leftwards = any(place > right / 2 for place in places)
    lanes = range(len(found), 0, -1) if leftwards else range(1, len(found) + 1)
    alarms = []
    for i, x, lane in zip(found, places, lanes, strict=True):
        note = text.one_line(trace.steps[i].note)
        room = x - MARGIN if leftwards else right - x
        alarms.append(
            Alarm(
                x=x,
                text_at=Point(x + (-8 if leftwards else 8), lane * LANE),
                leftwards=leftwards,
                text=labels.fitting(note, ALARM_SIZE, room),
                story=f"{note}\nat {text.clock(trace.steps[i].time)}",
                steps=(i,),
            )
        )
    return alarms


# Bends


def _bend(arrows: list[Arrow], rows: list[float]) -> list[Arrow]:
    """No arrow covers another, or runs through an event that it has no part in."""
    events: defaultdict[float, list[float]] = defaultdict(list)
    for leg in (leg for arrow in arrows for leg in arrow.legs):
        events[leg.start.y].append(leg.start.x)
        events[leg.end.y].append(leg.end.x)
    for xs in events.values():
        xs.sort()
    alike: Counter[tuple[Point, Point]] = Counter()
    return [
        replace(arrow, legs=tuple(_bent(leg, rows, events, alike) for leg in arrow.legs))
        for arrow in arrows
    ]


def _bent(
    leg: Leg,
    rows: list[float],
    events: dict[float, list[float]],
    alike: Counter[tuple[Point, Point]],
) -> Leg:
    """Not so far that the arrow would run backwards in time."""
    turns = alike[leg.start, leg.end] + _passes(leg, rows, events)
    alike[leg.start, leg.end] += 1
    return replace(leg, bend=min(turns * BEND, (leg.end.x - leg.start.x) / 4))


def _passes(leg: Leg, rows: list[float], events: dict[float, list[float]]) -> bool:
    low, high = sorted((leg.start.y, leg.end.y))
    return any(
        _near(leg.at((y - leg.start.y) / (leg.end.y - leg.start.y)).x, events[y])
        for y in rows
        if low < y < high
    )


def _near(x: float, xs: list[float]) -> bool:
    i = bisect_left(xs, x - 4)
    return i < len(xs) and xs[i] <= x + 4


# Labels


def _place_labels(crowd: Crowd, arrows: list[Arrow], gap: float) -> list[Arrow]:
    """The shortest arrows have the least choice, so they choose first."""
    placed = dict[int, Point | None]()
    for i in sorted(range(len(arrows)), key=lambda i: arrows[i].legs[0].length):
        name, leg = arrows[i].label, arrows[i].legs[0]
        on = _candidates(leg, gap)
        at = labels.best(crowd, on, name) or labels.best(crowd, _beside(on, name), name)
        placed[i] = at
        if at is not None:
            crowd.add_box(labels.box_around(at, name), labels.TEXT)
    return [replace(arrow, label_at=placed[i]) for i, arrow in enumerate(arrows)]


def _crowd(plan: Plan, arrows: list[Arrow], bars: list[Bar]) -> Crowd:
    crowd = Crowd()
    bottom = max(plan.rows.values(), default=0.0)
    crowd.add_box(Box(0, 0, NAMES - 6, bottom), labels.TEXT)
    crowd.add_box(Box(plan.right + 10, 0, plan.right + NAMES, bottom), labels.TEXT)
    for y in plan.rows.values():
        crowd.add_line(Point(NAMES, y), Point(plan.right, y), labels.LINE)
        for x in reminders(plan.right):
            crowd.add_box(Box(x - 8, y - 14, x + 8, y), labels.TEXT)
    for bar in bars:
        if bar.state is not SpanState.DOWN:
            box = Box(bar.left, bar.y - 10, bar.right, bar.y + 10)
            crowd.add_box(box, labels.BAR)
    for arrow in arrows:
        for leg in arrow.legs:
            _crowd_leg(crowd, leg)
    return crowd


def _crowd_leg(crowd: Crowd, leg: Leg) -> None:
    middle = leg.at(0.5)
    crowd.add_line(leg.start, middle, labels.ARROW)
    crowd.add_line(middle, leg.end, labels.ARROW)
    if leg.fate is Fate.LOST:
        x, y = leg.end
        crowd.add_box(Box(x - 5, y - 5, x + 5, y + 5), labels.TEXT)


def _candidates(leg: Leg, gap: float) -> list[Point]:
    """Between the life lines that the leg crosses; those near its middle first."""
    height = abs(leg.end.y - leg.start.y) / gap
    parts = [k + part for k in range(ceil(height)) for part in (0.5, 0.32, 0.68)]
    shares = [part / height for part in parts if part < 0.9 * height] or [0.5]
    shares.sort(key=lambda share: abs(share - 0.5))
    return [leg.at(share) for share in shares]


def _beside(places: list[Point], name: str) -> list[Point]:
    off = labels.width(name) / 2 + 2
    return [Point(x + side * off, y) for x, y in places for side in (1, -1)]
