"""What the members of a large cluster say to one another when one joins, and when one dies.

A simulated cluster of whole processes, without faults, in virtual time: the node and the
presence that ship.  A few processes use names: one name is handed from one to the next, the
others are held and waited for.  All other members are idle.  What is counted is all that
members send to one another: attempts to connect, views, batches, and the messages in them.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import NamedTuple

from peerlock.node.knobs import Knobs
from peerlock.node.presence import Dial
from peerlock.node.succession import MEMBERS_PER_ELDER
from peerlock.node.terms import demand
from peerlock.node.waiters import Waiter
from peerlock.node.wire import Batch
from peerlock.simulator.cluster import Cluster, ClusterStory
from peerlock.simulator.process import Frame, Process, Route

# Virtual seconds.
APART = 0.002  # between two processes that are started
SETTLED = 12.0  # leases have ended, every member has renewed, and names are given back
TURN = 0.5  # for which each user holds the name that is handed on

NAMES = 5  # in use
USERS = 3  # of each


class Said(NamedTuple):
    """What members have sent so far, or in some time."""

    dials: int = 0
    frames: int = 0  # views and batches
    messages: int = 0  # in the batches

    @property
    def total(self) -> int:
        return sum(self)

    def plus(self, frame: Frame) -> Said:
        messages = len(frame.messages) if isinstance(frame, Batch) else 0
        return Said(self.dials, self.frames + 1, self.messages + messages)

    def since(self, before: Said) -> Said:
        return Said(*(now - then for now, then in zip(self, before, strict=True)))


class CountedProcess(Process):
    """It tells its cluster what it sends."""

    cluster: Crowd

    def _dialled(self, effect: Dial) -> None:
        said = self.cluster.said
        self.cluster.said = said._replace(dials=said.dials + 1)
        super()._dialled(effect)

    def _send(self, way: Route, frame: Frame) -> None:
        self.cluster.said = self.cluster.said.plus(frame)
        super()._send(way, frame)


class User(Waiter):
    """It holds a name for good, or for a turn, and asks again."""

    __slots__ = ("name", "process", "turn")

    def __init__(self, process: Process, name: str, turn: float | None) -> None:
        super().__init__(demand())
        self.process, self.name, self.turn = process, name, turn

    def ask(self) -> None:
        self.process.node.acquire(self.name, self)

    def on_granted(self) -> None:
        if self.turn is not None:
            self.process.cluster.after(self.turn, self.process, self.give)

    def give(self) -> None:
        self.process.node.release(self)
        User(self.process, self.name, self.turn).ask()


class Crowd(Cluster):
    """Many processes on one machine; or on many, and the engine notifies the first ones."""

    def __init__(self, seed: int, number: int, between_machines: bool = False) -> None:
        super().__init__(ClusterStory(seed, troubled=0.0))
        self.between_machines = between_machines
        self.watchers = 8 if between_machines else 0
        self.skewed = self.splits = False
        self.members_per_elder = MEMBERS_PER_ELDER
        self.knobs = Knobs()
        self.said = Said()
        self.users: list[User] = []
        for _ in range(number):
            self.begin()
            self.advance(APART)
        self.advance(SETTLED)
        self._use_names()
        self.advance(SETTLED)

    def begin(self) -> Process:
        self._started += 1
        process = CountedProcess(self, f"p{self._started}")
        self.processes.append(process)
        process.start()
        return process

    def advance(self, seconds: float) -> None:
        ends = self.now + seconds
        while self._heap[0][0] <= ends:
            self.step()
        self.now = ends

    def _use_names(self) -> None:
        """By the oldest member, which is a home, and by others that are not."""
        some = [self.processes[0], *self.rng.sample(self.processes[8:], NAMES * USERS - 1)]
        for i in range(NAMES):
            for process in some[i::NAMES]:
                user = User(process, f"used-{i}", None if i else TURN)
                self.users.append(user)
                self.after(0.0, process, user.ask)

    def bystander(self) -> Process:
        """It uses no name, and is no home of any."""
        elders = set(self.processes[0].node.elders)
        using = {user.process for user in self.users}
        idle = [p for p in self.processes if p.node.me not in elders and p not in using]
        return self.rng.choice(idle)

    # What is measured

    def said_after(self, event: Callable[[], object] = lambda: None) -> Said:
        """Until all is quiet again, and all members have seen the same view."""
        before = self.said
        event()
        self.advance(SETTLED)
        table = self.engine.table.view
        if any(process.node.view != table for process in self.processes):
            raise RuntimeError("a member has not seen the last view")
        return self.said.since(before)

    def join(self) -> Said:
        return self.said_after(self.begin)

    def death(self) -> Said:
        return self.said_after(partial(self.kill, self.bystander()))

    def state(self) -> dict[str, list[object]]:
        """Of the names in use: the epoch at each user, and who holds with which fence."""
        found: dict[str, list[object]] = {}
        for user in self.users:
            lock = user.process.node.locks.get(user.name)
            holds = (user.state, user.fence) if user.turn is None else None
            found.setdefault(user.name, []).append((lock and lock.epoch, holds))
        return found


class Cost(NamedTuple):
    """What members send because of one event, in all, beyond what they send without it."""

    join: int
    death: int
    touched: int  # names in use that began another epoch, or have another holder


def measure(seed: int, number: int, between_machines: bool = False, tries: int = 1) -> Cost:
    """The most of some tries."""
    crowd = Crowd(seed, number, between_machines)
    before, usual = crowd.state(), crowd.said_after().total
    joins = [crowd.join().total - usual for _ in range(tries)]
    deaths = [crowd.death().total - usual for _ in range(tries)]
    after = crowd.state()
    return Cost(max(joins), max(deaths), sum(after[name] != before[name] for name in after))
