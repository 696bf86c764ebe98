"""Several lock nodes, driven by hand: a clock, views, and batches that a test carries.

Batches are carried between nodes one by one, so that a test can delay, drop, repeat or
forge them.  Whole nodes under all kinds of faults at once are in test_cluster.py.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.node.knobs import Knobs
from peerlock.node.locks import NamedLock
from peerlock.node.node import Node
from peerlock.node.succession import Elders, Succession, home_among
from peerlock.node.terms import Demand, demand
from peerlock.node.views import Member, View
from peerlock.node.waiters import State, Waiter
from peerlock.node.wire import Batch, HomeMessage, Message, Tell, Told, ToPeer

LOCK, READ, SEMAPHORE = demand(), demand(shared=True), demand("", 2)
CLOCKED = demand("ricart-agrawala")  # asks every member of the circle, always

LOCKS = [a.name for a in CATALOGUE if "lock" in a.serves]
SHARED_LOCKS = [a.name for a in CATALOGUE if "shared lock" in a.serves]
SEMAPHORES = [a.name for a in CATALOGUE if "semaphore" in a.serves]


class User(Waiter):
    """A waiter that notes what its node tells it."""

    __slots__ = ("busy", "told", "why")

    def __init__(self, wanted: Demand = LOCK) -> None:
        super().__init__(wanted)
        self.told: list[str] = []
        self.why = ""
        self.busy: bool | None = None

    def on_granted(self) -> None:
        self.told.append("granted")

    def on_refused(self, why: str) -> None:
        self.told.append("refused")
        self.why = why

    def on_lost(self) -> None:
        self.told.append("lost")

    def on_probed(self, busy: bool) -> None:
        self.busy = busy

    @property
    def holds(self) -> bool:
        return self.state is State.HOLDING

    @property
    def waits(self) -> bool:
        return self.state is State.WAITING


MEMBERS_PER_ELDER = 8  # so that small clusters have several elders, too


def new_succession() -> Succession:
    return Succession(MEMBERS_PER_ELDER)


def elders_of(view: View) -> Elders:
    succession = new_succession()
    succession.see(view)
    return succession.elders


class Parcel(NamedTuple):
    sender: int
    to: int
    batch: Batch

    def says(self, kind: type) -> bool:
        return any(isinstance(message, kind) for message in self.batch.messages)


class World:
    """A few nodes in one view.

    With up to 15 members, the oldest member is the home of every name; from 16 on, the two
    oldest members are.
    """

    def __init__(self, size: int, **knobs: Any) -> None:
        self.now = 0.0
        self.number = 0
        self.nodes: dict[int, Node] = {}
        self.knobs = Knobs(**knobs)
        self.still: set[int] = set()  # nodes that stand still
        self.slow: set[tuple[int, int]] = set()  # links that carry nothing for now
        self.kept: list[Parcel] = []  # for nodes that stand still, and on slow links
        self.view = View(0, ())
        for i in range(1, size + 1):
            self.add(i)
        self.see(*self.nodes)
        self.settle()

    def add(self, member: int) -> Node:
        node = Node(lambda: self.now, self.knobs, MEMBERS_PER_ELDER)
        self.nodes[member] = node
        return node

    def __getitem__(self, member: int) -> Node:
        return self.nodes[member]

    def lock(self, member: int, name: str = "x") -> NamedLock:
        return self[member].locks[name]

    # Views

    def next_view(self, *members: int) -> View:
        self.number = max(self.number + 1, *members, 1)
        self.view = View(self.number, tuple(Member(i, f"at {i}", i) for i in members))
        return self.view

    def see(self, *members: int) -> View:
        """All of its members that do not stand still see the next view."""
        view = self.next_view(*members)
        for i in members:
            if i not in self.still:
                self.show(i, view)
        return view

    def show(self, member: int, view: View | None = None) -> None:
        """One member sees a view, the newest unless told otherwise."""
        node = self[member]
        node.see(view or self.view, None if node.me == member else member)

    def join(self, *members: int) -> View:
        """New members, in a view that all see; nothing is carried yet."""
        for member in members:
            self.add(member)
        return self.see(*self.nodes)

    def die(self, *members: int) -> View:
        """They are gone, in a view that all others see; nothing is carried yet."""
        for member in members:
            self.nodes.pop(member)
        return self.see(*self.nodes)

    # Batches

    def collect(self) -> list[Parcel]:
        return [
            Parcel(i, to, batch)
            for i, node in self.nodes.items()
            if i not in self.still
            for to, batch in node.drain()
        ]

    def deliver(self, *parcels: Parcel) -> None:
        for parcel in parcels:
            sender, to, batch = parcel
            if to in self.still or (sender, to) in self.slow:
                self.kept.append(parcel)
            elif to in self.nodes:
                self[to].receive(sender, batch)

    def step(self) -> list[Parcel]:
        """Carry what is said now, and not what is said in answer."""
        parcels = self.collect()
        self.deliver(*parcels)
        return parcels

    def carry(self, until: Callable[[], bool] = lambda: False) -> list[Parcel]:
        """All that is said, and what is said in answer, and so on."""
        carried: list[Parcel] = []
        while not until() and (parcels := self.step()):
            carried += parcels
        return carried

    def settle(self) -> list[Parcel]:
        """And all turns, until nothing moves any more."""
        carried = self.carry()
        while any(node.wants_turn for node in self.awake()):
            for node in self.awake():
                node.turn()
            carried += self.carry()
        return carried

    def awake(self) -> list[Node]:
        return [node for i, node in self.nodes.items() if i not in self.still]

    def wake(self, member: int) -> None:
        """It hears what was sent to it while it stood still."""
        self.still.remove(member)
        self._deliver_kept()

    def hasten(self, sender: int, to: int) -> None:
        """A link that was slow carries what it has."""
        self.slow.remove((sender, to))
        self._deliver_kept()

    def _deliver_kept(self) -> None:
        kept, self.kept = self.kept, []
        self.deliver(*kept)

    def say(self, sender: int, to: int, *messages: Message) -> None:
        """A member says what it should not, over its own link."""
        for message in messages:
            self[sender].mail.post(to, message)
        self[sender].mail.work_off()
        self.carry()

    def pass_time(self, seconds: int) -> list[Parcel]:
        carried: list[Parcel] = []
        for _ in range(seconds):
            self.now += 1.0
            for node in self.awake():
                node.tick()
            carried += self.settle()
        return carried

    # Users

    def ask(self, member: int, name: str = "x", wanted: Demand = LOCK) -> User:
        user = User(wanted)
        self[member].acquire(name, user)
        return user

    def wait(self, member: int, name: str = "x", wanted: Demand = LOCK) -> User:
        """Ask, a moment after all others, and wait."""
        self.now += 0.01
        user = self.ask(member, name, wanted)
        self.settle()
        assert user.waits
        return user

    def get(self, member: int, name: str = "x", wanted: Demand = LOCK) -> User:
        """Ask, and hold."""
        user = self.ask(member, name, wanted)
        self.settle()
        assert user.holds
        return user

    def release(self, user: User) -> None:
        next(n for n in self.nodes.values() if user in n.holding()).release(user)

    def finish(self, user: User) -> None:
        self.release(user)
        self.settle()

    def use(self, *members: int, name: str = "x", wanted: Demand = LOCK) -> None:
        """Each of them gets it and gives it back; then all are in its circle."""
        for member in members:
            self.finish(self.get(member, name, wanted))

    def served(self, holder: User, waiters: list[User]) -> list[User]:
        """Those that wait, in the order in which they get in, one after the other."""
        waiting, order = list(waiters), []
        while waiting:
            self.finish(holder)
            (holder,) = (user for user in waiting if user.holds)
            waiting.remove(holder)
            order.append(holder)
        self.finish(holder)
        return order

    # Homes

    def home(self, name: str = "x") -> int:
        return home_among(name, elders_of(self.view))

    def name_at(self, home: int, then: int = 0) -> str:
        """A name that is at home there; and, when that one is dead, there."""
        rest = [m for m in self.view.members if m.id != home]
        later = elders_of(View(0, tuple(rest)))
        for name in (f"name {i}" for i in range(1_000)):
            if self.home(name) == home and (not then or home_among(name, later) == then):
                return name
        raise AssertionError(f"{home} is nobody's home")

    # What remains

    @property
    def remote_errors(self) -> int:
        return sum(node.statistics.remote_errors for node in self.nodes.values())

    @property
    def remembers_nothing(self) -> bool:
        return not any(any(node.remembers().values()) for node in self.nodes.values())


def messages(parcels: list[Parcel]) -> list[Any]:
    """All of them, those of algorithms as they are."""
    every = [message for parcel in parcels for message in parcel.batch.messages]
    return [m.message if isinstance(m, ToPeer) else m for m in every]


def said(parcels: list[Parcel], kind: type) -> int:
    """How many messages of a kind there are, those of algorithms included."""
    return sum(isinstance(message, kind) for message in messages(parcels))


def names_touched(parcels: list[Parcel]) -> set[str]:
    """The names that anything at all was said about."""
    every = [message for parcel in parcels for message in parcel.batch.messages]
    return {m.name for m in every if not isinstance(m, Tell | Told)}


OF_HOMES = HomeMessage.__args__
