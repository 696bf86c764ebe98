"""The boxes of one node by number: what it knows, and what is under way to it.

A box has whether the node knows of the latest grant, and the letters under way to it.
The box of a crashed node is closed: nothing arrives in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from peerlock.checker.arrays.columns import Grown, Index, Ints, Rows
from peerlock.checker.arrays.memo import Grid, Memo
from peerlock.checker.letters import Inbox
from peerlock.checker.sites import Sites

Box = tuple[bool, Inbox]
CLOSED: Box = (False, (-1,))

LOST, TWICE = -1, -2  # what happens to a letter instead of its arrival


class Boxes:
    def __init__(self, sites: Sites) -> None:
        self._letters = sites.letters
        self._network, self._fences = sites.model.network, sites.model.fences
        self._numbers: dict[Box, int] = {}
        self.boxes: list[Box] = []
        self.knows, self.quiet = Grown(np.uint8), Grown(np.uint8)
        self.pushes: dict[Inbox, int] = {(): 0}  # letters that arrive together
        self._letters_of: list[Inbox] = [()]
        self.arrivals = Rows("letter", "box")  # a letter without its bit, or a fault
        self.filled = Grid(lambda: (len(self._letters_of), len(self.boxes)), self._fill_all)
        self.granted = Memo(
            lambda: len(self.boxes), lambda some: self._each(some, self._grant)
        )
        self.cleared = Memo(
            lambda: len(self.boxes), lambda some: self._each(some, self._clear)
        )

    def number(self, box: Box) -> int:
        found = self._numbers.setdefault(box, len(self.boxes))
        if found == len(self.boxes):
            self.boxes.append(box)
        return found

    def learn(self, boxes: Index) -> None:
        """Find out what may arrive from them."""
        new = self.arrivals.unknown(boxes).tolist()
        self.arrivals.add({number: list(self._arriving(number)) for number in new})
        self.describe()

    def describe(self) -> None:
        new = self.boxes[self.knows.size :]
        if not new:
            return
        self.knows.extend(np.array([knows for knows, _ in new], np.uint8))
        self.quiet.extend(
            np.array([not inbox or inbox == CLOSED[1] for _, inbox in new], np.uint8)
        )

    def push(self, letters: Inbox) -> int:
        found = self.pushes.setdefault(letters, len(self._letters_of))
        if found == len(self._letters_of):
            self._letters_of.append(letters)
        return found

    def _arriving(self, number: int) -> Iterator[tuple[int, int]]:
        knows, inbox = self.boxes[number]
        if (knows, inbox) == CLOSED:
            return
        letters = self._letters
        for at in letters.deliverable(inbox):
            sender, _, message = letters.open(inbox[at])
            letter = letters.letter(message, False, sender)
            yield letter, self.number(letters.take(knows, inbox, at))
            if self._network.losses:
                yield LOST, self.number((knows, inbox[:at] + inbox[at + 1 :]))
            if self._network.duplications:
                twice = letters.add(inbox, inbox[at : at + 1])
                yield TWICE, self.number((knows, twice))

    # What becomes of a box

    def _each(self, boxes: Index, then: Callable[[Box], Box]) -> Ints:
        found = [self.number(then(self.boxes[number])) for number in boxes.tolist()]
        self.describe()
        return np.array(found, np.int32)

    def _fill_all(self, pushes: Index, boxes: Index) -> Ints:
        pairs = zip(pushes.tolist(), boxes.tolist(), strict=True)
        found = [self._fill(self._letters_of[push], number) for push, number in pairs]
        self.describe()
        return np.array(found, np.int32)

    def _fill(self, letters: Inbox, number: int) -> int:
        knows, inbox = self.boxes[number]
        if (knows, inbox) == CLOSED:
            return number
        return self.number((knows, self._letters.arrive(knows, inbox, letters)))

    def _grant(self, box: Box) -> Box:
        return self._fences, self._letters.unaware(box[1])

    def _clear(self, box: Box) -> Box:
        return box if box == CLOSED else (False, self._letters.unaware(box[1]))
