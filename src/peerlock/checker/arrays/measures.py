"""The measures of `checker.measures`, on arrays: the most messages, the most overtaking."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import numpy as np

from peerlock.checker.arrays.columns import Index, Ints
from peerlock.checker.arrays.graph import ArrowGraph
from peerlock.checker.measures import Overtaking
from peerlock.checker.sites import Local, Phase


def entries_so_far(graph: ArrowGraph) -> Ints:
    asked = graph.search.model.requests
    assert asked is not None

    def entered(index: int, local: Local) -> int:
        return asked[index] - local.left - (local.phase is Phase.WAITING)

    return graph.sum_of(entered, np.uint8 if sum(asked) < 255 else np.int32)


# Messages


def max_messages_per_entry(graph: ArrowGraph) -> Fraction | None:
    """Of all busy periods, the most messages by entries; None if there is no most."""
    if not graph.acyclic:
        return None
    entries, resting = entries_so_far(graph), graph.resting()
    begins = np.unique(entries[resting]).tolist()
    found = [busiest(graph, entries, resting, begin) for begin in begins]
    return max(found, default=None)


def busiest(graph: ArrowGraph, entries: Ints, resting: Ints, begin: int) -> Fraction:
    """Of the busy periods that begin after this many entries: the longest way to rest.

    Where each step is a request, a leaving or an arrival, counting steps is quicker: from
    rest to rest all that was sent arrives, and an entry has one request and one leaving.
    """
    sent = np.full(graph.size, -1, np.int16)  # messages since it began, if it did
    sent[resting & (entries == begin)] = 0
    ends = resting & (entries > begin)
    for some in graph.in_order():
        states = some[(sent.take(some) >= 0) & ~ends.take(some)]
        if not len(states):
            continue
        owner, arrows = graph.leaving(states)
        more = 1 if graph.only_messages else graph.sends(states).astype(np.int16)
        then = sent.take(states).take(owner) + more
        targets = graph.arrows.take(arrows)
        real = targets < graph.size
        np.maximum.at(sent, targets[real], then[real])
    reached = np.flatnonzero(ends & (sent >= 0))
    pairs = zip(sent[reached].tolist(), entries[reached].tolist(), strict=True)
    less = 2 if graph.only_messages else 0
    ratios = (Fraction(most, after - begin) - less for most, after in set(pairs))
    return max(ratios, default=Fraction(0))


# Overtaking


def worst_overtaking(graph: ArrowGraph) -> Overtaking:
    entries, waiting = entries_so_far(graph), graph.waiting()
    found: list[tuple[int, int, int]] = []
    since = earliest(graph, entries, waiting)
    for node, begin in enumerate(since):
        overtaken = np.where(waiting >> node & 1, entries - begin, 0)
        end = int(np.argmax(overtaken))
        found.append((int(overtaken[end]), -node, end))
    most, node, end = max(found)
    if not most:
        return Overtaking(0, 1 - node, [])
    begin = since[-node]
    region = (waiting >> -node & 1 != 0) & (begin == begin[end])
    way = shortest(graph, np.flatnonzero(region & (entries == begin)), end, region)
    steps = [graph.search.step(a, b) for a, b in pairwise(way)]
    return Overtaking(most, 1 - node, graph.search.path(way[0]) + steps)


def earliest(graph: ArrowGraph, entries: Ints, waiting: Ints) -> list[Ints]:
    """By node: with how few entries the wait can have begun that it is in, if it is."""
    since = [entries.copy() for _ in range(graph.search.model.nodes)]
    if graph.acyclic:
        for states in graph.in_order():
            carry_on(graph, states, waiting, since)
        return since
    before = -1
    while before != (before := sum(int(begin.sum(dtype=np.int64)) for begin in since)):
        for states in graph.pieces(np.arange(graph.size)):
            carry_on(graph, states, waiting, since)
    return since


def carry_on(graph: ArrowGraph, states: Index, waiting: Ints, since: list[Ints]) -> None:
    sources, targets = graph.from_states(states[waiting.take(states) != 0])
    both = waiting.take(sources) & waiting.take(targets)
    for node, begin in enumerate(since):
        on = np.flatnonzero(both >> node & 1)
        np.minimum.at(begin, targets.take(on), begin.take(sources.take(on)))


def shortest(graph: ArrowGraph, begins: Index, end: int, region: Ints) -> list[int]:
    """A shortest way from one of some states to another, in a part of the graph."""
    came = np.full(graph.size, -1, np.min_scalar_type(-graph.size))
    came[begins] = begins
    layer = begins
    while came[end] < 0:
        found: list[Ints] = []
        for states in graph.pieces(layer):
            sources, targets = graph.from_states(states)
            new = np.flatnonzero(region.take(targets) & (came.take(targets) < 0))
            came[targets.take(new)[::-1]] = sources.take(new)[::-1]
            found.append(np.unique(targets.take(new)))
        layer = np.unique(np.concatenate(found)).astype(np.intp)
    way = [end]
    while came[way[-1]] != way[-1]:
        way.append(int(came[way[-1]]))
    return way[::-1]
