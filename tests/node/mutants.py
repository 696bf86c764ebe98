"""Small errors, put into the node and its host on purpose; the tests must notice each.

A mutant is applied with a monkeypatch.  Most are caught by the seeds 1, 2, … of whole nodes
under faults: one of them ends in something that must never happen.  An error that faults
meet too rarely, or whose effect the judge of the seeds does not watch, is caught by a test
of the part that it is in.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import pytest

from peerlock.algorithms.readers_writers import ReadersWriters
from peerlock.node import circles, homes, links, turnstile
from peerlock.node.circles import Circles
from peerlock.node.fences import Fences
from peerlock.node.homes import Entry, Homes, OpenRequest
from peerlock.node.links import Link
from peerlock.node.locks import OPEN, NamedLock, Stage
from peerlock.node.mail import KeptMessage, Mail
from peerlock.node.node import Node
from peerlock.node.succession import Succession
from peerlock.node.terms import Demand, Terms, settle
from peerlock.node.turnstile import Turnstile
from peerlock.node.views import MemberId, View
from peerlock.node.waiters import State, Waiter
from peerlock.node.wire import (
    Batch,
    Close,
    Epoch,
    EpochMessage,
    Formed,
    Go,
    HomeMessage,
    Message,
    NameReport,
    Next,
    Opened,
    Reform,
    Refused,
    Tell,
    Told,
    ToPeer,
)

Patch = pytest.MonkeyPatch


class Mutant(NamedTuple):
    what: str
    apply: Callable[[Patch], None]
    caught_by: str = "seeds"  # or a test, as "module.test"
    arguments: tuple[Any, ...] = ()  # of that test

    def __str__(self) -> str:
        return self.what


# Links and mail


def duplicates_accepted(patch: Patch) -> None:
    def accept(self: Link, batch: Batch, fences: Fences) -> tuple[Message, ...]:
        honest(self, batch._replace(first=0), fences)
        self.received = batch.first + len(batch.messages) - 1
        return batch.messages

    honest = Link.accept
    patch.setattr(Link, "accept", accept)


def nothing_resent(patch: Patch) -> None:
    patch.setattr(Link, "anew", lambda self: 0)


def one_too_few_resent(patch: Patch) -> None:
    def anew(self: Link) -> int:
        self._fresh = list(self._kept)[1:]
        return 0

    patch.setattr(Link, "anew", anew)


def acknowledged_too_early(patch: Patch) -> None:
    def batch(self: Link, to: MemberId, fences: Fences) -> Batch:
        sent = honest(self, to, fences)
        return sent._replace(received=sent.received + bool(sent.received))

    honest = Link.batch
    patch.setattr(Link, "batch", batch)


def nothing_acknowledged(patch: Patch) -> None:
    def accept(self: Link, batch: Batch, fences: Fences) -> tuple[Message, ...]:
        return honest(self, batch._replace(received=0), fences)

    honest = Link.accept
    patch.setattr(Link, "accept", accept)


def acknowledgements_not_repeated(patch: Patch) -> None:
    def accept(self: Link, batch: Batch, fences: Fences) -> tuple[Message, ...]:
        told = self.told
        messages = honest(self, batch, fences)
        self.told = told
        return messages

    honest = Link.accept
    patch.setattr(Link, "accept", accept)


def nothing_reminded_of(patch: Patch) -> None:
    patch.setattr(Link, "remind", lambda self: False)


def links_restart_at_a_view(patch: Patch) -> None:
    def see(self: Mail, me: MemberId, view: View) -> None:
        self._links.clear()
        honest(self, me, view)

    honest = Mail.see
    patch.setattr(Mail, "see", see)


def early_batches_dropped(patch: Patch) -> None:
    patch.setattr(Mail, "keep_if_early", lambda self, sender, batch: None)


def few_early_batches_kept(patch: Patch) -> None:
    def keep(self: Mail, sender: MemberId, batch: Batch) -> None:
        honest(self, sender, batch)
        del self._early[:-8]

    honest = Mail.keep_if_early
    patch.setattr(Mail, "keep_if_early", keep)


def nothing_is_ahead(patch: Patch) -> None:
    patch.setattr(Mail, "is_ahead", lambda self, sender, message: False)


def what_is_ahead_is_overtaken(patch: Patch) -> None:
    def is_ahead(self: Mail, sender: MemberId, message: HomeMessage) -> bool:
        if message.view <= self._seen:
            return False
        self._ahead.setdefault(sender, deque()).append(KeptMessage(message, 0))
        return True

    patch.setattr(Mail, "is_ahead", is_ahead)


def what_is_ahead_is_dropped(patch: Patch) -> None:
    def is_ahead(self: Mail, sender: MemberId, message: HomeMessage) -> bool:
        return message.view > self._seen

    patch.setattr(Mail, "is_ahead", is_ahead)


def former_self_addressed(patch: Patch) -> None:
    def careless(self: Mail, sender: MemberId, batch: Batch) -> Iterable[Message]:
        return honest(self, sender, batch._replace(to=self.me))

    honest = Mail.accept
    patch.setattr(Mail, "accept", careless)


def the_dead_are_heard(patch: Patch) -> None:
    def careless(self: Node, sender: MemberId, batch: Batch) -> None:
        if self.mail.members and sender < self.view.number:
            self.mail.members |= {sender}
        honest(self, sender, batch)

    honest = Node.receive
    patch.setattr(Node, "receive", careless)


def full_links_never_looked_at(patch: Patch) -> None:
    patch.setattr(links, "FULL", 3)
    patch.setattr(Turnstile, "go_on", lambda self: None)


# Homes and reigns


def no_floor(patch: Patch) -> None:
    patch.setattr(Succession, "floor", lambda self, name: 0)


def no_reign_in_epochs(patch: Patch) -> None:
    patch.setattr(Succession, "reign", lambda self, name: 1)
    patch.setattr(Succession, "floor", lambda self, name: 0)


def epochs_never_grow(patch: Patch) -> None:
    def reform(
        self: Homes, entry: Entry, newcomers: dict[MemberId, OpenRequest] | None = None
    ) -> None:
        self._count = 0
        honest(self, entry, newcomers)

    honest = Homes._reform
    patch.setattr(Homes, "_reform", reform)


def stale_ignored(patch: Patch) -> None:
    patch.setattr(Node, "_receive_stale", lambda self, sender, message: None)


def stale_and_nobody_asked(patch: Patch) -> None:
    patch.setattr(Homes, "begin_anew", lambda self: None)


def names_never_given_away(patch: Patch) -> None:
    def take_over(self: Homes) -> None:
        entries, used_by = self._entries.copy(), self._used_by.copy()
        honest(self)
        self._entries, self._used_by = entries, used_by

    honest = Homes._take_over
    patch.setattr(Homes, "_give_away", lambda self: None)
    patch.setattr(Homes, "_take_over", take_over)


def taken_over_when_one_has_told(patch: Patch) -> None:
    def told(self: Homes, member: MemberId, message: Told) -> None:
        if self._taking:
            self._taking.awaited &= {member}
        honest(self, member, message)

    honest = Homes.told
    patch.setattr(Homes, "told", told)


def nobody_asked_at_all(patch: Patch) -> None:
    def take_over(self: Homes) -> None:
        self._settled = self._succession.elders

    patch.setattr(Homes, "_take_over", take_over)


def requests_forgotten_meanwhile(patch: Patch) -> None:
    def taken(self: Homes) -> None:
        if self._taking:
            self._taking.requests.clear()
        honest(self)

    honest = Homes._taken_if_all_told
    patch.setattr(Homes, "_taken_if_all_told", taken)


def closes_forgotten_meanwhile(patch: Patch) -> None:
    def taken(self: Homes) -> None:
        if self._taking:
            self._taking.closed.clear()
        honest(self)

    honest = Homes._taken_if_all_told
    patch.setattr(Homes, "_taken_if_all_told", taken)


def old_refusals_count(patch: Patch) -> None:
    def refused(self: Circles, sender: MemberId, message: Refused) -> None:
        honest(self, sender, message._replace(view=self.view))

    honest = Circles.receive_refused
    patch.setattr(Circles, "receive_refused", refused)


def let_in_and_silent(patch: Patch) -> None:
    def opened(self: Circles, sender: MemberId, message: Opened) -> None:
        lock = self.locks.get(message.name)
        if lock is not None and lock.stage is not Stage.SHUT:
            honest(self, sender, message)

    honest = Circles.receive_opened
    patch.setattr(Circles, "receive_opened", opened)


def answers_to_older_questions(patch: Patch) -> None:
    def told(self: Homes, member: MemberId, message: Told) -> None:
        if self._taking and member in self._taking.awaited:
            message = message._replace(question=self._taking.question)
        honest(self, member, message)

    honest = Homes.told
    patch.setattr(Homes, "told", told)


def tell_answered_among_other_elders(patch: Patch) -> None:
    def receive_tell(self: Circles, sender: MemberId, message: Tell) -> None:
        honest(self, sender, message._replace(elders=self._succession.elders))

    honest = Circles.receive_tell
    patch.setattr(Circles, "receive_tell", receive_tell)


def former_homes_not_answered(patch: Patch) -> None:
    def counts(self: Circles, sender: MemberId, name: str, epoch: Epoch) -> bool:
        return self._succession.home(name) == sender and honest(self, sender, name, epoch)

    honest = Circles._counts
    patch.setattr(Circles, "_counts", counts)


def closing_waits_for_nothing(patch: Patch) -> None:
    def close(self: Circles, lock: NamedLock) -> None:
        honest(self, lock)
        self._asked.pop(lock, None)

    honest = Circles._close
    patch.setattr(Circles, "_close", close)


def the_halted_not_reported(patch: Patch) -> None:
    def reports(self: Circles, locks: list[NamedLock]) -> Iterator[NameReport]:
        return honest(self, [lock for lock in locks if lock.stage is OPEN])

    honest = Circles._reports
    patch.setattr(Circles, "_reports", reports)


def adopted_although_one_is_missing(patch: Patch) -> None:
    def adopt(self: Homes, name: str, reports: dict[MemberId, NameReport]) -> None:
        newest = max(reports.values(), key=lambda report: report.epoch)
        here = tuple(member for member in newest.circle if member in reports)
        honest(self, name, {m: r._replace(circle=here) for m, r in reports.items()})

    honest = Homes._adopt
    patch.setattr(Homes, "_adopt", adopt)


def adopted_although_epochs_differ(patch: Patch) -> None:
    def adopt(self: Homes, name: str, reports: dict[MemberId, NameReport]) -> None:
        newest = max(reports.values(), key=lambda report: report.epoch)
        circle = (*newest.circle, *sorted(set(reports) - set(newest.circle)))
        newest = newest._replace(circle=circle)
        honest(self, name, dict.fromkeys(reports, newest))

    honest = Homes._adopt
    patch.setattr(Homes, "_adopt", adopt)


def adopted_although_one_is_halted(patch: Patch) -> None:
    def adopt(self: Homes, name: str, reports: dict[MemberId, NameReport]) -> None:
        honest(self, name, {m: r._replace(speaks=True) for m, r in reports.items()})

    honest = Homes._adopt
    patch.setattr(Homes, "_adopt", adopt)


# Homes and circles


def opened_when_one_has_formed(patch: Patch) -> None:
    def formed(self: Homes, member: MemberId, message: Formed) -> None:
        entry = self._entries.get(message.name)
        if entry and entry.forming and entry.epoch == message.epoch:
            for other in entry.forming.awaited:
                nothing = message._replace(holds=False, waited=-1.0)
                entry.forming.formed[other] = nothing, self._clock()
            entry.forming.awaited &= {member}
        honest(self, member, message)

    honest = Homes.formed
    patch.setattr(Homes, "formed", formed)


def formed_of_another_epoch(patch: Patch) -> None:
    def formed(self: Homes, member: MemberId, message: Formed) -> None:
        entry = self._entries.get(message.name)
        if entry is not None:
            message = message._replace(epoch=entry.epoch)
        honest(self, member, message)

    honest = Homes.formed
    patch.setattr(Homes, "formed", formed)


def the_dead_are_waited_for(patch: Patch) -> None:
    def bury(self: Homes, gone: MemberId) -> None:
        for name in self._used_by.get(gone, ()):
            if self._entries[name].forming:
                self._used_by.pop(gone)
                return
        honest(self, gone)

    honest = Homes._bury
    patch.setattr(Homes, "_bury", bury)


def a_death_re_forms_nothing(patch: Patch) -> None:
    def bury(self: Homes, gone: MemberId) -> None:
        for name in self._used_by.get(gone, ()):
            entry = self._entries[name]
            if not entry.forming:
                entry.circle = tuple(m for m in entry.circle if m != gone)
        honest(self, gone)

    honest = Homes._bury
    patch.setattr(Homes, "_bury", bury)


def newcomers_dropped_while_forming(patch: Patch) -> None:
    def open_(self: Homes, member: MemberId, name: str, request: OpenRequest) -> None:
        entry = self._entries.get(name)
        if entry is None or not entry.forming:
            honest(self, member, name, request)

    honest = Homes.open
    patch.setattr(Homes, "open", open_)


def changed_opened(change: Callable[[Opened], Opened]) -> Callable[[Patch], None]:
    """A home that says something else when it opens an epoch."""

    def apply(patch: Patch) -> None:
        def post(self: Mail, member: MemberId, message: Message) -> None:
            honest(
                self, member, change(message) if isinstance(message, Opened) else message
            )

        honest = Mail.post
        patch.setattr(Mail, "post", post)

    return apply


order_ignored = changed_opened(
    lambda opened: opened._replace(waiters=tuple(sorted(opened.waiters)))
)
the_longest_waiting_last = changed_opened(
    lambda opened: opened._replace(waiters=opened.waiters[::-1])
)
holders_not_first = changed_opened(
    lambda opened: opened._replace(holders=(), waiters=opened.waiters + opened.holders)
)
holders_not_named = changed_opened(lambda opened: opened._replace(holders=()))
waiters_not_named = changed_opened(lambda opened: opened._replace(waiters=()))


def newcomers_before_waiters(patch: Patch) -> None:
    def formed(self: Homes, member: MemberId, message: Formed) -> None:
        honest(self, member, message._replace(waited=-1.0))

    honest = Homes.formed
    patch.setattr(Homes, "formed", formed)


def waiting_not_told(patch: Patch) -> None:
    patch.setattr(Circles, "_waited", lambda self, lock: 0.0 if lock.waiters else -1.0)


def closed_in_an_old_epoch(patch: Patch) -> None:
    def receive_close(self: Node, sender: MemberId, message: Close) -> None:
        if message.name in self.homes._entries:
            message = message._replace(epoch=self.homes.epoch_of(message.name))
        honest(self, sender, message)

    honest = Node._receive_close
    patch.setattr(Node, "_receive_close", receive_close)


def one_closes_for_all(patch: Patch) -> None:
    def close(self: Homes, member: MemberId, name: str, epoch: Any) -> None:
        entry = self._entries.get(name)
        if entry and entry.epoch == epoch and not entry.forming:
            self._drop(name)

    patch.setattr(Homes, "close", close)


def last_close_ignored(patch: Patch) -> None:
    def close(self: Homes, member: MemberId, name: str, epoch: Epoch) -> None:
        if self.circle_of(name) != (member,) or member == self._me:
            honest(self, member, name, epoch)

    honest = Homes.close
    patch.setattr(Homes, "close", close)


def terms_of_the_newest(patch: Patch) -> None:
    def let_in(
        self: Homes, entry: Entry, newcomers: dict[MemberId, OpenRequest], used: bool
    ) -> dict[MemberId, OpenRequest]:
        for request in newcomers.values():
            entry.terms = settle(request.demand, 0)
        return honest(self, entry, newcomers, used)

    honest = Homes._let_in
    patch.setattr(Homes, "_let_in", let_in)
    patch.setattr(Homes, "_objection", staticmethod(lambda terms, wanted: ""))


def nothing_switched(patch: Patch) -> None:
    def never(wanted: Demand, terms: Terms) -> bool:
        return False

    for module in (turnstile, homes):
        patch.setattr(module, "must_switch", never)


def anything_goes(patch: Patch) -> None:
    for module in (turnstile, homes):
        patch.setattr(module, "objection", lambda wanted, terms: "")


# Members of circles


def formed_and_speaking_on(patch: Patch) -> None:
    """It answers Formed, and neither falls silent nor stops listening."""

    def receive_reform(self: Circles, sender: MemberId, message: Reform) -> None:
        lock = self.locks.get(message.name)
        halt = NamedLock.halt
        with pytest.MonkeyPatch.context() as briefly:
            briefly.setattr(NamedLock, "halt", lambda _: None)
            honest(self, sender, message)
        if lock is not None and lock.stage is Stage.SHUT:
            halt(lock)

    def receive_in_epoch(self: Circles, sender: MemberId, message: EpochMessage) -> None:
        lock = self.locks.get(message.name)
        if lock and lock.stage is Stage.HALTED and message.epoch == lock.epoch:
            lock.stage = OPEN
            try:
                in_epoch(self, sender, message)
            finally:
                lock.stage = Stage.HALTED if lock.stage is OPEN else lock.stage
        else:
            in_epoch(self, sender, message)

    honest, in_epoch = Circles.receive_reform, Circles.receive_in_epoch
    patch.setattr(Circles, "receive_reform", receive_reform)
    patch.setattr(Circles, "receive_in_epoch", receive_in_epoch)


def older_epochs_accepted(patch: Patch) -> None:
    def receive(self: Circles, sender: MemberId, message: EpochMessage) -> None:
        lock = self.locks.get(message.name)
        if lock and lock.stage is OPEN and message.epoch < lock.epoch:
            message = message._replace(epoch=lock.epoch)
        honest(self, sender, message)

    honest = Circles.receive_in_epoch
    patch.setattr(Circles, "receive_in_epoch", receive)


def early_messages_dropped(patch: Patch) -> None:
    def receive(self: Circles, sender: MemberId, message: EpochMessage) -> None:
        lock = self.locks.get(message.name)
        if lock and lock.stage is OPEN:
            honest(self, sender, message)

    honest = Circles.receive_in_epoch
    patch.setattr(Circles, "receive_in_epoch", receive)


def older_epochs_opened(patch: Patch) -> None:
    def receive(self: Circles, sender: MemberId, message: Opened) -> None:
        lock = self.locks.get(message.name)
        if lock and lock.stage is Stage.HALTED and message.epoch < lock.forming:
            lock.forming = message.epoch
        honest(self, sender, message)

    honest = Circles.receive_opened
    patch.setattr(Circles, "receive_opened", receive)


def holding_not_told(patch: Patch) -> None:
    def post(self: Mail, member: MemberId, message: Message) -> None:
        if isinstance(message, Formed):
            message = message._replace(holds=False)
        honest(self, member, message)

    honest = Mail.post
    patch.setattr(Mail, "post", post)


def the_waiting_dropped_from_the_circle(patch: Patch) -> None:
    def post(self: Mail, member: MemberId, message: Message) -> None:
        if isinstance(message, Formed):
            message = message._replace(stays=message.holds)
        honest(self, member, message)

    honest = Mail.post
    patch.setattr(Mail, "post", post)


def used_again_and_given_back(patch: Patch) -> None:
    def receive_reform(self: Circles, sender: MemberId, message: Reform) -> None:
        lock = self.locks.get(message.name)
        if lock and lock.closing and not lock.holders:
            lock.shut()
        honest(self, sender, message)

    honest = Circles.receive_reform
    patch.setattr(Circles, "receive_reform", receive_reform)


def holders_left_outside(patch: Patch) -> None:
    patch.setattr(Turnstile, "enter", lambda self, lock: None)


def one_permit_for_all_holders(patch: Patch) -> None:
    def enter(self: Turnstile, lock: NamedLock) -> None:
        slot = lock.slots[0]
        for holder in lock.holders:
            if not slot.users:
                self._request(slot, holder.demand.shared)
                slot.started = True
            holder.slot = slot
            slot.users += 1

    patch.setattr(Turnstile, "enter", enter)


def next_before_we_are_in(patch: Patch) -> None:
    def see_who_is_in(self: Circles, lock: NamedLock) -> None:
        if lock.place >= 0:
            place, lock.place = lock.place, -1
            self._pass_on(lock, place + 1, self._mail.me)

    patch.setattr(Circles, "see_who_is_in", see_who_is_in)


def no_waiting_for_go(patch: Patch) -> None:
    def opened(self: Turnstile, lock: NamedLock) -> None:
        lock.running = True
        honest(self, lock)

    honest = Turnstile.opened
    patch.setattr(Turnstile, "opened", opened)


def nobody_says_go(patch: Patch) -> None:
    def post(self: Mail, member: MemberId, message: Message) -> None:
        if not isinstance(message, Go) or member == self.me:
            honest(self, member, message)

    honest = Mail.post
    patch.setattr(Mail, "post", post)


def first_alone_calls(patch: Patch) -> None:
    def receive_next(
        self: Circles, lock: NamedLock, sender: MemberId, message: Next
    ) -> None:
        order = lock.order
        if self._mail.me == order[0]:
            honest(self, lock, sender, message)
        elif sender == order[0]:
            lock.said |= {message.after}
            honest(self, lock, sender, message)

    honest = Circles._receive_next
    patch.setattr(Circles, "_receive_next", receive_next)


def predecessor_alone_calls(patch: Patch) -> None:
    def receive_next(
        self: Circles, lock: NamedLock, sender: MemberId, message: Next
    ) -> None:
        order = lock.order
        if self._mail.me == order[0] or message.after == self._mail.me:
            honest(self, lock, sender, message)
        elif sender == message.after:
            lock.said, lock.after = lock.said | {order[0]}, sender
            honest(self, lock, sender, message)

    honest = Circles._receive_next
    patch.setattr(Circles, "_receive_next", receive_next)


def nothing_asked_and_passed_on(patch: Patch) -> None:
    def pass_on(self: Circles, lock: NamedLock, place: int, after: MemberId) -> None:
        honest(self, lock, place, self._mail.me)

    honest = Circles._pass_on
    patch.setattr(Circles, "_pass_on", pass_on)


def first_alone_says_go(patch: Patch) -> None:
    def receive_go(self: Circles, lock: NamedLock, sender: MemberId, message: Go) -> None:
        if lock.order and sender == lock.order[0]:
            lock.said |= {message.after}
            honest(self, lock, sender, message)

    honest = Circles._receive_go
    patch.setattr(Circles, "_receive_go", receive_go)


def no_place_while_halted(patch: Patch) -> None:
    patch.setattr(Circles, "wait", lambda self, lock: None)


def newcomers_last(patch: Patch) -> None:
    def new(self: Homes, member: MemberId, name: str, request: OpenRequest) -> None:
        honest(self, member, name, request._replace(since=self._clock()))

    honest = Homes.open
    patch.setattr(Homes, "open", new)


def not_asked_again(patch: Patch) -> None:
    patch.setattr(Circles, "_ask_again", lambda self, lock: None)


def closing_for_ever(patch: Patch) -> None:
    """What was given back to a home that died is not given back to the next one."""

    def rest(self: Circles, lock: NamedLock, used: bool) -> None:
        lock.closing = True

    def receive_tell(self: Circles, sender: MemberId, message: Tell) -> None:
        with pytest.MonkeyPatch.context() as briefly:
            briefly.setattr(Circles, "rest", rest)
            honest(self, sender, message)

    honest = Circles.receive_tell
    patch.setattr(Circles, "receive_tell", receive_tell)


def the_used_given_back(patch: Patch) -> None:
    def close(self: Circles) -> None:
        for lock in list(self.locks.values()):
            if lock.stage is OPEN and len(lock.circle) == 1 and lock.holders:
                self._close(lock)
        honest(self)

    honest = Circles.sweep
    patch.setattr(Circles, "sweep", close)


def given_back_at_once(patch: Patch) -> None:
    def sweep(self: Circles) -> None:
        honest(self)
        honest(self)

    honest = Circles.sweep
    patch.setattr(Circles, "sweep", sweep)


def nothing_given_back(patch: Patch) -> None:
    patch.setattr(Circles, "sweep", lambda self: None)


def spoken_for_another(patch: Patch) -> None:
    """A message counts as the algorithm's, whichever member of the circle it is from."""

    def to_peer(self: Circles, lock: NamedLock, rank: int, message: ToPeer) -> None:
        honest(self, lock, (message.sender - 1) // len(lock.slots), message)

    honest = Circles._to_peer
    patch.setattr(Circles, "_to_peer", to_peer)


def any_home_will_do(patch: Patch) -> None:
    patch.setattr(Circles, "_is_home", lambda self, sender, name: True)


def anybody_says_go(patch: Patch) -> None:
    def receive_go(self: Circles, lock: NamedLock, sender: MemberId, message: Go) -> None:
        lock.running, lock.order = True, ()
        self.turnstile.serve(lock)

    patch.setattr(Circles, "_receive_go", receive_go)


def only_the_first_reports(patch: Patch) -> None:
    patch.setattr(circles, "REPORTS", 1)

    def told(self: Homes, member: MemberId, message: Told) -> None:
        if self._taking and member in self._taking.awaited:
            honest(self, member, message._replace(more=False))

    honest = Homes.told
    patch.setattr(Homes, "told", told)


# Fences


def fence_does_not_travel(patch: Patch) -> None:
    patch.setattr(Fences, "hear", lambda self, view, fence, limit: None)


def no_view_in_fences(patch: Patch) -> None:
    def enter(self: Fences, number: int) -> None:
        highest = self.highest
        honest(self, number)
        self.highest = highest

    honest = Fences.enter
    patch.setattr(Fences, "enter", enter)


def a_view_lets_nobody_go_on(patch: Patch) -> None:
    def see(self: Node, view: View, me: MemberId | None = None) -> None:
        with pytest.MonkeyPatch.context() as meanwhile:
            meanwhile.setattr(self.turnstile, "go_on", lambda: None)
            honest(self, view, me)

    honest = Node.see
    patch.setattr(Node, "see", see)


# Probes


def probe_ignores_waiters(patch: Patch) -> None:
    def users(self: NamedLock) -> tuple[int, int]:
        return len(self.holders), sum(h.demand.shared for h in self.holders)

    patch.setattr(NamedLock, "users", users)


def probes_in_each_others_way(patch: Patch) -> None:
    def users(self: NamedLock) -> tuple[int, int]:
        every = [*self.holders, *self.waiters]
        return len(every), sum(user.demand.shared for user in every)

    patch.setattr(NamedLock, "users", users)


def probe_not_repeated(patch: Patch) -> None:
    def opened(self: Turnstile, lock: NamedLock) -> None:
        self.serve(lock)

    patch.setattr(Turnstile, "opened", opened)


# The turnstile


def no_lease(patch: Patch) -> None:
    patch.setattr(Node, "check_lease", lambda self: True)


def nothing_lost(patch: Patch) -> None:
    patch.setattr(Turnstile, "lose_everything", lambda self: None)


def losses_not_told(patch: Patch) -> None:
    def lose(self: Turnstile) -> None:
        for lock in self._locks.values():
            lock.holders = ()
        honest(self)

    honest = Turnstile.lose_everything
    patch.setattr(Turnstile, "lose_everything", lose)


def waiters_forgotten_at_a_loss(patch: Patch) -> None:
    def lose(self: Turnstile) -> None:
        for lock in self._locks.values():
            for waiter in list(lock.waiters):
                lock.remove_waiter(waiter)
        honest(self)

    honest = Turnstile.lose_everything
    patch.setattr(Turnstile, "lose_everything", lose)


def last_waiter_dropped(patch: Patch) -> None:
    def opened(self: Turnstile, lock: NamedLock) -> None:
        if len(lock.waiters) > 1:
            lock.waiters.pop()
        honest(self, lock)

    honest = Turnstile.opened
    patch.setattr(Turnstile, "opened", opened)


def writer_by_a_readers_grant(patch: Patch) -> None:
    def careless(self: Turnstile, name: str, waiter: Waiter) -> bool:
        lock = self._locks.get(name)
        if lock and lock.free:
            lock.free.shared = waiter.demand.shared
        return honest(self, name, waiter)

    honest = Turnstile.take
    patch.setattr(Turnstile, "take", careless)


def given_up_and_kept(patch: Patch) -> None:
    def let_go(self: Turnstile, lock: NamedLock, in_time: bool = True) -> None:
        if lock.waiters:
            honest(self, lock, in_time)

    honest = Turnstile._let_go
    patch.setattr(Turnstile, "_let_go", let_go)


def granted_after_giving_up(patch: Patch) -> None:
    def give_up(self: Turnstile, waiter: Waiter) -> bool:
        waits = waiter.state is State.WAITING
        waiter.state = State.GAVE_UP if waits else waiter.state
        return waits

    patch.setattr(Turnstile, "give_up", give_up)


def rests_for_ever(patch: Patch) -> None:
    def lazy(self: Turnstile, lock: NamedLock, in_time: bool = True) -> None:
        honest(self, lock, in_time)
        self.resting.clear()

    honest = Turnstile._let_go
    patch.setattr(Turnstile, "_let_go", lazy)


def handed_over_for_ever(patch: Patch) -> None:
    patch.setattr(Turnstile, "_is_in_time", lambda self, slot: True)


def readers_pass_a_waiting_writer(patch: Patch) -> None:
    patch.setattr(ReadersWriters, "others_may_wait", False)


def old_readers_join_at_once(patch: Patch) -> None:
    patch.setattr(Turnstile, "_others_wait", lambda self, lock: False)


def last_come_first_served(patch: Patch) -> None:
    def let_in(self: Turnstile, lock: NamedLock) -> None:
        lock.waiters.reverse()
        honest(self, lock)
        lock.waiters.reverse()

    honest = Turnstile._let_in_whom_we_can
    patch.setattr(Turnstile, "_let_in_whom_we_can", let_in)


MUTANTS = (
    Mutant("what comes twice is taken twice", duplicates_accepted),
    Mutant("nothing is resent", nothing_resent),
    Mutant("the oldest message is not resent", one_too_few_resent),
    Mutant("more is acknowledged than came", acknowledged_too_early),
    Mutant("acknowledgements are not heard", nothing_acknowledged),
    Mutant(
        "acknowledgements are not repeated",
        acknowledgements_not_repeated,
        "test_mail.test_an_acknowledgement_that_was_lost_is_repeated",
    ),
    Mutant(
        "what goes unanswered is not repeated",
        nothing_reminded_of,
        "test_mail.test_the_last_batch_on_a_live_connection_is_not_lost_in_silence",
    ),
    Mutant("links start again at a view", links_restart_at_a_view),
    Mutant("batches of members not seen yet are dropped", early_batches_dropped),
    Mutant(
        "only the last 8 early batches are kept",
        few_early_batches_kept,
        "test_mail.test_all_early_batches_are_kept_in_order",
    ),
    Mutant("messages of views to come are handled at once", nothing_is_ahead),
    Mutant(
        "messages of views to come are overtaken",
        what_is_ahead_is_overtaken,
        "test_mail.test_what_comes_after_a_kept_message_does_not_overtake_it",
    ),
    Mutant("messages of views to come are dropped", what_is_ahead_is_dropped),
    Mutant("batches for a former self are accepted", former_self_addressed),
    Mutant("members that are out are heard", the_dead_are_heard),
    Mutant("a link that was full stays full", full_links_never_looked_at),
    Mutant(
        "the floor is ignored",
        no_floor,
        "test_circles.test_the_word_of_a_reign_below_the_floor_is_answered_with_stale",
    ),
    Mutant("epochs are not on top of the reign", no_reign_in_epochs),
    Mutant("epochs do not grow", epochs_never_grow),
    Mutant(
        "a home ignores Stale",
        stale_ignored,
        "test_homes.test_a_home_that_missed_a_view_in_which_it_was_none_begins_a_new_reign",
    ),
    Mutant(
        "a home that is stale asks nobody",
        stale_and_nobody_asked,
        "test_homes.test_a_home_that_missed_a_view_in_which_it_was_none_begins_a_new_reign",
    ),
    Mutant(
        "names are not given away",
        names_never_given_away,
        "test_homes.test_a_home_that_moves_away_and_back_begins_a_new_reign",
    ),
    Mutant("a home begins when one has told", taken_over_when_one_has_told),
    Mutant("a new home asks nobody", nobody_asked_at_all),
    Mutant("requests are forgotten while members tell", requests_forgotten_meanwhile),
    Mutant(
        "closes are forgotten while members tell",
        closes_forgotten_meanwhile,
        "test_homes.test_what_is_given_back_while_others_still_tell_is_given_back",
        ((3,),),
    ),
    Mutant(
        "refusals of an earlier reign count",
        old_refusals_count,
        "test_circles.test_a_refusal_from_an_earlier_reign_of_the_home_is_ignored",
    ),
    Mutant(
        "a member that is let in too late is silent",
        let_in_and_silent,
        "test_circles.test_a_member_that_is_let_in_although_it_no_longer_waits_says_so",
    ),
    Mutant(
        "answers to older questions count",
        answers_to_older_questions,
        "test_homes.test_what_was_told_to_an_older_question_is_no_answer_to_the_newer",
    ),
    Mutant(
        "Tell is answered among other elders",
        tell_answered_among_other_elders,
        "test_circles.test_a_tell_among_other_elders_than_ours_is_not_answered",
    ),
    Mutant("circles that re-form are not reported", the_halted_not_reported),
    Mutant("only the first reports count", only_the_first_reports),
    Mutant("adopted although one is missing", adopted_although_one_is_missing),
    Mutant(
        "adopted although epochs differ",
        adopted_although_epochs_differ,
        "test_circles.test_a_late_opened_of_an_earlier_reign_opens_nothing",
    ),
    Mutant(
        "adopted although one is halted",
        adopted_although_one_is_halted,
        "test_homes.test_a_new_home_re_forms_a_circle_that_one_member_speaks_in_no_more",
    ),
    Mutant("a home opens when one has formed", opened_when_one_has_formed),
    Mutant(
        "Formed of another epoch counts",
        formed_of_another_epoch,
        "test_homes.test_formed_of_another_epoch_is_ignored",
    ),
    Mutant("the dead are waited for", the_dead_are_waited_for),
    Mutant("a death re-forms nothing", a_death_re_forms_nothing),
    Mutant("newcomers are dropped while a circle forms", newcomers_dropped_while_forming),
    Mutant(
        "the order of waiters is ignored",
        order_ignored,
        "test_homes.test_places_are_kept_when_newcomers_come",
        ("naimi-trehel",),
    ),
    Mutant(
        "the longest waiting asks last",
        the_longest_waiting_last,
        "test_homes.test_places_are_kept_when_newcomers_come",
        ("naimi-trehel",),
    ),
    Mutant("holders are not first", holders_not_first),
    Mutant("holders have no place", holders_not_named),
    Mutant(
        "waiters have no place",
        waiters_not_named,
        "test_homes.test_the_longest_waiting_asks_first_and_newcomers_last",
        ("naimi-trehel",),
    ),
    Mutant(
        "newcomers ask before waiters",
        newcomers_before_waiters,
        "test_homes.test_the_longest_waiting_asks_first_and_newcomers_last",
        ("naimi-trehel",),
    ),
    Mutant(
        "members do not say how long they have waited",
        waiting_not_told,
        "test_homes.test_the_longest_waiting_asks_first_and_newcomers_last",
        ("naimi-trehel",),
    ),
    Mutant(
        "Close of an old epoch counts",
        closed_in_an_old_epoch,
        "test_homes.test_a_close_of_an_epoch_that_is_over_is_ignored",
    ),
    Mutant("one closes for all", one_closes_for_all),
    Mutant("a home ignores Close of the last member", last_close_ignored),
    Mutant(
        "the newest settles the terms",
        terms_of_the_newest,
        "test_homes.test_refusing_disturbs_nobody",
    ),
    Mutant("readers need no other terms", nothing_switched),
    Mutant("a name is used in any way", anything_goes),
    Mutant("a member answers Formed and speaks on", formed_and_speaking_on),
    Mutant("messages of older epochs are accepted", older_epochs_accepted),
    Mutant("messages of the next epoch are dropped", early_messages_dropped),
    Mutant(
        "an older epoch is opened",
        older_epochs_opened,
        "test_circles.test_an_epoch_that_is_over_is_not_opened_again",
    ),
    Mutant("members do not say that they hold", holding_not_told),
    Mutant("waiters leave the circle", the_waiting_dropped_from_the_circle),
    Mutant(
        "a name used again is given back",
        used_again_and_given_back,
        "test_homes.test_a_member_that_uses_a_name_again_while_it_goes_stays",
    ),
    Mutant("holders do not enter the new epoch", holders_left_outside),
    Mutant("several holders enter as one", one_permit_for_all_holders),
    Mutant("the next is called before we are in", next_before_we_are_in),
    Mutant("waiters do not wait for their turn", no_waiting_for_go),
    Mutant("nobody says Go to others", nobody_says_go),
    Mutant(
        "a member calls the next although it has nothing to ask for",
        nothing_asked_and_passed_on,
        "test_circles.test_a_member_whose_user_gave_up_hands_its_turn_back",
    ),
    Mutant("a new home is not asked again", not_asked_again),
    Mutant(
        "what was given back to a dead home is kept",
        closing_for_ever,
        "test_homes.test_what_is_given_back_while_the_home_changes_is_given_back_to_the_next",
    ),
    Mutant(
        "what a former home says is dropped in silence",
        former_homes_not_answered,
        "test_homes.test_a_home_that_missed_a_view_is_told_what_was_not_heard_meanwhile",
    ),
    Mutant(
        "a member that closes a name waits for no answer",
        closing_waits_for_nothing,
        "test_homes.test_what_is_given_back_to_a_home_for_one_view_is_given_back",
    ),
    Mutant("names in use are given back", the_used_given_back),
    Mutant(
        "names are given back at the first sweep",
        given_back_at_once,
        "test_circles.test_a_name_used_again_and_again_stays_open",
    ),
    Mutant("nothing is given back", nothing_given_back),
    Mutant(
        "a member speaks for another",
        spoken_for_another,
        "test_circles.test_no_member_speaks_for_another",
    ),
    Mutant(
        "any member is taken for a home",
        any_home_will_do,
        "test_circles.test_nonsense_is_a_counted_error_and_harmless",
        (0,),
    ),
    Mutant(
        "any member may say Go",
        anybody_says_go,
        "test_circles.test_next_and_go_from_the_wrong_member_are_counted_errors",
    ),
    Mutant(
        "a member asks as soon as the first says so",
        first_alone_calls,
        "test_circles.test_a_member_asks_when_the_request_before_its_own_has_come_to_it",
    ),
    Mutant(
        "a member asks as soon as the one before it says so",
        predecessor_alone_calls,
        "test_circles.test_a_member_asks_when_the_request_before_its_own_has_come_to_the"
        "_first",
    ),
    Mutant(
        "everybody asks as soon as the first says so",
        first_alone_says_go,
        "test_circles.test_a_user_that_comes_after_the_re_forming_asks_after_the_last_of"
        "_the_order",
    ),
    Mutant(
        "a user that comes while the circle is formed has no place",
        no_place_while_halted,
        "test_circles.test_a_user_that_comes_while_the_circle_is_formed_has_its_place",
    ),
    Mutant(
        "a newcomer waits from when the home hears of it",
        newcomers_last,
        "test_homes.test_a_newcomer_that_has_waited_for_longest_asks_first",
    ),
    Mutant("fences do not travel", fence_does_not_travel),
    Mutant("the view is not on top of the fence", no_view_in_fences),
    Mutant(
        "grants that wait for fences do not go on at a view",
        a_view_lets_nobody_go_on,
        "test_fences.test_grants_that_wait_for_fences_go_on_with_those_of_a_view",
    ),
    Mutant(
        "a probe ignores waiters",
        probe_ignores_waiters,
        "test_turnstile.test_a_waiter_is_in_the_way_of_a_probe",
    ),
    Mutant(
        "those that probe are in each other's way",
        probes_in_each_others_way,
        "test_turnstile.test_a_user_that_only_probes_is_in_nobodys_way",
    ),
    Mutant(
        "a circle formed anew is not probed again",
        probe_not_repeated,
        "test_turnstile.test_a_probing_reader_finds_a_writer_in_its_way",
    ),
    Mutant(
        "the lease is not looked at",
        no_lease,
        "test_node.test_without_a_lease_a_node_is_in_no_view",
    ),
    Mutant("nothing is lost when a lease ends", nothing_lost),
    Mutant("users are not told of a loss", losses_not_told),
    Mutant("waiters are forgotten at a loss", waiters_forgotten_at_a_loss),
    Mutant("a waiter is dropped when an epoch begins", last_waiter_dropped),
    Mutant(
        "a writer goes in by a reader's grant",
        writer_by_a_readers_grant,
        "test_turnstile.test_a_writer_never_goes_in_by_a_readers_grant",
        ("after",),
    ),
    Mutant("what nobody wants any more is kept", given_up_and_kept),
    Mutant("a user that gave up is granted all the same", granted_after_giving_up),
    Mutant("a member that let others go first never asks again", rests_for_ever),
    Mutant(
        "a lock is handed over without bound",
        handed_over_for_ever,
        "test_turnstile.test_a_lock_is_handed_over_a_bounded_number_of_times",
    ),
    Mutant(
        "readers pass a writer that waits elsewhere",
        readers_pass_a_waiting_writer,
        "test_turnstile.test_a_reader_joins_readers_however_late_if_nobody_else_asks",
    ),
    Mutant(
        "a reader from before the epoch joins the readers that are in",
        old_readers_join_at_once,
        "test_turnstile.test_a_reader_from_before_the_epoch_does_not_overtake_an_older_writer",
    ),
    Mutant(
        "the last local user to come is the first",
        last_come_first_served,
        "test_turnstile.test_local_users_are_let_in_in_the_order_in_which_they_came",
    ),
)

# Mutants of the node, and the story of which some schedule shows what is wrong.  Most of
# the others need a connection that breaks, or more members than a small story has.
FOUND_BY = {
    "what comes twice is taken twice": "forgetting",
    "more is acknowledged than came": "two",
    "acknowledgements are not heard": "two",
    "links start again at a view": "newcomers",
    "batches of members not seen yet are dropped": "newcomer",
    "messages of views to come are handled at once": "newcomers",
    "messages of views to come are dropped": "newcomers",
    "batches for a former self are accepted": "lease",
    "members that are out are heard": "leave",
    "epochs are not on top of the reign": "leave",
    "epochs do not grow": "two",
    "a home begins when one has told": "death",
    "a new home asks nobody": "leave",
    "requests are forgotten while members tell": "two",
    "circles that re-form are not reported": "leave",
    "adopted although one is missing": "leave",
    "adopted although epochs differ": "death",
    "a home opens when one has formed": "forgetting",
    "Formed of another epoch counts": "two",
    "the dead are waited for": "return",
    "a death re-forms nothing": "return",
    "newcomers are dropped while a circle forms": "two",
    "holders are not first": "two",
    "holders have no place": "two",
    "one closes for all": "two",
    "a home ignores Close of the last member": "two",
    "members do not say that they hold": "two",
    "waiters leave the circle": "two",
    "a name used again is given back": "two",
    "holders do not enter the new epoch": "two",
    "nobody says Go to others": "two",
    "a new home is not asked again": "leave",
    "what a former home says is dropped in silence": "elders",
    "names in use are given back": "forgetting",
    "nothing is given back": "two",
    "fences do not travel": "two",
    "the view is not on top of the fence": "lease",
    "the lease is not looked at": "lease",
    "nothing is lost when a lease ends": "lease",
    "users are not told of a loss": "lease",
    "waiters are forgotten at a loss": "lease",
    "what nobody wants any more is kept": "two",
    "a member that let others go first never asks again": "two",
}
