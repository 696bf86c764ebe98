"""What the page shows of a run by hand: drawing, nodes, messages, state, relations."""

from __future__ import annotations

from functools import cache
from typing import Any

from peerlock.algorithms.card import card
from peerlock.algorithms.lookup import algorithm
from peerlock.core.errors import UsageError
from peerlock.core.peer import NodeId, label
from peerlock.core.under_way import UnderWay
from peerlock.playground import links
from peerlock.playground.moves import timer
from peerlock.playground.relations import relations
from peerlock.playground.run import Run
from peerlock.traces import svg, text
from peerlock.traces.diagram import NAMES, Diagram
from peerlock.traces.fields import shown, values
from peerlock.traces.layout import lay_out
from peerlock.traces.trace import Kind


def view(run: Run) -> dict[str, Any]:
    diagram = lay_out(run.trace)
    return {
        "run": run.as_json(),
        "link": links.encode(run.as_json()),
        "told": run.told,
        "did": run.did,
        "ends": run.ends,
        "steps": [text.sentence(step) for step in run.trace],
        "svg": svg.drawing(diagram),
        "places": [_place(diagram, run, end) for end in run.ends],
        "rows": {str(node): y for node, y in diagram.rows.items()},
        "nodes": [node_view(run, node) for node in run.cluster.members],
        "flying": [flight_view(run, flight) for flight in _once(run.cluster.flying)],
        "relations": relations(run),
        "forbids": forbidden(run.setup.algorithm),
        "status": status(run),
        "counts": counts(run),
    }


@cache
def forbidden(name: str) -> dict[str, str]:
    """Why messages are not lost or duplicated, by the card of the algorithm; or nothing."""
    entry = algorithm(name)
    network = card(entry).facts.get("network", "")
    lossless = "no loss" in network or "losses as its entry" in network
    return {
        "lose": network if lossless and not entry.exhibit.losses else "",
        "duplicate": network if "no duplicates" in network else "",
    }


def _place(diagram: Diagram, run: Run, end: int) -> float:
    """Where the drawing is after this many steps."""
    if not end:
        return NAMES
    return round(diagram.scale.place(run.trace.steps[end - 1].time), 1)


def _once(flights: list[UnderWay]) -> list[UnderWay]:
    return list({flight.number: flight for flight in flights}.values())


def counts(run: Run) -> dict[str, int]:
    entries = sum(step.kind is Kind.ENTER for step in run.trace)
    return {"messages": run.cluster.sent, "entries": entries}


def status(run: Run) -> dict[str, Any]:
    if run.broken:
        return {"kind": "broken", "text": run.broken, "line": run.broken_line}
    if run.deadlock:
        return {"kind": "deadlock", "text": run.deadlock}
    judge = run.cluster.judge
    quiet = not (run.cluster.flying or judge.inside or judge.waiting)
    return {"kind": "quiet" if quiet else "running", "text": ""}


def node_view(run: Run, node: NodeId) -> dict[str, Any]:
    return {
        "node": node,
        "phase": phase(run, node),
        "actions": [] if run.broken else actions(run, node),
        "fields": shown(values(run.cluster.peers[node]), run.before.get(node)),
    }


def phase(run: Run, node: NodeId) -> str:
    judge = run.cluster.judge
    if node in run.cluster.gone:
        return "down"
    return (
        "inside" if node in judge.inside else "waiting" if node in judge.waiting else "idle"
    )


def actions(run: Run, node: NodeId) -> list[dict[str, str]]:
    """The moves that a node can make now; the first one is what a click on it does."""
    now = phase(run, node)
    if now == "down":
        return [_action(f"s{node}", "restart")]
    found = []
    if now == "idle":
        rule = run.cluster.rule
        for k, demand in enumerate(rule.demands):
            words = rule.words(demand)
            what = f"request {words}" if words else "request"
            found.append(_action(f"r{node}:{k}" if k else f"r{node}", what))
    if now == "inside":
        found.append(_action(f"l{node}", "leave"))
    found += [_action(timer(node, name), f"timer {name}") for name in _timers(run, node)]
    return [*found, _action(f"c{node}", "crash")]


def _action(move: str, words: str) -> dict[str, str]:
    return {"move": move, "words": words}


def _timers(run: Run, node: NodeId) -> list[str]:
    """A timer that outlasts all messages fires only when none is under way."""
    outlasting = run.entry.outlasting if run.cluster.flying else ()
    return sorted(n for i, n in run.cluster.timers if i == node and n not in outlasting)


def flight_view(run: Run, flight: UnderWay) -> dict[str, Any]:
    blocked = ""
    try:
        run.cluster.must_be_next(flight)
    except UsageError as error:
        blocked = str(error)
    sent = (
        i
        for i, step in enumerate(run.trace)
        if step.kind is Kind.SEND and step.flight == flight.number
    )
    return {
        "number": flight.number,
        "sender": flight.sender,
        "receiver": flight.receiver,
        "label": label(flight.message),
        "step": next(sent, None),
        "blocked": blocked,
        "faults": flight.number > 0,
    }
