"""Simulated runs to watch: one, or two algorithms on the same requests side by side."""

from __future__ import annotations

from itertools import accumulate
from random import Random
from typing import Any

from peerlock.core.errors import UsageError
from peerlock.playground import moves as words_of
from peerlock.playground.edits import name_of
from peerlock.playground.run import Run, moves_in
from peerlock.playground.setup import Setup, number, setup
from peerlock.simulator.latency import parse_latency
from peerlock.simulator.load import Load, Schedule, parse_load
from peerlock.simulator.network import Network
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import empty_trace, simulate
from peerlock.simulator.violation import Violation
from peerlock.traces import svg, text
from peerlock.traces.layout import lay_out
from peerlock.traces.trace import Kind, Trace

MOST_ENTRIES = 200
MOST_STEPS = 4000


def watched(found: Any) -> dict[str, Any]:
    made = setup(found)
    entries = number(found, "entries", 12)
    if not 1 <= entries <= MOST_ENTRIES:
        raise UsageError(f"invalid entries {entries}: use 1 to {MOST_ENTRIES}")
    return played(made, found, parse_load(str(found.get("load", "heavy"))), entries)


def played(made: Setup, found: Any, load: Load, entries: int) -> dict[str, Any]:
    trace, trouble = simulated(made, found, load, entries)
    if len(trace) > MOST_STEPS:
        raise UsageError(
            f"this run has {len(trace):,} steps: choose fewer entries or nodes"
        )
    return drawn(trace) | {
        "run": made.as_json(),
        "formula": made.entry.messages,
        "trouble": trouble,
    }


def simulated(made: Setup, found: Any, load: Load, entries: int) -> tuple[Trace, str]:
    entry = made.entry
    latency = parse_latency(str(found.get("latency", "uniform:0.5,1.5")))
    scenario = Scenario(
        algorithm=made.algorithm if made.source is None else name_of(made.algorithm),
        nodes=made.nodes,
        entries=entries,
        load=load,
        network=Network(latency, fifo=entry.fifo),
        hold=number(found, "hold", 1.0, float),
        seed=number(found, "seed", 1),
        **made.chosen,
    )
    trace = empty_trace(scenario)
    try:
        simulate(scenario, trace)
    except Violation as violation:
        return trace, violation.text
    return trace, ""


def drawn(trace: Trace) -> dict[str, Any]:
    """The drawing of the whole run, and how far it is after each step."""
    diagram = lay_out(trace)
    kinds = [step.kind for step in trace]
    return {
        "svg": svg.drawing(diagram),
        "steps": [text.sentence(step) for step in trace],
        "times": [step.time for step in trace],
        "places": [round(diagram.scale.place(step.time), 1) for step in trace],
        "messages": list(accumulate(int(kind is Kind.SEND) for kind in kinds)),
        "entries": list(accumulate(int(kind is Kind.ENTER) for kind in kinds)),
    }


# Two side by side


def beside(found: Any) -> dict[str, Any]:
    """Two setups on the moves of the first, or, without moves, on the same requests."""
    left, right = setup(found["left"]), setup(found["right"])
    if moves_in(found["left"]):
        return _same_moves(found["left"], left, right)
    return _same_requests(found, left, right)


def _same_requests(found: Any, left: Setup, right: Setup) -> dict[str, Any]:
    rng = Random(number(found, "seed", 1))
    nodes = min(left.nodes, right.nodes)
    count = min(number(found, "entries", 8), 40)
    load = Schedule(
        tuple(
            (round(1.5 * k + rng.random(), 2), rng.randint(1, nodes)) for k in range(count)
        )
    )
    pages = [played(made, found, load, count) for made in (left, right)]
    traces = [simulated(made, found, load, count)[0] for made in (left, right)]
    order = [
        [(i, step.node) for i, step in enumerate(trace) if step.kind is Kind.ENTER]
        for trace in traces
    ]
    for k, (a, b) in enumerate(zip(*order, strict=False), start=1):
        if a[1] != b[1]:
            words = (
                f"entry {k} is of node {a[1]} on the left and of node {b[1]} on the right"
            )
            return _pair(pages, words, a[0], b[0])
    return _pair(pages, "the nodes enter in the same order", None, None)


def _pair(
    pages: list[dict[str, Any]], words: str, left: int | None, right: int | None
) -> dict[str, Any]:
    return {
        "left": pages[0],
        "right": pages[1],
        "difference": {"text": words, "left": left, "right": right},
    }


def _same_moves(found: Any, left: Setup, right: Setup) -> dict[str, Any]:
    one, other = Run(left), Run(right)
    difference: tuple[str, int | None, int | None] = (
        "they do the same at each step",
        None,
        None,
    )
    for nth, move in enumerate(moves_in(found), start=1):
        letter = None
        if move[0] in "dxu":
            letter = words_of.letter_of(one.cluster, int(move[1:]))
        begun = len(one.trace), len(other.trace)
        one.play(move)
        if difference[1] is not None:
            continue
        try:
            other.play(_renamed(other, move, letter))
        except UsageError as error:
            words = f"step {nth}, {one.told[-1]}: not possible on the right, {error}"
            difference = words, begun[0], max(0, begun[1] - 1)
            continue
        if _done(one, begun[0]) != _done(other, begun[1]):
            words = f"step {nth}, {one.told[-1]}: what follows differs"
            difference = words, begun[0], begun[1]
    pages = [
        drawn(run.trace)
        | {
            "run": run.as_json(),
            "formula": run.entry.messages,
            "trouble": run.broken or run.deadlock,
        }
        for run in (one, other)
    ]
    return _pair(pages, *difference)


def _renamed(run: Run, move: str, letter: words_of.NamedLetter | None) -> str:
    if letter is None:
        return move
    number = words_of.letters(run.cluster).get(letter)
    if number is None:
        raise UsageError(f"{letter.sender} has sent no such {letter.type}")
    return f"{move[0]}{number}"


def _done(run: Run, begun: int) -> list[str]:
    return [text.sentence(step) for step in run.trace.steps[begun:]]
