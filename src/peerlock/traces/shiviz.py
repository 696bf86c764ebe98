"""A trace as a log for ShiViz (https://bestchai.bitbucket.io/shiviz/).

The first line is the expression that ShiViz parses the log with (its own default, so
that the log can be pasted as well as uploaded), the second would separate several
runs.  Then two lines for each event: what happened, and the host with its vector clock.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from peerlock.core.peer import NodeId
from peerlock.traces import text
from peerlock.traces.spans import flights
from peerlock.traces.trace import Kind, Step, Trace

PARSER = r"(?<event>.*)\n(?<host>\S*) (?<clock>{.*})"

VectorClock = dict[NodeId, int]


def render(trace: Trace) -> str:
    lost = {flight.send for flight in flights(trace) if flight.losses}
    written = [PARSER, ""]
    for i, clock in vector_clocks(trace):
        step = trace.steps[i]
        hosts = {host(node): clock[node] for node in sorted(clock)}
        written.append(_event(step, i in lost))
        written.append(f"{host(step.node)} {json.dumps(hosts)}")
    return "\n".join([*written, ""])


def vector_clocks(trace: Trace) -> Iterator[tuple[int, VectorClock]]:
    """The clock of each step that is an event of a node; a loss happens at none."""
    clocks: dict[NodeId, VectorClock] = {}
    sent: dict[int | None, VectorClock] = {}
    for i, step in enumerate(trace):
        if step.kind is Kind.LOSE:
            continue
        clock = dict(clocks.get(step.node, {}))
        if step.kind is Kind.RECEIVE:
            for node, count in sent.get(step.flight, {}).items():
                clock[node] = max(count, clock.get(node, 0))
        clock[step.node] = clock.get(step.node, 0) + 1
        clocks[step.node] = clock
        if step.kind is Kind.SEND:
            sent[step.flight] = clock
        yield i, clock


def host(node: NodeId) -> str:
    return f"node{node}"


def _event(step: Step, lost: bool) -> str:
    """Braces would read like a clock to ShiViz, so they become parentheses."""
    way = {Kind.SEND: f" to {step.peer}", Kind.RECEIVE: f" from {step.peer}"}
    fate = ", and lost" if lost else ""
    words = f"{text.what(step)}{way.get(step.kind, '')}{fate}, at {text.clock(step.time)}"
    return text.one_line(words).translate(str.maketrans("{}", "()"))
