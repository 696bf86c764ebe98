"""Small errors, put into the node on purpose; the cluster must notice each.

A mutant is applied with a monkeypatch.  It is caught when one of the seeds 1, 2, … ends in
something that must never happen.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import pytest

from peerlock.node import homes, links, node
from peerlock.node.fences import Fences
from peerlock.node.homes import Homes
from peerlock.node.links import Link
from peerlock.node.locks import Lock, Stage, State, Waiter
from peerlock.node.node import HANDLERS, Node
from peerlock.node.views import View
from peerlock.node.wire import Batch, Forget, Go, Message, Ready, Recall

Patch = pytest.MonkeyPatch


class Mutant(NamedTuple):
    what: str
    apply: Callable[[Patch], None]
    seeds: int = 600  # so many are tried at most

    def __str__(self) -> str:
        return self.what


def hasty_go(patch: Patch) -> None:
    def receive_ready(self: Node, sender: int, message: Ready) -> None:
        self._ready.add(sender)
        if len(self._ready) == 1:
            for member in self._ranks:
                self._post(member, Go())

    def receive_go(self: Node, sender: int, message: Go) -> None:
        self.running = True
        for lock in list(self.locks.values()):
            self._serve(lock)

    patch.setitem(HANDLERS, Ready, receive_ready)
    patch.setitem(HANDLERS, Go, receive_go)


def no_barrier(patch: Patch) -> None:
    see = Node.see

    def see_and_run(self: Node, view: View, me: int | None = None) -> None:
        before = self.view.number
        see(self, view, me)
        if self.member and self.view.number > before:
            self.running = True

    patch.setattr(Node, "see", see_and_run)


def no_counter(patch: Patch) -> None:
    receive = Node.receive

    def deaf(self: Node, sender: int, batch: Batch) -> None:
        receive(self, sender, batch._replace(fence=0))

    patch.setattr(Node, "receive", deaf)


def no_view_in_fences(patch: Patch) -> None:
    def enter(self: Fences, number: int) -> None:
        self.highest, self.limit, self._most = 0, 1 << 52, 1 << 53

    patch.setattr(Fences, "enter", enter)


def no_lease(patch: Patch) -> None:
    patch.setattr(Node, "check_lease", lambda self: True)


def holders_left_outside(patch: Patch) -> None:
    def enter_what_is_held(self: Node) -> None:
        for lock in list(self.locks.values()):
            lock.afresh()
            for holder in lock.holders:
                holder.slot = None
            if not lock.holders and not lock.waiters:
                del self.locks[lock.name]
        self._ready_if_all_are_in()

    patch.setattr(Node, "_enter_what_is_held", enter_what_is_held)


def duplicates_accepted(patch: Patch) -> None:
    def accept(self: Link, batch: Batch) -> tuple[Message, ...]:
        honest(self, batch._replace(first=0))
        self._received = batch.first + len(batch.messages) - 1
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
    def batch(self: Link, to: int, view: int, fences: Fences) -> Batch:
        sent = honest(self, to, view, fences)
        return sent._replace(received=sent.received + bool(sent.received))

    honest = Link.batch
    patch.setattr(Link, "batch", batch)


def nothing_acknowledged(patch: Patch) -> None:
    honest = Link.accept
    patch.setattr(Link, "accept", lambda self, b: honest(self, b._replace(received=0)))


def nothing_forgotten(patch: Patch) -> None:
    patch.setattr(Node, "_sweep", lambda self: None)


def nothing_switched(patch: Patch) -> None:
    for module in (node, homes):
        patch.setattr(module, "must_switch", lambda wanted, terms: False)


def recall_ignored(patch: Patch) -> None:
    patch.setitem(HANDLERS, Recall, lambda self, sender, message: None)


def recall_obeyed_too_soon(patch: Patch) -> None:
    def wind_up(self: Node, lock: Lock) -> None:
        reopening = lock.switching
        self._close(lock)
        lock.stage = Stage.OPENING if reopening else lock.stage

    patch.setattr(Node, "_wind_up", wind_up)


def openers_forgotten(patch: Patch) -> None:
    close = Homes.close

    def close_for_all(self: Homes, member: int, name: str, epoch: int) -> None:
        entry = self._entries.get(name)
        if entry and entry.epoch == epoch:
            entry.openers = {member}
        close(self, member, name, epoch)

    patch.setattr(Homes, "close", close_for_all)


def epochs_never_grow(patch: Patch) -> None:
    honest = Homes.open

    def open_again(self: Homes, *arguments: Any) -> None:
        self._epoch = 0
        honest(self, *arguments)

    patch.setattr(Homes, "open", open_again)


def newer_batches_dropped(patch: Patch) -> None:
    receive = Node.receive

    def forgetful(self: Node, sender: int, batch: Batch) -> None:
        if batch.view <= self.view.number:
            receive(self, sender, batch)

    patch.setattr(Node, "receive", forgetful)


def older_batches_accepted(patch: Patch) -> None:
    receive = Node.receive

    def careless(self: Node, sender: int, batch: Batch) -> None:
        if sender in self._links and batch.view < self.view.number:
            batch = batch._replace(view=self.view.number)
        receive(self, sender, batch)

    patch.setattr(Node, "receive", careless)


def last_waiter_dropped(patch: Patch) -> None:
    see = Node.see

    def careless(self: Node, view: View, me: int | None = None) -> None:
        for lock in self.locks.values():
            if len(lock.waiters) > 1:
                lock.waiters.pop()
        see(self, view, me)

    patch.setattr(Node, "see", careless)


def writer_by_a_readers_grant(patch: Patch) -> None:
    take = Node.take

    def careless(self: Node, name: str, waiter: Waiter) -> bool:
        lock = self.locks.get(name)
        if lock and lock.free:
            lock.free.shared = waiter.demand.shared
        return take(self, name, waiter)

    patch.setattr(Node, "take", careless)


def given_up_and_kept(patch: Patch) -> None:
    def let_go(self: Node, lock: Lock) -> None:
        if lock.waiters or lock.recalled:
            honest(self, lock)

    honest = Node._let_go
    patch.setattr(Node, "_let_go", let_go)


def full_links_never_looked_at(patch: Patch) -> None:
    patch.setattr(links, "FULL", 3)
    patch.setattr(Node, "_look_at_full_links", lambda self: None)


def forgetting_ignored(patch: Patch) -> None:
    patch.setitem(HANDLERS, Forget, lambda self, sender, message: None)


def former_self_addressed(patch: Patch) -> None:
    receive = Node.receive

    def careless(self: Node, sender: int, batch: Batch) -> None:
        receive(self, sender, batch._replace(to=self.me))

    patch.setattr(Node, "receive", careless)


def one_permit_for_all_holders(patch: Patch) -> None:
    def enter(self: Node, lock: Lock) -> None:
        slot = lock.slots[0]
        for holder in lock.holders:
            if not slot.users:
                self._request(slot, holder.demand.shared)
                slot.started = True
            holder.slot = slot
            slot.users += 1

    patch.setattr(Node, "_enter", enter)


def ready_for_good(patch: Patch) -> None:
    see = Node.see

    def careless(self: Node, view: View, me: int | None = None) -> None:
        ready = set(self._ready)
        see(self, view, me)
        self._ready |= ready & set(self._ranks)

    patch.setattr(Node, "see", careless)


def homes_never_afresh(patch: Patch) -> None:
    def afresh(self: Homes, members: Iterable[int]) -> None:
        self._ranks = {member: rank for rank, member in enumerate(members)}

    patch.setattr(Homes, "afresh", afresh)


def granted_after_giving_up(patch: Patch) -> None:
    def give_up(self: Node, waiter: Waiter) -> bool:
        waits = waiter.state is State.WAITING
        waiter.state = State.GAVE_UP if waits else waiter.state
        return waits

    patch.setattr(Node, "give_up", give_up)


def anything_goes(patch: Patch) -> None:
    for module in (node, homes):
        patch.setattr(module, "objection", lambda wanted, terms: "")


def only_one_reopens(patch: Patch) -> None:
    close = Homes.close

    def careless(self: Homes, member: int, name: str, epoch: int) -> None:
        if entry := self._entries.get(name):
            entry.pending = entry.pending[:1]
        close(self, member, name, epoch)

    patch.setattr(Homes, "close", careless)


def rests_for_ever(patch: Patch) -> None:
    let_go = Node._let_go

    def lazy(self: Node, lock: Lock) -> None:
        let_go(self, lock)
        self._resting.clear()

    patch.setattr(Node, "_let_go", lazy)


MUTANTS = (
    Mutant("the first member says Go when one is ready", hasty_go),
    Mutant("those who wait do not wait for Go", no_barrier),
    Mutant("the highest fence does not travel", no_counter),
    Mutant("the view is not on top of the fence", no_view_in_fences),
    Mutant("the lease is not looked at", no_lease),
    Mutant("the holders do not enter the new view", holders_left_outside),
    Mutant("what comes twice is taken twice", duplicates_accepted),
    Mutant("nothing is resent", nothing_resent),
    Mutant("the oldest message is not resent", one_too_few_resent),
    Mutant("more is acknowledged than came", acknowledged_too_early),
    Mutant("acknowledgements are not heard", nothing_acknowledged),
    Mutant("nothing is forgotten", nothing_forgotten),
    Mutant("readers need no other terms", nothing_switched),
    Mutant("a recall is ignored", recall_ignored),
    Mutant("a recall is obeyed while somebody holds", recall_obeyed_too_soon),
    Mutant("one closes for all", openers_forgotten),
    Mutant("epochs do not grow", epochs_never_grow),
    Mutant("batches from newer views are dropped", newer_batches_dropped),
    Mutant("batches from older views are accepted", older_batches_accepted),
    Mutant("a waiter is dropped when a view comes", last_waiter_dropped),
    Mutant("a writer goes in by a reader's grant", writer_by_a_readers_grant),
    Mutant("what nobody wants any more is kept", given_up_and_kept),
    Mutant("a link that was full stays full", full_links_never_looked_at),
    Mutant("what is to be forgotten is kept", forgetting_ignored),
    Mutant("batches for a former self are accepted", former_self_addressed),
    Mutant("several holders enter as one", one_permit_for_all_holders),
    Mutant("who was ready once is ready", ready_for_good),
    Mutant("homes do not start afresh", homes_never_afresh),
    Mutant("who gave up is granted all the same", granted_after_giving_up),
    Mutant("a name is used in any way", anything_goes),
    Mutant("only one of those who wait opens it anew", only_one_reopens),
    Mutant("who has let others go first never asks again", rests_for_ever),
)
