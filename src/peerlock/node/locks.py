"""One named lock at one node: its local holders and waiters, and its algorithm.

A process may have a million names open, and most of them have one holder or none, no waiter
and no other member in their circle.  So what such a name does not need is not made for it:

- a member that is alone in its circle has slots without peers, and is granted at once;
- one holder is a tuple, several are a dictionary, and no waiters are one shared queue;
- circles and terms that are equal are one object.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection
from enum import Enum
from functools import lru_cache
from math import inf
from typing import Any, NoReturn

from peerlock.core.peer import NodeId, Peer
from peerlock.node.terms import Demand, Terms, blueprint
from peerlock.node.views import MemberId
from peerlock.node.waiters import Waiter
from peerlock.node.wire import NEVER, Epoch, EpochMessage

LONG_AGO = -inf  # one object for all slots


class Others:
    """The answers to a probe so far, from other members of the circle."""

    __slots__ = ("epoch", "readers", "unheard", "users")

    def __init__(self, epoch: Epoch, unheard: set[MemberId]) -> None:
        self.epoch = epoch  # in which it was asked
        self.unheard = unheard
        self.users = self.readers = 0

    def add(self, users: int, readers: int) -> None:
        self.users += users
        self.readers += readers

    def in_the_way_of(self, wanted: Demand) -> bool:
        if wanted.permits:
            return self.users >= wanted.permits
        return self.users > (self.readers if wanted.shared else 0)


class Stage(Enum):
    SHUT = "shut"  # we are not in its circle
    OPENING = "opening"  # we have asked its home to let us in
    OPEN = "open"  # its algorithm runs
    HALTED = "halted"  # its circle is being formed anew


OPEN = Stage.OPEN

Post = Callable[[NodeId, Any], None]
Wires = tuple[Post, Callable[[Any], None]]  # to send, to broadcast


class Slot:
    """One peer of the algorithm, and its holders.  Without a peer, the member is alone in
    the circle."""

    __slots__ = (
        "asking",
        "bound",
        "here",
        "joinable",
        "left",
        "only",
        "peer",
        "resting",
        "shared",
        "started",
        "until",
        "users",
    )

    def __init__(self, only: bool) -> None:
        self.peer: Peer | None = None
        self.only = only  # the lock has no other
        self.asking = False  # it has asked and was not granted yet
        self.here = False  # it was granted and has not released yet
        self.shared = False  # what it asks for, or was granted, is a reader's
        self.users = 0  # how many are in by it
        self.started = False  # since its grant, users may be granted
        self.bound = 1  # how many users this grant may serve
        self.left = 0  # how many more it may let in before others get their turn
        self.until = 0.0  # and until when
        self.joinable = LONG_AGO  # by readers that have asked later than this
        self.resting = False  # just released, for others: not to be asked in this turn

    def grant(self) -> None:
        self.asking, self.here = False, True


class Outlet:
    """Where the effects of a slot's peer go: they are carried out on the spot."""

    __slots__ = ("broadcast", "grant", "send")

    def __init__(self, slot: Slot, send: Post, broadcast: Callable[[Any], None]) -> None:
        self.send, self.broadcast = send, broadcast
        self.grant = slot.grant

    def set_timer(self, name: str, delay: float) -> NoReturn:
        raise AssertionError("no algorithm that serves locks has timers")

    def cancel_timer(self, name: str) -> NoReturn:
        raise AssertionError("no algorithm that serves locks has timers")


class NamedLock:
    __slots__ = (
        "after",
        "agreed",
        "circle",
        "closing",
        "early",
        "entering",
        "epoch",
        "forming",
        "free",
        "holders",
        "lingers",
        "marked",
        "may_ask",
        "name",
        "order",
        "place",
        "running",
        "said",
        "slots",
        "stage",
        "switching",
        "terms",
        "waiters",
    )

    def __init__(self, name: str) -> None:
        self.name = name
        self.waiters = NO_WAITERS
        self.holders: Collection[Waiter] = ()  # in the order in which they came in
        self.marked = False  # the node will look at it at its next turn
        self.shut()

    def shut(self) -> None:
        """Nothing is known of it, but who holds and waits here."""
        self.stage = Stage.SHUT
        self.epoch = self.forming = NEVER  # the one we are in; the one we have answered for
        self.terms: Terms | None = None  # as it was last opened
        self.early: tuple[tuple[MemberId, EpochMessage], ...] = ()  # of an epoch to come
        self.halt()

    def halt(self) -> None:
        """Speak no more in this epoch; holders keep the lock."""
        self.circle: Circle = NO_CIRCLE
        self.slots: tuple[Slot, ...] = ()
        self.order: tuple[MemberId, ...] = ()  # who enters and asks first, one by one
        self.entering = 0  # how many of these are holders
        self.said: frozenset[MemberId] = NOBODY  # they say that it is our turn
        self.after: MemberId = 0  # who has asked last, as the first says
        self.place = -1  # ours, while our holders enter
        self.may_ask = False  # it is our turn to ask
        self.running = False  # all members may request
        self.switching = False  # we have asked for other terms
        self.closing = False  # we have said that we do not need it any more
        self.lingers = False  # it is kept until another member asks, used or not
        self.free: Slot | None = None  # may be taken at once, by who makes this demand:
        self.agreed: Demand | None = None
        for holder in self.holders:
            holder.slot = None
        if self.waiters:
            self.waiters[0].asks_since = None

    def add_waiter(self, waiter: Waiter) -> None:
        if not self.waiters:
            self.waiters = deque()
        self.waiters.append(waiter)

    def remove_waiter(self, waiter: Waiter) -> None:
        """Raises ValueError if it does not wait here."""
        self.waiters.remove(waiter)
        if not self.waiters:
            self.waiters = NO_WAITERS

    def withdraw(self, waiter: Waiter) -> None:
        """The same; a request that was made for it is the next one's."""
        was_first = bool(self.waiters) and self.waiters[0] is waiter
        self.remove_waiter(waiter)
        if was_first and self.waiters:
            self.waiters[0].asks_since = waiter.requested_at

    def add_holder(self, holder: Waiter) -> None:
        if not self.holders:
            self.holders = (holder,)
        elif isinstance(self.holders, dict):
            self.holders[holder] = None
        else:
            self.holders = dict.fromkeys((*self.holders, holder))

    def remove_holder(self, holder: Waiter) -> None:
        if not isinstance(self.holders, dict):
            assert holder in self.holders
            self.holders = ()
            return
        del self.holders[holder]
        if len(self.holders) == 1:
            self.holders = tuple(self.holders)

    @property
    def unused(self) -> bool:
        """No user here holds or wants it, and neither does the algorithm."""
        if self.waiters or self.holders or self.switching:
            return False
        for slot in self.slots:  # noqa: SIM110 - `any` is slower, and every message asks
            if slot.asking or slot.here:
                return False
        return True

    @property
    def busy(self) -> int:
        """How many of its peers request or have it."""
        return sum(slot.asking or slot.here for slot in self.slots)

    def users(self) -> tuple[int, int]:
        """How many here hold it or want it for sure, and how many of these are readers."""
        users = [*self.holders, *(w for w in self.waiters if not w.probing)]
        return len(users), sum(user.demand.shared for user in users)


NO_WAITERS: deque[Waiter] = deque()  # shared by all locks that have none, never changed
NOBODY: frozenset[MemberId] = frozenset()


class Circle:
    """The members that have a name open; equal circles are one object."""

    __slots__ = ("members", "ranks")

    def __init__(self, members: tuple[MemberId, ...]) -> None:
        self.members = members
        self.ranks = {member: rank for rank, member in enumerate(members)}

    def __len__(self) -> int:
        return len(self.members)


circle_of = lru_cache(maxsize=1_000)(Circle)
NO_CIRCLE = circle_of(())


def make_slots(
    terms: Terms, members: int, rank: int, wiring: Callable[[NodeId], Wires]
) -> tuple[Slot, ...]:
    """Those of the member of this rank, with their peers."""
    slots = tuple(Slot(terms.slots == 1) for _ in range(terms.slots))
    if members > 1:
        equip(slots, terms, members, rank, wiring)
    for slot in slots:
        if slot.peer is not None:
            slot.peer.start()
    return slots


def equip(
    slots: tuple[Slot, ...],
    terms: Terms,
    members: int,
    rank: int,
    wiring: Callable[[NodeId], Wires],
) -> None:
    """With peers, whose messages go where `wiring` says."""
    peer, nodes, settings = blueprint(terms, members)
    for me, slot in enumerate(slots, rank * terms.slots + 1):
        slot.peer = peer(me, nodes, effects=Outlet(slot, *wiring(me)), **settings)
