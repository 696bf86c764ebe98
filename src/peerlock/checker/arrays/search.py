"""The search of a large space: a layer is an array of states, and a step is made by all.

The states are the same as those of the plain search, in the same order, and so are the
transitions; so the first counterexample that is found is the same too.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property

import numpy as np

from peerlock.checker.arrays.columns import Grown, Index, Ints
from peerlock.checker.arrays.layout import Layout
from peerlock.checker.arrays.numbers import Numbers, Words
from peerlock.checker.arrays.tables import (
    BEYOND,
    BREACH,
    FAULT,
    GRANT,
    QUIET,
    STILL,
    WAITING,
    Group,
    Tables,
)
from peerlock.checker.model import Model
from peerlock.checker.search import NOWHERE, Exploration, Limits

CHUNK = 1 << 15  # states that are expanded together
BLOCK = 1 << 20  # states that are packed anew together
ROOM = 10 * CHUNK  # new states of a chunk, at the most that is usual


class ArraySearch(Exploration):
    chunk = CHUNK

    def __init__(self, model: Model) -> None:
        super().__init__(model)
        self.tables = [Tables(sites) for sites in self.sites]
        for tables in self.tables:
            tables.everybody = self.tables
        self.parents = Grown(np.uint32)  # the state that each was first reached from
        self.arrows: Grown | None = Grown(np.uint32)  # None: there was no room for them
        self.arrow_counts = Grown(np.uint16)
        self.graded = True  # each arrow leads one layer deeper
        self._limits = Limits()
        self._no_room: str | None = None  # to pack the states anew
        self._transitions = 0
        self._layer_end = 1
        self.layout = Layout([1] * model.nodes, [b + 1 for b in self.budgets])
        initial = super().initial()
        fields = [np.array([value]) for value in self._fields(initial)]
        self.seen = Numbers(self.layout.words)
        self.seen.number(self.layout.pack(fields))
        self.parents.extend(np.zeros(1, np.uint32))

    @property
    def size(self) -> int:
        return self.parents.size

    @property
    def transitions(self) -> int:
        return self._transitions

    def _crowded(self, limits: Limits) -> str | None:
        return self._no_room or self._lacks(self.seen.grows_by(ROOM), limits)

    def _lacks(self, more: int, limits: Limits) -> str | None:
        """The arrows are dropped before the search is stopped, if it can do without
        them."""
        if self.arrows is not None and self.model.requests and limits.room(more):
            self.arrows = None
            self.arrow_counts = Grown(np.uint16)
        return limits.room(more)

    # Which demands are inside together: a number with a digit for each demand, its count

    @cached_property
    def weights(self) -> Ints:
        """Of a demand by its number and one more; 0, no demand, weighs nothing."""
        digits = range(len(self.model.rule.demands))
        return np.array([0, *((self.model.nodes + 1) ** k for k in digits)], np.int64)

    def joint(self, inside: Ints) -> Ints:
        """Whether they may be, each."""
        values, places = np.unique(inside, return_inverse=True)
        well: Ints = np.array([self._may_be(int(v)) for v in values], np.bool_)[places]
        return well

    def _may_be(self, inside: int) -> bool:
        found: list[int] = []
        for demand in range(len(self.model.rule.demands)):
            inside, often = divmod(inside, self.model.nodes + 1)
            found += [demand] * often
        return self.together(found)

    # Single states, as the plain search has them

    def _fields(self, state: int) -> list[int]:
        at = zip(self.tables, self.split(state), strict=True)
        return [*(tables.encode(site) for tables, site in at), *self.spent(state)]

    def state(self, number: int) -> int:
        words = tuple(word[number : number + 1] for word in self.seen.keys)
        at = [t.decode(int(self.layout.field(words, t.index)[0])) for t in self.tables]
        faults = range(len(self.tables), len(self.layout.at))
        return self.join(at, tuple(int(self.layout.field(words, f)[0]) for f in faults))

    def targets(self, number: int) -> list[int]:
        following = self.following(self.state(number))
        real = [state for state in following if state >= 0]
        if not real:
            return [NOWHERE] * len(following)
        fields = np.array([self._fields(state) for state in real])
        found, fresh = self.seen.number(self.layout.pack(list(fields.T)))
        assert not len(fresh)
        numbers = iter(found.tolist())
        return [next(numbers) if state >= 0 else NOWHERE for state in following]

    def path(self, number: int) -> list[tuple[int, int]]:
        steps: list[tuple[int, int]] = []
        while number:
            parent = int(self.parents.values[number])
            steps.append(self.step(parent, number))
            number = parent
        return steps[::-1]

    def step(self, number: int, then: int) -> tuple[int, int]:
        """From one state to another: the first, and which of its moves."""
        return number, self.following(self.state(number)).index(self.state(then))

    # All states of a chunk

    def _expand(self, begin: int, end: int) -> None:
        while not self._expanded(begin, end):
            # Old and new words are there together, but then there is no table.
            more = self._roomier().words * 8 * self.size - self.seen.table_size
            self._no_room = self._lacks(max(more, 0), self._limits)
            if self._no_room:
                return
            self._pack_anew()

    def _expanded(self, begin: int, end: int) -> bool:
        """False: a field was outgrown, and nothing of this was kept."""
        words = tuple(word[begin:end] for word in self.seen.keys)
        step = Chunk(self, words)
        places = self._places(step)
        following: Words = tuple(word[places] for word in step.following)
        if self.layout.fits(self._sizes()):
            following = self._merged(following)
        if not self.layout.fits(self._sizes()):
            return False
        self._look_at(step, begin)
        found, fresh = self.seen.number(following)
        sources = np.searchsorted(
            step.ends, np.arange(len(step.real))[places][fresh], "right"
        )
        self.parents.extend((sources + begin).astype(np.uint32))
        self.graded &= len(found) == 0 or int(found.min()) >= self._layer_end
        self._transitions += len(found) + step.nowhere - step.impossible
        if self.arrows is not None:
            arrows = np.full(len(step.real), NOWHERE, np.uint32)
            arrows[places] = found
            self.arrows.extend(arrows)
            self.arrow_counts.extend(step.total)
        return True

    def _places(self, step: Chunk) -> Index | slice:
        """Of the arrows those that lead to a state."""
        return np.flatnonzero(step.real) if step.nowhere else slice(None)

    def _merged(self, states: Words) -> Words:
        """The states that are searched instead of these."""
        return states

    def deepen(self, limits: Limits) -> bool:
        self._layer_end, self._limits = self.size, limits
        return super().deepen(limits)

    def _look_at(self, step: Chunk, begin: int) -> None:
        for number in (begin + np.flatnonzero(step.stuck())).tolist():
            if (breach := self.stuck(self.state(number))) is not None:
                self._report(breach, number, None)
                break
        if step.broken is not None and self.breach is None:
            number = begin + step.broken
            found = self.first_breach(self.state(number))
            assert found is not None
            self._report(found[1], number, found[0])

    def _sizes(self) -> list[int]:
        return [len(tables.numbers) for tables in self.tables]

    def _roomier(self) -> Layout:
        return Layout(self._sizes(), [b + 1 for b in self.budgets])

    def _pack_anew(self) -> None:
        old, self.layout = self.layout, self._roomier()
        before = self.seen.keys
        self.seen = Numbers()  # which frees the table
        words = tuple(np.empty(self.size, np.uint64) for _ in range(self.layout.words))
        for begin in range(0, self.size, BLOCK):
            block = slice(begin, begin + BLOCK)
            some = tuple(word[block] for word in before)
            fields = [old.field(some, number) for number in range(len(old.at))]
            for word, packed in zip(words, self.layout.pack(fields), strict=True):
                word[block] = packed
        del before, some
        self.seen = Numbers.of(words)


class Spots:
    """Where some states are, and what may happen there."""

    def __init__(self, search: ArraySearch, words: Words) -> None:
        self.search = search
        self.words = words
        self.nodes = range(len(search.tables))
        self.at = [search.layout.field(words, node) for node in self.nodes]
        for tables, sites in zip(search.tables, self.at, strict=True):
            tables.visit(sites)
        both = list(zip(search.tables, self.at, strict=True))
        self.flags = [tables.flags.values.take(sites) for tables, sites in both]
        totals = [tables.total.values.take(sites) for tables, sites in both]
        self.total: Ints = np.add.reduce(totals)
        self.ends = np.cumsum(self.total)

    def moves(self) -> Iterator[tuple[int, Group, Index, Index, Index]]:
        """By node and group: the states that make them, the rows, and the arrows."""
        begin: Ints = self.ends - self.total
        for tables, sites in zip(self.search.tables, self.at, strict=True):
            for group in list(tables.groups.values()):
                count = group.count.values.take(sites)
                for number in range(int(count.max())):
                    sources = np.flatnonzero(count > number)
                    rows = group.first.values.take(sites.take(sources)) + number
                    arrows = begin.take(sources) + group["rank"].take(rows)
                    yield tables.index, group, sources, rows, arrows
            begin = begin + tables.total.values.take(sites)

    def column(self, name: str) -> Ints:
        """Of each arrow: what the tables have of its move."""
        found = np.empty(int(self.ends[-1]), np.int32)
        for _, group, _, rows, arrows in self.moves():
            found[arrows] = group[name].take(rows)
        return found


class Chunk(Spots):
    """What some states lead to."""

    def __init__(self, search: ArraySearch, words: Words) -> None:
        super().__init__(search, words)
        count = int(self.ends[-1])
        self.following = [np.empty(count, np.uint64) for _ in words]
        self.real = np.ones(count, np.bool_)  # arrows that lead to a state
        self.nowhere = 0
        self.impossible = 0
        self.broken: int | None = None  # the first state with a move that must not be
        for node, group, sources, rows, arrows in self.moves():
            self._make(node, group, sources, rows, arrows)

    def stuck(self) -> Ints:
        """Nothing happens unless a node requests, and one waits, or the model asks."""
        every = np.bitwise_and.reduce(self.flags)
        some = np.bitwise_or.reduce(self.flags)
        still: Ints = every & STILL != 0
        return still if self.search.model.at_rest else still & (some & WAITING != 0)

    def _make(
        self, node: int, group: Group, sources: Index, rows: Index, arrows: Index
    ) -> None:
        if group.kind >= FAULT or group.outlasting:
            able = self._able(group, sources)
            self.impossible += len(sources) - int(able.sum())
            self._lead_nowhere(arrows[~able])
            sources, rows, arrows = sources[able], rows[able], arrows[able]
        if group.kind == GRANT:
            well = self._may_join(node, sources, group["demand"][rows])
            if self.search.model.fence_of:
                well = well & (group["fence"][rows] > self._latest_fence(sources))
            self._break(sources[~well], arrows[~well])
            sources, rows, arrows = sources[well], rows[well], arrows[well]
        if group.kind == BREACH:
            self._break(sources, arrows)
        elif group.kind == BEYOND:
            self._lead_nowhere(arrows)
        elif len(sources):
            self._follow(node, group, sources, rows, arrows)

    def _follow(
        self, node: int, group: Group, sources: Index, rows: Index, arrows: Index
    ) -> None:
        layout, tables = self.search.layout, self.search.tables
        words: list[Ints] = [word.take(sources) for word in self.words]
        layout.change(words, node, group["own"].take(rows) - self.at[node].take(sources))
        clears = group.kind == GRANT and self.search.model.fences
        for other in self.nodes if clears else group.to:
            if other == node:
                continue
            before = then = self.at[other].take(sources)
            if clears:
                then = tables[other].cleared.of(then)
            if other in group.to:
                then = tables[other].pushed(group[f"to {other}"].take(rows), then)
            layout.change(words, other, then - before)
        if group.kind >= FAULT:
            kind = len(tables) + group.kind - FAULT
            layout.change(words, kind, np.ones(len(sources), np.int64))
        for place, word in zip(self.following, words, strict=True):
            place[arrows] = word

    def _able(self, group: Group, sources: Index) -> Ints:
        """Whether the network has such a fault left, or nothing is under way."""
        if group.outlasting:
            quiet: Ints = np.bitwise_and.reduce(self.flags)[sources] & QUIET != 0
            return quiet
        kind = group.kind - FAULT
        spent = self.search.layout.field(self.words, len(self.nodes) + kind)[sources]
        left: Ints = spent < self.search.budgets[kind]
        return left

    def _may_join(self, node: int, sources: Index, demand: Ints) -> Ints:
        weights = self.search.weights
        inside = weights.take(demand + 1)
        for k in self.nodes:
            if k != node:
                there = self.search.tables[k].demands.values
                inside = inside + weights.take(there.take(self.at[k].take(sources)))
        return self.search.joint(inside)

    def _latest_fence(self, sources: Index) -> Ints:
        pairs = zip(self.search.tables, self.at, strict=True)
        highest = [table.fences.values.take(at.take(sources)) for table, at in pairs]
        latest: Ints = np.maximum.reduce(highest)
        return latest

    def _break(self, sources: Index, arrows: Index) -> None:
        if len(sources):
            first = int(sources.min())
            self.broken = first if self.broken is None else min(first, self.broken)
        self._lead_nowhere(arrows)

    def _lead_nowhere(self, arrows: Index) -> None:
        self.nowhere += len(arrows)
        self.real[arrows] = False
