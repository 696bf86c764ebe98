"""The finished graph of states as arrays: facts about states, and arrows between them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property, partial
from itertools import pairwise
from typing import Any

import numpy as np

from peerlock.checker.arrays.columns import Index, Ints
from peerlock.checker.arrays.search import ArraySearch, Spots
from peerlock.checker.arrays.tables import INSIDE, QUIET, WAITING
from peerlock.checker.search import NOWHERE
from peerlock.checker.sites import Local, Phase

BLOCK = 1 << 16  # states that are handled together


class ArrowGraph:
    """`poll` is called now and then; it raises an exception to end what is being done."""

    def __init__(self, search: ArraySearch, poll: Callable[[], None]) -> None:
        assert search.arrows is not None
        self.search = search
        self.poll = poll
        self.size = search.size
        self.arrows = search.arrows.values
        counts = search.arrow_counts.values
        wide = np.uint32 if len(self.arrows) < NOWHERE else np.int64
        self.first: Ints = np.zeros(self.size + 1, wide)  # where a state's arrows begin
        np.cumsum(counts, out=self.first[1 : len(counts) + 1])
        self.first[len(counts) + 1 :] = len(
            self.arrows
        )  # states that were not expanded have none

    # Facts

    def blocks(self) -> Iterator[slice]:
        for begin in range(0, self.size, BLOCK):
            self.poll()
            yield slice(begin, min(begin + BLOCK, self.size))

    def sum_of(self, fact: Callable[[int, Local], int], dtype: Any) -> Ints:
        """Of each state: the sum over all nodes of a fact about their local states."""
        tables, layout = self.search.tables, self.search.layout
        facts = [t.by_site(partial(fact, t.index), dtype) for t in tables]
        total = np.zeros(self.size, dtype)
        for block in self.blocks():
            words = tuple(word[block] for word in self.search.seen.keys)
            for node, by_site in enumerate(facts):
                total[block] += by_site.take(layout.field(words, node))
        return total

    def waiting(self) -> Ints:
        """Of each state: a bit for each node that waits."""
        dtype = np.min_scalar_type(1 << self.search.model.nodes)
        return self.sum_of(lambda i, x: (x.phase is Phase.WAITING) << i, dtype)

    def resting(self) -> Ints:
        """Of each state: whether there is no request and no message under way."""
        tables, layout = self.search.tables, self.search.layout
        found = np.ones(self.size, np.bool_)
        for block in self.blocks():
            words = tuple(word[block] for word in self.search.seen.keys)
            for node, some in enumerate(tables):
                flags = some.flags.values.take(layout.field(words, node))
                found[block] &= flags & (QUIET | WAITING | INSIDE) == QUIET
        return found

    # Arrows

    def leaving(self, states: Index) -> tuple[Index, Ints]:
        """The arrows that leave these: from which, as a position, and which."""
        first: Ints = self.first.take(states).astype(np.int64)
        count: Ints = self.first.take(states + 1) - first
        owner = np.repeat(np.arange(len(states)), count)
        skipped = first - (np.cumsum(count) - count)
        return owner, np.arange(len(owner)) + skipped.take(owner)

    def from_states(self, states: Index) -> tuple[Index, Ints]:
        """The arrows from these that lead somewhere: from which, and where to."""
        owner, arrows = self.leaving(states)
        targets = self.arrows.take(arrows)
        if len(targets) and int(targets.max()) == NOWHERE:
            real = np.flatnonzero(targets != NOWHERE)
            owner, targets = owner.take(real), targets.take(real)
        return states.take(owner), targets

    def sends(self, states: Index) -> Ints:
        """Of each arrow that leaves these: how many messages are sent."""
        words = tuple(word.take(states) for word in self.search.seen.keys)
        return Spots(self.search, words).column("sends")

    @cached_property
    def only_messages(self) -> bool:
        """Is each step a request, a leaving, or the arrival of another node's message?"""
        timers = any(x.timers for sites in self.search.sites for x in sites.locals)
        return not timers and not self.search.model.medium

    @cached_property
    def acyclic(self) -> bool:
        return self.search.graded or sum(map(len, self._levels)) == self.size

    def in_order(self) -> Iterator[Index]:
        """All states, each after those it is reached from, many at a time.

        No arrow leads from one to another of them.
        """
        assert self.acyclic
        if not self.search.graded:
            for level in self._levels:
                yield from self.pieces(level)
            return
        for begin, end in pairwise([*self.search.layers, self.size]):
            for block in range(begin, end, BLOCK):
                self.poll()
                yield np.arange(block, min(block + BLOCK, end))

    @cached_property
    def _levels(self) -> list[Index]:
        """Those that nothing leads to, then those that only these lead to, and so on."""
        before = np.zeros(self.size, np.int32)  # arrows from states not yet in a level
        for block in self.blocks():
            arrows = self.arrows[self.first[block.start] : self.first[block.stop]]
            np.add.at(before, arrows[arrows != NOWHERE], 1)
        levels = [np.flatnonzero(before == 0)]
        while len(levels[-1]):
            levels.append(self._released(levels[-1], before))
        return levels

    def _released(self, level: Index, before: Ints) -> Index:
        found: list[Ints] = []
        for states in self.pieces(level):
            _, targets = self.from_states(states)
            np.subtract.at(before, targets, 1)
            found.append(targets[before.take(targets) == 0])
        return np.unique(np.concatenate(found)).astype(np.intp)

    def pieces(self, states: Index) -> Iterator[Index]:
        for begin in range(0, len(states), BLOCK):
            self.poll()
            yield states[begin : begin + BLOCK]
