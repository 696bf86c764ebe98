"""A lock node: inputs in, messages and grants out, no I/O, no clock of its own.

Its host notifies it of what happens: `see` a view, `receive` a batch, a connection is
there, a user calls `acquire`, `give_up`, `release`; `turn` when all that was at hand is
done, and `tick` about once a second.  After each input the host takes the batches to send
(`drain`).

From the first request to a grant:
  1. for the first local user, the node asks the name's home to add it to the circle of the
     members that use the name (`Open`);
  2. the home forms the circle anew, and announces its members and terms (`Opened`); the
     node makes its peer, which requests;
  3. the peer is granted, and so is the first local waiter.

The parts: `Mail` (links, batches, back pressure), `Succession` (which member is the home
of a name), `Homes` (the names whose home we are), `Circles` (our part in the names that we
have open), `Turnstile` (which local users hold a lock), `Fences`.  Each file opens with the
rules that it keeps.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from math import inf
from typing import Any

from peerlock.core.peer import RemoteError
from peerlock.node import snapshots
from peerlock.node.circles import Circles
from peerlock.node.fences import Fences
from peerlock.node.homes import Homes, OpenRequest, began
from peerlock.node.knobs import Knobs
from peerlock.node.locks import NamedLock
from peerlock.node.mail import OF_HOMES, Mail
from peerlock.node.statistics import Counts
from peerlock.node.succession import MEMBERS_PER_ELDER, Elders, Succession
from peerlock.node.terms import validate_demand
from peerlock.node.turnstile import Turnstile
from peerlock.node.views import MemberId, View
from peerlock.node.waiters import HOLDING, State, Waiter
from peerlock.node.wire import (
    Batch,
    Close,
    Formed,
    Go,
    Message,
    Next,
    Open,
    Opened,
    Probe,
    Probed,
    Reform,
    Refused,
    Stale,
    Tell,
    Told,
    ToPeer,
)


class Node:
    def __init__(
        self,
        clock: Callable[[], float],
        knobs: Knobs | None = None,
        members_per_elder: int = MEMBERS_PER_ELDER,
    ) -> None:
        self.clock = clock
        self.knobs = knobs or Knobs()
        self.me: MemberId = 0
        self.view = View(0, ())
        self.member = False  # we are in this view, as far as we know
        self.statistics = Counts()

        self._succession = Succession(members_per_elder)
        self.fences = Fences()
        self.mail = Mail(self._handle, self.fences, self.statistics.messages)
        self.homes = Homes(self.mail.post, self._succession, clock)
        self._circles = Circles(
            self.mail, self._succession, clock, self.knobs, self.statistics
        )
        self.turnstile = self._circles.turnstile = Turnstile(
            self.mail, self._circles, self.fences, clock, self.knobs, self.statistics
        )
        self.locks: dict[str, NamedLock] = self._circles.locks
        # The fast paths have nothing in between.
        self.take = self.turnstile.take
        self.put_back = self.turnstile.put_back
        self.drain = self.mail.drain
        circles = self._circles
        self._handlers: dict[type, Callable[[MemberId, Any], None]] = {
            ToPeer: circles.receive_in_epoch,
            Next: circles.receive_in_epoch,
            Go: circles.receive_in_epoch,
            Probe: self.turnstile.receive_probe,
            Probed: self.turnstile.receive_probed,
            Open: self._receive_open,
            Close: self._receive_close,
            Formed: self.homes.formed,
            Told: self.homes.told,
            Stale: self._receive_stale,
            Reform: circles.receive_reform,
            Opened: circles.receive_opened,
            Refused: circles.receive_refused,
            Tell: circles.receive_tell,
        }

    # What users want

    def acquire(self, name: str, waiter: Waiter) -> None:
        """Sooner or later, or at once, `on_granted()` or `on_refused()` of it follows."""
        turnstile, mail = self.turnstile, self.mail
        if self.clock() >= turnstile.deadline:
            self.lose_everything()
        turnstile.acquire(name, waiter)
        if mail.mine:
            mail.work_off()

    def give_up(self, waiter: Waiter) -> bool:
        """It does not want to wait any longer; False if it does not wait (any more)."""
        gave_up = self.turnstile.give_up(waiter)
        self.mail.work_off()
        return gave_up

    def probe(self, waiter: Waiter) -> None:
        """Does another user hold or want it?  `waiter.on_probed()` follows, unless the
        waiter is let in."""
        self.turnstile.probe(waiter)
        self.mail.work_off()

    def release(self, waiter: Waiter) -> None:
        self.turnstile.release(waiter)
        if self.mail.mine:
            self.mail.work_off()

    # What the world does

    def see(self, view: View, me: MemberId | None = None) -> None:
        """A new view; `me` when we have just joined, under this number.

        If we are out, only joining lets us in again, under a new number.
        """
        joined = me is not None
        if view.number <= self.view.number or not (self.member or joined):
            return
        if not self.check_lease():
            return
        if me is not None:
            self.lose_everything()
            self.me = me
        self.fences.enter(view.number)
        self.view = view
        self.statistics.views += 1
        if all(member.id != self.me for member in view.members):
            self.lose_everything()
            return
        self.member = self.turnstile.open_for_business = True
        self.mail.see(self.me, view)
        elders_changed = self._succession.see(view)
        self._circles.see(view.number, elders_changed)
        self.homes.see(self.me, view, elders_changed)
        for kept in self.mail.catch_up():
            try:
                self.receive(kept.sender, kept.batch)
            except RemoteError:
                self.statistics.remote_errors += 1
        if joined:
            self.turnstile.serve_all()
        self.turnstile.go_on()  # a view has fences of its own
        self.mail.work_off()

    def receive(self, sender: MemberId, batch: Batch) -> None:
        turnstile, mail = self.turnstile, self.mail
        if self.clock() >= turnstile.deadline:
            self.lose_everything()
        if sender not in mail.members:
            mail.keep_if_early(sender, batch)
            return
        for message in mail.accept(sender, batch):
            if type(message) not in OF_HOMES or not mail.is_ahead(sender, message):
                self._handle(sender, message)
        if turnstile.held_back:
            turnstile.go_on()
        if mail.mine:
            mail.work_off()

    def connected(self, member: MemberId, again: bool = False) -> None:
        """There is a new connection to it; what was sent over older ones may be lost."""
        resent = self.mail.connected(member)
        self.statistics.resent += resent if again else 0

    def turn(self) -> None:
        """All pending inputs are done: release what no user came back for."""
        turnstile, mail = self.turnstile, self.mail
        if self.clock() >= turnstile.deadline:
            self.lose_everything()
        turnstile.turn()
        if mail.mine:
            mail.work_off()

    def tick(self) -> None:
        """Once a second or so: acknowledge what came, give back what is not used."""
        self.check_lease()
        self.mail.acknowledge()
        if self.member:
            self._circles.sweep_if_due()
        self.mail.work_off()

    @property
    def deadline(self) -> float:
        """When our lease ends, on our clock."""
        return self.turnstile.deadline

    def renewed(self, deadline: float) -> None:
        """Our lease now lasts until then, on our clock."""
        self.turnstile.lease_until(deadline)

    def view_asked(self) -> None:
        """The engine is asked for the newest view."""
        self.mail.ask_for_view()

    def view_answered(self) -> None:
        """It has answered, and we have seen that view.  No member has seen a later one
        before the question; what says so is invalid."""
        if self.member:
            self.statistics.remote_errors += self.mail.drop_impossible()
            self.mail.work_off()

    def reserved(self, number: int, view: int) -> None:
        """The engine has reserved all below this number, and then read this view.

        The others hear of it at once, or each of them would reserve some for itself.
        """
        if view == self.view.number == self.fences.view and self.member:
            self.fences.reserved(number)
            self.mail.tell_all()
            self.turnstile.go_on()
            self.mail.work_off()

    def check_lease(self) -> bool:
        """Before anything that relies on it; if it has run out, all is lost."""
        if self.clock() < self.turnstile.deadline:
            return True
        self.lose_everything()
        return False

    def lose_everything(self) -> None:
        """This member is out: another process may hold what was held here.

        Waiters keep waiting until it has joined again.
        """
        self.member = False
        self.mail.forget()
        self._succession.forget()
        self.homes.forget()
        self.turnstile.lose_everything()

    # What the host takes from us

    @property
    def running(self) -> bool:
        return self.member

    @property
    def elders(self) -> Elders:
        """The members among which are the homes of all names."""
        return self._succession.elders

    @property
    def awaited(self) -> set[MemberId]:
        """Members whose answers some of our names wait for."""
        return self._circles.awaited | self.homes.awaited if self.member else set()

    @property
    def idle(self) -> bool:
        """No name is open here or at home here, and nothing is left to say to others."""
        return not (self.locks or len(self.homes)) and self.mail.is_settled

    @property
    def has_something_to_say(self) -> bool:
        return bool(self.mail.dirty)

    @property
    def wants_turn(self) -> bool:
        return bool(self.turnstile.marked or self.turnstile.resting)

    @property
    def may_let_go(self) -> bool:
        """A turn would let go of something, and request nothing: it may come before what
        others have sent was received."""
        return bool(self.turnstile.marked) and not self.turnstile.resting

    @property
    def turn_concerns_others(self) -> bool:
        """Another member may wait for that turn."""
        return self.turnstile.turn_concerns_others

    @property
    def wants_fences(self) -> bool:
        """The host asks the engine to reserve some, and says `reserved`.

        The first member of the view does so in time; the others only if it does not.
        """
        if not self.fences.runs_low or not self.member:
            return False
        return self.view.members[0].id == self.me or self.fences.nearly_out

    @property
    def lost_at(self) -> float:
        """When users were last told that they lost something."""
        return self.turnstile.lost_at

    @property
    def waits_for_view(self) -> bool:
        """Another member is in a view that this one has not seen, and has not asked for."""
        return self.mail.waits_for_view

    @property
    def calls_for_flush(self) -> bool:
        """There is something to say, a turn is wanted, or a view must be waited for."""
        return self.has_something_to_say or self.wants_turn or self.waits_for_view

    def waiting(self) -> Iterator[Waiter]:
        for lock in self.locks.values():
            yield from lock.waiters

    def holding(self) -> Iterator[Waiter]:
        for lock in self.locks.values():
            yield from lock.holders

    def dispossess(self, holder: Waiter) -> Waiter:
        """It has lost the lock, of all that is held here.

        What is returned holds it instead: others are let in once that is released.
        """
        lock = holder.lock
        assert lock is not None
        heir = Waiter(holder.demand)
        heir.fence, heir.since = holder.fence, holder.since
        heir.lock, heir.slot = lock, holder.slot
        heir.state, holder.state = HOLDING, State.LOST
        lock.remove_holder(holder)
        lock.add_holder(heir)
        self.statistics.lost += 1
        holder.on_lost()
        return heir

    def remembers(self) -> dict[str, int]:
        """The size of each kind of state; none of it may grow without bound."""
        return {
            "locks": len(self.locks),
            "homes": len(self.homes),
            "links": self.mail.unacknowledged,
            "early": self.mail.kept,
        }

    def snapshot(self) -> tuple[Any, ...]:
        """All that we remember, but for statistics; immutable, and equal if that is."""
        return snapshots.snapshot(self)

    def restore(self, state: tuple[Any, ...]) -> None:
        """Restore that state; its holders and waiters are copies of those at that time."""
        snapshots.restore(self, state)

    # Messages

    def _handle(self, sender: MemberId, message: Message) -> None:
        if not self.member:
            return  # our lease ran out over what came before
        try:
            self._handlers[type(message)](sender, message)
        except RemoteError:
            self.statistics.remote_errors += 1

    def _receive_open(self, sender: MemberId, message: Open) -> None:
        validate_demand(message.demand)
        since = began(message.waited, self.clock())
        if self._is_mine(message.name):
            request = OpenRequest(message.demand, since)
            self.homes.open(sender, message.name, request)
        elif message.view < self.view.number:
            self.mail.post(sender, Stale(self.view.number, message.name, 0))

    def _receive_close(self, sender: MemberId, message: Close) -> None:
        if self._is_mine(message.name):
            self.homes.close(sender, message.name, message.epoch)

    def _receive_stale(self, sender: MemberId, message: Stale) -> None:
        """It has seen a home between us and ourselves, of which we know nothing."""
        name = message.name
        if message.floor > self.view.number:
            raise RemoteError(f"{sender} has seen no view {message.floor}")
        if not name:  # it has seen other elders, and has not told us what it has open
            began = self._succession.began if self.me in self._succession.elders else inf
        else:
            began = self._succession.reign(name) if self._is_mine(name) else inf
        if began < message.floor:
            self._succession.begin_anew(self.view)
            self.homes.begin_anew()

    def _is_mine(self, name: str) -> bool:
        """Whether we are its home; another view than the sender's may say otherwise, and
        then it asks the new one."""
        return self._succession.home(name) == self.me
