"""Measures over all schedules: the most messages, the most overtaking.

Both are read off the finished graph of states, so that no counter makes it larger.
"""

from __future__ import annotations

from array import array
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fractions import Fraction
from itertools import chain

from peerlock.checker.search import NOWHERE, Exploration, Search
from peerlock.checker.sites import MASK, Phase, Remembered
from peerlock.core.peer import NodeId

Poll = Callable[
    [], None
]  # called now and then; it raises an exception to end the measuring
OFTEN = 0x3FFF  # states between two calls, and some


def everyone_entered(search: Exploration) -> bool:
    """Whether every node with requests enters in some schedule."""
    return all(
        any(local.phase is Phase.INSIDE for local in sites.locals)
        for sites in search.sites
        if search.model.requests is None or search.model.requests[sites.index]
    )


def max_messages_per_entry(search: Search, poll: Poll) -> Fraction | None:
    """Of all busy periods, the most messages by entries; None if there is no most.

    A busy period lasts from a state at rest, without requests and messages under way, to
    the next.  One with a single entry has just the messages of that entry; when several
    nodes compete, a message cannot be attributed to one of them.
    """
    order = _in_order(search, poll)
    if order is None or search.model.requests is None or search.model.network.faults:
        return None
    entries, resting = _entries_so_far(search), _resting(search)
    begins = {entries[state] for state, rests in enumerate(resting) if rests}
    sends = [(Remembered(sites.sends), sites.shift) for sites in search.sites]
    return max(
        (_busiest(search, order, entries, resting, sends, begin, poll) for begin in begins),
        default=None,
    )


@dataclass(frozen=True)
class Overtaking:
    """The most entries by others between one node's request and its own entry."""

    entries: int
    node: NodeId  # the one that is overtaken
    steps: list[tuple[int, int]]  # a schedule in which it is: states, and their moves


def worst_overtaking(search: Search, poll: Poll) -> Overtaking | None:
    """None if requests have no end: there may be no maximum."""
    if search.model.requests is None or search.model.network.faults:
        return None
    entries = _entries_so_far(search)
    by_entries = [array("I") for _ in range(max(entries) + 1)]
    for state, before in enumerate(entries):
        by_entries[before].append(state)
    found: list[tuple[int, int, int, int]] = []
    for index in range(search.model.nodes):
        worst = _overtaken(search, waits(search, index), entries, by_entries, poll)
        found.append((*worst, index))
    most, begin, end, index = max(found)
    steps = search.path(begin) + _way(search, begin, end, waits(search, index))
    return Overtaking(most, index + 1, steps)


def _way(search: Search, begin: int, end: int, region: bytearray) -> list[tuple[int, int]]:
    """A shortest one from state to state within a part of the graph."""
    came: dict[int, tuple[int, int]] = {begin: (begin, 0)}
    todo = [begin]
    for state in todo:  # which grows meanwhile
        first, last = search.arrows_of(state)
        for move, target in enumerate(search.arrows[first:last]):
            if target != NOWHERE and region[target] and target not in came:
                came[target] = (state, move)
                todo.append(target)
    steps: list[tuple[int, int]] = []
    while end != begin:
        end, move = came[end]
        steps.append((end, move))
    return steps[::-1]


def _in_order(search: Search, poll: Poll) -> array[int] | None:
    """All states, each after those it is reached from; None if there is no such order."""
    arrows, first = search.arrows, _bounds(search)
    before = [0] * (len(search.states) + 1)  # arrows from states not yet in order
    for target in arrows:
        before[target if target != NOWHERE else -1] += 1
    order = array("I", [] if before[0] else [0])
    for state in order:  # which grows meanwhile
        if not state & OFTEN:
            poll()
        for target in arrows[first[state] : first[state + 1]]:
            if target != NOWHERE:
                before[target] -= 1
                if not before[target]:
                    order.append(target)
    return order if len(order) == len(search.states) else None


def _busiest(
    search: Search,
    order: array[int],
    entries: list[int],
    resting: bytearray,
    sends: list[tuple[Remembered, int]],
    begin: int,
    poll: Poll,
) -> Fraction:
    """Of the busy periods that begin after this many entries: the longest way to rest."""
    arrows, first = search.arrows, _bounds(search)
    sent = [-1] * len(order)  # messages since the beginning, if there was one
    most = Fraction(0)
    for state in order:
        if not state & OFTEN:
            poll()
        if resting[state] and entries[state] == begin:
            sent[state] = 0
        here = sent[state]
        if here < 0:
            continue
        if resting[state] and entries[state] > begin:
            most = max(most, Fraction(here, entries[state] - begin))
            continue
        whole = search.states[state]
        more_sent = [m for table, shift in sends for m in table[whole >> shift & MASK]]
        targets = arrows[first[state] : first[state + 1]]
        for target, more in zip(targets, more_sent, strict=True):
            if target != NOWHERE and here + more > sent[target]:
                sent[target] = here + more
    return most


def _resting(search: Search) -> bytearray:
    """Of each state: whether there is no request and no message under way."""
    states = search.states
    found: Iterable[int] = range(len(states))
    for sites in search.sites:
        shift, locals_ = sites.shift, sites.locals
        rests = [not box and locals_[x].phase is Phase.IDLE for x, _, box in sites.sites]
        found = [number for number in found if rests[states[number] >> shift & MASK]]
    resting = bytearray(len(states))
    for number in found:
        resting[number] = 1
    return resting


def _bounds(search: Search) -> array[int]:
    return search.first_arrow + array("Q", [len(search.arrows)])


def _entries_so_far(search: Search) -> list[int]:
    """Of each state.  What was asked, less what was not granted: no counter is needed."""
    assert search.model.requests is not None
    total = [0] * len(search.states)
    for sites, asked in zip(search.sites, search.model.requests, strict=True):
        shift, locals_ = sites.shift, map(sites.local, range(len(sites.sites)))
        entered = [asked - x.left - (x.phase is Phase.WAITING) for x in locals_]
        both = zip(total, search.states, strict=True)
        total = [before + entered[state >> shift & MASK] for before, state in both]
    return total


def _overtaken(
    search: Search,
    region: bytearray,
    entries: list[int],
    by_entries: list[array[int]],
    poll: Poll,
) -> tuple[int, int, int]:
    """Of all ways within the states in which a node waits, the one with most entries.

    Gives their number, and the states where the way begins and where it ends.  Flood the
    region from its states, those with the fewest entries first: what floods a state
    first is the farthest back that its wait can have begun.
    """
    arrows, first = search.arrows, _bounds(search)
    most = (0, 0, 0)
    flooded = bytearray(len(region))
    for source in chain.from_iterable(by_entries):
        if flooded[source] or not region[source]:
            continue
        flooded[source] = 1
        todo = [source]
        while todo:
            state = todo.pop()
            if not state & OFTEN:
                poll()
            if entries[state] - entries[source] > most[0]:
                most = (entries[state] - entries[source], source, state)
            for target in arrows[first[state] : first[state + 1]]:
                if target != NOWHERE and region[target] and not flooded[target]:
                    flooded[target] = 1
                    todo.append(target)
    return most


def waits(search: Search, index: int) -> bytearray:
    """Of each state: whether this node waits in it."""
    sites, shift = search.sites[index], search.sites[index].shift
    at = [sites.phase(site) is Phase.WAITING for site in range(len(sites.sites))]
    return bytearray([at[state >> shift & MASK] for state in search.states])
