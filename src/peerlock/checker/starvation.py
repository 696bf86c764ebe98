"""Starvation: a node that waits without end although the schedule is fair.

With requests without end, a schedule can loop in the graph of states.  It is fair if
everything that stays possible happens: each message under way is delivered, a node that is
inside leaves, a timer fires; only requests need not be made.  A node starves if a fair
schedule loops through states in all of which it waits.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from peerlock.checker.measures import waits
from peerlock.checker.search import NOWHERE, Exploration, Search
from peerlock.checker.sites import FAULTS, Action
from peerlock.core.peer import NodeId

Step = tuple[int, int]  # a state, and which of its moves
Duty = tuple[object, ...]  # what must happen in a fair schedule if it stays possible


@dataclass(frozen=True)
class Lasso:
    node: NodeId  # the one that starves
    stem: list[Step]
    loop: list[Step]


def starving(search: Search) -> Lasso | None:
    """Of all nodes that can starve, the one and the place found with the fewest steps."""
    found: list[tuple[int, NodeId, list[int]]] = []
    for index in range(search.model.nodes):
        components = knots(search, waits(search, index))
        fair = (c for c in components if is_fair(search, c))
        found += [(min(c), index + 1, c) for c in fair]
    if not found:
        return None
    begin, node, component = min(found)
    return Lasso(node, search.path(begin), round_trip(search, begin, set(component)))


def successors(search: Exploration, state: int) -> Iterator[tuple[int, int]]:
    """(which move, where it leads)."""
    for move, target in enumerate(search.targets(state)):
        if target != NOWHERE:
            yield move, target


def knots(search: Search, region: bytearray) -> Iterator[list[int]]:
    """The strongly connected components of a part of the graph that have an arrow in them.

    Tarjan's algorithm, with a stack of its own.
    """
    order = [0] * len(region)  # in which the states were met; 0 is not yet
    low = [0] * len(region)
    stack: list[int] = []
    on_stack = bytearray(len(region))
    calls: list[tuple[int, Iterator[int]]] = []
    met = 0
    for root, inside in enumerate(region):
        entering = root if inside and not order[root] else None
        while calls or entering is not None:
            if entering is not None:
                met += 1
                order[entering] = low[entering] = met
                stack.append(entering)
                on_stack[entering] = 1
                begin, end = search.arrows_of(entering)
                calls.append((entering, iter(search.arrows[begin:end])))
                entering = None
            state, targets = calls[-1]
            for target in targets:
                if target == NOWHERE or not region[target]:
                    continue
                if not order[target]:
                    entering = target
                    break
                if on_stack[target] and order[target] < low[state]:
                    low[state] = order[target]
            else:
                calls.pop()
                if calls:
                    caller = calls[-1][0]
                    low[caller] = min(low[caller], low[state])
                if low[state] == order[state]:
                    component = _unwind(stack, on_stack, state)
                    if len(component) > 1 or _has_loop(search, state):
                        yield component


def _unwind(stack: list[int], on_stack: bytearray, state: int) -> list[int]:
    component: list[int] = []
    while not component or component[-1] != state:
        component.append(stack.pop())
        on_stack[component[-1]] = 0
    return component


def _has_loop(search: Search, state: int) -> bool:
    begin, end = search.arrows_of(state)
    return state in search.arrows[begin:end]


# Fairness


def duty(action: Action, fifo: bool) -> Duty | None:
    """What this action fulfils.  A FIFO channel owes its first message, whichever it is."""
    if action.what in ("request", *FAULTS):
        return None
    if action.what == "receive":
        message = None if fifo else action.message
        return ("receive", action.node, action.sender, message)
    return (action.what, action.node, action.timer)


def duties(search: Exploration, state: int) -> list[Duty | None]:
    fifo = search.model.network.fifo
    return [duty(action, fifo) for action in search.actions(search.state(state))]


def owed(search: Exploration, component: list[int]) -> set[Duty]:
    """What is possible in all of these states."""
    found = set(duties(search, component[0]))
    for state in component:
        if not found:
            break
        found.intersection_update(duties(search, state))
    return {d for d in found if d is not None}


def is_fair(search: Exploration, component: list[int]) -> bool:
    """Whether a loop through all of it fulfils every duty.

    If something is possible in all its states and no arrow inside does it, that is so
    for every part of it too, and no schedule that stays in it is fair.
    """
    members = set(component)
    undone = owed(search, component)
    for state in component:
        if not undone:
            return True
        does = duties(search, state)
        undone -= {does[m] for m, target in successors(search, state) if target in members}
    return not undone


def round_trip(search: Exploration, begin: int, members: set[int]) -> list[Step]:
    """From a state back to it, with every duty done or not due somewhere on the way.

    Not always the shortest, but each stretch of it is.
    """
    loop: list[Step] = []
    here = begin
    undone = {d for d in duties(search, begin) if d is not None}
    while undone or not loop:
        stretch, here = _nearest(search, here, members, undone)
        for state, move in stretch:
            undone.discard(duties(search, state)[move])
            undone.intersection_update(duties(search, state))
        undone.intersection_update(duties(search, here))
        loop += stretch
    if here != begin:
        loop += _walk(search, here, members, lambda state, _: state == begin)[0]
    return loop


def _nearest(
    search: Exploration, here: int, members: set[int], undone: set[Duty]
) -> tuple[list[Step], int]:
    """The shortest walk on which one more duty is done, or is not due."""

    def relieved(state: int, done: Duty | None) -> bool:
        return not undone or done in undone or not undone <= set(duties(search, state))

    return _walk(search, here, members, relieved)


def _walk(
    search: Exploration,
    here: int,
    members: set[int],
    arrived: Callable[[int, Duty | None], bool],
) -> tuple[list[Step], int]:
    """At least one step, breadth first, until `arrived` by a step in a state."""
    came: dict[int, tuple[int, int]] = {}
    todo = deque([here])
    while True:
        state = todo.popleft()
        does = duties(search, state)
        for move, target in successors(search, state):
            if target not in members:
                continue
            if arrived(target, does[move]):
                return [*_back(came, here, state), (state, move)], target
            if target not in came and target != here:
                came[target] = (state, move)
                todo.append(target)


def _back(came: dict[int, tuple[int, int]], here: int, state: int) -> list[Step]:
    steps: list[Step] = []
    while state != here:
        state, move = came[state]
        steps.append((state, move))
    return steps[::-1]
