"""Where the labels of the arrows go: wherever the drawing is least crowded.

The drawing is covered with small cells; whatever is drawn makes its cells more
crowded.  A label tries some places along its arrow and takes the best.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from typing import NamedTuple

SIZE = 10.5  # of the letters, in pixels
LONGEST = 22  # letters; the rest of a long message is in its tooltip
CELL = 6.0

ARROW, LINE, BAR, TEXT = 1, 2, 6, 1000


class Point(NamedTuple):
    x: float
    y: float


class Box(NamedTuple):
    left: float
    top: float
    right: float
    bottom: float


@dataclass(frozen=True, slots=True)
class Crowd:
    cells: Counter[tuple[int, int]] = field(default_factory=Counter)

    def add_box(self, box: Box, weight: int) -> None:
        for column in _columns(box):
            for row in _rows(box):
                self.cells[column, row] += weight

    def add_line(self, start: Point, end: Point, weight: int) -> None:
        for cell in dict.fromkeys(_along(start, end)):
            self.cells[cell] += weight

    def density(self, box: Box) -> int:
        """Or at least TEXT, as soon as there is text: how much does not matter."""
        get, rows, total = self.cells.get, _rows(box), 0
        for column in _columns(box):
            for row in rows:
                total += get((column, row), 0)
            if total >= TEXT:
                break
        return total


def best(crowd: Crowd, places: Iterable[Point], text: str) -> Point | None:
    """Of equally good places the first; none where text would hide text."""
    rated = [(crowd.density(box_around(p, text)), i, p) for i, p in enumerate(places)]
    density, _, place = min(rated)
    return place if density < TEXT else None


def box_around(centre: Point, text: str, size: float = SIZE) -> Box:
    half = width(text, size) / 2 + 3
    high = 0.58 * size
    return Box(centre.x - half, centre.y - high, centre.x + half, centre.y + high)


@lru_cache(maxsize=4096)  # a run says the same few things over and over
def width(text: str, size: float = SIZE) -> float:
    """A little more than most sans-serif fonts take."""
    return size * sum(map(_letter_width, text))


def _letter_width(letter: str) -> float:
    if letter in "()[], .:;'|!Iijlftr":
        return 0.37
    if letter in "mwMW…":
        return 0.98
    return 0.7 if letter.isupper() else 0.61


def shorten(text: str) -> str:
    """PRIVILEGE([2 5], [0 1 0 0 0 0]) becomes PRIVILEGE([2 5], [0…)."""
    if len(text) <= LONGEST:
        return text
    tail = "…)" if text.endswith(")") else "…"
    return text[: LONGEST - len(tail)].rstrip(" ,[(") + tail


def fitting(text: str, size: float, room: float) -> str:
    """As much of the text as there is room for."""
    if width(text, size) <= room:
        return text
    while text and width(text + "…", size) > room:
        text = text[:-1]
    return text.rstrip() + "…"


def _columns(box: Box) -> range:
    return range(int(box.left // CELL), int(box.right // CELL) + 1)


def _rows(box: Box) -> range:
    return range(int(box.top // CELL), int(box.bottom // CELL) + 1)


def _along(start: Point, end: Point) -> Iterator[tuple[int, int]]:
    steps = 1 + int(max(abs(end.x - start.x), abs(end.y - start.y)) / CELL)
    for k in range(steps + 1):
        x = start.x + (end.x - start.x) * k / steps
        y = start.y + (end.y - start.y) * k / steps
        yield int(x // CELL), int(y // CELL)
