"""A trace as a space-time diagram in SVG.

One file, no script, real text; light or dark like the reader's screen.  Every drawn element
has a tooltip, and names its steps in `data-steps`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cache
from html import escape
from importlib.resources import files
from math import hypot

from peerlock.traces import labels, text
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
from peerlock.traces.labels import Box, Point
from peerlock.traces.layout import lay_out
from peerlock.traces.spans import SpanState
from peerlock.traces.stepping import why_it_waits
from peerlock.traces.timescale import TimeScale
from peerlock.traces.trace import Kind, Trace

COLOURS = 8  # in drawing.css; a ninth type of message looks like the first
KEY, MARK_KEY = 30.0, 14.0  # the widths of symbols in the legend
KEY_LINE, KEY_SIZE = 20.0, 11.5  # of a line, of the letters
TITLE = 34.0
LINE = 18.0  # of the reasons below a deadlock


def render(trace: Trace) -> str:
    diagram = lay_out(trace)
    heading, height = _heading(diagram)
    reasons = why_it_waits(trace)
    bottom = diagram.height + (LINE * len(reasons) + 12 if reasons else 0)
    size = Box(0, -height, diagram.width, bottom)
    around = [*heading, *_footing(reasons, diagram.height)]
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{_svg(diagram, around, size)}\n'


def drawing(diagram: Diagram) -> str:
    """The diagram alone, to stand in a page that has its own title and legend."""
    return _svg(diagram, [], Box(0, 0, diagram.width, diagram.height))


@cache
def style() -> str:
    return (files(__package__) / "drawing.css").read_text("utf-8")


def _svg(diagram: Diagram, heading: Iterable[str], size: Box) -> str:
    width, height = number(size.right), number(size.bottom - size.top)
    corner = f"{number(size.left)} {number(size.top)}"
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" class="trace" role="img" '
        f'viewBox="{corner} {width} {height}" width="{width}" height="{height}">',
        f"<title>{quote(text.title(diagram.trace))}</title>",
        f"<desc>{quote(description(diagram))}</desc>",
        f"<style>\n{style()}</style>",
        *_definitions(diagram),
        f'<rect class="paper" x="{number(size.left)}" y="{number(size.top)}" '
        f'width="{width}" height="{height}"/>',
        *heading,
        *_drawing(diagram),
        "</svg>",
    ]
    return "\n".join(parts)


def _drawing(diagram: Diagram) -> Iterator[str]:
    """From back to front; rare messages are in front of frequent ones."""
    count = Counter(arrow.type for arrow in diagram.arrows)
    common_first = sorted(diagram.arrows, key=lambda arrow: -count[arrow.type])
    arrows = [(arrow, diagram.types.index(arrow.type)) for arrow in common_first]
    bars = [bar for bar in diagram.bars if bar.state is not SpanState.DOWN]
    yield from _grid(diagram)
    yield from map(_clash, diagram.clashes)
    yield from _life_lines(diagram)
    yield from _reminders(diagram)
    yield from (_alarm(alarm, diagram.bottom) for alarm in diagram.alarms)
    yield from map(_bar, bars)
    yield from (_arrow(arrow, i) for arrow, i in arrows)
    yield from map(_mark, diagram.marks)
    yield from (_fence(bar) for bar in bars if bar.fence)
    yield from (_label(arrow, i) for arrow, i in arrows if arrow.label_at)
    yield from _axis(diagram)
    yield from _names(diagram)


def description(diagram: Diagram) -> str:
    """A description of the diagram, for screen readers."""
    entries = sum(bar.state is SpanState.INSIDE for bar in diagram.bars)
    trace = diagram.trace
    sentences = [
        f"Space-time diagram of {text.title(trace)}: {len(trace)} steps, "
        f"{len(diagram.arrows)} messages, {entries} entries.",
        *(f"Violation: {alarm.story}." for alarm in diagram.alarms),
    ]
    return " ".join(sentences)


# Text and numbers


def quote(words: str) -> str:
    """Line by line, since a tooltip may have several."""
    return "\n".join(escape(text.one_line(line)) for line in words.split("\n"))


def number(value: float) -> str:
    """Tenths of a pixel are fine enough."""
    return f"{value:.1f}".removesuffix(".0")


def _steps(steps: Iterable[int]) -> str:
    return f'data-steps="{" ".join(map(str, steps))}"'


def _title(story: str) -> str:
    return f"<title>{quote(story)}</title>"


def colour(message_type: int) -> str:
    """The class that gives a message its colour."""
    return f"m{message_type % COLOURS}"


# Heading


@dataclass(frozen=True, slots=True)
class Key:
    """An entry of the legend; its symbol starts at x = 0, around the line y = 0."""

    symbol: str
    words: str
    count: int = 0
    type: int | None = None  # of message
    room: float = KEY  # for the symbol

    @property
    def width(self) -> float:
        words = f"{self.words} {self.count}" if self.count else self.words
        return self.room + 6 + labels.width(words, KEY_SIZE)


def keys(diagram: Diagram) -> list[Key]:
    """What occurs in the diagram, and nothing else."""
    return [*_message_keys(diagram), *_bar_keys(diagram), *_mark_keys(diagram)]


def _message_keys(diagram: Diagram) -> Iterator[Key]:
    leg = Leg(Point(0, 0), Point(KEY - 2, 0), Fate.ARRIVES)
    for i, name in enumerate(diagram.types):
        count = sum(arrow.type == name for arrow in diagram.arrows)
        symbol = f'<g class="{colour(i)}">{_leg(leg)}</g>'
        yield Key(symbol, name, count, i)


def _bar_keys(diagram: Diagram) -> Iterator[Key]:
    states = [(bar.state, bar.clashing) for bar in diagram.bars]
    if any(state is SpanState.WAITING for state, _ in states):
        yield Key(_box(Box(0, -4, KEY - 2, 4), "waiting"), "waiting")
    if (SpanState.INSIDE, False) in states:
        yield Key(_box(Box(0, -7, KEY - 2, 7), "inside"), "critical section, with fence")
    if (SpanState.INSIDE, True) in states:
        box = _box(Box(0, -7, KEY - 2, 7), "inside")
        yield Key(f'<g class="clashing">{box}</g>', "inside together")


def _mark_keys(diagram: Diagram) -> Iterator[Key]:
    kinds = {mark.kind for mark in diagram.marks}
    fates = {leg.fate for arrow in diagram.arrows for leg in arrow.legs}
    place = Point(MARK_KEY / 2, 0)
    for kind, words in (
        (Kind.TIMER, "timer"),
        (Kind.CRASH, "crash"),
        (Kind.RESTART, "restart"),
    ):
        if kind in kinds:
            yield Key(_symbol(kind, place), words, room=MARK_KEY)
    for fate, words in ((Fate.LOST, "lost"), (Fate.AGAIN, "received again")):
        if fate in fates:
            leg = Leg(Point(0, 0), Point(KEY - 6, 0), fate)
            yield Key(f'<g class="m7">{_leg(leg)}</g>', words)


def _heading(diagram: Diagram) -> tuple[list[str], float]:
    """Title and legend, as lines that end at y = 0; and how high they are."""
    trace = diagram.trace
    places = list(_flow(keys(diagram), diagram.width - 2 * MARGIN))
    height = TITLE + 8 + KEY_LINE * (places[-1][1].y + 1 if places else 0)
    place = f'x="{number(MARGIN)}" y="{number(28 - height)}"'
    detail = f'<tspan class="detail" dx="9">{text.size(trace)}</tspan>'
    title = f'<text class="title" {place}>{quote(trace.algorithm)}{detail}</text>'
    lines = [_key(key, at, TITLE + 14 - height) for key, at in places]
    return [title, *lines], height


def _footing(reasons: list[str], top: float) -> Iterator[str]:
    """Why the nodes wait for ever, below the diagram."""
    for i, reason in enumerate(reasons, 1):
        place = f'x="{number(NAMES)}" y="{number(top + LINE * i)}"'
        yield f'<text class="reason" {place}>{quote(reason)}</text>'


def _flow(entries: list[Key], room: float) -> Iterator[tuple[Key, Point]]:
    """Entries side by side, in as many lines as they take; y counts the lines."""
    x, line = 0.0, 0
    for key in entries:
        if x and x + key.width > room:
            x, line = 0.0, line + 1
        yield key, Point(x, line)
        x += key.width + 20


def _key(key: Key, at: Point, top: float) -> str:
    place = f"{number(MARGIN + at.x)} {number(top + at.y * KEY_LINE)}"
    count = f' <tspan class="count">{key.count}</tspan>' if key.count else ""
    words = f'<text x="{number(key.room + 6)}" y="4">{quote(key.words)}{count}</text>'
    return f'<g class="key" transform="translate({place})">{key.symbol}{words}</g>'


# Background


def _definitions(diagram: Diagram) -> Iterator[str]:
    """The hatching of waits, and a gradient for messages that are still under way."""
    yield (
        '<defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" '
        'patternTransform="rotate(45)"><line class="hatch" x1="0" y1="0" x2="0" y2="5"/>'
        "</pattern>"
    )
    fading = {
        (colour(diagram.types.index(arrow.type)), _rises(leg))
        for arrow in diagram.arrows
        for leg in arrow.legs
        if leg.fate is Fate.UNDER_WAY
    }
    for name, rises in sorted(fading):
        y1, y2 = (1, 0) if rises else (0, 1)
        yield (
            f'<linearGradient id="{_fade(name, rises)}" class="{name}" '
            f'x1="0" y1="{y1}" x2="1" y2="{y2}"><stop offset="0.2"/>'
            '<stop offset="1" stop-opacity="0"/></linearGradient>'
        )
    yield "</defs>"


def _rises(leg: Leg) -> bool:
    return leg.end.y < leg.start.y


def _fade(name: str, rises: bool) -> str:
    return f"fade-{name}-{'up' if rises else 'down'}"


def _grid(diagram: Diagram) -> Iterator[str]:
    """A line for each tick, and a band where time is cut."""
    top, bottom = _plot_top(diagram), diagram.bottom
    for x in _cuts(diagram.scale):
        yield _rectangle(Box(x - 12, top, x + 12, bottom), "cut")
    xs = map(diagram.scale.place, diagram.scale.ticks())
    lines = "".join(f"M{number(x)} {number(top)}V{number(bottom)}" for x in xs)
    yield f'<path class="grid" d="{lines}"/>'


def _axis(diagram: Diagram) -> Iterator[str]:
    bottom = diagram.bottom
    yield '<g class="axis">'
    yield _rectangle(Box(0, bottom, diagram.width, diagram.height), "paper")
    yield f'<path d="M{number(NAMES)} {number(bottom)}H{number(diagram.right)}"/>'
    for time in diagram.scale.ticks():
        tick = number(diagram.scale.place(time))
        yield f'<path d="M{tick} {number(bottom)}v5"/>'
        yield f'<text x="{tick}" y="{number(bottom + 18)}">{time:.10g}</text>'
    for x in _cuts(diagram.scale):
        yield f'<path d="M{number(x - 5)} {number(bottom + 5)}l5 -10m3 0l-5 10"/>'
    place = f'x="{number(diagram.right)}" y="{number(bottom + 18)}"'
    yield f'<text class="unit" {place}>time →</text></g>'


def _cuts(scale: TimeScale) -> list[float]:
    return [(scale.place(begin) + scale.place(end)) / 2 for begin, end in scale.cuts()]


def _plot_top(diagram: Diagram) -> float:
    return min(diagram.rows.values(), default=TOP) - 20


def _clash(box: Box) -> str:
    return _rectangle(Box(box.left, box.top - 10, box.right, box.bottom + 10), "clash")


def _life_lines(diagram: Diagram) -> Iterator[str]:
    down = [bar for bar in diagram.bars if bar.state is SpanState.DOWN]
    for y in diagram.rows.values():
        x = NAMES
        for bar in (bar for bar in down if bar.y == y):
            yield _line(x, bar.left, y, "life")
            yield _line(bar.left, bar.right, y, "life down")
            x = bar.right
        yield _line(x, diagram.right, y, "life")


def _reminders(diagram: Diagram) -> Iterator[str]:
    for x in reminders(diagram.right):
        for node, y in diagram.rows.items():
            place = f'x="{number(x)}" y="{number(y - 6)}"'
            yield f'<text class="reminder" {place}>{node}</text>'


def _line(left: float, right: float, y: float, name: str) -> str:
    return f'<path class="{name}" d="M{number(left)} {number(y)}H{number(right)}"/>'


def _names(diagram: Diagram) -> Iterator[str]:
    yield '<g class="names">'
    yield _rectangle(Box(0, 0, NAMES - 6, diagram.bottom), "paper")
    for node, y in diagram.rows.items():
        left, right = f'x="{number(NAMES - 14)}"', f'x="{number(diagram.right + 10)}"'
        name = f'y="{number(y + 4)}">node {node}</text>'
        yield f'<text class="name" {left} {name}'
        if diagram.wide:
            yield f'<text class="name after" {right} {name}'
    yield "</g>"


# Messages


def _arrow(arrow: Arrow, message_type: int) -> str:
    legs = "".join(_leg(leg, message_type) for leg in arrow.legs)
    start = arrow.legs[0].start
    tail = f'<circle class="tail" cx="{number(start.x)}" cy="{number(start.y)}" r="2"/>'
    names = f'class="message {colour(message_type)}" data-type="{message_type}"'
    return f"<g {names} {_steps(arrow.steps)}>{_title(arrow.story)}{legs}{tail}</g>"


def _leg(leg: Leg, message_type: int = 0) -> str:
    line = _path(leg)
    hit = f'<path class="hit" d="{line}"/>'
    match leg.fate:
        case Fate.LOST:
            return f'{hit}<path class="leg lost" d="{line}"/>{_cross(leg.end, 4, "gone")}'
        case Fate.UNDER_WAY:
            fade = f"url(#{_fade(colour(message_type), _rises(leg))})"
            return f'{hit}<path class="leg" style="stroke:{fade}" d="{line}"/>'
        case Fate.AGAIN:
            return f'{hit}<path class="leg again" d="{line}"/>{_head(leg)}'
        case Fate.ARRIVES:
            return f'{hit}<path class="leg" d="{line}"/>{_head(leg)}'


def _path(leg: Leg) -> str:
    curve = f"Q{_point(leg.control)} " if leg.bend else "L"
    return f"M{_point(leg.start)}{curve}{_point(leg.end)}"


def _head(leg: Leg) -> str:
    """Drawn, not a marker: markers do not take the colour of their line everywhere."""
    dx, dy = leg.end.x - leg.control.x, leg.end.y - leg.control.y
    length = hypot(dx, dy) or 1.0
    ux, uy = 8 * dx / length, 8 * dy / length
    left = Point(leg.end.x - ux - 0.42 * uy, leg.end.y - uy + 0.42 * ux)
    right = Point(leg.end.x - ux + 0.42 * uy, leg.end.y - uy - 0.42 * ux)
    outline = f"M{_point(leg.end)}L{_point(left)}L{_point(right)}Z"
    return f'<path class="head" d="{outline}"/>'


def _label(arrow: Arrow, message_type: int) -> str:
    assert arrow.label_at is not None
    place = f'x="{number(arrow.label_at.x)}" y="{number(arrow.label_at.y + 3.7)}"'
    names = f'class="label {colour(message_type)}" data-type="{message_type}"'
    words = f"{_title(arrow.story)}{quote(arrow.label)}"
    return f"<text {names} {_steps(arrow.steps)} {place}>{words}</text>"


def _point(point: Point) -> str:
    return f"{number(point.x)} {number(point.y)}"


def _cross(at: Point, size: float, name: str) -> str:
    across = number(2 * size)
    corner = f"M{number(at.x - size)} {number(at.y - size)}"
    stroke = f"l{across} {across}m0 -{across}l-{across} {across}"
    return f'<path class="{name}" d="{corner}{stroke}"/>'


# Bars and marks


def _bar(bar: Bar) -> str:
    names = "waits" if bar.state is SpanState.WAITING else "section"
    names += " clashing" if bar.clashing else ""
    start = f'<g class="{names}" {_steps(bar.steps)}>{_title(bar.story)}'
    return f"{start}{_box(_extent(bar), bar.state.value)}</g>"


def _extent(bar: Bar) -> Box:
    """At least as wide as is visible."""
    high, least = (4, 1) if bar.state is SpanState.WAITING else (9, 5)
    right = max(bar.right, bar.left + least)
    return Box(bar.left, bar.y - high, right, bar.y + high)


def _fence(bar: Bar) -> str:
    """In its bar, or above it if the bar is too narrow."""
    box = _extent(bar)
    above = box.right - box.left < labels.width(bar.fence, 11) + 4
    names = ["fence"] + ["clashing"] * bar.clashing + ["above"] * above
    y = bar.y - 13 if above else bar.y + 4
    place = f'x="{number((box.left + box.right) / 2)}" y="{number(y)}"'
    words = f"{_title(bar.story)}{quote(bar.fence)}"
    return f'<text class="{" ".join(names)}" {_steps(bar.steps)} {place}>{words}</text>'


def _box(box: Box, name: str) -> str:
    if name == "waiting":
        return _rectangle(box, name, 2) + _rectangle(box, "hatched", 2, "url(#hatch)")
    return _rectangle(box, name, 5)


def _rectangle(box: Box, name: str, radius: float = 0, fill: str = "") -> str:
    size = (box.left, box.top, box.right - box.left, box.bottom - box.top)
    x, y, width, height = map(number, size)
    paint = f' fill="{fill}"' if fill else ""
    corner = f' rx="{number(min(radius, size[2] / 2))}"' if radius else ""
    place = f'x="{x}" y="{y}" width="{width}" height="{height}"'
    return f'<rect class="{name}" {place}{corner}{paint}/>'


def _mark(mark: Mark) -> str:
    symbol = _symbol(mark.kind, mark.at)
    return f"<g {_steps(mark.steps)}>{_title(mark.story)}{symbol}</g>"


def _symbol(kind: Kind, at: Point) -> str:
    x, y = number(at.x), number(at.y)
    match kind:
        case Kind.CRASH:
            return _cross(at, 6, "mark crash")
        case Kind.TIMER:
            hands = f'<path class="mark" d="M{x} {number(at.y - 3)}V{y}h2"/>'
            return f'<circle class="mark" cx="{x}" cy="{y}" r="4.5"/>{hands}'
        case Kind.RESTART:
            corner = f"M{number(at.x - 4)} {number(at.y - 6)}"
            return f'<path class="mark" d="{corner}l10 6l-10 6Z"/>'
        case _:
            name = f"mark {kind.value}"
            return f'<circle class="{name}" cx="{x}" cy="{y}" r="3.5"/>'


def _alarm(alarm: Alarm, bottom: float) -> str:
    x = number(alarm.x)
    line = f'x1="{x}" y1="{number(alarm.text_at.y - 12)}" x2="{x}" y2="{number(bottom)}"'
    anchor = ' text-anchor="end"' if alarm.leftwards else ""
    place = f'x="{number(alarm.text_at.x)}" y="{number(alarm.text_at.y)}"{anchor}'
    return (
        f'<g class="alarm" {_steps(alarm.steps)}>{_title(alarm.story)}'
        f"<line {line}/><text {place}>{quote(alarm.text)}</text></g>"
    )
