"""Arrays that grow, and rows in columns."""

from __future__ import annotations

from collections.abc import Iterable
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

    def adopt(self, values: NDArray[Any]) -> None:
        """Take over these values."""
        self._array, self.size = values, len(values)

    def extend(self, values: NDArray[Any]) -> None:
        begin = self.size
        self.reach(begin + len(values))
        self._array[begin : self.size] = values

    def reach(self, size: int) -> None:
        """Grow to at least this many values; new ones have the fill value."""
        held = len(self._array)
        if size > held:
            self._array.resize(max(size, held + held // 8 + 1024), refcheck=False)
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
        """Those without rows, each once."""
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
