"""The turnstile: which local users hold the lock by the grants to our peers, and how long.

- A node runs one peer for a lock and k peers for a semaphore with k permits, so that a
  single process can use all of them.  A *slot* is a peer, and the users that are in by it.
- While its peer holds the lock, the node may hand it from one local user to the next, and a
  user that comes back before the node's next turn takes it again without any work (`take`).
  Both are bounded, by count and by time.
  A member that is alone in the circle has no such bounds: no other member waits, and when
  one comes, the circle is formed anew.
- If the peer knows that no other member waits, and that it will get a message before one
  does, nothing is let go of at the turn: the lock *lingers* at this member, as a token
  does.  It is let go of as soon as such a message has come, or when it has not been used
  for a while.
- When a bound is reached, the peer releases at once, and requests again only a turn later:
  in between, the node has received the requests of others.
- Local users acquire the lock in the order in which they came.
- A reader joins the readers that are in by its node's peer, however late it comes, as long
  as the peer knows of no request of another node.  It may not know yet of those that were
  waiting when the epoch began; if there are any, only readers that come later join.
- In a new epoch, what is held is requested again first (`enter`); the node requests for its
  waiters when it is its turn, or when all members may (`node/circles.py`).
- A user that would not wait is told whether others are in its way as soon as all members of
  the circle have said so.  It waits for that a bounded time: a member that is stopped does
  not answer, and may hold the lock.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from math import inf

from peerlock.core.errors import NotHeld
from peerlock.node.circles import NONSENSE, Circles
from peerlock.node.fences import Fences
from peerlock.node.knobs import Knobs
from peerlock.node.locks import LONG_AGO, OPEN, NamedLock, Others, Slot, Stage
from peerlock.node.mail import Mail
from peerlock.node.statistics import Counts
from peerlock.node.terms import must_switch, objection
from peerlock.node.views import MemberId
from peerlock.node.waiters import HOLDING, RELEASED, State, Waiter
from peerlock.node.wire import Probe, Probed

UNBOUNDED = 1 << 62

# Seconds after which a lock counts as in use for a user that would not wait, although not
# all members have answered.
PATIENCE = 3.0


class Turnstile:
    def __init__(
        self,
        mail: Mail,
        circles: Circles,
        fences: Fences,
        clock: Callable[[], float],
        knobs: Knobs,
        statistics: Counts,
    ) -> None:
        self.deadline = inf  # when our lease ends, on our clock
        self.lost_at = LONG_AGO  # when users were last told of a loss
        self.open_for_business = False  # we are a member
        self.marked: list[NamedLock] = []  # to be looked at in the next turn
        self.resting: list[NamedLock] = []  # to be asked for in the next turn
        # To be asked for, while a link is full or there are no fences.
        self.held_back: dict[NamedLock, None] = {}
        self._mail = mail
        self._circles = circles
        self._locks = circles.locks
        self._fences = fences
        self._clock = clock
        self._knobs = knobs
        self._statistics = statistics

    # What users want

    def acquire(self, name: str, waiter: Waiter) -> None:
        lock = self._circles.lock(name)
        waiter.lock = lock
        waiter.asked_at = self._clock()
        lock.add_waiter(waiter)
        if lock.stage is Stage.HALTED:
            self._circles.wait(lock)
        self.serve(lock)

    def take(self, name: str, waiter: Waiter) -> bool:
        """The fast path, for a lock that is here and free; False: use the other one."""
        lock = self._locks.get(name)
        if lock is None or waiter.demand is not lock.agreed:
            return False
        slot = lock.free
        if slot is None or not slot.left or slot.shared != waiter.demand.shared:
            return False
        now, fences = self._clock(), self._fences
        fence = fences.highest + 1
        if now >= slot.until or fence >= fences.limit:
            return False
        lock.free = None
        slot.left -= 1
        slot.users = 1
        lock.holders = (waiter,)
        waiter.fence = fences.highest = fence
        waiter.state = HOLDING
        waiter.since = now
        waiter.lock = lock
        waiter.slot = slot
        self._statistics.grants += 1
        return True

    def put_back(self, waiter: Waiter) -> bool:
        """The fast path to release, if no user waits here; False: use the other one.

        Nothing follows for the host: the lock lingers, or a turn is due already, and lets
        go of it if nobody has come back for it.
        """
        lock, slot = waiter.lock, waiter.slot
        if waiter.state is not HOLDING or slot is None or lock is None:
            return False
        if not slot.only or slot.users > 1 or not (lock.marked or lock.lingers):
            return False
        if lock.waiters or not slot.left or self._clock() >= slot.until:
            return False
        waiter.state = RELEASED
        lock.holders = ()
        slot.users = 0
        lock.free = slot
        return True

    def release(self, waiter: Waiter) -> None:
        if waiter.state is not HOLDING:
            raise NotHeld(f"cannot be released: it is {waiter.state.value}")
        lock, slot = waiter.lock, waiter.slot
        assert lock is not None
        waiter.state = RELEASED
        lock.remove_holder(waiter)
        if slot is None:  # the circle is being formed anew, and it has not entered yet
            return
        slot.users -= 1
        if slot.users:
            return
        if lock.waiters or not slot.left or self._clock() >= slot.until:
            self._let_go(lock, in_time=False)
            return
        if slot.only:
            lock.free = slot
            if slot.peer is None or not slot.peer.others_may_wait:
                lock.lingers = True
                self._circles.rest(lock, used=True)
                return
        self._mark(lock)

    def give_up(self, waiter: Waiter) -> bool:
        """It does not want to wait any longer; False if it does not wait (any more)."""
        lock = waiter.lock
        if waiter.state is not State.WAITING or lock is None:
            return False
        waiter.state = State.GAVE_UP
        with suppress(ValueError):  # Ctrl-C may have come while it was asking
            lock.withdraw(waiter)
        self.serve(lock)
        self._circles.forget_if_unused(lock)
        return True

    # Users that would not wait

    def probe(self, waiter: Waiter) -> None:
        """Is it in vain to wait?  `waiter.on_probed()` follows, unless it is let in.

        If the circle is formed anew first, its members are asked again.  Hosts repeat the
        question until there is an answer.
        """
        if waiter.state is not State.WAITING:
            return
        if self._clock() - waiter.asked_at >= PATIENCE:
            waiter.others = None
            waiter.on_probed(True)
            return
        waiter.probing = True
        lock = waiter.lock
        assert lock is not None
        if lock.stage is not OPEN:
            return  # the circle is asked as soon as it is known
        if waiter.others is None or waiter.others.epoch != lock.epoch:
            unheard = set(lock.circle.members) - {self._mail.me}
            waiter.others = Others(lock.epoch, unheard)
            waiter.others.add(*lock.users())
            for member in sorted(unheard):
                self._mail.post(member, Probe(lock.name))
        self._judge_probe(waiter)

    def receive_probe(self, sender: MemberId, message: Probe) -> None:
        lock = self._locks.get(message.name)
        users, readers = lock.users() if lock else (0, 0)
        self._mail.post(sender, Probed(message.name, users, readers))

    def receive_probed(self, sender: MemberId, message: Probed) -> None:
        lock = self._locks.get(message.name)
        for waiter in list(lock.waiters) if lock else ():
            if waiter.others and sender in waiter.others.unheard:
                waiter.others.unheard.discard(sender)
                waiter.others.add(message.users, message.readers)
                self._judge_probe(waiter)

    def _judge_probe(self, waiter: Waiter) -> None:
        others = waiter.others
        assert others is not None
        busy = others.in_the_way_of(waiter.demand)
        if busy or not others.unheard:
            waiter.others = None
            waiter.on_probed(busy)

    # What the circle does

    def opened(self, lock: NamedLock) -> None:
        """An epoch has begun."""
        self.serve(lock)
        for waiter in list(lock.waiters):
            if waiter.probing:
                self.probe(waiter)

    def enter(self, lock: NamedLock) -> None:
        """Ask again for what is held here; only other holders do, so we get it."""
        slots = iter(lock.slots)
        slot: Slot | None = None
        for holder in lock.holders:
            if slot is None or not holder.demand.shared:
                slot = next(slots)
                self._request(slot, holder.demand.shared)
                slot.started = True  # and nothing left: waiters must request
                if slot.shared and self._others_wait(lock):
                    slot.joinable = self._clock()
            holder.slot = slot
            slot.users += 1

    def _others_wait(self, lock: NamedLock) -> bool:
        """Since before this epoch."""
        return any(member != self._mail.me for member in lock.order[lock.entering :])

    @property
    def turn_concerns_others(self) -> bool:
        """Another member may wait for what the next turn lets go of, or asks for."""
        for locks in (self.marked, self.resting):
            for lock in locks:
                if len(lock.circle.members) > 1:
                    return True
        return False

    def turn(self) -> None:
        """All that was at hand is done: let go of what nobody came back for."""
        resting, self.resting = self.resting, []
        marked, self.marked = self.marked, []
        for lock in marked:
            lock.marked = False
            self._let_go(lock)
        for lock in resting:
            for slot in lock.slots:
                slot.resting = False
            self.serve(lock)

    def go_on(self) -> None:
        """Ask for what was held back, unless there still is a reason to."""
        if self.held_back and self._fences.left and not self._mail.has_full_links:
            held_back, self.held_back = self.held_back, {}
            for lock in held_back:
                self.serve(lock)

    def serve_all(self) -> None:
        for lock in list(self._locks.values()):
            self.serve(lock)

    def lease_until(self, deadline: float) -> None:
        """It may end earlier than was thought; the fast paths look at their slots only."""
        if deadline < self.deadline:
            for lock in self._locks.values():
                for slot in lock.slots:
                    slot.until = min(slot.until, deadline)
        self.deadline = deadline

    def lose_everything(self) -> None:
        """Another process may hold what was held here."""
        self.open_for_business = False
        self.marked.clear()
        self.resting.clear()
        self.held_back.clear()
        lost = [holder for lock in self._locks.values() for holder in lock.holders]
        for lock in self._locks.values():
            lock.holders = ()
            lock.marked = False
        for holder in lost:
            holder.state = State.LOST
            self.lost_at = self._clock()
        self._statistics.lost += len(lost)
        self._circles.lose_everything()
        for holder in lost:
            holder.on_lost()

    # Letting in

    def serve(self, lock: NamedLock) -> None:
        """Grant to as many users as possible, and request for those that remain."""
        if lock.stage is not OPEN:
            if lock.stage is Stage.SHUT and lock.waiters and self.open_for_business:
                self._circles.open(lock, lock.waiters[0].demand)
            return
        if lock.place >= 0:
            self._circles.see_who_is_in(lock)
        lock.free = None
        if lock.lingers and lock.waiters:
            self.called_for(lock)
        self._start_turns(lock)
        if lock.waiters:
            self._let_in_whom_we_can(lock)
            while lock.waiters and self._ask(lock):
                self._start_turns(lock)
                self._let_in_whom_we_can(lock)
        for slot in lock.slots:
            if slot.here and not slot.users:
                if slot.only and not lock.waiters:
                    lock.free = slot
                if not lock.lingers:
                    self._mark(lock)
        if not (lock.waiters or lock.holders) and lock.unused:
            self._circles.rest(lock, used=False)

    def called_for(self, lock: NamedLock) -> None:
        """It lingers no longer: let go of it now, or when its user releases it."""
        lock.lingers = False
        for slot in lock.slots:
            if slot.here and not slot.users:
                lock.free = None
                self._release_peer(slot)

    def _mark(self, lock: NamedLock) -> None:
        if not lock.marked:
            lock.marked = True
            self.marked.append(lock)

    def _start_turns(self, lock: NamedLock) -> None:
        """Our peers that have just been granted begin to count."""
        for slot in lock.slots:
            if slot.here and not slot.started:
                slot.started = True
                slot.joinable = LONG_AGO
                slot.left = slot.bound = self._bound(slot)
                slot.until = self.deadline
                if slot.peer is not None:
                    ends = self._clock() + self._knobs.hand_over_time
                    slot.until = min(ends, slot.until)

    def _let_in_whom_we_can(self, lock: NamedLock) -> None:
        while lock.waiters:
            waiter = lock.waiters[0]
            if waiter.demand is not lock.agreed and not self._agree(lock, waiter):
                continue
            if lock.switching:
                return
            slot = self._room(lock, waiter)
            if slot is None or not self._fences.left or self._clock() >= self.deadline:
                return
            lock.remove_waiter(waiter)
            self._let_in(lock, waiter, slot)

    def _agree(self, lock: NamedLock, waiter: Waiter) -> bool:
        """Whether what it wants goes with the lock's terms; if not, it is out."""
        assert lock.terms is not None
        if why := objection(waiter.demand, lock.terms):
            lock.remove_waiter(waiter)
            waiter.state = State.REFUSED
            waiter.on_refused(why)
            return False
        if must_switch(waiter.demand, lock.terms):
            if not lock.switching:
                self._circles.switch(lock, waiter.demand)
        else:
            lock.agreed = waiter.demand
        return True

    def _room(self, lock: NamedLock, waiter: Waiter) -> Slot | None:
        shared = waiter.demand.shared
        for slot in lock.slots:
            if not slot.here or slot.shared != shared or (slot.users and not shared):
                continue
            if self._is_in_time(slot) or self._may_join(lock, slot, waiter):
                return slot
        return None

    def _is_in_time(self, slot: Slot) -> bool:
        """The first user after a grant is granted, however late it is."""
        if slot.left == slot.bound:
            return True
        return slot.left > 0 and self._clock() < slot.until

    def _bound(self, slot: Slot) -> int:
        """How many users a grant of this peer may serve."""
        return self._knobs.hand_overs if slot.peer is not None else UNBOUNDED

    @staticmethod
    def _may_join(lock: NamedLock, slot: Slot, waiter: Waiter) -> bool:
        """A reader the readers."""
        if not slot.users or not lock.running or waiter.asked_at <= slot.joinable:
            return False
        return slot.peer is None or not slot.peer.others_may_wait

    def _let_in(self, lock: NamedLock, waiter: Waiter, slot: Slot) -> None:
        counts = self._statistics
        if slot.left == slot.bound:
            counts.requested += 1
        if slot.left:
            slot.left -= 1
        slot.users += 1
        waiter.fence = self._fences.next()
        waiter.since = now = self._clock()
        waiter.slot = slot
        lock.add_holder(waiter)
        waiter.state = HOLDING  # at last: Ctrl-C may come before that, and all is lost then
        counts.grants += 1
        counts.waited += now - waiter.asked_at
        waiter.on_granted()

    def _ask(self, lock: NamedLock) -> bool:
        """Ask for as many as wait; True if something was granted at once."""
        if lock.switching or not (lock.running or lock.may_ask):
            return False
        if self._mail.has_full_links or not self._fences.left:
            self.held_back[lock] = None
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

    def _let_go(self, lock: NamedLock, in_time: bool = True) -> None:
        """Release what nobody here is in by, unless the next one may go in at once.

        Who still waits here asks again at the next turn, and so does who comes when a bound
        was reached: until then we hear what others want, who have waited for longer.
        """
        if lock.stage is not OPEN:
            return
        lock.free, lock.lingers = None, False
        if lock.waiters:
            self._let_in_whom_we_can(lock)
        for slot in lock.slots:
            if slot.here and not slot.users:
                self._release_peer(slot)
                if lock.waiters:
                    lock.waiters[0].asks_since = self._clock()
                if (lock.waiters or not in_time) and not slot.resting:
                    slot.resting = True
                    self.resting.append(lock)
        if not lock.waiters and lock.unused:
            self._circles.rest(lock, used=True)

    def _release_peer(self, slot: Slot) -> None:
        slot.here = False
        if slot.peer is None:
            return
        try:
            slot.peer.release()
        except NONSENSE:
            self._statistics.remote_errors += 1

    def _request(self, slot: Slot, shared: bool) -> None:
        slot.asking, slot.shared = True, shared
        if slot.peer is None:
            slot.grant()
            return
        try:
            if shared:
                slot.peer.acquire_shared()
            else:
                slot.peer.acquire()
        except NONSENSE:
            self._statistics.remote_errors += 1
