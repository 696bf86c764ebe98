"""The search of a part of the space that is enough.

Each state that is found is replaced by the least of its images under renamings of nodes
(`checker.renaming` says why that is sound), and where a delivery commutes with all else,
nothing else is searched (`checker.commuting`).  A schedule is translated back when it is
shown.
"""

from __future__ import annotations

from collections import defaultdict
from functools import partial

import numpy as np

from peerlock.checker.arrays.columns import Grown, Index, Ints
from peerlock.checker.arrays.memo import Memo
from peerlock.checker.arrays.numbers import Words
from peerlock.checker.arrays.search import ArraySearch, Chunk
from peerlock.checker.arrays.tables import Tables, halves
from peerlock.checker.commuting import Commuting, DeliveryKind, Dependent
from peerlock.checker.model import Model
from peerlock.checker.renaming import Renaming, Renamings, composed
from peerlock.checker.search import Limits
from peerlock.checker.sites import Action, Breach, SiteStep


class Images:
    """The images of one node's sites under one renaming, computed once each."""

    def __init__(
        self, renamings: Renamings, renaming: Renaming, here: Tables, there: Tables
    ) -> None:
        self._renamings, self._renaming = renamings, renaming
        self._here, self._there = here, there
        self.sites = Memo(lambda: len(here.numbers), self._sites)
        self._locals = Memo(lambda: len(here.sites.locals), self._local_images)
        self._boxes = Memo(lambda: len(here.boxes.boxes), self._box_images)

    def _sites(self, sites: Index) -> Ints:
        locals_, boxes = halves(self._here.numbers.keys[sites])
        return self._there.number(self._locals.of(locals_), self._boxes.of(boxes))

    def _local_images(self, locals_: Index) -> Ints:
        image = partial(self._renamings.local, self._renaming, self._here.index)
        return np.array([image(local) for local in locals_.tolist()], np.int32)

    def _box_images(self, boxes: Index) -> Ints:
        image = partial(self._renamings.inbox, self._renaming, self._here.index)
        some = [self._here.boxes.boxes[number] for number in boxes.tolist()]
        found = [self._there.boxes.number((knows, image(inbox))) for knows, inbox in some]
        self._there.boxes.describe()
        return np.array(found, np.int32)


class ReducedSearch(ArraySearch):
    def __init__(
        self, model: Model, used: list[Renaming], given_up: set[DeliveryKind] | None
    ) -> None:
        """With these renamings; given_up: kinds that do not commute, None: do not try."""
        super().__init__(model)
        self.renamings = Renamings(self.sites, used)
        self.renamings.begin(self.starts)
        self.commuting = None if given_up is None else Commuting(self.sites, given_up)
        for tables in self.tables:
            tables.asked = self._asked
            if self.commuting is not None:
                tables.commutes = self.commuting.alone
        self._images = {
            renaming: [
                Images(self.renamings, renaming, tables, self.tables[renaming[node]])
                for node, tables in enumerate(self.tables)
            ]
            for renaming in self.renamings.used
        }
        self._made: dict[Renaming, list[tuple[Renaming, Renaming]]] = defaultdict(list)
        for renaming, earlier, last in composed(self.renamings.used):
            self._made[earlier].append((renaming, last))

    def _asked(self, node: int, local: int, step: SiteStep) -> None:
        self.renamings.compare(node, local, step)
        if self.commuting is not None:
            self.commuting.asked(node, local, step)

    def deepen(self, limits: Limits) -> bool:
        """If a delivery was enough, no step may lead back: another may be put off."""
        going_on = super().deepen(limits)
        if self.commuting is not None and self.commuting.used and not self.graded:
            raise Dependent(None)
        return going_on

    def _places(self, step: Chunk) -> Index | slice:
        if self.commuting is None:
            return super()._places(step)
        begin = step.ends - step.total
        chosen = np.full(len(begin), -1, np.int64)
        for tables, sites in zip(self.tables, step.at, strict=True):
            alone = tables.alone.values.take(sites)
            here = np.flatnonzero((alone >= 0) & (chosen < 0))
            chosen[here] = begin[here] + alone[here]
            begin = begin + tables.total.values.take(sites)
        if self.arrows is not None and (chosen >= 0).any():
            self.arrows, self.arrow_counts = None, Grown(np.uint16)  # of no use any more
        kept = np.repeat(chosen < 0, step.total)
        kept[chosen[chosen >= 0]] = True
        return np.flatnonzero(step.real & kept)

    def _merged(self, words: Words) -> Words:
        fields = [self.layout.field(words, number) for number in range(len(self.layout.at))]
        return self._least(words, tuple(range(len(self.tables))), fields)

    def _least(self, least: Words, earlier: Renaming, fields: list[Ints]) -> Words:
        """Of these and their images under all that is made of this renaming."""
        for renaming, last in self._made[earlier]:
            images = fields.copy()
            for node, some in enumerate(self._images[last]):
                images[last[node]] = some.sites.of(fields[node])
            if not self.layout.fits(self._sizes()):
                return least  # the caller packs all states anew
            least = lesser(least, self.layout.pack(images))
            least = self._least(least, renaming, images)
        return least

    # A schedule, with the names that the nodes have in it

    def lifted(self, number: int) -> tuple[list[Action], int]:
        """A shortest schedule to a state with such an image, and that state."""
        way = [number]
        while way[-1]:
            way.append(int(self.parents.values[way[-1]]))
        actions: list[Action] = []
        here = self.state(0)
        for then in way[-2::-1]:
            both = zip(self.actions(here), self.following(here), strict=True)
            action, here = next((a, s) for a, s in both if s >= 0 and self._is(s, then))
            actions.append(action)
        return actions, here

    def violation(self) -> tuple[list[Action], Breach]:
        actions, here = self.lifted(self.broken_at)
        if self.broken_by is None:
            breach = self.stuck(here)
            assert breach is not None
            return actions, breach
        found = self.first_breach(here)
        assert found is not None
        return [*actions, self.actions(here)[found[0]]], found[1]

    def _is(self, state: int, number: int) -> bool:
        """Whether the state is one of those that this number stands for."""
        fields = [np.array([value]) for value in self._fields(state)]
        while not self.layout.fits(self._sizes()):
            self._pack_anew()
        words = self._merged(self.layout.pack(fields))
        if not self.layout.fits(self._sizes()):
            return self._is(state, number)
        pairs = zip(words, self.seen.keys, strict=True)
        return all(int(word[0]) == int(keys[number]) for word, keys in pairs)


def lesser(some: Words, others: Words) -> Words:
    """Of each pair of states the lesser one, the last word being the most significant."""
    if len(some) == 1:
        return (np.minimum(some[0], others[0]),)
    less = np.zeros(len(some[0]), np.bool_)
    for one, other in zip(some, others, strict=True):
        less = (other < one) | (other == one) & less
    return tuple(np.where(less, b, a) for a, b in zip(some, others, strict=True))
