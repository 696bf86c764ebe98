"""Functions of small integers that are computed once, for many arguments at a time."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from peerlock.checker.arrays.columns import Grown, Index, Ints
from peerlock.checker.arrays.numbers import Numbers

DENSE = 1 << 25  # pairs, up to which there is a table of all


class Grid:
    """A function of two small integers that is computed once for each pair.

    `compute` is given many pairs at a time, and `size` says how many there may be of each.
    A table of all pairs is the quickest; where it would be too large, pairs are numbered.
    """

    def __init__(
        self, size: Callable[[], tuple[int, int]], compute: Callable[[Index, Index], Ints]
    ) -> None:
        self._size = size
        self._compute = compute
        self._known: Ints = np.full((1, 1), -1, np.int32)
        self._pairs: Numbers | None = None
        self._values = Grown(np.int32, fill=-1)

    def __call__(self, rows: Ints, columns: Ints) -> Ints:
        if not len(columns):
            return columns
        while True:
            known, at = self._places(rows, columns)
            found = known.take(at)
            if found.min() >= 0:
                return found
            at, first = np.unique(at[found < 0], return_index=True)
            missing = np.flatnonzero(found < 0)[first]
            known[at] = self._compute(rows[missing].astype(np.intp), columns[missing])

    def _places(self, rows: Ints, columns: Ints) -> tuple[Ints, Ints]:
        """Where the values are kept, and where in there."""
        height, width = self._size()
        if height * width > DENSE:
            self._pairs = self._pairs or Numbers()
            pairs = rows.astype(np.uint64) << np.uint64(32) | columns.astype(np.uint64)
            found, _ = self._pairs.number((pairs,))
            self._values.reach(len(self._pairs))
            return self._values.values, found
        self._reach(height, width)
        return self._known.reshape(-1), rows * np.intp(self._known.shape[1]) + columns

    def _reach(self, rows: int, columns: int) -> None:
        height, width = self._known.shape
        if rows <= height and columns <= width:
            return
        more = (max(height, rows * 5 // 4), max(width, columns * 3 // 2))
        known = np.full(more, -1, np.int32)
        known[:height, :width] = self._known
        self._known = known


class Memo:
    """The same of one small integer."""

    def __init__(self, size: Callable[[], int], compute: Callable[[Index], Ints]) -> None:
        self._size = size
        self._compute = compute
        self._known = Grown(np.int32, fill=-1)

    def of(self, keys: Ints) -> Ints:
        if not len(keys):
            return keys
        while True:
            self._known.reach(self._size())
            found = self._known.values.take(keys)
            if found.min() >= 0:
                return found
            missing = np.unique(keys[found < 0])
            values = self._compute(missing)  # which may ask for others
            self._known.values[missing] = values
