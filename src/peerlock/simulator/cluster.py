"""Whole lock nodes in virtual time, with faults drawn from a seed.

The very node that runs in processes runs here, hosted by a simulated process: it may
crash, be started again, join, leave, be slow, stand still for longer than its lease, and
its connections may break and lose what was under way.  The membership engine is simulated
too, with the delays of a real one.  Users come and go, wait, give up, hold and release.

The faults come first.  Then they cease, everybody who still waits must get his turn, the
users finish, and after a while nothing may be remembered.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.node.locks import State, Waiter
from peerlock.node.node import Knobs, Node
from peerlock.node.terms import Demand, demand
from peerlock.node.views import Member, MemberId, View
from peerlock.node.wire import Batch
from peerlock.simulator.witness import Held, Misrule, Witness

# Virtual seconds.
LEASE = 3.0
TICK = 1.0
TURN = 0.00002  # until a process has worked off what is at hand
STEP = 0.0005  # a message, a transaction: half a millisecond, more or less
REMEMBER = 5.0

EXCLUSIVE = tuple(a.name for a in CATALOGUE if "lock" in a.serves)
SEMAPHORES = tuple(a.name for a in CATALOGUE if "semaphore" in a.serves)


@dataclass(frozen=True)
class Story:
    """All that a run depends on."""

    seed: int
    troubled: float = 8.0  # for how long there are faults
    most: int = 6  # processes at once, at most


@dataclass(frozen=True)
class Outcome:
    seed: int
    grants: int
    lost: int
    views: int
    messages: int
    faults: int
    events: int


class Engine:
    """Who is in the cluster: one truth, changed by transactions."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.number = 0
        self.members: dict[MemberId, Process] = {}
        self.deadlines: dict[MemberId, float] = {}

    def view(self) -> View:
        members = (Member(i, process.name, i) for i, process in self.members.items())
        return View(self.number, tuple(members))

    def join(self, process: Process) -> MemberId:
        self.sweep()
        self.number += 1
        self.members[self.number] = process
        self.deadlines[self.number] = self.cluster.now + LEASE
        return self.number

    def leave(self, member: MemberId) -> None:
        if self.members.pop(member, None):
            self.number += 1

    def sweep(self) -> None:
        """Put out the dead, and those whose lease has run out."""
        now = self.cluster.now
        out = [i for i, p in self.members.items() if p.dead or now >= self.deadlines[i]]
        for i in out:
            del self.members[i]
        if out:
            self.number += 1

    def renew(self, member: MemberId, asked_at: float) -> float:
        """The new deadline; -inf for who is out."""
        self.sweep()
        if member not in self.members:
            return -inf
        self.deadlines[member] = asked_at + LEASE
        return asked_at + LEASE


class Connection:
    """One way from a process to another member, in order, until it breaks."""

    def __init__(self) -> None:
        self.generation = 0
        self.up = False
        self.dialling = False
        self.last_arrival = 0.0


class User(Waiter):
    """One round of a local user: ask, perhaps give up, hold, release."""

    __slots__ = ("held", "name", "process")

    def __init__(self, process: Process, name: str, wanted: Demand) -> None:
        super().__init__(wanted)
        self.process = process
        self.name = name
        self.held: Held | None = None

    def granted(self) -> None:
        process = self.process
        deadline = partial(getattr, process.node, "deadline")
        cluster = process.cluster

        def valid() -> bool:
            return (
                self.state is State.HOLDING
                and not process.dead
                and (cluster.now < deadline())
            )

        if not cluster.now < deadline():
            raise Misrule(f"{process.name} grants {self.name} after its lease")
        self.held = Held(process.name, self.fence, self.demand.shared, valid)
        cluster.tell(process, f"gets {self.name} with fence {self.fence}")
        cluster.witness.granted(self.name, self.demand.permits, self.held)
        cluster.after(cluster.rng.expovariate(200.0), process, partial(process.done, self))

    def refused(self, why: str) -> None:
        self.process.cluster.tell(self.process, f"is refused {self.name}: {why}")
        self.over()

    def lost(self) -> None:
        self.process.cluster.tell(self.process, f"has lost {self.name}")
        self.over()

    def over(self) -> None:
        if self.held:
            self.process.cluster.witness.left(self.name, self.held)
        self.process.users.discard(self)


class Process:
    """A simulated process: it hosts a node, as the runtime does."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.dead = False
        self.leaving = False
        self.paused_until = 0.0
        self.slowness = 0.0
        self.joining = False
        self.turning = False
        self.users: set[User] = set()
        self.ways: dict[MemberId, Connection] = {}
        self.node = Node(lambda: cluster.now, cluster.knobs)

    # Life

    def start(self) -> None:
        self.join()
        self.cluster.after(TICK, self, self.tick)

    def join(self) -> None:
        if not self.joining and not self.leaving:
            self.joining = True
            asked_at = self.cluster.now
            self.cluster.after(self.cluster.delay(), None, partial(self._joins, asked_at))

    def _joins(self, asked_at: float) -> None:
        if self.dead:
            return
        engine = self.cluster.engine
        me = engine.join(self)
        view = engine.view()
        self.cluster.tell(self, f"joins as {me} in view {view.number}")
        self.cluster.after(
            self.cluster.delay(), self, partial(self._joined, view, me, asked_at)
        )

    def _joined(self, view: View, me: MemberId, asked_at: float) -> None:
        self.joining = False
        self.node.renewed(asked_at + LEASE)
        self.node.see(view, me)
        self.spread(view)

    def tick(self) -> None:
        self.node.tick()
        if self.node.member:
            self.renew()
        elif not self.leaving:
            self.join()
        self.cluster.after(TICK, self, self.tick)

    def renew(self) -> None:
        asked_at, me = self.cluster.now, self.node.me
        self.cluster.after(self.cluster.delay(), None, partial(self._renews, me, asked_at))

    def _renews(self, me: MemberId, asked_at: float) -> None:
        if self.dead:
            return
        engine = self.cluster.engine
        before = engine.number
        deadline = engine.renew(me, asked_at)
        view, changed = engine.view(), engine.number > before
        after = self.cluster.after
        after(
            self.cluster.delay(), self, partial(self._renewed, me, deadline, view, changed)
        )

    def _renewed(self, me: MemberId, deadline: float, view: View, changed: bool) -> None:
        if me == self.node.me and deadline > -inf:
            self.node.renewed(deadline)
        self.see(view)
        if changed:
            self.spread(view)

    look = renew  # a death, or a view that others have: the same transaction tells

    def see(self, view: View) -> None:
        self.node.see(view)
        if not self.node.member:
            self.join()

    def spread(self, view: View) -> None:
        """Tell the members; some may not hear of it, and find out by themselves."""
        cluster = self.cluster
        for member, process in cluster.processes_of(view):
            if member != self.node.me and cluster.rng.random() > 0.1:
                cluster.after(cluster.delay(process), process, partial(process.see, view))

    # Connections

    def flush(self) -> None:
        for member, batch in self.node.drain():
            way = self.ways.setdefault(member, Connection())
            if way.up:
                self.cluster.carry(self, way, member, batch)
            else:
                self.dial(member, way)
        if self.node.waits_for_view and self.cluster.rng.random() < 0.5:
            self.look()
        if self.node.wants_turn and not self.turning:
            self.turning = True
            self.cluster.after(TURN, self, self.turn)

    def turn(self) -> None:
        self.turning = False
        self.node.turn()

    def dial(self, member: MemberId, way: Connection) -> None:
        if not way.dialling:
            way.dialling = True
            self.cluster.after(
                self.cluster.delay(), self, partial(self._dialled, member, way)
            )

    def _dialled(self, member: MemberId, way: Connection) -> None:
        way.dialling = False
        other = self.cluster.everyone.get(member)
        if other is None or other.dead:
            self.look()
            return
        way.generation += 1
        way.up = True
        self.node.connected(member)

    def broken(self, member: MemberId, way: Connection, generation: int) -> None:
        if way.generation == generation and way.up:
            way.up = False
            other = self.cluster.everyone.get(member)
            if other is None or other.dead:
                self.look()
            else:
                self.dial(member, way)

    def receive(self, sender: MemberId, batch: Batch) -> None:
        self.node.receive(sender, batch)

    # Users

    def ask(self) -> None:
        name, wanted = self.cluster.something_to_want()
        user = User(self, name, wanted)
        self.users.add(user)
        if not self.node.take(name, user):
            self.node.acquire(name, user)
            if self.cluster.rng.random() < 0.2:
                patience = self.cluster.rng.expovariate(20.0)
                self.cluster.after(patience, self, partial(self.give_up, user))
        else:
            user.granted()

    def give_up(self, user: User) -> None:
        if self.node.give_up(user):
            user.over()

    def done(self, user: User) -> None:
        if user.state is State.HOLDING and self.node.check_lease():
            self.node.release(user)
            user.over()

    def leave(self) -> None:
        """As a process ends properly: no users any more, then out."""
        for user in sorted(self.users, key=lambda u: u.asked_at):
            if user.state is State.HOLDING:
                self.done(user)
            else:
                self.give_up(user)
        me = self.node.me
        self.node.lose_everything()
        self.cluster.after(self.cluster.delay(), None, partial(self._leaves, me))

    def _leaves(self, me: MemberId) -> None:
        if not self.dead:
            self.cluster.engine.leave(me)
            self.spread(self.cluster.engine.view())
            self.cluster.kill(self)


class Cluster:
    def __init__(self, story: Story, log: Callable[[str], None] | None = None) -> None:
        self.story = story
        self.rng = Random(story.seed)
        self.now = 0.0
        self.events = 0
        self.faults = 0
        self.witness = Witness()
        self.engine = Engine(self)
        self.knobs = Knobs(
            hand_overs=self.rng.choice((1, 2, 64)),
            hand_over_time=self.rng.choice((0.0, 0.001, 0.02)),
            remember=REMEMBER,
            remembered=self.rng.choice((2, 1000)),
        )
        self.names = self._names()
        self.everyone: dict[MemberId, Process] = {}
        self.processes: list[Process] = []
        self._log = log
        self._started = 0
        self._heap: list[tuple[float, int, Process | None, Callable[[], Any]]] = []
        self._pushed = 0
        self._nodes_before: list[Node] = []

    def _names(self) -> list[tuple[str, tuple[Demand, ...]]]:
        """What users want: a few names, each used as one lock or semaphore is used."""
        rng = self.rng
        permits = rng.choice((2, 3))
        kinds = [
            (demand(rng.choice(EXCLUSIVE)),),
            (demand(),),
            (demand(), demand(shared=True)),
            (demand(shared=True), demand(shared=True), demand()),
            (demand(rng.choice(SEMAPHORES), permits),),
            (demand("", permits),),
        ]
        chosen = rng.sample(kinds, rng.choice((1, 2, 3)))
        return [(f"name-{i}", wanted) for i, wanted in enumerate(chosen)]

    def something_to_want(self) -> tuple[str, Demand]:
        name, demands = self.rng.choice(self.names)
        if self.rng.random() < 0.01:  # somebody is mistaken about a name
            return name, demand("central") if demands[0].permits == 0 else demands[0]
        return name, self.rng.choice(demands)

    # Time

    def after(
        self, delay: float, process: Process | None, action: Callable[[], Any]
    ) -> None:
        self._pushed += 1
        heappush(self._heap, (self.now + delay, self._pushed, process, action))

    def delay(self, process: Process | None = None) -> float:
        slowness = process.slowness if process else 0.0
        return STEP * self.rng.uniform(0.1, 2.0) + slowness * self.rng.random()

    def step(self) -> None:
        at, _, process, action = heappop(self._heap)
        self.now = at
        self.events += 1
        if process is None:
            action()
        elif not process.dead:
            if process.paused_until > self.now:
                self.after(process.paused_until - self.now, process, action)
                return
            process.node.check_lease()
            action()
            if not process.dead:
                process.flush()

    def tell(self, process: Process, what: str) -> None:
        if self._log:
            self._log(f"{self.now:10.6f} {process.name} {what}")

    # Processes

    @property
    def staying(self) -> list[Process]:
        return [process for process in self.processes if not process.leaving]

    def begin(self) -> Process:
        self._started += 1
        process = Process(self, f"p{self._started}")
        self.processes.append(process)
        process.start()
        return process

    def kill(self, process: Process) -> None:
        process.dead = True
        self.processes.remove(process)
        self._nodes_before.append(process.node)
        for other in self.processes:
            for member, way in other.ways.items():
                if way.up and self.everyone.get(member) is process:
                    broken = partial(other.broken, member, way, way.generation)
                    self.after(self.delay(), other, broken)

    def processes_of(self, view: View) -> list[tuple[MemberId, Process]]:
        members = self.engine.members
        return [(m.id, members[m.id]) for m in view.members if m.id in members]

    def carry(self, sender: Process, way: Connection, to: MemberId, batch: Batch) -> None:
        receiver = self.everyone.get(to) or self.engine.members.get(to)
        if receiver is None:
            return
        self.everyone[to] = receiver
        generation, me = way.generation, sender.node.me
        arrival = max(way.last_arrival, self.now + self.delay(receiver))
        way.last_arrival = arrival

        def arrive() -> None:
            if way.generation == generation and way.up:
                receiver.receive(me, batch)

        self.after(arrival - self.now, receiver, arrive)

    # The story

    def run(self) -> Outcome:
        for _ in range(self.rng.randint(2, 4)):
            self.begin()
        self._plan_faults()
        self._plan_users()
        self._until(lambda: self.now >= self.story.troubled, "the faults")
        for process in self.processes:
            process.slowness = 0.0
        self.tell(self.processes[0], "sees the end of all faults")
        self._until(self._at_peace, "those who wait")
        self._until(self._nothing_remembered, "what is remembered")
        return self._outcome()

    def _until(self, reached: Callable[[], bool], what: str) -> None:
        limit = self.now + 60.0
        while not reached():
            if self.now > limit:
                raise Misrule(f"{what}: no end. {self._situation()}")
            self.everyone.update(self.engine.members)
            self.step()

    def _at_peace(self) -> bool:
        return not any(process.users for process in self.processes)

    def _nothing_remembered(self) -> bool:
        return all(
            process.node.running and not any(process.node.remembers().values())
            for process in self.processes
        )

    def _situation(self) -> str:
        lines = []
        for p in self.processes:
            waits = [f"{u.name} ({u.state.value})" for u in p.users]
            running = "running" if p.node.running else "not running"
            seen = f"view {p.node.view.number}, {running}, {p.node.remembers()}"
            lines.append(f"{p.name}: {seen}, users: {', '.join(sorted(waits)) or 'none'}")
        return "; ".join(lines)

    def _outcome(self) -> Outcome:
        nodes = [*self._nodes_before, *(p.node for p in self.processes)]
        return Outcome(
            seed=self.story.seed,
            grants=self.witness.grants,
            lost=sum(n.statistics.lost for n in nodes),
            views=self.engine.number,
            messages=sum(n.statistics.messages.total() for n in nodes),
            faults=self.faults,
            events=self.events,
        )

    def _plan_users(self) -> None:
        pace = self.rng.choice((10.0, 20.0, 40.0))

        def come() -> None:
            if self.now < self.story.troubled:
                process = self.rng.choice(self.staying)
                self.after(0.0, process, process.ask)
                self.after(self.rng.expovariate(pace), None, come)

        self.after(0.01, None, come)

    def _plan_faults(self) -> None:
        kinds = (
            self._crash,
            self._join,
            self._leave,
            self._slow,
            self._pause,
            self._break,
            self._break,
        )
        between = self.rng.choice((0.2, 1.0, 3.0))

        def strike() -> None:
            if self.now < self.story.troubled - 1.0:
                self.faults += 1
                self.rng.choice(kinds)()
                if self.rng.random() < 0.3:  # one more, while they recover
                    self.rng.choice(kinds)()
                self.after(self.rng.expovariate(1.0 / between), None, strike)

        self.after(self.rng.random(), None, strike)

    def _crash(self) -> None:
        if len(self.staying) > 1:
            process = self.rng.choice(self.processes)
            self.tell(process, "is killed")
            for user in list(process.users):
                user.over()
            self.kill(process)
            if self.rng.random() < 0.7:
                self.after(self.rng.random(), None, self._join)

    def _join(self) -> None:
        if len(self.processes) < self.story.most:
            self.begin()

    def _leave(self) -> None:
        if len(self.staying) > 1:
            process = self.rng.choice(self.staying)
            process.leaving = True
            self.tell(process, "leaves")
            self.after(0.0, process, process.leave)

    def _slow(self) -> None:
        self.rng.choice(self.processes).slowness = self.rng.choice((0.0, 0.01, 0.3))

    def _pause(self) -> None:
        process = self.rng.choice(self.processes)
        pause = self.rng.choice((0.05, 0.5, LEASE, 1.5 * LEASE)) * self.rng.uniform(
            0.8, 1.2
        )
        process.paused_until = self.now + pause
        self.tell(process, f"stands still for {pause:.3f}")

    def _break(self) -> None:
        """A connection breaks, and what is under way in it is lost."""
        process = self.rng.choice(self.processes)
        up = [(m, way) for m, way in process.ways.items() if way.up]
        if up:
            member, way = self.rng.choice(up)
            way.generation += 1
            broken = partial(process.broken, member, way, way.generation)
            self.after(self.delay(), process, broken)
            self.tell(process, f"loses its connection to {member}")
