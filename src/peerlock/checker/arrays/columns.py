"""Arrays that grow, rows in columns, and functions that are computed once."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

Index = NDArray[np.intp]
Ints = NDArray[Any]


class Grown:
    """An array that grows at its end, in place where the system can."""

    def __init__(self, dtype: Any, fill: int | None = None) -> None:
        self._array: NDArray[Any] = np.empty(0, dtype)
        self._fill = fill
        self.size = 0

    @property
    def values(self) -> NDArray[Any]:
        return self._array[: self.size]

    @property
    def nbytes(self) -> int:
        return self._array.nbytes

    def extend(self, values: NDArray[Any]) -> None:
        begin = self.size
        self.reach(begin + len(values))
        self._array[begin : self.size] = values

    def reach(self, size: int) -> None:
        """Have at least so many values; the new ones are the filling."""
        held = len(self._array)
        if size > held:
            self._array.resize(max(size, held + held // 4 + 1024), refcheck=False)
            if self._fill is not None:
                self._array[held:] = self._fill
        self.size = max(size, self.size)


class Rows:
    """Rows of small integers in columns, some for each owner."""

    def __init__(self, *columns: str) -> None:
        self.columns = {name: Grown(np.int32) for name in columns}
        self.first, self.count = Grown(np.int32, 0), Grown(np.int32, -1)

    def __getitem__(self, column: str) -> Ints:
        return self.columns[column].values

    @property
    def nbytes(self) -> int:
        return sum(column.nbytes for column in self.columns.values())

    def add(self, rows: dict[int, list[tuple[int, ...]]]) -> None:
        """Those of some owners."""
        flat = [row for some in rows.values() for row in some]
        self.put(
            np.array(list(rows), np.intp),
            np.array([len(some) for some in rows.values()], np.int32),
            np.array(flat, np.int32).reshape(len(flat), len(self.columns)).T,
        )

    def put(self, owners: Index, counts: Ints, columns: Iterable[Ints]) -> None:
        if not len(owners):
            return
        size = next(iter(self.columns.values())).size
        for ours, values in zip(self.columns.values(), columns, strict=True):
            ours.extend(values)
        self.reach(int(owners.max()) + 1)
        self.first.values[owners] = size + np.cumsum(counts) - counts
        self.count.values[owners] = counts

    def reach(self, owners: int) -> None:
        self.first.reach(owners)
        self.count.reach(owners)

    def unknown(self, owners: Index) -> Index:
        """Those of whom no rows were put, each once."""
        if not len(owners):
            return owners
        self.reach(int(owners.max()) + 1)
        return np.unique(owners[self.count.values[owners] < 0])

    def of(self, owners: Index) -> tuple[Index, Index]:
        """Whose each row is, as a position in `owners`, and which."""
        first, count = self.first.values[owners], self.count.values[owners]
        owner = np.repeat(np.arange(len(count)), count)
        return owner, np.arange(len(owner)) + (first - (np.cumsum(count) - count)).take(
            owner
        )


class Grid:
    """A function of two small integers that is computed once for each pair.

    `compute` is given many pairs at a time, and `size` says how many there may be of each.
    """

    def __init__(
        self, size: Callable[[], tuple[int, int]], compute: Callable[[Index, Index], Ints]
    ) -> None:
        self._size = size
        self._compute = compute
        self._known: Ints = np.full((1, 1), -1, np.int32)

    @property
    def nbytes(self) -> int:
        return self._known.nbytes

    def __call__(self, rows: Ints, columns: Ints) -> Ints:
        if not len(columns):
            return columns
        self._reach(*self._size())
        width = self._known.shape[1]
        at = rows * np.intp(width) + columns
        found = self._known.reshape(-1).take(at)
        if found.min() < 0:
            missing = np.unique(at[found < 0])
            new = self._compute(missing // width, missing % width)
            self._known.reshape(-1)[missing] = new
            found = self._known.reshape(-1).take(at)
        return found

    def _reach(self, rows: int, columns: int) -> None:
        height, width = self._known.shape
        if rows <= height and columns <= width:
            return
        more = (max(height, rows * 5 // 4), max(width, columns * 3 // 2))
        known = np.full(more, -1, np.int32)
        known[:height, :width] = self._known
        self._known = known


class Memo(Grid):
    """The same of one small integer."""

    def __init__(self, size: Callable[[], int], compute: Callable[[Index], Ints]) -> None:
        super().__init__(lambda: (1, size()), lambda _, keys: compute(keys))

    def of(self, keys: Ints) -> Ints:
        return self(np.zeros(1, np.intp), keys)
