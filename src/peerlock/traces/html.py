"""A trace as one page to explore: the diagram beside its steps, states and waits.

Nothing is loaded from elsewhere; style and script are written into the page.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from importlib.resources import files

from peerlock.core.peer import snake
from peerlock.traces import svg, text
from peerlock.traces.diagram import Diagram
from peerlock.traces.layout import lay_out
from peerlock.traces.stepping import stepping
from peerlock.traces.svg import Key, number, quote
from peerlock.traces.trace import Kind, Step, Trace

TOOLS = (
    ("back", "◀", "one step back (←)"),
    ("forward", "▶", "one step on (→)"),
    ("play", "play", "play and pause (space)"),
    ("out", "−", "smaller (−)"),
    ("in", "+", "larger (+)"),
    ("fit", "fit", "all of it (0)"),
)
HINT = "drag to move · wheel to zoom · ← → to step · space to play · Esc to see all"


def render(trace: Trace) -> str:
    diagram = lay_out(trace)
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{quote(text.title(trace))}</title>",
        f"<style>\n{_resource('page.css')}</style>\n</head>\n<body>",
        *_header(diagram),
        f'<main>\n<div id="stage">\n{svg.drawing(diagram)}',
        f'<p class="hint">{HINT}</p></div>',
        '<aside><section id="now" aria-live="off" hidden></section>',
        '<ol id="steps" class="trace">',
        *_steps(diagram),
        '</ol></aside>\n</main>\n<div id="details" hidden></div>',
        f'<script type="application/json" id="data">{_data(trace)}</script>',
        f"<script>\n{_resource('now.js')}</script>",
        f"<script>\n{_resource('page.js')}</script>\n</body>\n</html>\n",
    ]
    return "\n".join(parts)


def _resource(name: str) -> str:
    return (files(__package__) / name).read_text("utf-8")


def _data(trace: Trace) -> str:
    """In a script element, which ends at the first `</`."""
    return json.dumps(stepping(trace), separators=(",", ":")).replace("<", "\\u003c")


def _header(diagram: Diagram) -> Iterator[str]:
    trace = diagram.trace
    yield f"<header><h1>{quote(trace.algorithm)} <small>{text.size(trace)}</small></h1>"
    yield '<div class="legend">'
    yield from map(_key, svg.keys(diagram))
    yield '</div>\n<div class="tools">'
    for action, face, words in TOOLS:
        naming = f'title="{words}" aria-label="{words}"'
        yield f'<button type="button" data-action="{action}" {naming}>{face}</button>'
    yield "</div></header>"


def _key(key: Key) -> str:
    """A message type is a switch; the rest only explains."""
    width = number(key.room)
    symbol = f'<svg class="trace" width="{width}" height="18" viewBox="0 -9 {width} 18">'
    count = f" <small>{key.count}</small>" if key.count else ""
    words = f"{symbol}{key.symbol}</svg>{quote(key.words)}{count}"
    if key.type is None:
        return f"<span>{words}</span>"
    return (
        f'<button type="button" data-type="{key.type}" aria-pressed="true">{words}</button>'
    )


def _steps(diagram: Diagram) -> Iterator[str]:
    columns = text.columns(diagram.trace)
    for step in diagram.trace:
        time = columns.clock(step.time).strip()
        x, y = number(diagram.scale.place(step.time)), number(diagram.rows[step.node])
        yield (
            f'<li data-x="{x}" data-y="{y}"{_kind(diagram, step)}>'
            f"<time>{time}</time><span>{quote(text.sentence(step))}</span></li>"
        )


def _kind(diagram: Diagram, step: Step) -> str:
    if step.kind is Kind.VIOLATION:
        return ' class="violation"'
    if step.kind not in (Kind.SEND, Kind.RECEIVE, Kind.LOSE):
        return ""
    name = snake(type(step.message)).upper()
    if name not in diagram.types:
        return ""
    number_of_type = diagram.types.index(name)
    return f' class="{svg.colour(number_of_type)}" data-type="{number_of_type}"'
