"""Fences: numbers that grow from grant to grant of a name, whatever happens in between.

A node keeps the highest that it has seen, and it travels on every batch.  A grant gets the
next one.  The number of a view stands above the counts of all views before it.
"""

from __future__ import annotations

from peerlock.core.peer import RemoteError

COUNTER_BITS = 32


class Fences:
    __slots__ = ("highest",)

    def __init__(self) -> None:
        self.highest = 0

    def next(self) -> int:
        self.highest += 1
        return self.highest

    def see(self, view: int) -> None:
        self.highest = max(self.highest, view << COUNTER_BITS)

    def hear(self, fence: int) -> None:
        if fence > self.highest:
            if fence >= 1 << 63:
                raise RemoteError(f"there can be no fence {fence:,}")
            self.highest = fence
