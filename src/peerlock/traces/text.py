"""A trace as text, one line for each step:

0.00  1 requests
0.00  1 ──▶ 2  REQUEST(1) is sent
1.73  1 ──▶ 2  REQUEST(1) arrives
3.10  1 enters, fence 1
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from math import floor, log10

from peerlock.core.peer import label
from peerlock.traces.trace import Kind, Step, Trace


@dataclass(frozen=True, slots=True)
class Columns:
    """How wide the numbers are printed, so that the lines of one trace align."""

    time: int = 8
    decimals: int = 2
    node: int = 1

    def clock(self, time: float) -> str:
        return f"{time:{self.time}.{self.decimals}f}"


def columns(trace: Trace) -> Columns:
    latest = max((step.time for step in trace), default=0.0)
    if all(float(step.time).is_integer() for step in trace):
        decimals = 0
    else:
        decimals = 2 if latest >= 1 else 2 - floor(log10(latest))
    width = 2 + max(len(f"{latest:.{decimals}f}"), 4)
    return Columns(width, decimals, len(str(trace.nodes)))


def render(trace: Trace) -> str:
    return "\n".join([title(trace), "", *lines(trace), ""])


def lines(trace: Trace) -> Iterator[str]:
    """A trace as text: a line for each step."""
    aligned = columns(trace)
    return (line(step, aligned) for step in trace)


def line(step: Step, columns: Columns = Columns()) -> str:
    """A step in words, aligned with others if `columns` are theirs."""
    return f"{columns.clock(step.time)}  {sentence(step, columns.node)}"


def sentence(step: Step, node_width: int = 1) -> str:
    """The node and what it does, without the time."""
    return f"{_subject(step, node_width)}{one_line(what(step))}"


def what(step: Step) -> str:
    """What happens, without the time and the node."""
    match step.kind:
        case Kind.REQUEST:
            return "requests to read" if step.note == "shared" else "requests"
        case Kind.ENTER:
            return "enters" if step.fence is None else f"enters, fence {step.fence}"
        case Kind.LEAVE:
            return "leaves"
        case Kind.SEND:
            return f"{label(step.message)} is sent"
        case Kind.RECEIVE:
            return f"{label(step.message)} arrives"
        case Kind.LOSE:
            return f"{label(step.message)} is lost"
        case Kind.TIMER:
            return f"timer {step.note} fires"
        case Kind.CRASH:
            return "crashes"
        case Kind.RESTART:
            return "restarts"
        case Kind.VIOLATION:
            return f"VIOLATION: {step.note}"


def title(trace: Trace) -> str:
    return f"{one_line(trace.algorithm)}, {size(trace)}"


def size(trace: Trace) -> str:
    nodes = "1 node" if trace.nodes == 1 else f"{trace.nodes} nodes"
    return nodes if trace.seed is None else f"{nodes}, seed {trace.seed}"


def clock(time: float) -> str:
    """A time with few digits: 3, 1.73, 0.0042."""
    return f"{time:.2f}".rstrip("0").rstrip(".") if time >= 1 else f"{time:.3g}"


def one_line(text: str) -> str:
    """Without what would break a line, a terminal or an XML parser."""
    return "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)


def _subject(step: Step, width: int) -> str:
    here, there = f"{step.node:{width}}", f"{step.peer or 0:{width}}"
    match step.kind:
        case Kind.SEND:
            return f"{here} ──▶ {there}  "
        case Kind.RECEIVE | Kind.LOSE:
            return f"{there} ──▶ {here}  "
        case _:
            return f"{here} "
