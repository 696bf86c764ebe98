"""Starvation on arrays: the strongly connected parts of the graph, and which are fair.

What is looked for is what `checker.starvation` looks for.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from peerlock.checker.arrays.columns import Index, Ints
from peerlock.checker.arrays.graph import Graph
from peerlock.checker.arrays.search import Spots
from peerlock.checker.arrays.tables import IDLE, Tables
from peerlock.checker.search import NOWHERE
from peerlock.checker.starvation import Lasso, round_trip

NONE = -1  # no duty


def starving(graph: Graph) -> Lasso | None:
    """Of all nodes that can starve, the one and the place found with the fewest steps."""
    search, waiting = graph.search, graph.waiting()
    duties = [duties_of(tables) for tables in search.tables]
    found: list[tuple[int, int, list[int]]] = []
    for node in range(search.model.nodes):
        components = knots(graph, waiting >> node & 1 != 0)
        fair = (c.tolist() for c in components if is_fair(graph, c, duties))
        found += [(c[0], node + 1, c) for c in fair]
    if not found:
        return None
    begin, who, members = min(found)
    return Lasso(who, search.path(begin), round_trip(search, begin, set(members)))


def knots(graph: Graph, region: Ints) -> Iterator[Index]:
    """The strongly connected components that have an arrow in them, in ascending order.

    Each state takes the highest number from which it can be reached.  Those that reach the
    state of that number, on a way on which all have it, are a component.
    """
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
        inside = (back.take(sources) & back.take(targets)) != 0
        members = np.unique(sources[inside])
        order = members[np.argsort(highest.take(members), kind="stable")]
        if len(order):
            yield from np.split(order, np.flatnonzero(np.diff(highest.take(order))) + 1)
        outside = (back.take(sources) | back.take(targets)) == 0
        sources, targets = trimmed(graph, sources[outside], targets[outside])


def trimmed(graph: Graph, sources: Index, targets: Index) -> tuple[Index, Index]:
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


def arrows_within(graph: Graph, region: Ints) -> tuple[Index, Index]:
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


def is_fair(graph: Graph, component: Index, duties: list[Ints]) -> bool:
    """A round through all of it, and as often as one likes, leaves nothing undone."""
    members = np.zeros(graph.size, np.bool_)
    members[component] = True
    owner, arrows = graph.leaving(component)
    words = tuple(word.take(component) for word in graph.search.seen.keys)
    done = fulfilled(Spots(graph.search, words), duties)
    targets = graph.arrows.take(arrows)
    inside = (targets != NOWHERE) & members.take(np.where(targets == NOWHERE, 0, targets))
    must = done >= 0
    each = np.unique(owner[must] << 32 | done[must]) & 0xFFFFFFFF
    possible, often = np.unique(each, return_counts=True)
    owed = possible[often == len(component)]
    return bool(np.isin(owed, done[inside]).all())


def fulfilled(spots: Spots, duties: list[Ints]) -> Ints:
    """Of each arrow: its duty, or less than 0."""
    found = np.empty(int(spots.ends[-1]), np.int64)
    for node, group, _, rows, arrows in spots.moves():
        found[arrows] = duties[node].take(group["step"].take(rows))
    return found
