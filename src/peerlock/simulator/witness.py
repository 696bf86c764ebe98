"""The judge of whole nodes: it is outside and sees only grants and their ends.

A grant is valid until it is released, until its process is dead, and no longer than its
holder's lease on the holder's own clock.  Among valid grants of one name there is one
holder, or readers only, or as many as there are permits, and all of them use the name on
the same terms; and fences grow from grant to grant of an exclusive lock, whatever happened
in between.

A holder that loses its grant is notified a margin before any other user can acquire the
lock, unless its process ends before that or leaves the cluster by itself.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field


class Misrule(Exception):
    """The nodes violated a property of locks."""


@dataclass(eq=False)
class Held:
    who: str
    fence: int
    shared: bool
    valid: Callable[[], bool]
    needs_time: Callable[[], bool] = lambda: True  # to stop, when it is lost


@dataclass
class NameRecord:
    """The grants of one name so far."""

    permits: int  # 0 for a lock
    inside: list[Held] = field(default_factory=list)
    lost: list[tuple[float, Held]] = field(default_factory=list)  # and when it was notified
    last_fence: int = 0
    last_writers_fence: int = 0


class Witness:
    """notice: how long before the next grant a loser must have been told."""

    def __init__(self, clock: Callable[[], float], notice: float) -> None:
        self.clock = clock
        self.notice = notice
        self.records: dict[str, NameRecord] = {}
        self.grants = 0
        self.together = 0  # grants to readers that found others inside
        self.permitted = 0  # grants of semaphores that found others inside

    def granted(self, name: str, permits: int, held: Held) -> None:
        self.grants += 1
        record = self.records.setdefault(name, NameRecord(permits))
        record.inside = [h for h in record.inside if h.valid()]
        if not record.inside:
            record.permits = permits
        record.inside.append(held)
        self._look_who_is_inside(name, permits, record)
        self._look_who_has_just_lost(name, permits, record, held)
        if permits < 2:
            self._look_at_fence(name, record, held)

    def _look_who_is_inside(self, name: str, permits: int, record: NameRecord) -> None:
        together = " and ".join(f"{h.who} (fence {h.fence})" for h in record.inside)
        if record.permits != permits:
            raise Misrule(f"{together} take {name} for different things")
        if permits:
            if len(record.inside) > permits:
                raise Misrule(f"{together} are in {name}, which has {permits} permits")
            self.permitted += len(record.inside) > 1
        elif len(record.inside) > 1:
            if not all(h.shared for h in record.inside):
                raise Misrule(f"{together} hold {name} together")
            self.together += 1

    def _look_who_has_just_lost(
        self, name: str, permits: int, record: NameRecord, held: Held
    ) -> None:
        told_by = self.clock() - self.notice + 1e-6
        record.lost = [(told, loser) for told, loser in record.lost if told > told_by]
        losers = [
            loser
            for _, loser in record.lost
            if loser.needs_time() and (permits or not (loser.shared and held.shared))
        ]
        if losers and len(losers) + len(record.inside) > permits:
            late = " and ".join(loser.who for loser in losers)
            raise Misrule(f"{held.who} gets {name}, and {late} had no time to stop")

    def _look_at_fence(self, name: str, record: NameRecord, held: Held) -> None:
        before = record.last_writers_fence if held.shared else record.last_fence
        if held.fence <= before:
            raise Misrule(f"{held.who}'s fence {held.fence} for {name} follows {before}")
        record.last_fence = max(record.last_fence, held.fence)
        if not held.shared:
            record.last_writers_fence = held.fence

    def lost(self, name: str, held: Held) -> None:
        """Its holder has just been told."""
        self.records[name].lost.append((self.clock(), held))

    def left(self, name: str, held: Held) -> None:
        record = self.records[name]
        if held in record.inside:
            record.inside.remove(held)
