"""A space-time diagram: what there is to draw, and where.

Nodes are horizontal life lines, time runs to the right: most runs have fewer nodes than
steps, and a bar on a horizontal line has room for its fence.  All coordinates are in
pixels, with the origin in the top left corner of the diagram.  Every drawn
element has a short description and names the steps that it stands for.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import Enum
from math import hypot

from peerlock.core.peer import NodeId
from peerlock.traces.labels import Box, Point
from peerlock.traces.spans import SpanState
from peerlock.traces.timescale import TimeScale
from peerlock.traces.trace import Kind, Trace

NAMES = 74.0  # the width of a column with the names of the nodes
MARGIN = 24.0
TOP, AXIS = 34.0, 32.0  # above the nodes, below them
WIDE = 1100.0  # needs the names of the nodes on the right, too
REMINDER = 1600.0  # from one to the next number on a life line, at most


class Fate(Enum):
    ARRIVES = "arrives"
    AGAIN = "again"  # a duplicate
    LOST = "lost"
    UNDER_WAY = "under-way"


@dataclass(frozen=True, slots=True)
class Leg:
    start: Point
    end: Point
    fate: Fate
    bend: float = 0.0  # how far its middle lies off the straight line

    @property
    def length(self) -> float:
        return hypot(self.end.x - self.start.x, self.end.y - self.start.y)

    @property
    def control(self) -> Point:
        """Of the quadratic curve from start to end."""
        (x1, y1), (x2, y2) = self.start, self.end
        off = 2 * self.bend / (self.length or 1.0)
        return Point((x1 + x2) / 2 - off * (y2 - y1), (y1 + y2) / 2 + off * (x2 - x1))

    def at(self, share: float) -> Point:
        a, b, c = (1 - share) ** 2, 2 * share * (1 - share), share**2
        start, middle, end = self.start, self.control, self.end
        return Point(
            a * start.x + b * middle.x + c * end.x,
            a * start.y + b * middle.y + c * end.y,
        )


@dataclass(frozen=True, slots=True)
class Arrow:
    """A message, with a leg for each of its ends."""

    type: str
    label: str
    legs: tuple[Leg, ...]
    story: str
    steps: tuple[int, ...]
    label_at: Point | None = None  # None: nowhere that is not taken


@dataclass(frozen=True, slots=True)
class Bar:
    state: SpanState
    left: float
    right: float
    y: float
    fence: str
    clashing: bool  # another node was inside, in violation of exclusion
    story: str
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Mark:
    """Something that happened to one node at one time."""

    kind: Kind
    at: Point
    story: str
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Alarm:
    """A violation: a line across all nodes, its text in a lane above them."""

    x: float
    text_at: Point
    leftwards: bool
    text: str
    story: str
    steps: tuple[int, ...]


@dataclass(frozen=True, slots=True)
class Diagram:
    trace: Trace
    scale: TimeScale
    rows: dict[NodeId, float]
    right: float  # where the life lines end
    types: list[str]  # of messages, in order of appearance
    arrows: list[Arrow]
    bars: list[Bar]
    marks: list[Mark]
    alarms: list[Alarm]
    clashes: list[Box]

    @property
    def wide(self) -> bool:
        """Too wide to find a node by the name on the left."""
        return self.right > WIDE

    @property
    def width(self) -> float:
        return self.right + (NAMES if self.wide else MARGIN)

    @property
    def bottom(self) -> float:
        """Of the nodes; the axis lies below."""
        return max(self.rows.values(), default=TOP) + 20

    @property
    def height(self) -> float:
        return self.bottom + AXIS


def reminders(right: float) -> Iterator[float]:
    """Where along a wide diagram the life lines are numbered again."""
    count = int((right - NAMES) // REMINDER)
    return (NAMES + k * (right - NAMES) / (count + 1) for k in range(1, count + 1))
