"""The names that are open at a node, and its part in their circles.

A name is opened before it is used: its home adds this member to its circle and gives the
terms of the name; only then are its peers made.  The rules of a member:

- **One epoch at a time.**  A member speaks in the epoch that was last opened for it, until
  the home forms the next (`Reform`); then it speaks in none, until that is opened.  A user
  that holds the lock keeps it meanwhile.  Messages of older epochs are dropped; messages of
  the next epoch that arrive early are kept.  Nonsense among these is an error of its
  sender, and the other ones are heard.
- **A message of the home counts** if the sender is the home in the view that the member has
  seen, and if its reign is not below the member's floor (`node/succession.py`).  Otherwise
  the member says so (`Stale`): a home that becomes the home again, and has seen no other in
  between, must not wait for an answer to what was not heard.
- **In order.**  In a new epoch holders enter again, then members with waiters request, one
  after the other, and then all members may request.  A member that has requested says so to
  the first in this order and to the next (`Next`), and the first says so to the next as
  well: a member requests when it has received both.  Links keep their order.  So its
  request comes after the one before it both at the first, where an algorithm with a token
  or a coordinator starts, and in its own clock.  In the same way the first and the last
  that has requested say that all members may request (`Go`).  A member that has nothing to
  request in its turn knows of the one before, but what it says shows that to nobody's
  clock: so it hands its turn back to the last that has requested, which calls the next.
- **Requests while the circle is formed.**  The first user that comes while the circle is
  formed has a place in the order, too: the member answers the home once more (`Formed`).
- **Asking more than once.**  Requests to a home are repeated if the home has changed, so
  one that was refused may be admitted later.  A member that does not want to be in says so
  (`Close`).  A member that is asked, and is not the home any more in a later view, answers
  `Stale`: so the asker learns that there is such a view, and asks the new home.
- **A new home** asks which names the member has open (`Tell`).  If the member has seen
  other elders than the home, it says so (`Stale`), and the home asks again when it has seen
  the member's view.
- **Closing.**  A name that has not been used here for a while is given back.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

from peerlock.core.peer import Handler, NodeId, Peer, RemoteError
from peerlock.node.homes import is_taken
from peerlock.node.knobs import Knobs
from peerlock.node.locks import (
    NOBODY,
    OPEN,
    NamedLock,
    Stage,
    Wires,
    circle_of,
    equip,
    make_slots,
)
from peerlock.node.mail import Mail
from peerlock.node.statistics import Counts
from peerlock.node.succession import Succession
from peerlock.node.terms import Demand, Terms, same, validate_terms
from peerlock.node.views import MemberId
from peerlock.node.waiters import State
from peerlock.node.wire import (
    Close,
    Epoch,
    EpochMessage,
    Formed,
    Go,
    NameReport,
    Next,
    Open,
    Opened,
    Reform,
    Refused,
    Stale,
    Tell,
    Told,
    ToPeer,
)

if TYPE_CHECKING:
    from peerlock.node.turnstile import Turnstile

# What an algorithm may raise if another member sent invalid content: a node that does not
# exist, a list that is too short.  Such a member could also keep the lock, until it is
# removed; but our users are not to blame, and all other locks work.
NONSENSE = (LookupError, ValueError, OverflowError)

# The number of messages of a future epoch that are kept for a name.
EARLY = 10_000

# The number of reports in one message.
REPORTS = 1_000

# A named tuple is made so in half the time.
new: Callable[[type[ToPeer], tuple[Any, ...]], ToPeer] = tuple.__new__


class Circles:
    def __init__(
        self,
        mail: Mail,
        succession: Succession,
        clock: Callable[[], float],
        knobs: Knobs,
        statistics: Counts,
    ) -> None:
        self.locks: dict[str, NamedLock] = {}
        self.turnstile: Turnstile  # which is made after us
        self.view = 0
        self._mail = mail
        self._post = mail.post
        self._succession = succession
        self._clock = clock
        self._knobs = knobs
        self._statistics = statistics
        # Those that wait for a word of their home, and what was asked for; None: the next
        # epoch.
        self._asked: dict[NamedLock, Demand | None] = {}
        self._idle: dict[NamedLock, None] = {}  # not used since they were put here
        # The same since the last sweep, and by how many users each could be taken then.
        self._idle_for_longer: dict[NamedLock, int] = {}
        self._swept = clock()

    # Names

    def lock(self, name: str) -> NamedLock:
        lock = self.locks.get(name)
        if lock is None:
            if len(self.locks) >= self._knobs.remembered and self._idle:
                self.sweep()
                self.sweep()
            lock = self.locks[name] = NamedLock(name)
        return lock

    def forget_if_unused(self, lock: NamedLock) -> None:
        if lock.stage is Stage.SHUT and lock.unused:
            self.locks.pop(lock.name, None)
            self._asked.pop(lock, None)
            self._idle.pop(lock, None)

    def rest(self, lock: NamedLock, used: bool) -> None:
        """No user here uses it, for now.  If it was not used until just now, it has
        rested since it was: other members may have formed its circle anew many times
        meanwhile."""
        if used or lock not in self._idle_for_longer:
            self._idle[lock] = None

    def sweep(self) -> None:
        """Give back what was not used since the last sweep."""
        self._swept = self._clock()
        before, idle, self._idle = self._idle_for_longer, self._idle, {}
        taken = [k for k, left in before.items() if k.lingers and k.slots[0].left != left]
        self._idle_for_longer = {
            lock: lock.slots[0].left if lock.lingers else 0 for lock in (*idle, *taken)
        }
        for lock in before:
            if lock in self._idle_for_longer:
                continue
            if lock.lingers:
                self.turnstile.called_for(lock)
            if lock.unused and lock.stage is OPEN:
                self._close(lock)

    def sweep_if_due(self) -> None:
        if self._clock() - self._swept >= self._knobs.remember:
            self.sweep()

    def _close(self, lock: NamedLock) -> None:
        self._post(
            self._succession.home(lock.name), Close(self.view, lock.name, lock.epoch)
        )
        if len(lock.circle) == 1:
            lock.shut()
            self.forget_if_unused(lock)
        else:
            lock.closing = True
            self._asked[lock] = None

    def lose_everything(self) -> None:
        """This member is out.  Waiters keep waiting until it has joined again."""
        self._asked.clear()
        self._idle.clear()
        self._idle_for_longer.clear()
        for lock in list(self.locks.values()):
            lock.shut()
            if not lock.waiters:
                del self.locks[lock.name]

    # Opening

    def open(self, lock: NamedLock, wanted: Demand) -> None:
        lock.stage = Stage.OPENING
        self._ask_home(lock, wanted)

    def switch(self, lock: NamedLock, wanted: Demand) -> None:
        """A reader came to a name whose algorithm has none."""
        lock.switching = True
        self._ask_home(lock, wanted)

    def _ask_home(self, lock: NamedLock, wanted: Demand) -> None:
        self._asked[lock] = wanted
        home = self._succession.home(lock.name)
        self._post(home, Open(self.view, lock.name, wanted, self._waited(lock)))

    def wait(self, lock: NamedLock) -> None:
        """A user has come while the circle is formed."""
        if len(lock.waiters) == 1:
            self._answer(self._succession.home(lock.name), lock)

    def _waited(self, lock: NamedLock) -> float:
        """By the first waiter here; below 0: there is none."""
        if not lock.waiters:
            return -1.0
        return max(0.0, self._clock() - lock.waiters[0].asked_at)

    def receive_opened(self, sender: MemberId, message: Opened) -> None:
        name, epoch, terms = message.name, message.epoch, message.terms
        if not self._counts(sender, name, epoch):
            return
        lock = self.locks.get(name)
        if lock is None or lock.stage is Stage.SHUT:  # we have asked more than once
            self._post(sender, Close(self.view, name, epoch))
            return
        if lock.stage is OPEN:
            raise RemoteError(f"{sender} opens a name that is open already")
        if epoch < lock.forming or epoch <= lock.epoch:
            raise RemoteError(f"{sender} opens an epoch that is over")
        circle = circle_of(message.circle)
        if self._mail.me not in circle.ranks or len(circle.ranks) < len(circle):
            raise RemoteError(f"{sender} opens {name!r} without this member")
        validate_terms(terms, len(circle))
        self._asked.pop(lock, None)
        lock.halt()
        lock.stage, lock.epoch, lock.circle = OPEN, epoch, circle
        lock.terms = terms = same(terms)
        lock.slots = make_slots(
            terms, len(circle), circle.ranks[self._mail.me], self._wiring(lock)
        )
        lock.order = (*message.holders, *message.waiters)
        lock.entering = len(message.holders)
        self._begin(lock)
        early, lock.early = lock.early, ()
        for origin, kept in early:
            self._receive_kept(lock, epoch, origin, kept)
        self.turnstile.opened(lock)

    def _receive_kept(
        self, lock: NamedLock, opened: Epoch, sender: MemberId, message: EpochMessage
    ) -> None:
        """It came before the epoch was opened, and may be of an earlier one.  Nonsense of
        one member keeps the lock from no user here."""
        try:
            if message.epoch > opened:
                raise RemoteError(f"{sender} is in an epoch of {lock.name!r} without us")
            if message.epoch == lock.epoch == opened:
                self.receive_in_epoch(sender, message)
        except RemoteError:
            self._statistics.remote_errors += 1

    def receive_refused(self, sender: MemberId, message: Refused) -> None:
        name = message.name
        if not self._is_home(sender, name) or message.view < self._succession.floor(name):
            return  # we have asked again since
        lock = self.locks.get(name)
        if lock is None or self._asked.get(lock) != message.demand:
            return  # we have asked twice, as its home has changed
        self._asked.pop(lock, None)
        lock.switching = False
        if lock.stage is Stage.OPENING:
            lock.stage = Stage.SHUT
        for waiter in [w for w in lock.waiters if w.demand == message.demand]:
            lock.remove_waiter(waiter)
            waiter.state = State.REFUSED
            waiter.on_refused(message.why)
        self.turnstile.serve(lock)
        self.forget_if_unused(lock)

    # Forming anew

    def receive_reform(self, sender: MemberId, message: Reform) -> None:
        name, epoch = message.name, message.epoch
        if not self._counts(sender, name, epoch):
            return
        lock = self.locks.get(name)
        if lock is None or lock.stage not in (OPEN, Stage.HALTED):
            self._post(sender, Formed(self.view, name, epoch, False, False, -1.0))
            return
        if epoch <= lock.forming or epoch <= lock.epoch:
            raise RemoteError(f"{sender} forms an epoch that is over")
        if lock.closing and lock.unused:
            self._post(sender, Formed(self.view, name, epoch, False, False, -1.0))
            lock.shut()
            self.forget_if_unused(lock)
            return
        lock.halt()
        lock.stage, lock.forming = Stage.HALTED, epoch
        self._asked[lock] = None
        self._answer(sender, lock)

    def _answer(self, home: MemberId, lock: NamedLock) -> None:
        """How things stand here, in the circle that is being formed."""
        holds, waited = bool(lock.holders), self._waited(lock)
        self._post(home, Formed(self.view, lock.name, lock.forming, True, holds, waited))

    def _counts(self, sender: MemberId, name: str, epoch: Epoch) -> bool:
        """Whether this home's word counts."""
        floor = self._succession.floor(name)
        if self._is_home(sender, name) and epoch.reign >= floor:
            return True
        self._post(sender, Stale(self.view, name, floor))
        return False

    def _is_home(self, sender: MemberId, name: str) -> bool:
        if self._succession.home(name) == sender:
            return True
        if not self._succession.was_home(name, sender):
            raise RemoteError(f"{sender} is not the home of {name!r}")
        return False

    # New homes

    def see(self, view: int, elders_changed: bool) -> None:
        self.view = view
        if not elders_changed:
            return
        for lock in list(self._asked):
            if self._succession.reign(lock.name) == view:
                self._ask_again(lock)

    def receive_tell(self, sender: MemberId, message: Tell) -> None:
        elders, before = message.elders, message.before
        if elders != self._succession.elders:
            # It asks anew when it sees our view; if it misses that, it has to be told.
            self._post(sender, Stale(self.view, "", self.view))
            return
        if sender not in elders:
            raise RemoteError(f"{sender} is not the home of any name")
        taken = [
            lock
            for lock in self.locks.values()
            if is_taken(lock.name, sender, elders, before)
        ]
        reports = list(self._reports(taken))
        for i in range(0, len(reports) + 1, REPORTS):
            some, more = tuple(reports[i : i + REPORTS]), i + REPORTS <= len(reports)
            self._post(sender, Told(self.view, message.question, some, more))
        for lock in taken:
            if lock.closing:
                lock.closing = False
                if self._asked.get(lock) is None:
                    self._asked.pop(lock, None)
                self.rest(lock, used=False)
            if lock in self._asked:
                self._ask_again(lock)

    def _reports(self, locks: list[NamedLock]) -> Iterator[NameReport]:
        for lock in locks:
            if lock.stage in (OPEN, Stage.HALTED):
                assert lock.terms is not None
                speaks = lock.stage is OPEN
                members = lock.circle.members
                yield NameReport(lock.name, lock.epoch, speaks, lock.terms, members)

    def _ask_again(self, lock: NamedLock) -> None:
        """The home has changed; it may not know that we wait for it."""
        wanted = self._asked[lock]
        if wanted is not None:
            self._ask_home(lock, wanted)
        else:
            floor = self._succession.floor(lock.name)
            self._post(self._succession.home(lock.name), Stale(self.view, lock.name, floor))

    # In order

    def _begin(self, lock: NamedLock) -> None:
        if not lock.order:
            lock.running = True
        elif lock.order[0] == self._mail.me:
            self._our_turn(lock, 0, self._mail.me)

    def _our_turn(self, lock: NamedLock, place: int, after: MemberId) -> None:
        lock.said, lock.after = NOBODY, 0
        if place < lock.entering:
            lock.place = place
            self.turnstile.enter(lock)
            self.see_who_is_in(lock)
            return
        busy = lock.busy
        lock.may_ask = True
        self.turnstile.serve(lock)
        lock.may_ask = False
        self._pass_on(lock, place + 1, self._mail.me if lock.busy > busy else after)

    def see_who_is_in(self, lock: NamedLock) -> None:
        """When all that is held here is held in this epoch, it is the next one's turn."""
        if lock.place >= 0 and not any(slot.asking for slot in lock.slots):
            place, lock.place = lock.place, -1
            self._pass_on(lock, place + 1, self._mail.me)

    def _pass_on(self, lock: NamedLock, place: int, after: MemberId) -> None:
        """It is the turn of this place, as we have entered or asked, or another has."""
        me, first = self._mail.me, lock.order[0]
        if after != me:
            self._post(after, Next(lock.name, lock.epoch, place, after))
            return
        if first != me:
            self._post(first, Next(lock.name, lock.epoch, place, me))
        self._call(lock, place, me)

    def _call(self, lock: NamedLock, place: int, after: MemberId) -> None:
        """Announce the turn of this place, or of all members; the first is told anyway."""
        name, epoch, order, me = lock.name, lock.epoch, lock.order, self._mail.me
        if place == len(order):
            for member in lock.circle.members:
                self._post(member, Go(name, epoch, after))
        elif me == order[0] or order[place] not in (me, order[0]):
            self._post(order[place], Next(name, epoch, place, after))

    def _receive_next(self, lock: NamedLock, sender: MemberId, message: Next) -> None:
        place, after, order, me = message.place, message.after, lock.order, self._mail.me
        if not 0 < place <= len(order):
            raise RemoteError(f"{sender} refers to a place that does not exist")
        first, before = order[0], order[:place]
        knows = sender == first or after in (sender, me)
        if not (knows and sender in before and after in before):
            raise RemoteError(f"{sender} cannot say whose turn it is")
        ours = order[place : place + 1] == (me,)
        if me == first:
            if ours:
                self._our_turn(lock, place, after)
            else:
                self._call(lock, place, after)
        elif after == me and not (ours and sender == first):
            self._pass_on(lock, place, me)  # the sender had nothing to ask for
        elif not ours:
            raise RemoteError(f"{sender} does not know whose turn it is")
        elif self._all_have_said(lock, sender, after):
            self._our_turn(lock, place, lock.after)

    def _receive_go(self, lock: NamedLock, sender: MemberId, message: Go) -> None:
        order, after = lock.order, message.after
        if not order or after not in order or sender not in (order[0], after):
            raise RemoteError(f"{sender} cannot say that all may request")
        if self._all_have_said(lock, sender, after):
            lock.running, lock.order, lock.said, lock.after = True, (), NOBODY, 0
            self.turnstile.serve(lock)

    def _all_have_said(self, lock: NamedLock, sender: MemberId, after: MemberId) -> bool:
        """The first, and the one that it names."""
        lock.said |= {sender}
        if sender == lock.order[0]:
            lock.after = after
        return lock.after in lock.said or lock.after == self._mail.me

    # Algorithms

    def wire(self, lock: NamedLock) -> None:
        """Slots that were restored, and have no peers yet."""
        assert lock.terms is not None
        circle, rank = lock.circle, lock.circle.ranks[self._mail.me]
        if len(circle) > 1:
            equip(lock.slots, lock.terms, len(circle), rank, self._wiring(lock))

    def _wiring(self, lock: NamedLock) -> Callable[[NodeId], Wires]:
        """Where the messages of each peer go."""
        assert lock.terms is not None
        name, epoch, algorithm = lock.name, lock.epoch, lock.terms.algorithm
        post, slots, ids = self._post, lock.terms.slots, lock.circle.members
        mine, last = self._mail.me, len(ids) * lock.terms.slots

        def wires(me: NodeId) -> Wires:
            def send(to: NodeId, message: Any) -> None:
                if not 0 < to <= last or to == me:  # it was sent invalid content
                    self._statistics.remote_errors += 1
                    return
                said = new(ToPeer, (name, epoch, algorithm, me, to, message))
                post(ids[(to - 1) // slots], said)

            def broadcast(message: Any) -> None:
                said = new(ToPeer, (name, epoch, algorithm, me, 0, message))
                for member in ids:
                    if member != mine or slots > 1:
                        post(member, said)

            return send, broadcast

        return wires

    def receive_in_epoch(self, sender: MemberId, message: EpochMessage) -> None:
        lock, epoch = self.locks.get(message.name), message.epoch
        if lock is None:
            return  # of an epoch that is over
        if lock.stage is OPEN:
            if epoch == lock.epoch:
                rank = lock.circle.ranks.get(sender)
                if rank is None:
                    raise RemoteError(f"{sender} is not in the circle of {lock.name!r}")
                if type(message) is ToPeer:
                    self._to_peer(lock, rank, message)
                elif type(message) is Next:
                    self._receive_next(lock, sender, message)
                elif type(message) is Go:
                    self._receive_go(lock, sender, message)
            elif epoch > lock.epoch:
                raise RemoteError(f"{sender} is in a circle of {lock.name!r} that lacks us")
        elif lock.stage is Stage.SHUT:
            return
        elif epoch > lock.epoch and epoch >= lock.forming:
            if len(lock.early) >= EARLY:
                raise RemoteError(f"{sender} sends too much for an unknown epoch")
            lock.early = (*lock.early, (sender, message))

    def _to_peer(self, lock: NamedLock, rank: int, message: ToPeer) -> None:
        assert lock.terms is not None
        _, _, algorithm, origin, receiver, said = message
        slots, granted, called = lock.slots, False, False
        count = len(slots)
        if (origin - 1) // count != rank or algorithm != lock.terms.algorithm:
            raise RemoteError(f"a member of {lock.name!r} speaks for {origin}")
        first = lock.circle.ranks[self._mail.me] * count + 1
        if receiver and not first <= receiver < first + count:
            raise RemoteError(f"{origin} takes this member for {receiver}")
        try:
            for slot in (slots[receiver - first],) if receiver else slots:
                peer = slot.peer
                if peer is not None and (receiver or peer.me != origin):
                    handler: Handler = peer.handlers.get(type(said), Peer.receive)
                    handler(peer, origin, said)
                    granted = granted or (slot.here and not slot.started)
                    called = lock.lingers and peer.others_may_wait
        except NONSENSE as error:
            raise RemoteError(f"{origin} sends an invalid message: {error}") from None
        if called:
            self.turnstile.called_for(lock)
        if granted or lock.waiters or lock.place >= 0:
            self.turnstile.serve(lock)

    # What the node asks

    @property
    def awaited(self) -> set[MemberId]:
        """Homes whose answer we wait for."""
        return {self._succession.home(lock.name) for lock in self._asked}

    def terms_of(self, name: str) -> Terms | None:
        lock = self.locks.get(name)
        return lock.terms if lock else None
