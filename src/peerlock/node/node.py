"""A lock node: inputs in, messages and grants out, no I/O, no clock of its own.

Its host tells it what happens: `see` a view, `receive` a batch, a connection is there,
a user calls `acquire`, `give_up`, `release`; `turn` when all that was at hand is done, and
`tick` about once a second.  After each input the host takes the batches to send (`drain`).

A name's way to a grant:
  1. the first local user makes this node ask the name's home to open it (`Open`);
  2. the home says on what terms (`Opened`), the node makes its peer and asks in it;
  3. the peer is granted, and the first local waiter is let in.
While the peer holds the lock, it may be handed to further local users without a message,
a bounded number of times and for a bounded time; then others get their turn.

A new view starts everything afresh, and the holders go first: each opens and asks again
for what it holds, while nobody else asks; who has all of it is `Ready`; when all are, the
first member says `Go`, and those who wait ask again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from math import inf
from typing import Any

from peerlock.core.peer import RemoteError
from peerlock.node.fences import Fences
from peerlock.node.knobs import Knobs
from peerlock.node.links import Link
from peerlock.node.locks import (
    HOLDING,
    OPEN,
    RELEASED,
    Lock,
    Others,
    Slot,
    Stage,
    State,
    Waiter,
)
from peerlock.node.names import Names
from peerlock.node.terms import must_switch, objection
from peerlock.node.views import MemberId, View
from peerlock.node.wire import (
    Batch,
    Close,
    Forget,
    Go,
    Message,
    Open,
    Opened,
    Probe,
    Probed,
    Ready,
    Recall,
    Recheck,
    Refused,
    ToPeer,
)

# Beyond so many batches from views that we have not seen, we take no more.
EARLY = 1_000


class NotHeld(RuntimeError):
    """Release of what is not held: never was, was released already, or is lost."""


class Node(Names):
    def __init__(self, clock: Callable[[], float], knobs: Knobs | None = None) -> None:
        super().__init__(clock, knobs or Knobs())
        self.running = False  # everybody is ready in this view
        self.deadline = inf  # when our lease ends, on our clock
        self.lost_at = -inf  # when users were last told that they lost something

        self.fences = Fences()
        self._early: list[tuple[MemberId, Batch]] = []  # of views that we have not seen
        self._ready: set[MemberId] = set()
        self._marked: list[Lock] = []  # to be looked at in the next turn
        self._resting: list[Lock] = []  # to be asked for in the next turn
        self._held_back: dict[Lock, None] = {}  # while a link is full, or without fences

    # What users want

    def acquire(self, name: str, waiter: Waiter) -> None:
        """Sooner or later, or at once, `on_granted()` or `on_refused()` of it follows."""
        lock = self.locks.get(name)
        if lock is None:
            lock = self._new_lock(name)
        waiter.lock = lock
        waiter.asked_at = self.clock()
        lock.touched = True
        lock.waiters.append(waiter)
        self.check_lease()
        self._serve(lock)
        self._work_off()

    def take(self, name: str, waiter: Waiter) -> bool:
        """The quick way, for a lock that is here and free; False: go the other one."""
        lock = self.locks.get(name)
        if lock is None or waiter.demand is not lock.agreed:
            return False
        slot = lock.free
        if slot is None or not slot.left or slot.shared != waiter.demand.shared:
            return False
        now = self.clock()
        fence = self.fences.highest + 1
        if now >= slot.until or fence >= self.fences.limit:
            return False
        lock.free = None
        slot.left -= 1
        slot.users = 1
        lock.holders[waiter] = None
        waiter.fence = self.fences.highest = fence
        waiter.state = HOLDING
        waiter.since = now
        waiter.lock = lock
        waiter.slot = slot
        counts = self.statistics
        counts.grants += 1
        counts.handed_over += 1
        return True

    def put_back(self, waiter: Waiter) -> bool:
        """The quick way to release, where nobody waits here; False: go the other one.

        Nothing follows for the host: a turn is due already, and lets go of the lock if
        nobody has come back for it.
        """
        lock, slot = waiter.lock, waiter.slot
        if waiter.state is not HOLDING or slot is None or lock is None:
            return False
        if not slot.only or slot.users > 1 or not lock.marked:
            return False
        if lock.waiters or lock.recalled or self.clock() >= slot.until:
            return False
        waiter.state = RELEASED
        del lock.holders[waiter]
        slot.users = 0
        lock.free = slot
        return True

    def give_up(self, waiter: Waiter) -> bool:
        """It does not want to wait any longer; False if it does not wait (any more)."""
        lock = waiter.lock
        if waiter.state is not State.WAITING or lock is None:
            return False
        waiter.state = State.GAVE_UP
        with suppress(ValueError):  # Ctrl-C may have come while it was asking
            lock.waiters.remove(waiter)
        self._serve(lock)
        self._forget_if_unused(lock)
        self._work_off()
        return True

    def probe(self, waiter: Waiter) -> None:
        """For who waits: is it in vain?  `waiter.on_probed()` follows, unless it is let in.

        If a view comes first, nothing follows; the host asks again after a while.
        """
        if waiter.state is not State.WAITING:
            return
        assert waiter.lock is not None
        if waiter.others and waiter.others.view == self.view.number:
            waiter.others.urgent = True  # the answers are on their way, or here
            self._judge_probe(waiter)
            return
        waiter.probing = True
        unheard = set(self._links) - {self.me}
        others = waiter.others = Others(self.view.number, unheard)
        others.add(*waiter.lock.users())
        for member in sorted(others.unheard):
            self._post(member, Probe(waiter.lock.name))
        self._judge_probe(waiter)

    def release(self, waiter: Waiter) -> None:
        if waiter.state is not HOLDING:
            raise NotHeld(f"cannot be released: it is {waiter.state.value}")
        lock, slot = waiter.lock, waiter.slot
        assert lock is not None
        waiter.state = RELEASED
        del lock.holders[waiter]
        if slot is None:  # a view came, and it is not in there yet
            return
        slot.users -= 1
        if slot.users:
            return
        if lock.waiters or lock.recalled or self.clock() >= slot.until:
            self._let_go(lock)
            self._work_off()
            return
        if slot.only:
            lock.free = slot
        self._mark(lock)

    def _receive_probe(self, sender: MemberId, message: Probe) -> None:
        lock = self.locks.get(message.name)
        users, readers = lock.users() if lock else (0, 0)
        self._post(sender, Probed(message.name, users, readers))

    def _receive_probed(self, sender: MemberId, message: Probed) -> None:
        lock = self.locks.get(message.name)
        for waiter in list(lock.waiters) if lock else ():
            if waiter.others and sender in waiter.others.unheard:
                waiter.others.unheard.discard(sender)
                waiter.others.add(message.users, message.readers)
                self._judge_probe(waiter)

    def _receive_opened(self, sender: MemberId, message: Opened) -> None:
        super()._receive_opened(sender, message)
        lock = self.locks.get(message.name)
        for waiter in list(lock.waiters) if lock else ():
            if waiter.others:
                self._judge_probe(waiter)

    def _judge_probe(self, waiter: Waiter) -> None:
        """That the name is used in another way comes before that it is used."""
        others, lock = waiter.others, waiter.lock
        assert others is not None and lock is not None
        if lock.stage is Stage.OPENING and not others.urgent:
            return
        busy = others.in_the_way_of(waiter.demand)
        if busy or not others.unheard:
            waiter.others = None
            waiter.on_probed(busy)

    # What the world does

    def see(self, view: View, me: MemberId | None = None) -> None:
        """A new view; `me` when we have just joined, under this number.

        Without a lease we are in no view: renew it, and see it again.
        """
        if view.number <= self.view.number or not self.check_lease():
            return
        self.fences.enter(view.number)
        if me is not None:
            self.me = me
        self.view = view
        self.statistics.views += 1
        self._ranks = {member.id: rank for rank, member in enumerate(view.members)}
        if self.me not in self._ranks:
            self.lose_everything()
            return
        self.member, self.running = True, False
        self._links = {member.id: Link() for member in view.members}
        self._ready.clear()
        self.homes.afresh(self._ranks)
        self._forget_plans()
        self._enter_what_is_held()
        early, self._early = self._early, []
        for sender, batch in early:
            try:
                self.receive(sender, batch)
            except RemoteError:
                self.statistics.remote_errors += 1
        self._work_off()

    @property
    def awaited(self) -> set[MemberId]:
        """Whom we wait for before locks go on in this view, as far as we know."""
        if self.running or not self.member:
            return set()
        first = self.view.members[0].id
        return {first} if first != self.me else set(self._ranks) - self._ready

    def receive(self, sender: MemberId, batch: Batch) -> None:
        self.check_lease()
        if batch.view != self.view.number or not self.member:
            if batch.view > self.view.number:
                if len(self._early) >= EARLY:
                    raise RemoteError("too much from views that we have not seen")
                self._early.append((sender, batch))
            return
        if batch.to != self.me:
            return
        link = self._links.get(sender)
        if link is None:
            raise RemoteError(f"{sender} is not in view {batch.view}")
        fences = self.fences
        raised = batch.fence > fences.highest or batch.limit > fences.limit
        if raised:
            fences.validate(batch.fence, batch.limit)
        messages = link.accept(batch)
        if raised:
            fences.hear(batch.fence, batch.limit)
            self._go_on()
        for message in messages:
            self._handle(sender, message)
        if link.has_something_to_say:
            self._dirty[sender] = None
        if self._full:
            self._look_at_full_links()
        self._work_off()

    def connected(self, member: MemberId, again: bool = False) -> None:
        """There is a new connection to it; what was sent over older ones may be lost."""
        if link := self._links.get(member):
            unacknowledged = link.anew()
            self.statistics.resent += unacknowledged if again else 0
            self._dirty[member] = None

    def turn(self) -> None:
        """All that was at hand is done: let go of what nobody came back for."""
        self.check_lease()
        resting, self._resting = self._resting, []
        marked, self._marked = self._marked, []
        for lock in marked:
            lock.marked = False
            self._let_go(lock)
        for lock in resting:
            for slot in lock.slots:
                slot.resting = False
            self._serve(lock)
        self._work_off()

    def tick(self) -> None:
        """Once a second or so: acknowledge and remind, forget what is not used."""
        self.check_lease()
        for member, link in self._links.items():
            if link.remind() or link.owes_acknowledgement:
                self._dirty[member] = None
        if self.clock() - self._swept >= self.knobs.remember:
            self._sweep()
        self._work_off()

    def renewed(self, deadline: float) -> None:
        """Our lease now lasts until then, on our clock."""
        self.deadline = deadline

    def reserved(self, number: int, view: int) -> None:
        """The engine has reserved all below this number, and then read this view.

        The others hear of it at once, or each of them would reserve some for itself.
        """
        if view == self.view.number and self.member:
            self.fences.reserved(number)
            self._dirty.update(dict.fromkeys(m for m in self._links if m != self.me))
            self._go_on()
            self._work_off()

    def check_lease(self) -> bool:
        """Before anything that relies on it; if it has run out, all is lost."""
        if self.clock() < self.deadline:
            return True
        self.lose_everything()
        return False

    def lose_everything(self) -> None:
        """We are out: whatever we hold may be somebody else's by now.

        Those who wait go on waiting, until we are in again.
        """
        self.member = self.running = False
        self._links.clear()
        self._forget_plans()
        for lock in list(self.locks.values()):
            lock.afresh()
            for holder in lock.holders:
                holder.state = State.LOST
                self.statistics.lost += 1
                self.lost_at = self.clock()
            holders, lock.holders = lock.holders, {}
            if not lock.waiters:
                del self.locks[lock.name]
            for holder in holders:
                holder.on_lost()

    # What the host takes from us

    @property
    def has_something_to_say(self) -> bool:
        return bool(self._dirty)

    @property
    def wants_turn(self) -> bool:
        return bool(self._marked or self._resting)

    @property
    def wants_fences(self) -> bool:
        """The host asks the engine to reserve some, and says `reserved`.

        The first member of the view does so in time; the others only if it does not.
        """
        if not self.fences.runs_low or not self.member:
            return False
        return self.view.members[0].id == self.me or self.fences.nearly_out

    @property
    def waits_for_view(self) -> bool:
        """Somebody is in a view that we have not seen."""
        return bool(self._early)

    @property
    def calls_for_flush(self) -> bool:
        """There is something to say, a turn is wanted, or a view must be waited for."""
        return bool(self._dirty or self._marked or self._resting or self._early)

    def drain(self) -> list[tuple[MemberId, Batch]]:
        """What is to be sent; a host without a connection says `connected` once it has."""
        if not self._dirty:
            return []
        dirty, self._dirty = self._dirty, {}
        view, fences = self.view.number, self.fences
        return [
            (member, self._links[member].batch(member, view, fences))
            for member in dirty
            if member in self._links
        ]

    def waiting(self) -> Iterator[Waiter]:
        for lock in self.locks.values():
            yield from lock.waiters

    def holding(self) -> Iterator[Waiter]:
        for lock in self.locks.values():
            yield from lock.holders

    def remembers(self) -> dict[str, int]:
        """How much of each kind we remember; none of it may grow for ever."""
        return {
            "locks": len(self.locks),
            "homes": len(self.homes),
            "links": sum(link.unacknowledged for link in self._links.values()),
            "early": len(self._early),
        }

    # Messages

    def _work_off(self) -> None:
        while self._mine:
            mine, self._mine = self._mine, []
            for message in mine:
                self._handle(self.me, message)

    def _handle(self, sender: MemberId, message: Message) -> None:
        if not self.member:
            return  # our lease ran out over what came before
        try:
            HANDLERS[type(message)](self, sender, message)
        except RemoteError:
            self.statistics.remote_errors += 1

    # Letting in

    def _serve(self, lock: Lock) -> None:
        """Let in whom we can, and ask for those who remain."""
        if lock.stage is not OPEN:
            if lock.stage is Stage.SHUT and lock.waiters and self.running:
                self._open(lock, lock.waiters[0].demand)
            return
        if self._entering:
            self._see_who_is_in(lock)
        self._start_turns(lock)
        if lock.recalled:
            self._wind_up(lock)
            return
        self._let_in_whom_we_can(lock)
        while lock.waiters and self._ask(lock):
            self._start_turns(lock)
            self._let_in_whom_we_can(lock)
        for slot in lock.slots:
            if slot.here and not slot.users:
                if slot.only and not lock.waiters:
                    lock.free = slot
                self._mark(lock)

    def _mark(self, lock: Lock) -> None:
        if not lock.marked:
            lock.marked = True
            self._marked.append(lock)

    def _start_turns(self, lock: Lock) -> None:
        """Our peers that have just been granted begin to count."""
        for slot in lock.slots:
            if slot.here and not slot.started:
                slot.started = True
                slot.left = self.knobs.hand_overs
                ends = self.clock() + self.knobs.hand_over_time
                slot.until = min(ends, self.deadline)

    def _let_in_whom_we_can(self, lock: Lock) -> None:
        lock.free = None
        waiters = lock.waiters
        while waiters:
            waiter = waiters[0]
            if waiter.demand is not lock.agreed and not self._agree(lock, waiter):
                continue
            if lock.switching:
                return
            slot = self._room(lock, waiter.demand.shared)
            if slot is None or not self.fences.left or not self.check_lease():
                return
            waiters.popleft()
            self._let_in(lock, waiter, slot)

    def _agree(self, lock: Lock, waiter: Waiter) -> bool:
        """Whether what it wants goes with the lock's terms; if not, it is out."""
        assert lock.terms is not None
        if why := objection(waiter.demand, lock.terms):
            lock.waiters.popleft()
            self._refuse(waiter, why)
            return False
        if must_switch(waiter.demand, lock.terms):
            if not lock.switching:
                lock.switching = True
                home = self._home(lock.name)
                self._post(home, Open(lock.name, waiter.demand))
        else:
            lock.agreed = waiter.demand
        return True

    def _room(self, lock: Lock, shared: bool) -> Slot | None:
        for slot in lock.slots:
            if slot.here and slot.left and slot.shared == shared:
                if slot.users and not shared:
                    continue
                # Whoever comes first after a grant is let in, however late it is.
                if slot.left == self.knobs.hand_overs or self.clock() < slot.until:
                    return slot
        return None

    def _let_in(self, lock: Lock, waiter: Waiter, slot: Slot) -> None:
        if slot.left < self.knobs.hand_overs:
            self.statistics.handed_over += 1
        slot.left -= 1
        slot.users += 1
        waiter.fence = self.fences.next()
        waiter.state = HOLDING
        waiter.since = self.clock()
        waiter.slot = slot
        lock.holders[waiter] = None
        self.statistics.grants += 1
        self.statistics.waited += waiter.since - waiter.asked_at
        waiter.on_granted()

    def _ask(self, lock: Lock) -> bool:
        """Ask for as many as wait; True if something was granted at once."""
        if not self.running or lock.switching:
            return False
        if self._full or not self.fences.left:
            self._held_back[lock] = None
            return False
        wanted = len(lock.waiters)
        at_once = False
        for slot in lock.slots:
            if slot.asking:
                wanted -= 1
            elif wanted > 0 and not slot.here and not slot.resting:
                wanted -= 1
                slot.started = False
                self._request(slot, lock.waiters[0].demand.shared)
                at_once = at_once or slot.here
        return at_once

    def _let_go(self, lock: Lock) -> None:
        """Release what nobody here is in by, unless the next one may go in at once.

        Who still waits here asks again at the next turn: until then we hear what others
        want, who have waited for longer.
        """
        if lock.stage is not OPEN:
            return
        if lock.waiters and not lock.recalled:
            self._let_in_whom_we_can(lock)
        lock.free = None
        for slot in lock.slots:
            if slot.here and not slot.users:
                self._release_peer(slot)
                if lock.waiters and not slot.resting:
                    slot.resting = True
                    self._resting.append(lock)
        if lock.recalled:
            self._wind_up(lock)

    def _look_at_full_links(self) -> None:
        links = self._links
        self._full = {m for m in self._full if m in links and links[m].full}
        self._go_on()

    def _go_on(self) -> None:
        """Ask for what was held back, unless there still is a reason to."""
        if not self._full and self.fences.left:
            held_back, self._held_back = self._held_back, {}
            for lock in held_back:
                self._serve(lock)

    # Views

    def _forget_plans(self) -> None:
        """What was meant for an older view."""
        self._mine.clear()
        self._dirty.clear()
        self._entering.clear()
        self._marked.clear()
        self._resting.clear()
        self._held_back.clear()
        self._full.clear()

    def _enter_what_is_held(self) -> None:
        for lock in list(self.locks.values()):
            lock.afresh()
            if lock.holders:
                assert lock.terms is not None
                self._entering.add(lock.name)
                for holder in lock.holders:
                    holder.slot = None
                self._open(lock, next(iter(lock.holders)).demand, lock.terms)
            elif not lock.waiters:
                del self.locks[lock.name]
        self._ready_if_all_are_in()

    def _enter(self, lock: Lock) -> None:
        """Ask again for what is held here; nobody else asks, so we get it."""
        slots = iter(lock.slots)
        slot: Slot | None = None
        for holder in lock.holders:
            if slot is None or not holder.demand.shared:
                slot = next(slots)
                self._request(slot, holder.demand.shared)
                slot.started = True  # and nothing left: whoever waits must ask
            holder.slot = slot
            slot.users += 1

    def _see_who_is_in(self, lock: Lock) -> None:
        if lock.name in self._entering and not any(s.asking for s in lock.slots):
            self._entering.discard(lock.name)
            self._ready_if_all_are_in()

    def _ready_if_all_are_in(self) -> None:
        if not self._entering:
            self._post(self.view.members[0].id, Ready())

    def _receive_ready(self, sender: MemberId, message: Ready) -> None:
        self._ready.add(sender)
        if len(self._ready) == len(self._ranks):
            for member in self._ranks:
                self._post(member, Go())

    def _receive_go(self, sender: MemberId, message: Go) -> None:
        if sender != self.view.members[0].id or self._entering:
            raise RemoteError(f"{sender} cannot say that everybody is ready")
        self.running = True
        for lock in list(self.locks.values()):
            self._serve(lock)


HANDLERS: dict[type, Callable[[Node, MemberId, Any], None]] = {
    Open: Node._receive_open,
    Opened: Node._receive_opened,
    Refused: Node._receive_refused,
    Recall: Node._receive_recall,
    Close: Node._receive_close,
    Forget: Node._receive_forget,
    Recheck: Node._receive_recheck,
    Probe: Node._receive_probe,
    Probed: Node._receive_probed,
    Ready: Node._receive_ready,
    Go: Node._receive_go,
    ToPeer: Node._receive_to_peer,
}
