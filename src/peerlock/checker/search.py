"""Breadth first over every schedule, so that the first counterexample is a shortest one.

States are numbered in the order in which they are found.  The arrows between them are kept,
to measure the schedules and to search for loops.  `Search` is a plain loop;
`checker.arrays` has one for large spaces, which extends `Exploration`, too.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from array import array
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple

from peerlock.checker.model import Model
from peerlock.checker.sites import MASK, Action, Breach, Special
from peerlock.checker.steps import BREACH, IMPOSSIBLE, Steps

CHUNK = 20_000  # states between two checks of the limits
NOWHERE = 0xFFFFFFFF  # an arrow out of the searched space


class Coverage(NamedTuple):
    """The progress of the search."""

    states: int
    transitions: int
    depth: int


@dataclass(frozen=True)
class Limits:
    """When to stop: `stop` and `room` are called now and then, and return a reason or None.

    `room` is called with the number of bytes that are needed next.
    """

    states: int = 5_000_000
    stop: Callable[[Coverage], str | None] = lambda _: None
    room: Callable[[int], str | None] = lambda _: None


class Exploration(Steps, ABC):
    """What the searches share: layer by layer, until there is a reason to end."""

    chunk = CHUNK

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.layers = [0]  # the first state of each depth
        self.breach: Breach | None = None
        self.broken_at = 0  # the state in which, or from which by the next
        self.broken_by: int | None = None  # of its moves, the breach comes about
        self.exhausted = False  # every schedule was covered
        self.cut = ""  # why the search was cut short, if it was

    @property
    @abstractmethod
    def size(self) -> int:
        """The number of states found."""

    @property
    @abstractmethod
    def transitions(self) -> int: ...

    @abstractmethod
    def state(self, number: int) -> int: ...

    @abstractmethod
    def targets(self, number: int) -> list[int]:
        """The state that each of its actions leads to, or NOWHERE."""

    @abstractmethod
    def path(self, number: int) -> list[tuple[int, int]]:
        """A shortest one, as pairs of a state and which of its moves to make."""

    @abstractmethod
    def _expand(self, begin: int, end: int) -> None:
        """Find the successors of the states numbered from `begin` up to `end`."""

    def run(self, limits: Limits) -> None:
        while self.deepen(limits):
            pass

    def deepen(self, limits: Limits) -> bool:
        """Go one layer deeper, if there is one and there is a reason to."""
        begin, end = self.layers[-1], self.size
        for chunk in range(begin, end, self.chunk):
            self._expand(chunk, min(chunk + self.chunk, end))
            self.cut = self._over(limits)
            if self.cut:
                return False
        self.exhausted = end == self.size and self.breach is None
        if self.exhausted or self.breach is not None:
            return False
        self.layers.append(end)
        return True

    def _over(self, limits: Limits) -> str:
        if self.size > limits.states:
            return f"the limit of {limits.states:,} states was reached"
        return limits.stop(self.coverage) or self._crowded(limits) or ""

    def _crowded(self, limits: Limits) -> str | None:
        return limits.room(0)

    @property
    def coverage(self) -> Coverage:
        return Coverage(self.size, self.transitions, len(self.layers) - 1)

    def schedule(self, steps: list[tuple[int, int]]) -> list[Action]:
        return [self.actions(self.state(number))[move] for number, move in steps]

    def _report(self, breach: Breach, number: int, move: int | None) -> None:
        """Of those found in one layer, one in a state is earlier than one by a move."""
        if self.breach is None or (self.broken_by is not None and move is None):
            self.breach, self.broken_at, self.broken_by = breach, number, move


class Search(Exploration):
    def __init__(self, model: Model) -> None:
        super().__init__(model)
        initial = self.initial()
        self.numbers = {initial: 0}  # of the states
        self.states = [initial]
        self.arrows = array("I")  # the states that each state leads to, in order
        self.first_arrow = array("Q")  # where a state's arrows begin
        self._impossible = 0  # arrows that stand for moves that cannot be made

    @property
    def size(self) -> int:
        return len(self.states)

    @property
    def transitions(self) -> int:
        return len(self.arrows) - self._impossible

    def state(self, number: int) -> int:
        return self.states[number]

    def targets(self, number: int) -> list[int]:
        begin, end = self.arrows_of(number)
        return list(self.arrows[begin:end])

    # The hot loop

    def _expand(self, begin: int, end: int) -> None:
        states, arrows = self.states, self.arrows
        number_of = self.numbers.setdefault  # the number it has, or the one it gets
        add, point = states.append, arrows.append
        mark = self.first_arrow.append
        moves = [(sites.index, sites.moves) for sites in self.sites]
        shifts, mask = [sites.shift for sites in self.sites], MASK
        # Where all is still, there are not more moves than these.
        asks = len(moves) * len(self.model.rule.demands)
        few = NOWHERE if self.model.network.faults else asks
        fresh = len(states)
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
            if len(arrows) - start <= few:
                quiet.append(number)
        for number in quiet:
            if (breach := self.stuck(states[number])) is not None:
                self._report(breach, number, None)

    def _special(self, number: int, at: list[int], index: int, move: Special) -> int:
        then = self.leads_to(self.states[number], at, index, move)
        if then == IMPOSSIBLE:
            self._impossible += 1
        elif then == BREACH:
            breach = self.breach_by(at, index, move)
            assert breach is not None
            self._report(breach, number, len(self.arrows) - self.first_arrow[number])
        return then

    # The way to a state

    def arrows_of(self, number: int) -> tuple[int, int]:
        """Where they begin and end; a state that was not expanded has none."""
        first, last = self.first_arrow, len(self.first_arrow) - 1
        if number < last:
            return first[number], first[number + 1]
        end = len(self.arrows)
        return (first[number] if number == last else end), end

    def path(self, number: int) -> list[tuple[int, int]]:
        steps: list[tuple[int, int]] = []
        for depth in range(bisect_right(self.layers, number) - 2, -1, -1):
            begin, _ = self.arrows_of(self.layers[depth])
            _, end = self.arrows_of(self.layers[depth + 1] - 1)
            arrow = self.arrows.index(number, begin, end)
            number = bisect_right(self.first_arrow, arrow) - 1
            steps.append((number, arrow - self.first_arrow[number]))
        return steps[::-1]
