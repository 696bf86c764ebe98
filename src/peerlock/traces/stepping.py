"""What a page shows beside the drawing as one steps: states and waits, as changes.

An input of a peer (a request, an arrival, a timer) and what it sends and grants are one
move, of several steps: the peer's new state belongs to the first of them.  The data is

    {"moves": [STEP, …],                                the first step of each
     "states": [[STEP, NODE, {FIELD: VALUE, …}], …],    the fields that have changed
     "waits": [[STEP, [[NODE, OTHER, WHY], …], [[NODE, OTHER], …], CYCLE, OWED], …]}

with the waits that are new and those that have ended, the nodes of a cycle, and [MEMBER,
NODE, MESSAGE] for each message that is owed.  STEP is -1 before the first step.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

from peerlock.core.peer import NodeId
from peerlock.traces.fields import in_words, values
from peerlock.traces.trace import Kind, Step, Trace
from peerlock.traces.waits import (
    Owed,
    Wait,
    WaitScene,
    concerned,
    deadlocked,
    owed,
    waits,
    waits_of,
)

FOLLOWS = (Kind.SEND, Kind.ENTER, Kind.VIOLATION)  # from the input before


def stepping(trace: Trace) -> dict[str, Any]:
    """Empty for a trace without states."""
    if len({seen.node for seen in trace.seen}) < trace.nodes:
        return {}
    return {
        "moves": moves(trace),
        "states": list(_states(trace)),
        "waits": list(_waits(trace)),
    }


def why_it_waits(trace: Trace) -> list[str]:
    """The reasons for a deadlock at the end of a trace: its waits, and what is owed."""
    if not trace.steps or trace.steps[-1].kind is not Kind.VIOLATION or not trace.seen:
        return []
    *_, (_, _, scene) = _scenes(trace)
    edges, missing = waits(scene), list(owed(scene))
    circle = deadlocked(edges)
    if not circle:
        return []
    ways = set(pairwise([*circle, circle[0]]))
    inside = [e for e in edges if (e.node, e.other) in ways]
    return [
        *(f"{e.node} waits for {e.other}: {e.why}." for e in inside),
        *(
            f"{o.node} owes {o.what} to {o.other}: an earlier request is ahead of "
            f"{o.other}'s, and {o.other} does not know."
            for o in missing
        ),
    ]


def moves(trace: Trace) -> list[int]:
    """The first step of each move."""
    steps = trace.steps
    return [i for i, step in enumerate(steps) if not (i and _follows(steps[i - 1], step))]


def _follows(before: Step, step: Step) -> bool:
    lost_at_once = step.kind is Kind.LOSE and before.flight == step.flight
    return step.kind in FOLLOWS or lost_at_once


def _begins(trace: Trace) -> list[int]:
    """For each number of steps done, the step at which the last move began."""
    firsts = set(moves(trace))
    begins = [-1]
    for i in range(len(trace)):
        begins.append(i if i in firsts else begins[-1])
    return begins


def _states(trace: Trace) -> Iterator[tuple[int, NodeId, dict[str, str]]]:
    begins = _begins(trace)
    known: dict[NodeId, dict[str, str]] = {}
    for seen in trace.seen:
        now = {name: in_words(*value) for name, value in values(seen.peer).items()}
        old = known.get(seen.node, {})
        changed = {name: value for name, value in now.items() if old.get(name) != value}
        if changed:
            yield begins[seen.steps], seen.node, changed
        known[seen.node] = now


def _waits(trace: Trace) -> Iterator[tuple[Any, ...]]:
    """Only where something has changed."""
    edges: dict[NodeId, list[Wait]] = {}
    circle: list[NodeId] = []
    missing: list[Owed] = []
    for step, moved, scene in _scenes(trace):
        now = {i: waits_of(scene, i) for i in concerned(scene, moved)}
        old = [edge for i in now for edge in edges.get(i, [])]
        new = [edge for found in now.values() for edge in found]
        edges |= now
        before = circle, missing
        if circle or not {e for e in new if not e.pending} <= set(old):
            circle = deadlocked(edge for found in edges.values() for edge in found)
        missing = list(owed(scene))
        begun, over = _difference(old, new)
        if begun or over or (circle, missing) != before:
            yield step, begun, over, circle, missing


def _difference(old: list[Wait], new: list[Wait]) -> tuple[list[Any], list[Any]]:
    """What is new or has another reason, and what is over."""
    reasons, known = ({(w.node, w.other): w.why for w in each} for each in (new, old))
    begun = [(*key, why) for key, why in reasons.items() if known.get(key) != why]
    return begun, [key for key in known if key not in reasons]


def _scenes(trace: Trace) -> Iterator[tuple[int, set[NodeId], WaitScene]]:
    """After each move: its first step, the nodes that it is about, what is known then."""
    begins, after = _begins(trace), defaultdict[int, dict[NodeId, Any]](dict)
    for seen in trace.seen:
        after[begins[seen.steps]][seen.node] = seen.peer
    scene = WaitScene(after[-1])
    for begin, end in pairwise([*moves(trace), len(trace)]):
        steps = trace.steps[begin:end]
        for step in steps:
            scene.advance(step)
        scene.peers.update(after.get(begin, {}))
        moved = {node for s in steps for node in (s.node, s.peer) if node is not None}
        yield begin, moved, scene
