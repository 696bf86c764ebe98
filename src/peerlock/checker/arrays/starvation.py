"""Starvation on arrays: the strongly connected parts of the graph, and which are fair.

It finds what `checker.starvation` finds.
"""

from __future__ import annotations

import numpy as np

from peerlock.checker.arrays.columns import Index, Ints
from peerlock.checker.arrays.graph import ArrowGraph
from peerlock.checker.arrays.search import Spots
from peerlock.checker.arrays.tables import IDLE, Tables
from peerlock.checker.search import NOWHERE
from peerlock.checker.starvation import Lasso, round_trip

NONE = -1  # no duty


def starving(graph: ArrowGraph) -> Lasso | None:
    """Of all nodes that can starve, the one and the place found with the fewest steps."""
    search, waiting = graph.search, graph.waiting()
    found: list[tuple[int, int, list[int]]] = []
    for node in range(search.model.nodes):
        knot = knots(graph, waiting >> node & 1 != 0)
        for number in fair(graph, knot).tolist():
            members = np.flatnonzero(knot == number).tolist()
            found.append((members[0], node + 1, members))
    if not found:
        return None
    begin, who, members = min(found)
    return Lasso(who, search.path(begin), round_trip(search, begin, set(members)))


def knots(graph: ArrowGraph, region: Ints) -> Ints:
    """Of each state: which strongly connected component with an arrow in it, or NONE.

    Each state takes the highest number from which it can be reached.  Those that reach the
    state of that number, on a way on which all have it, are a component.
    """
    knot = np.full(graph.size, NONE, np.int64)
    sources, targets = trimmed(graph, *arrows_within(graph, region))
    while len(sources):
        highest = np.arange(graph.size)
        spread(highest, sources, targets)
        same = highest.take(sources) == highest.take(targets)
        sources, targets = sources[same], targets[same]
        back = np.zeros(graph.size, np.int8)
        ends = np.unique(targets)
        back[ends[highest.take(ends) == ends]] = 1
        spread(back, targets, sources)
        members = sources[(back.take(sources) & back.take(targets)) != 0]
        knot[members] = highest.take(members)
        outside = (back.take(sources) | back.take(targets)) == 0
        sources, targets = trimmed(graph, sources[outside], targets[outside])
    return knot


def trimmed(graph: ArrowGraph, sources: Index, targets: Index) -> tuple[Index, Index]:
    """Without arrows that no loop can have: nothing leads to them, or on from them."""
    while True:
        graph.poll()
        entered, left = np.zeros((2, graph.size), np.bool_)
        entered[targets], left[sources] = True, True
        useful = entered.take(sources) & left.take(targets)
        if useful.all():
            return sources, targets
        sources, targets = sources[useful], targets[useful]


def spread(values: Ints, sources: Index, targets: Index) -> None:
    """Raise each value to the highest from which it can be reached."""
    while len(sources):
        rises = np.flatnonzero(values.take(sources) > values.take(targets))
        if not len(rises):
            return
        np.maximum.at(values, targets.take(rises), values.take(sources.take(rises)))


def arrows_within(graph: ArrowGraph, region: Ints) -> tuple[Index, Index]:
    sources, targets = [np.empty(0, np.intp)], [np.empty(0, np.intp)]
    for states in graph.pieces(np.flatnonzero(region)):
        some, then = graph.from_states(states)
        inside = region.take(then)
        sources.append(some[inside])
        targets.append(then[inside].astype(np.intp))
    return np.concatenate(sources), np.concatenate(targets)


# Fairness


def duties_of(tables: Tables) -> Ints:
    """By step: a number for what it fulfils; a FIFO channel owes its first message."""
    fifo, letters = tables.sites.model.network.fifo, tables.sites.letters
    numbers: dict[object, int] = {}
    found: list[int] = []
    for step in tables.steps:
        key: object = step
        if fifo and step.letter:
            key = letters.open(step.letter).sender
        found.append(NONE if step.what in IDLE else numbers.setdefault(key, len(numbers)))
    return np.array(found, np.int64) * len(tables.everybody) + tables.index


def fair(graph: ArrowGraph, knot: Ints) -> Index:
    """The components in which a loop can fulfil every duty.

    What is possible in all states of one must be done by an arrow in it.
    """
    duties = [duties_of(tables) for tables in graph.search.tables]
    possible, done = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    members = np.flatnonzero(knot != NONE)
    for states in graph.pieces(members):
        owner, arrows = graph.leaving(states)
        words = tuple(word.take(states) for word in graph.search.seen.keys)
        duty = fulfilled(Spots(graph.search, words), duties)
        targets = graph.arrows.take(arrows)
        here = knot.take(states)
        must = np.flatnonzero(duty >= 0)
        each = np.unique(owner.take(must) << 32 | duty.take(must))
        possible.append(here.take(each >> 32) << 32 | each & 0xFFFFFFFF)
        inside = must[
            knot.take(targets.take(must), mode="clip") == here.take(owner.take(must))
        ]
        inside = inside[targets.take(inside) != NOWHERE]
        done.append(np.unique(here.take(owner.take(inside)) << 32 | duty.take(inside)))
    numbers, sizes = np.unique(knot.take(members), return_counts=True)
    pairs, often = np.unique(np.concatenate(possible), return_counts=True)
    owed = pairs[often == sizes.take(np.searchsorted(numbers, pairs >> 32))]
    undone = owed[~np.isin(owed, np.concatenate(done))] >> 32
    return numbers[~np.isin(numbers, undone)]


def fulfilled(spots: Spots, duties: list[Ints]) -> Ints:
    """Of each arrow: its duty, or less than 0."""
    found = np.empty(int(spots.ends[-1]), np.int64)
    for node, group, _, rows, arrows in spots.moves():
        found[arrows] = duties[node].take(group["step"].take(rows))
    return found
