"""Whether it was right: nothing but histories is known here, and one clock.

A grant is valid until it is released, until its holder is dead or was told that it is
lost, and no longer than its holder's lease on the holder's own clock.  Then:

  overlaps   valid grants of one name exclude one another, as far as they should
  fences     grow, from grant to grant of a name
  stale      the store has taken no write after a newer fence was there; no update is lost;
             and a process that was refused held no valid grant
  told       who lost a lock was told before its lease had ended, and nobody released
             one later than that
  unserved   who waited when the faults ended, and stayed, was let in
"""

from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from math import inf
from statistics import median

from peerlock.node.presence import margin
from tests.chaos.history import Fault, Held, History, Life

SOON = 0.5  # seconds
GRACE = 1.0  # a stall may have begun before it could be noticed
SHORT = " stopped, shortly"


@dataclass
class Around:
    """A fault, and how the locks went during and after it."""

    fault: Fault
    grants: int  # while it lasted
    rate_before: float  # grants per second
    lost: int
    longest_gap: float  # between two grants, while it lasted
    recovered: float | None  # until who waited then was let in; None: not before the next


@dataclass
class Verdict:
    overlaps: list[str] = field(default_factory=list)
    fences: list[str] = field(default_factory=list)
    stale: list[str] = field(default_factory=list)
    told_late: list[str] = field(default_factory=list)
    unserved: list[str] = field(default_factory=list)
    failed: list[str] = field(default_factory=list)  # processes that ended by themselves

    grants: int = 0
    lost: int = 0
    refused: int = 0  # writes, by the store
    accepted: int = 0
    late: int = 0  # told late, while the process could not run
    least_warning: float = inf  # seconds between being told and the end of the lease
    closest: float = inf  # seconds between a lost holder's end and the next grant
    served_after: list[float] = field(default_factory=list)  # seconds since the calm
    around: list[Around] = field(default_factory=list)

    @property
    def violations(self) -> list[str]:
        groups = [self.overlaps, self.fences, self.stale, self.told_late]
        return [v for group in [*groups, self.unserved, self.failed] for v in group]

    @property
    def good(self) -> bool:
        return not self.violations


def judge(history: History, failed: Iterable[str] = ()) -> Verdict:
    verdict = Verdict(failed=list(failed))
    by_name: dict[str, list[Held]] = defaultdict(list)
    for held in history.held:
        verdict.grants += 1
        verdict.lost += held.told is not None
        if held.since < held.until:  # who was stopped while it was let in has nothing
            by_name[held.name].append(held)
    for name in sorted(by_name):
        grants = sorted(by_name[name], key=lambda held: held.since)
        verdict.overlaps += overlaps(grants)
        if not grants[0].kind.startswith("permit"):
            verdict.fences += fences(grants)
            verdict.closest = min([verdict.closest, *gaps_after_loss(grants)])
    look_at_the_store(history, verdict)
    look_who_was_told(history, verdict)
    look_who_was_served(history, verdict)
    verdict.around = list(look_around(history))
    return verdict


def overlaps(grants: list[Held]) -> Iterator[str]:
    """Of one name, in the order in which they began."""
    inside: list[Held] = []
    for held in grants:
        inside = [h for h in inside if h.until > held.since]
        inside.append(held)
        if held.kind.startswith("permit"):
            if len(inside) > int(held.kind.split()[1]):
                yield f"more than the permits of {held.name}: {together(inside)}"
        elif len(inside) > 1 and any(h.kind != "shared" for h in inside):
            yield f"{held.name} is held together: {together(inside)}"


def together(inside: list[Held]) -> str:
    return " and ".join(
        f"{h.who} ({h.kind}, fence {h.fence}, {h.since:.4f} to {h.until:.4f})"
        for h in inside
    )


def fences(grants: list[Held]) -> Iterator[str]:
    highest = writers = 0
    for held in grants:
        before = writers if held.kind == "shared" else highest
        if held.fence <= before:
            yield f"{held.name}: {held.who}'s fence {held.fence} follows {before}"
        highest = max(highest, held.fence)
        if held.kind != "shared":
            writers = max(writers, held.fence)


def gaps_after_loss(grants: list[Held]) -> Iterator[float]:
    for before, after in pairwise(grants):
        if before.told is not None and before.kind == "exclusive":
            yield after.since - before.until


def look_at_the_store(history: History, verdict: Verdict) -> None:
    newest: dict[str, int] = defaultdict(int)
    values: dict[str, int] = defaultdict(int)
    valid = {(held.name, held.fence): held for held in history.held}
    for write in history.writes:
        if not write.accepted:
            verdict.refused += write.what == "write"
            held = valid.get((write.name, write.fence))
            if held and held.since <= write.at < held.until:
                verdict.stale.append(f"{write} was refused, though its grant was valid")
            continue
        if write.fence < newest[write.name]:
            verdict.stale.append(f"{write} was accepted after {newest[write.name]}")
        if write.what == "write":
            verdict.accepted += 1
            if write.value != values[write.name] + 1:
                verdict.stale.append(f"{write} follows {values[write.name]}")
            values[write.name] = write.value
        if write.what != "look":
            newest[write.name] = max(newest[write.name], write.fence)


def look_who_was_told(history: History, verdict: Verdict) -> None:
    paused = defaultdict(list)
    for fault in history.faults:
        if fault.kind == "worker paused":
            paused[fault.more["who"]].append((fault.begins, fault.ends))
    for life in history.lives.values():
        allowed = margin(life.lease) if life.lease else 0.0
        for held in life.held:
            knew = held.freed if held.told is None else held.told
            end = held.deadline + allowed
            if knew is None:
                continue
            if knew <= end:
                if held.told is not None:
                    verdict.least_warning = min(verdict.least_warning, end - knew)
            elif could_not_run(held.deadline, knew, life, paused[life.who]):
                verdict.late += 1
            else:
                what = "lost" if held.told is not None else "released"
                text = f"{held.who} {what} {held.name} {knew - end:.3f} s after its lease"
                verdict.told_late.append(text)


def could_not_run(
    start: float, end: float, life: Life, paused: list[tuple[float, float]]
) -> bool:
    """It was stopped, or the machine did not let it run, when it was to be told."""
    stopped = [(a, b + GRACE) for a, b in paused] + [(a, b + 0.1) for a, b in life.stalls]
    return any(a <= end and b >= start for a, b in stopped)


def look_who_was_served(history: History, verdict: Verdict) -> None:
    for life in history.lives.values():
        if not life.survived:
            continue
        if life.ended is None:
            for name, since in life.waiting.values():
                text = f"{life.who} waits for {name} since {since - history.calm:+.1f} s"
                verdict.unserved.append(text)
        for held in life.held:
            if held.asked < history.calm <= held.since and not is_kept(held.name):
                verdict.served_after.append(held.since - history.calm)


def is_kept(name: str) -> bool:
    """Others hold it for seconds, on purpose: waiting for it says nothing."""
    return name.startswith("kept")


def look_around(history: History) -> Iterator[Around]:
    """What each fault did; until the next one, or the end."""
    times = sorted(held.since for held in history.held)
    told = sorted(held.told for held in history.held if held.told is not None)
    waits = sorted((h.asked, h.since) for h in history.held if not is_kept(h.name))
    faults = sorted(history.faults, key=lambda fault: fault.begins)
    for fault in faults:
        ends = min(fault.ends, history.ends)
        later = [f.begins for f in faults if f.begins > ends]
        until = min([*later, history.ends])
        first, last = bisect_left(times, fault.begins), bisect_left(times, ends)
        before = bisect_left(times, fault.begins - 3)
        moments = [fault.begins, *times[first:last], ends]
        gaps = [b - a for a, b in pairwise(moments)]
        lost = bisect_left(told, ends) - bisect_left(told, fault.begins)
        recovered = seconds_to_recover(waits, ends, until)
        yield Around(fault, last - first, (first - before) / 3, lost, max(gaps), recovered)


def seconds_to_recover(
    waits: list[tuple[float, float]], ends: float, until: float
) -> float | None:
    """For how long those waited who did at the end of a fault, or asked soon after."""
    soon = waits[: bisect_left(waits, (ends + SOON, 0.0))]
    late = [(since - max(asked, ends), since) for asked, since in soon if since > ends]
    slowest, since = max(late, default=(0.0, ends))
    return slowest if since <= until else None


def short_outages(around: list[Around], lease: float) -> list[Around]:
    """Of all servers, shorter than the lease, when nothing else was wrong or had been."""
    return [
        one
        for one in around
        if one.fault.kind.endswith(SHORT)
        and not any(
            other is not one
            and other.fault.begins < one.fault.ends
            and other.fault.ends > one.fault.begins - lease
            for other in around
        )
    ]


def by_kind(around: list[Around]) -> dict[str, list[Around]]:
    found: dict[str, list[Around]] = defaultdict(list)
    for one in around:
        found[one.fault.kind].append(one)
    return dict(sorted(found.items()))


def typical(times: list[float]) -> str:
    """Median and worst."""
    return f"{median(times):.2f} / {max(times):.2f} s" if times else "–"
