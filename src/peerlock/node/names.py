"""The names that are open at a node: opening, closing, forgetting; and their algorithms.

A name is opened before it is used: its home, a member, says on what terms, and only then
are its peers made.  A name that nobody has open any more is forgotten by everybody.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any
from zlib import crc32

from peerlock.core.peer import NodeId, RemoteError
from peerlock.node.homes import Homes
from peerlock.node.knobs import Knobs
from peerlock.node.links import Link
from peerlock.node.locks import (
    OPEN,
    Instance,
    Lock,
    Slot,
    Stage,
    State,
    Waiter,
    make_instance,
)
from peerlock.node.statistics import Counts
from peerlock.node.terms import Demand, Terms, must_be_possible, must_make_sense
from peerlock.node.views import MemberId, View
from peerlock.node.wire import (
    Close,
    Forget,
    Message,
    Open,
    Opened,
    Recall,
    Recheck,
    Refused,
    ToPeer,
)

# What an algorithm may run into if another member made up what it was told: a node that is
# none, a list that is too short.  Whoever does that can keep the lock as well, until the
# next view; but our users are not to blame, and all other locks go on.
NONSENSE = (LookupError, ValueError, OverflowError)


class Names(ABC):
    """What a node knows of each name, up to the grant to its peer; a Node does the rest."""

    def __init__(self, clock: Callable[[], float], knobs: Knobs) -> None:
        self.clock = clock
        self.knobs = knobs
        self.me: MemberId = 0
        self.view = View(0, ())
        self.member = False  # we are in this view, as far as we know
        self.locks: dict[str, Lock] = {}
        self.homes = Homes(self._post)
        self.statistics = Counts()

        self._links: dict[MemberId, Link] = {}
        self._ranks: dict[MemberId, int] = {}
        self._mine: list[Message] = []  # to ourselves
        self._dirty: dict[MemberId, None] = {}  # links with something to say
        self._full: set[MemberId] = set()
        self._entering: set[str] = set()  # held, and not yet in this view
        self._swept = clock()  # when we last looked for what can be forgotten
        self._new = 0  # names that have come up since

    @abstractmethod
    def _serve(self, lock: Lock) -> None:
        """Something has changed: let in whom we can, and ask for those who remain."""

    @abstractmethod
    def _enter(self, lock: Lock) -> None:
        """It is open in this view, too: ask again for what is held here."""

    @abstractmethod
    def _work_off(self) -> None:
        """Hear what we have told ourselves."""

    # Messages

    def _post(self, member: MemberId, message: Message) -> None:
        if member == self.me:
            self._mine.append(message)
            return
        link = self._links.get(member)
        if link is None:
            return  # we have just lost everything
        if link.post(message):
            self._full.add(member)
        self._dirty[member] = None
        said = message.message if type(message) is ToPeer else message
        self.statistics.messages[type(said).__name__] += 1

    def _home(self, name: str) -> MemberId:
        members = self.view.members
        return members[crc32(name.encode()) % len(members)].id

    # Opening and closing

    def _new_lock(self, name: str) -> Lock:
        self._new += 1
        if self._crowded and self._new > self.knobs.remembered // 4:
            self._sweep()
        lock = self.locks[name] = Lock(name)
        return lock

    def _open(self, lock: Lock, wanted: Demand, held: Terms | None = None) -> None:
        lock.stage = Stage.OPENING
        self._post(self._home(lock.name), Open(lock.name, wanted, held))

    def _receive_open(self, sender: MemberId, message: Open) -> None:
        self._must_be_home(message.name)
        must_be_possible(message.demand)
        if message.held:
            must_be_possible(Demand(message.held.algorithm, message.held.permits))
        self.homes.open(sender, message.name, message.demand, message.held)

    def _receive_opened(self, sender: MemberId, message: Opened) -> None:
        name, epoch, terms = message
        self._must_be_said_by_home(sender, name)
        lock = self.locks.get(name)
        if lock is None or lock.stage is not Stage.OPENING:
            raise RemoteError(f"{sender} opens what we do not want")
        held = lock.terms if name in self._entering else None
        if held and held != terms._replace(start=held.start):
            raise RemoteError(f"{sender} opens what we hold on other terms")
        self._join_epoch(lock, epoch, terms)
        lock.stage = Stage.OPEN
        lock.terms = terms
        if name in self._entering:
            self._enter(lock)
        self._serve(lock)

    def _receive_refused(self, sender: MemberId, message: Refused) -> None:
        self._must_be_said_by_home(sender, message.name)
        lock = self.locks.get(message.name)
        if lock is None or lock.stage is not Stage.OPENING:
            raise RemoteError(f"{sender} refuses what we do not want")
        lock.stage = Stage.SHUT
        for waiter in [w for w in lock.waiters if w.demand == message.demand]:
            lock.waiters.remove(waiter)
            self._refuse(waiter, message.why)
        self._serve(lock)
        self._forget_if_unused(lock)

    def _refuse(self, waiter: Waiter, why: str) -> None:
        waiter.state = State.REFUSED
        waiter.on_refused(why)

    def _receive_recall(self, sender: MemberId, message: Recall) -> None:
        self._must_be_said_by_home(sender, message.name)
        lock = self.locks.get(message.name)
        if lock is None or lock.stage is not Stage.OPEN:
            return  # we have closed it by ourselves in the meantime
        if lock.instance is not None and lock.instance.epoch == message.epoch:
            lock.recalled = True
            self._serve(lock)

    def _wind_up(self, lock: Lock) -> None:
        """It is to be closed: let go of what nobody uses; when that is all, say so."""
        for slot in lock.slots:
            if slot.here and not slot.users:
                self._release_peer(slot)
        if not any(slot.here or slot.asking for slot in lock.slots):
            reopening = lock.switching
            self._close(lock)
            if reopening:
                lock.stage = Stage.OPENING
            else:
                self._serve(lock)

    def _close(self, lock: Lock) -> None:
        assert lock.instance is not None
        lock.stage = Stage.SHUT
        lock.recalled = lock.switching = False
        lock.free = lock.agreed = None
        self._post(self._home(lock.name), Close(lock.name, lock.instance.epoch))

    def _receive_close(self, sender: MemberId, message: Close) -> None:
        self._must_be_home(message.name)
        self.homes.close(sender, message.name, message.epoch)

    def _receive_forget(self, sender: MemberId, message: Forget) -> None:
        self._must_be_said_by_home(sender, message.name)
        lock = self.locks.get(message.name)
        if lock is None or lock.instance is None or lock.stage is Stage.OPEN:
            return
        if lock.instance.epoch == message.epoch:
            lock.take_part(None)
            self._forget_if_unused(lock)

    def _forget_if_unused(self, lock: Lock) -> None:
        if lock.instance is None and lock.stage is Stage.SHUT and lock.unused:
            self.locks.pop(lock.name, None)

    def _receive_recheck(self, sender: MemberId, message: Recheck) -> None:
        self._must_be_home(message.name)
        self.homes.recheck(sender, message.name, message.epoch)

    def _must_be_home(self, name: str) -> None:
        if self._home(name) != self.me:
            raise RemoteError(f"we are not the home of {name!r}")

    def _must_be_said_by_home(self, sender: MemberId, name: str) -> None:
        if self._home(name) != sender:
            raise RemoteError(f"{sender} is not the home of {name!r}")

    @property
    def _crowded(self) -> bool:
        return len(self.locks) >= self.knobs.remembered

    def _sweep(self) -> None:
        """Close what is not used here; ask about what others once used."""
        self._swept = self.clock()
        self._new = 0
        crowded = self._crowded
        for lock in list(self.locks.values()):
            if (crowded or not lock.touched) and lock.unused and lock.instance:
                if lock.stage is Stage.OPEN:
                    self._close(lock)
                elif not lock.touched and (home := self._home(lock.name)) not in self._full:
                    self._post(home, Recheck(lock.name, lock.instance.epoch))
            lock.touched = False
        self._work_off()

    # Algorithms

    def _join_epoch(self, lock: Lock, epoch: int, terms: Terms) -> Instance:
        """Our part in this run of the algorithm; what an older one left is gone."""
        instance = lock.instance
        if instance is None or instance.epoch < epoch:
            members, rank = len(self._ranks), self._ranks[self.me]
            must_make_sense(terms, members)
            wiring = self._wiring(lock.name, epoch, terms)
            instance = make_instance(epoch, terms, members, rank, wiring)
            lock.take_part(instance)
        return instance

    def _wiring(self, name: str, epoch: int, terms: Terms) -> Callable[[NodeId], Slot]:
        """A slot whose peer's messages go where they should."""
        post, slots = self._post, terms.slots
        ids = [member.id for member in self.view.members]
        mine = self._ranks[self.me]
        last = len(ids) * slots

        def wire(me: NodeId) -> Slot:
            def send(to: NodeId, message: Any) -> None:
                if not 0 < to <= last or to == me:  # somebody has told it nonsense
                    self.statistics.remote_errors += 1
                    return
                post(ids[(to - 1) // slots], ToPeer(name, epoch, terms, me, to, message))

            def broadcast(message: Any) -> None:
                for rank, member in enumerate(ids):
                    if rank != mine or slots > 1:
                        post(member, ToPeer(name, epoch, terms, me, 0, message))

            return Slot(send, broadcast)

        return wire

    def _receive_to_peer(self, sender: MemberId, message: ToPeer) -> None:
        name, epoch, terms, origin, receiver, _ = message
        slots = terms.slots
        first = self._ranks[self.me] * slots + 1
        if (origin - 1) // slots != self._ranks[sender]:
            raise RemoteError(f"{sender} speaks for {origin}")
        if receiver and not first <= receiver < first + slots:
            raise RemoteError(f"{sender} takes us for {receiver}")
        lock = self.locks.get(name)
        if lock is None:
            must_make_sense(terms, len(self._ranks))
            lock = self._new_lock(name)
        instance = lock.instance
        if instance is None or instance.epoch != epoch:
            if lock.stage is Stage.OPEN or (instance and instance.epoch > epoch):
                return  # from an opening that is over
            self._pass_on_first(lock, self._join_epoch(lock, epoch, terms), message)
            return
        if instance.terms != terms:
            raise RemoteError(f"{sender} uses {name!r} in another way")
        self._pass_on(lock, instance, message)

    def _pass_on_first(self, lock: Lock, instance: Instance, message: ToPeer) -> None:
        """What cannot be the first message comes late, after its opening was forgotten."""
        try:
            self._pass_on(lock, instance, message)
        except RemoteError:
            lock.take_part(None)
            self._forget_if_unused(lock)

    def _pass_on(self, lock: Lock, instance: Instance, message: ToPeer) -> None:
        lock.touched = True
        origin, receiver, content = message.sender, message.receiver, message.message
        slots = instance.slots
        try:
            if receiver:
                slots[receiver - slots[0].peer.me].peer.receive(origin, content)
            else:
                for slot in slots:
                    if slot.peer.me != origin:
                        slot.peer.receive(origin, content)
        except NONSENSE as error:
            raise RemoteError(f"{origin} sends what makes no sense: {error}") from None
        if lock.stage is OPEN:
            self._serve(lock)

    def _release_peer(self, slot: Slot) -> None:
        slot.here = False
        try:
            slot.peer.release()
        except NONSENSE:
            self.statistics.remote_errors += 1

    def _request(self, slot: Slot, shared: bool) -> None:
        slot.asking, slot.shared = True, shared
        try:
            if shared:
                slot.peer.acquire_shared()
            else:
                slot.peer.acquire()
        except NONSENSE:
            self.statistics.remote_errors += 1
