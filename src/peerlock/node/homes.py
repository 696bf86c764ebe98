"""The names whose home is this node: their circles, epochs and terms.

The *circle* of a name is the members that have it open.  The home keeps it:

- **Entering re-forms.**  After a newcomer's `Open`, the home tells the circle that the
  epoch is over (`Reform`).  Each member answers with its state, and no longer speaks in the
  old epoch (`Formed`).  When all have answered, the home opens the next (`Opened`) for
  those that stay and all newcomers that have come meanwhile.
- **A death re-forms** the circles that the dead member was in, without waiting for it.
- **Closing** (`Close`) re-forms, too, without the member that leaves; when the last one
  leaves, the name is forgotten.
- **Terms** are those of the first member.  A demand that conflicts with them is refused.
  The first reader of a name re-forms its circle with an algorithm that has readers; a
  holder keeps the lock meanwhile.
- **Places.**  `Opened` gives the order in which holders enter again, and then the order in
  which members with waiters request: the longest waiting first, whether it was in the
  circle before or is new.  Members say for how long they have waited, and the home counts
  back from when it hears that: so the order is exact but for the time that a message takes.
- **Taking over.**  A home that gets names from another home asks every member which of
  these it has open (`Tell`, `Told`).  Until all have answered, it answers nothing about
  them; what members ask for, and what they close after they have answered, is kept until
  then.  A circle is adopted as it is if all of it report the same epoch and speak in it;
  every other one is re-formed.
- **Epochs** are counted over all names, on top of the reign, so none is ever used twice.
  What a member says of an earlier epoch is late, and ignored; an epoch that cannot have
  been is an error of that member.
"""

from __future__ import annotations

from collections.abc import Callable
from math import isfinite
from typing import NamedTuple

from peerlock.core.peer import RemoteError
from peerlock.node.locks import circle_of
from peerlock.node.succession import Elders, Succession, home_among
from peerlock.node.terms import (
    Demand,
    Terms,
    must_switch,
    objection,
    same,
    settle,
    validate_demand,
)
from peerlock.node.views import MemberId, View
from peerlock.node.wire import (
    NEVER,
    Epoch,
    Formed,
    Message,
    NameReport,
    Opened,
    Reform,
    Refused,
    Tell,
    Told,
)

Post = Callable[[MemberId, Message], None]


class OpenRequest(NamedTuple):
    """A newcomer's."""

    demand: Demand
    since: float  # when it began to wait, on our clock


def began(waited: float, now: float) -> float:
    """When a member that says for how long it has waited began to."""
    if not isfinite(waited):
        raise RemoteError(f"a member cannot have waited for {waited} seconds")
    return now - waited


class Forming:
    """A circle that is being formed."""

    __slots__ = ("awaited", "formed", "newcomers")

    def __init__(
        self, awaited: set[MemberId], newcomers: dict[MemberId, OpenRequest]
    ) -> None:
        self.awaited = awaited
        self.formed: dict[MemberId, tuple[Formed, float]] = {}
        self.newcomers = newcomers


class Entry:
    """What the home knows of one name."""

    __slots__ = ("circle", "epoch", "forming", "name", "terms")

    def __init__(self, name: str) -> None:
        self.name = name
        self.epoch = NEVER  # the one that is open, or is being formed
        self.terms: Terms | None = None
        self.circle: tuple[MemberId, ...] = ()
        self.forming: Forming | None = None


class Taking:
    """The names of other homes are becoming ours."""

    __slots__ = (
        "awaited",
        "before",
        "closed",
        "elders",
        "me",
        "question",
        "reports",
        "requests",
    )

    def __init__(
        self, me: MemberId, question: int, elders: Elders, before: tuple[Elders, ...]
    ) -> None:
        self.me = me
        self.question = question
        self.elders = elders
        self.before = before
        self.awaited: set[MemberId] = set()
        self.reports: dict[str, dict[MemberId, NameReport]] = {}
        # That came meanwhile, from members that had told:
        self.requests: list[tuple[MemberId, str, OpenRequest]] = []
        self.closed: list[tuple[MemberId, str, Epoch]] = []

    def covers(self, name: str) -> bool:
        return is_taken(name, self.me, self.elders, self.before)


def is_taken(name: str, me: MemberId, elders: Elders, before: tuple[Elders, ...]) -> bool:
    """Whether it is ours among these elders, and was not among all of those before; if
    there were none before, all that is ours is new to us."""
    if home_among(name, elders) != me:
        return False
    return not before or any(home_among(name, those) != me for those in before)


class Homes:
    def __init__(
        self, post: Post, succession: Succession, clock: Callable[[], float]
    ) -> None:
        self._post = post
        self._succession = succession
        self._clock = clock
        self._entries: dict[str, Entry] = {}
        self._forming: dict[str, Forming] = {}  # those of them that wait for answers
        self._used_by: dict[MemberId, dict[str, None]] = {}  # whose deaths concern what
        self._count = 0
        self._taking: Taking | None = None
        self._settled: Elders = ()  # the elders among whom all our names are known
        self._me: MemberId = 0
        self._view = View(0, ())

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def awaited(self) -> set[MemberId]:
        """Members whose answers some names wait for."""
        awaited = set(self._taking.awaited) if self._taking else set()
        return awaited.union(*(forming.awaited for forming in self._forming.values()))

    def circle_of(self, name: str) -> tuple[MemberId, ...]:
        entry = self._entries.get(name)
        return entry.circle if entry else ()

    def epoch_of(self, name: str) -> Epoch:
        return self._entries[name].epoch

    # Views

    def forget(self) -> None:
        """We are out."""
        self._settled, self._taking = (), None
        self._entries.clear()
        self._forming.clear()
        self._used_by.clear()

    def see(self, me: MemberId, view: View, elders_changed: bool) -> None:
        if me != self._me:
            self.forget()
        members = {member.id for member in view.members}
        gone = [member.id for member in self._view.members if member.id not in members]
        self._me, self._view = me, view
        if elders_changed:
            self._give_away()
            self._take_over()
        for member in gone:
            self._bury(member)
        if self._taking:
            self._taking.awaited &= members
            self._taken_if_all_told()

    def begin_anew(self) -> None:
        """Our reign was interrupted by a home that we have not seen: ask all members."""
        self.forget()
        self._take_over()

    def _give_away(self) -> None:
        mine = self._succession.home
        for name in [name for name in self._entries if mine(name) != self._me]:
            self._drop(name)

    def _take_over(self) -> None:
        elders, unfinished = self._succession.elders, self._taking
        self._taking = None
        if self._me not in elders:
            self._settled = ()
            return
        if unfinished is not None:
            before = unfinished.before and (*unfinished.before, unfinished.elders)
        elif self._settled and set(self._settled) <= set(elders):
            self._settled = elders  # others have got names of ours, and we none of theirs
            return
        else:
            before = (self._settled,) if self._settled else ()
        self._count += 1
        taking = self._taking = Taking(self._me, self._count, elders, before)
        taking.awaited = {member.id for member in self._view.members}
        for name in [name for name in self._entries if taking.covers(name)]:
            self._drop(name)  # what we knew of it is from an earlier reign
        for member in sorted(taking.awaited):
            self._post(member, Tell(self._view.number, self._count, elders, before))

    def _bury(self, gone: MemberId) -> None:
        for name in list(self._used_by.pop(gone, ())):
            entry = self._entries[name]
            forming = entry.forming
            if forming is not None:
                forming.newcomers.pop(gone, None)
            if gone not in entry.circle:
                continue
            entry.circle = tuple(m for m in entry.circle if m != gone)
            if forming is not None:
                forming.awaited.discard(gone)
                self._open_if_all_formed(entry, forming)
            else:
                self._reform(entry)

    # Which members use which names

    def _add(self, name: str) -> Entry:
        entry = self._entries[name] = Entry(name)
        return entry

    def _drop(self, name: str) -> None:
        entry = self._entries.pop(name)
        self._forming.pop(name, None)
        newcomers = entry.forming.newcomers if entry.forming else ()
        for member in {*entry.circle, *newcomers}:
            self._no_longer(member, name)

    def _uses(self, member: MemberId, name: str) -> None:
        self._used_by.setdefault(member, {})[name] = None

    def _no_longer(self, member: MemberId, name: str) -> None:
        names = self._used_by.get(member)
        if names is not None:
            names.pop(name, None)
            if not names:
                del self._used_by[member]

    # Taking over

    def told(self, member: MemberId, message: Told) -> None:
        taking = self._taking
        if taking is None or taking.question != message.question:
            return  # we have asked again since
        if member not in taking.awaited:
            raise RemoteError(f"{member} answers a question that was not asked")
        try:
            for report in message.reports:
                if taking.covers(report.name):
                    self._must_have_been(member, report.name, report.epoch)
                    validate_demand(Demand(report.terms.algorithm, report.terms.permits))
                    taking.reports.setdefault(report.name, {})[member] = report
        finally:  # names of other members continue, whatever this one has reported
            if not message.more:
                taking.awaited.discard(member)
                self._taken_if_all_told()

    def _taken_if_all_told(self) -> None:
        taking = self._taking
        if taking is None or taking.awaited:
            return
        self._taking = None
        self._settled = taking.elders
        members = {member.id for member in self._view.members}
        for name, reports in taking.reports.items():
            present = {m: report for m, report in reports.items() if m in members}
            if present:
                self._adopt(name, present)
        for member, name, epoch in taking.closed:
            self.close(member, name, epoch)
        for member, name, request in sorted(taking.requests, key=lambda w: w[2].since):
            if member in members:
                self.open(member, name, request)

    def _adopt(self, name: str, reports: dict[MemberId, NameReport]) -> None:
        """As it is, if it runs; otherwise it is formed anew."""
        newest = max(reports.values(), key=lambda report: report.epoch)
        entry = self._add(name)
        entry.terms, entry.epoch = newest.terms, newest.epoch
        known = [member for member in newest.circle if member in reports]
        entry.circle = (*known, *sorted(set(reports) - set(known)))
        for member in entry.circle:
            self._uses(member, name)
        runs = set(newest.circle) == set(reports) and all(
            report.speaks and report.epoch == newest.epoch for report in reports.values()
        )
        if not runs:
            self._reform(entry)

    # Circles

    def open(self, member: MemberId, name: str, request: OpenRequest) -> None:
        taking = self._taking
        if taking is not None and taking.covers(name):
            taking.requests.append((member, name, request))
            return
        entry = self._entries.get(name)
        if entry is None:
            entry = self._add(name)
        elif entry.circle and not entry.forming:
            assert entry.terms is not None
            if why := self._objection(entry.terms, request.demand):
                self._post(member, Refused(self._view.number, name, request.demand, why))
                return
        self._uses(member, name)
        if entry.forming is not None:
            entry.forming.newcomers[member] = request
        else:
            self._reform(entry, {member: request})

    def close(self, member: MemberId, name: str, epoch: Epoch) -> None:
        self._must_have_been(member, name, epoch)
        taking = self._taking
        if taking is not None and taking.covers(name):
            taking.closed.append((member, name, epoch))
            return
        entry = self._entries.get(name)
        if entry is None or entry.epoch != epoch or entry.forming:
            return
        if member not in entry.circle:
            return
        if len(entry.circle) == 1:
            self._drop(name)
        else:
            self._reform(entry)

    def formed(self, member: MemberId, message: Formed) -> None:
        self._must_have_been(member, message.name, message.epoch)
        entry = self._entries.get(message.name)
        forming = entry.forming if entry else None
        if entry is None or forming is None or entry.epoch != message.epoch:
            return
        if member in forming.awaited or member in forming.formed:
            forming.formed[member] = message, began(message.waited, self._clock())
            forming.awaited.discard(member)
            self._open_if_all_formed(entry, forming)

    def _must_have_been(self, member: MemberId, name: str, epoch: Epoch) -> None:
        """An epoch that a member is in belongs to a view that we have seen; if the reign is
        ours, we have counted it."""
        succession = self._succession
        ours = epoch.reign == succession.reign(name) and succession.home(name) == self._me
        if epoch.reign > self._view.number or (ours and epoch.number > self._count):
            raise RemoteError(f"{member} is in an epoch of {name!r} that never was")

    def _reform(
        self, entry: Entry, newcomers: dict[MemberId, OpenRequest] | None = None
    ) -> None:
        self._count += 1
        entry.epoch = Epoch(self._succession.reign(entry.name), self._count)
        forming = entry.forming = Forming(set(entry.circle), newcomers or {})
        self._forming[entry.name] = forming
        for member in entry.circle:
            self._post(member, Reform(self._view.number, entry.name, entry.epoch))
        self._open_if_all_formed(entry, forming)

    def _open_if_all_formed(self, entry: Entry, forming: Forming) -> None:
        if forming.awaited:
            return
        answers = forming.formed
        formed = {m: answers[m] for m in entry.circle if answers[m][0].stays}
        newcomers = self._let_in(entry, forming.newcomers, bool(formed))
        circle = (*formed, *(m for m in newcomers if m not in formed))
        for member in {*entry.circle, *forming.newcomers} - {*circle}:
            self._no_longer(member, entry.name)
        entry.circle = circle_of(circle).members
        entry.forming = None
        self._forming.pop(entry.name, None)
        if not circle:
            self._drop(entry.name)
            return
        holders = tuple(m for m, (told, _) in formed.items() if told.holds)
        since = {m: when for m, (told, when) in formed.items() if told.waited >= 0}
        for member, request in newcomers.items():
            since.setdefault(member, request.since)
        waiters = tuple(sorted(since, key=lambda member: since[member]))
        assert entry.terms is not None
        start = entry.circle.index((*holders, *waiters, entry.circle[0])[0])
        entry.terms = same(entry.terms._replace(start=start))
        opened = Opened(
            self._view.number,
            entry.name,
            entry.epoch,
            entry.terms,
            entry.circle,
            holders,
            waiters,
        )
        for member in entry.circle:
            self._post(member, opened)

    def _let_in(
        self, entry: Entry, newcomers: dict[MemberId, OpenRequest], used: bool
    ) -> dict[MemberId, OpenRequest]:
        """The newcomers whose demands fit the terms; the first settles these, if no member
        of the circle that did is left."""
        admitted: dict[MemberId, OpenRequest] = {}
        terms = entry.terms if used else None
        for member, request in newcomers.items():
            if terms is None or must_switch(request.demand, terms):
                terms = settle(request.demand, 0)
            elif why := objection(request.demand, terms):
                number = self._view.number
                self._post(member, Refused(number, entry.name, request.demand, why))
                continue
            admitted[member] = request
        entry.terms = terms
        return admitted

    @staticmethod
    def _objection(terms: Terms, wanted: Demand) -> str:
        return "" if must_switch(wanted, terms) else objection(wanted, terms)
