"""Breadth first over every schedule, so that the first counterexample is a shortest one.

A state is one integer, a field per site, and above them how many faults were spent.  A
step adds remembered differences to it.  States are numbered in the order in which they
are found; the arrows between them are kept, for whoever wants to measure the schedules
or to look for one that goes round for ever.
"""

from __future__ import annotations

from array import array
from bisect import bisect_right
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from peerlock.checker.model import Model
from peerlock.checker.sites import (
    FAULTS,
    MASK,
    WIDTH,
    Action,
    Breach,
    Messages,
    Phase,
    Sites,
    Special,
)
from peerlock.core.peer import NodeId, listed

CHUNK = 20_000  # states between two looks at the limits
NOWHERE = 0xFFFFFFFF  # an arrow to where the search does not go
BREACH, BEYOND, IMPOSSIBLE = -1, -2, -3  # what stands for a state where there is none
FAULT_WIDTH = 8


class Coverage(NamedTuple):
    """How far the search has come."""

    states: int
    transitions: int
    depth: int


@dataclass(frozen=True)
class Limits:
    """When to stop.  `stop` is asked now and then, and gives the reason or None."""

    states: int = 5_000_000
    stop: Callable[[Coverage], str | None] = lambda _: None


class Search:
    def __init__(self, model: Model) -> None:
        self.model = model
        messages = Messages()
        self.sites = [Sites(model, i, messages) for i in range(model.nodes)]
        for sites in self.sites:
            sites.everybody = self.sites
        self.numbers: dict[int, int] = {}  # of the states
        self.states: list[int] = []
        self.arrows = array("I")  # the states that each state leads to, in order
        self.first_arrow = array("Q")  # where a state's arrows begin
        self.layers = [0]  # the first state of each depth
        self.breach: Breach | None = None
        self.broken_at = 0  # the state in which, or from which by the next
        self.broken_by: int | None = None  # of its moves, the breach comes about
        self.exhausted = False  # every schedule was covered
        self.cut = ""  # why the search was cut short, if it was
        self._impossible = 0  # arrows that stand for moves that cannot be made
        network = model.network
        self._budgets = (network.losses, network.duplications, network.crashes)

        initial = self.initial()
        self.numbers[initial] = 0
        self.states.append(initial)

    def run(self, limits: Limits) -> None:
        while self.deepen(limits):
            pass

    def deepen(self, limits: Limits) -> bool:
        """Go one layer deeper, if there is one and there is a reason to."""
        begin, end = self.layers[-1], len(self.states)
        for chunk in range(begin, end, CHUNK):
            self._expand(chunk, min(chunk + CHUNK, end))
            self.cut = self._over(limits)
            if self.cut:
                return False
        self.exhausted = end == len(self.states) and self.breach is None
        if self.exhausted or self.breach is not None:
            return False
        self.layers.append(end)
        return True

    def _over(self, limits: Limits) -> str:
        if len(self.states) > limits.states:
            return f"the limit of {limits.states:,} states was reached"
        return limits.stop(self.coverage) or ""

    @property
    def coverage(self) -> Coverage:
        transitions = len(self.arrows) - self._impossible
        return Coverage(len(self.states), transitions, len(self.layers) - 1)

    # States

    def initial(self) -> int:
        """Every node has started, one after the other, and what they sent is under way."""
        outcomes = [sites.start() for sites in self.sites]
        fences = self.model.fences
        at = [
            sites.id((outcome.local, fences, ()))
            for sites, outcome in zip(self.sites, outcomes, strict=True)
        ]
        state = self.join(at)
        for outcome in outcomes:
            for to, push in outcome.pushes[fences]:
                state += push[self.split(state)[to]]
        return state

    def join(self, at: list[int]) -> int:
        return sum(s << sites.shift for s, sites in zip(at, self.sites, strict=True))

    def split(self, state: int) -> list[int]:
        """The number of each site."""
        return [state >> sites.shift & MASK for sites in self.sites]

    def phases(self, state: int) -> list[Phase]:
        at = self.split(state)
        return [sites.phase(s) for sites, s in zip(self.sites, at, strict=True)]

    def is_quiet(self, state: int) -> bool:
        """Nothing is under way."""
        at = self.split(state)
        return not any(sites.sites[s][2] for sites, s in zip(self.sites, at, strict=True))

    def actions(self, state: int) -> list[Action]:
        """What can happen in it, in the order of its arrows."""
        at = self.split(state)
        found: list[Action] = []
        for sites, site in zip(self.sites, at, strict=True):
            found += sites.actions[site]
        return found

    # The hot loop

    def _expand(self, begin: int, end: int) -> None:
        """Find the successors of the states numbered from `begin` up to `end`."""
        states, arrows = self.states, self.arrows
        number_of = self.numbers.setdefault  # the number it has, or the one it gets
        add, point = states.append, arrows.append
        mark = self.first_arrow.append
        moves = [(sites.index, sites.moves) for sites in self.sites]
        shifts = [sites.shift for sites in self.sites]
        few = NOWHERE if self.model.network.faults else len(moves)
        mask, fresh = MASK, len(states)
        quiet: list[int] = []
        for number in range(begin, end):
            state = states[number]
            at = [state >> shift & mask for shift in shifts]
            start = len(arrows)
            mark(start)
            for (index, table), site in zip(moves, at):  # noqa: B905 - this is hot
                plain, special = table[site]
                for delta, pushes in plain:
                    then = state + delta
                    for to, push in pushes:
                        then += push[at[to]]
                    found = number_of(then, fresh)
                    if found == fresh:
                        fresh += 1
                        add(then)
                    point(found)
                for move in special:
                    then = self._special(number, at, index, move)
                    found = number_of(then, fresh) if then >= 0 else NOWHERE
                    if found == fresh:
                        fresh += 1
                        add(then)
                    point(found)
            if len(arrows) - start < few:
                quiet.append(number)
        for number in quiet:
            self._look_whether_stuck(number)

    def _special(self, number: int, at: list[int], index: int, move: Special) -> int:
        """The state that an unusual move leads to, or what stands for one."""
        state = self.states[number]
        if move.fault is not None:
            return self._spend(state, at, move)
        if move.outlasting and not self.is_quiet(state):
            self._impossible += 1
            return IMPOSSIBLE
        if move.beyond:
            return BEYOND
        breach = move.breach
        if move.granted and not self._may_join(at, move.reading):
            breach = too_many({*self._inside(at), index + 1}, index + 1)
        if breach is not None:
            self._report(breach, number, len(self.arrows) - self.first_arrow[number])
            return BREACH
        return self._make(state + move.delta, at, index, move)

    def _make(self, then: int, at: list[int], index: int, move: Special) -> int:
        """Nobody else knows of a grant, and then it may send messages."""
        if self.model.fences and move.granted:
            at = at.copy()
            for to, sites in enumerate(self.sites):
                if to != index:
                    change = sites.cleared[at[to]]
                    then += change
                    at[to] += change >> sites.shift
        for to, push in move.pushes:
            then += push[at[to]]
        return then

    def _spend(self, state: int, at: list[int], move: Special) -> int:
        kind = FAULTS.index(move.fault or "")
        unit = 1 << self.model.nodes * WIDTH + kind * FAULT_WIDTH
        if state // unit % (1 << FAULT_WIDTH) == self._budgets[kind]:
            self._impossible += 1
            return IMPOSSIBLE
        then = state + unit + move.delta
        for to, push in move.pushes:
            then += push[at[to]]
        return then

    def _may_join(self, at: list[int], reading: bool) -> bool:
        locals_ = [sites.local(site) for sites, site in zip(self.sites, at, strict=True)]
        inside = [local for local in locals_ if local.phase is Phase.INSIDE]
        if reading and all(local.reading for local in inside):
            return True
        return len(inside) < self.model.capacity

    def _inside(self, at: list[int]) -> set[NodeId]:
        return {
            sites.me
            for sites, site in zip(self.sites, at, strict=True)
            if sites.phase(site) is Phase.INSIDE
        }

    # What goes wrong

    def _report(self, breach: Breach, number: int, move: int | None) -> None:
        """Of those found in one layer, one in a state is earlier than one by a move."""
        if self.breach is None or (self.broken_by is not None and move is None):
            self.breach, self.broken_at, self.broken_by = breach, number, move

    def _look_whether_stuck(self, number: int) -> None:
        """Somebody waits, and nothing happens unless somebody else asks too."""
        state = self.states[number]
        at = self.split(state)
        if all(sites.still[site] for sites, site in zip(self.sites, at, strict=True)):
            phases = enumerate(self.phases(state), 1)
            waiting = {node for node, phase in phases if phase is Phase.WAITING}
            if waiting:
                self._report(stuck(waiting, self._helped(state)), number, None)

    def _helped(self, state: int) -> bool:
        """Would some of those who wait get in if the others asked once more?"""
        waiting = [p is Phase.WAITING for p in self.phases(state)]
        start = self.join(
            [
                sites.asking_again(site)
                for sites, site in zip(self.sites, self.split(state), strict=True)
            ]
        )
        seen, todo = {start}, [start]
        while todo and len(seen) < CHUNK:
            here = todo.pop()
            phases = self.phases(here)
            if any(w and p is Phase.INSIDE for w, p in zip(waiting, phases, strict=True)):
                return True
            fresh = set(self.successors(here)) - seen
            seen |= fresh
            todo += fresh
        return False

    def successors(self, state: int) -> Iterator[int]:
        """On a network that makes no faults, and past whatever goes wrong on the way."""
        at = self.split(state)
        for sites, site in zip(self.sites, at, strict=True):
            plain, special = sites.moves[site]
            for delta, pushes in plain:
                yield state + delta + sum(push[at[to]] for to, push in pushes)
            for move in special:
                if move.outlasting and not self.is_quiet(state):
                    continue
                if move.breach is None and move.fault is None and not move.beyond:
                    yield self._make(state + move.delta, at, sites.index, move)

    # The way to a state

    def arrows_of(self, number: int) -> tuple[int, int]:
        """Where they begin and end; a state not looked at yet has none."""
        first, last = self.first_arrow, len(self.first_arrow) - 1
        if number < last:
            return first[number], first[number + 1]
        end = len(self.arrows)
        return (first[number] if number == last else end), end

    def path(self, number: int) -> list[tuple[int, int]]:
        """A shortest one, as pairs of a state and which of its moves to make."""
        steps: list[tuple[int, int]] = []
        for depth in range(bisect_right(self.layers, number) - 2, -1, -1):
            begin, _ = self.arrows_of(self.layers[depth])
            _, end = self.arrows_of(self.layers[depth + 1] - 1)
            arrow = self.arrows.index(number, begin, end)
            number = bisect_right(self.first_arrow, arrow) - 1
            steps.append((number, arrow - self.first_arrow[number]))
        return steps[::-1]

    def schedule(self, steps: list[tuple[int, int]]) -> list[Action]:
        return [self.actions(self.states[number])[move] for number, move in steps]


def too_many(inside: set[NodeId], entering: NodeId) -> Breach:
    return Breach("exclusion", entering, f"{listed(inside)} are inside together")


def stuck(waiting: set[NodeId], helped: bool) -> Breach:
    waits = f"{listed(waiting)} {'waits' if len(waiting) == 1 else 'wait'}"
    if helped:
        text = f"starvation: {waits}, and nothing happens until somebody else asks"
        return Breach("starvation", min(waiting), text)
    text = f"deadlock: {waits}, and nothing more can happen"
    return Breach("deadlock", min(waiting), text)
