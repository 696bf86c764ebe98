"""Whole lock nodes in virtual time, with faults drawn from a seed.

The very node that runs in processes runs here, hosted by a simulated process: it may
crash, be started again, join, leave, be slow, stand still for longer than its lease, and
its connections may break and lose what was under way (`simulator/faults.py`).  The
membership engine is simulated too, with the delays of a real one.  Users come and go,
wait, give up, hold, release and come back.

The faults come first.  Then they cease, everybody who still waits must get his turn, and
the users finish.  Then as many as may be inside of each name must get in together, and
after a while nothing may be remembered.
"""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.node.knobs import Knobs
from peerlock.node.locks import Stage, State, Waiter
from peerlock.node.node import Node
from peerlock.node.terms import Demand, demand
from peerlock.node.views import Member, MemberId, View
from peerlock.node.wire import Batch
from peerlock.simulator.faults import LEASE, Faults
from peerlock.simulator.places import Place, Places
from peerlock.simulator.witness import Held, Misrule, Witness

# Virtual seconds.
TICK = 1.0
TURN = 0.00002  # until a process has worked off what is at hand
STEP = 0.0005  # a message, a transaction: half a millisecond, more or less
REMEMBER = 5.0

# In some stories clocks run at different rates.  A lease then counts as run out a little
# early, as `runtime.host.margin` has it.
SKEW = 0.05
MARGIN = LEASE / 10
HOLD = 0.005
LONG_HOLD = 1.0  # of some, so that views come and leases run out while they hold

EXCLUSIVE = tuple(a.name for a in CATALOGUE if "lock" in a.serves)
SEMAPHORES = tuple(a.name for a in CATALOGUE if "semaphore" in a.serves)
MISTAKES = (demand("central"), demand("", 2), demand("kakugawa", 5), demand(shared=True))


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
    happened: dict[str, int]  # faults by kind, and what they led to


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
        self.members[self.number] = self.cluster.everyone[self.number] = process
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
        """The new deadline, counted from the question; -inf for who is out."""
        self.sweep()
        if member not in self.members:
            return -inf
        self.deadlines[member] = asked_at + LEASE
        return asked_at + LEASE


# What the engine does for who asked at this time, and what the asker does with the answer.
Transaction = Callable[[float], Callable[[], None]]


class Connection:
    """One way from a process to another member, in order, until it breaks."""

    def __init__(self) -> None:
        self.generation = 0
        self.up = False
        self.dialling = False
        self.blocked_until = 0.0  # until then, dialling is in vain
        self.last_arrival = 0.0


class Party:
    """Users who hold until all of them do; spoilt if one of them cannot."""

    def __init__(self, size: int) -> None:
        self.missing = size
        self.inside: list[User] = []
        self.spoilt = False

    def enters(self, user: User) -> None:
        self.missing -= 1
        self.inside.append(user)
        self._leave_if_over()

    def spoil(self) -> None:
        self.spoilt = True
        self._leave_if_over()

    def _leave_if_over(self) -> None:
        if self.spoilt or not self.missing:
            for user in self.inside:
                user.leave_after(0.0)
            self.inside.clear()


class User(Waiter):
    """One round of a local user: ask, perhaps give up, hold, release."""

    __slots__ = ("held", "name", "party", "place", "process")

    def __init__(
        self, process: Process, name: str, wanted: Demand, party: Party | None = None
    ) -> None:
        super().__init__(wanted)
        self.process = process
        self.name = name
        self.party = party
        lock = process.node.locks.get(name)
        in_circle = lock is not None and lock.stage in (Stage.OPEN, Stage.HALTED)
        now = process.cluster.now
        self.place = Place(process.name, now, in_circle, self._keeps_its_place)
        self.held: Held | None = None

    def on_granted(self) -> None:
        process = self.process
        deadline = partial(getattr, process.node, "deadline")
        cluster = process.cluster

        def valid() -> bool:
            holds = self.state is State.HOLDING and not process.dead
            return holds and process.clock() < deadline()

        if self not in process.users:
            raise Misrule(f"{process.name} grants {self.name} to who gave up")
        if not process.clock() < deadline():
            raise Misrule(f"{process.name} grants {self.name} after its lease")
        self.held = Held(process.name, self.fence, self.demand.shared, valid)
        cluster.tell(process, f"gets {self.name} with fence {self.fence}")
        cluster.witness.granted(self.name, self.demand.permits, self.held)
        terms = process.node.locks[self.name].terms
        cluster.places.granted(self.name, self.place, terms.algorithm if terms else "")
        if self.party:
            self.party.enters(self)
        else:
            self.leave_after(cluster.hold(self.demand))

    def _keeps_its_place(self) -> bool:
        """It wants it alone, and waits as a member for as long as it takes."""
        process, wanted = self.process, self.demand
        if process.dead or process.leaving or process.joined_at > self.place.asked_at:
            return False
        return process.node.member and not (wanted.shared or wanted.permits or self.probing)

    def leave_after(self, time: float) -> None:
        self.process.cluster.after(time, self.process, partial(self.process.done, self))

    def on_refused(self, why: str) -> None:
        self.process.cluster.tell(self.process, f"is refused {self.name}: {why}")
        self.over()

    def on_lost(self) -> None:
        self.process.cluster.tell(self.process, f"has lost {self.name}")
        self.over()

    def on_probed(self, busy: bool) -> None:
        if busy:
            self.process.cluster.after(
                0.0, self.process, partial(self.process.give_up, self)
            )

    def over(self) -> None:
        if self.party and self.state is not State.RELEASED:
            self.party.spoil()
        cluster = self.process.cluster
        if self.held:
            cluster.witness.left(self.name, self.held)
            cluster.places.left(self.name, self.place)
        else:
            cluster.places.gave_up(self.name, self.place)
        self.process.users.pop(self, None)


class Process:
    """A simulated process: it hosts a node, as the runtime does."""

    def __init__(self, cluster: Cluster, name: str) -> None:
        self.cluster = cluster
        self.name = name
        self.dead = False
        self.leaving = False
        self.paused_until = 0.0
        self.slowness = 0.0
        self.joined_at = 0.0
        self.muted = False  # while it stands still, what it was sending stays with it
        self.disk = 0.0  # how long a transaction may take
        self.work: deque[Transaction] = deque()
        self.working = False
        self.turning = False
        self.users: dict[User, None] = {}
        self.ways: dict[MemberId, Connection] = {}
        self.rate = cluster.clock_rate()
        self.node = Node(self.clock, cluster.knobs, cluster.members_per_elder)

    def clock(self) -> float:
        """Its own, which may run faster or slower than the engine's."""
        return self.cluster.now * self.rate

    def own(self, deadline: float) -> float:
        """The engine's deadline on this clock, counted from the question, less a margin."""
        asked_at = deadline - LEASE
        return asked_at * self.rate + LEASE - self.cluster.margin

    # Life

    def start(self) -> None:
        self.look()
        self.cluster.after(TICK, self, self.tick)

    def tick(self) -> None:
        self.node.tick()
        self.look()
        self.cluster.after(TICK, self, self.tick)

    def look(self) -> None:
        """Renew the lease and see what is new; who is out comes back as somebody else."""
        self.transact(self._looks)

    def _looks(self, asked_at: float) -> Callable[[], None]:
        if self.node.member or self.leaving:
            return self._renews(asked_at)
        return self._joins(asked_at)

    def transact(self, work: Transaction) -> None:
        """One at a time, and twice the same is once."""
        if work not in self.work:
            self.work.append(work)
            self._begin_work()

    def _begin_work(self) -> None:
        if self.work and not self.working:
            self.working = True
            works = partial(self._works, self.work.popleft(), self.cluster.now)
            self.cluster.after(self.cluster.faults.engine_delay(self), None, works)

    def _works(self, work: Transaction, asked_at: float) -> None:
        if not self.dead:
            answered = partial(self._answered, work(asked_at))
            self.cluster.after(self.cluster.faults.engine_delay(self), self, answered)

    def _answered(self, then: Callable[[], None]) -> None:
        self.working = False
        then()
        self._begin_work()

    def _joins(self, asked_at: float) -> Callable[[], None]:
        engine = self.cluster.engine
        me = engine.join(self)
        view = engine.view()
        self.cluster.tell(self, f"joins as {me} in view {view.number}")
        return partial(self._joined, view, me, asked_at)

    def _joined(self, view: View, me: MemberId, asked_at: float) -> None:
        self.node.renewed(self.own(asked_at + LEASE))
        self.joined_at = self.cluster.now
        self.see(view, me)
        self.spread(view)

    def _renews(self, asked_at: float) -> Callable[[], None]:
        engine = self.cluster.engine
        before = engine.number
        deadline = engine.renew(self.node.me, asked_at)
        view, changed = engine.view(), engine.number > before
        return partial(self._renewed, deadline, view, changed)

    def _renewed(self, deadline: float, view: View, changed: bool) -> None:
        if deadline > -inf:
            self.node.renewed(self.own(deadline))
        self.see(view)
        if changed:
            self.spread(view)

    def see(self, view: View, me: MemberId | None = None) -> None:
        node = self.node
        if view.number > node.view.number:
            recovering = node.member and not node.running
            node.see(view, me)
            self.cluster.faults.while_they_recover(recovering)
        if not node.member and not self.leaving:
            self.look()

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

    def dial(self, member: MemberId, way: Connection, wait: float = 0.0) -> None:
        if not way.dialling:
            way.dialling = True
            dialled = partial(self._dialled, member, way)
            self.cluster.after(wait + self.cluster.delay(), self, dialled)

    def _dialled(self, member: MemberId, way: Connection) -> None:
        way.dialling = False
        if self.cluster.everyone[member].dead:
            self.look()
            return
        if way.blocked_until > self.cluster.now:
            self.dial(member, way, way.blocked_until - self.cluster.now)
            return
        way.generation += 1
        way.up = True
        self.node.connected(member)

    def broken(self, member: MemberId, way: Connection, generation: int) -> None:
        if way.generation == generation and way.up:
            way.up = False
            if self.cluster.everyone[member].dead:
                self.look()
            else:
                self.dial(member, way)

    def receive(self, sender: MemberId, batch: Batch) -> None:
        self.node.receive(sender, batch)

    # Users

    def ask(self) -> None:
        cluster = self.cluster
        name, wanted = cluster.something_to_want()
        user = User(self, name, wanted)
        if self.wait(user):
            return
        fate = cluster.rng.random()
        if fate < 0.2:
            patience = cluster.rng.expovariate(20.0)
            cluster.after(patience, self, partial(self.give_up, user))
        elif fate < 0.25:
            self.node.probe(user)

    def wait(self, user: User) -> bool:
        """Whether it is in already."""
        self.users[user] = None
        self.cluster.places.asks(user.name, user.place)
        if self.node.take(user.name, user):
            user.on_granted()
        else:
            self.node.acquire(user.name, user)
        return user.state is not State.WAITING

    def give_up(self, user: User) -> None:
        if self.node.give_up(user):
            user.over()

    def done(self, user: User) -> None:
        if user.state is State.HOLDING and self.node.check_lease():
            if not self.node.put_back(user):
                self.node.release(user)
            user.over()
            if not self.leaving and self.cluster.comes_back():
                self.ask()

    def leave(self) -> None:
        """As a process ends properly: no users any more, then out."""
        for user in sorted(self.users, key=lambda u: u.asked_at):
            if user.state is State.HOLDING:
                self.done(user)
            else:
                self.give_up(user)
        self.node.lose_everything()
        self.transact(self._leaves)

    def _leaves(self, asked_at: float) -> Callable[[], None]:
        engine = self.cluster.engine
        engine.leave(self.node.me)
        self.spread(engine.view())
        return partial(self.cluster.kill, self)


class Cluster:
    def __init__(self, story: Story, log: Callable[[str], None] | None = None) -> None:
        self.story = story
        self.rng = Random(story.seed)
        self._clocks = Random(f"clocks {story.seed}")
        self.skewed = self._clocks.random() < 0.25  # clocks run at different rates
        self.members_per_elder = self._clocks.choice((1, 1, 2, 8))
        self.margin = MARGIN if self.skewed else 0.0
        self.now = 0.0
        self.events = 0
        self.happened: Counter[str] = Counter()
        self.faults = Faults(self)
        self.witness = Witness()
        self.places = Places(lambda: self.now, self.calm_since)
        self.slow_at = 0.0  # when a slow process last did something
        self.engine = Engine(self)
        self.knobs = Knobs(
            hand_overs=self.rng.choice((1, 2, 64)),
            hand_over_time=self.rng.choice((0.0, 0.001, 0.02)),
            remember=REMEMBER,
            remembered=self.rng.choice((2, 1000)),
        )
        self.names = self._names()
        self.devotion = self.rng.choice((0.0, 0.1, 0.5))  # how many come back at once
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
        permits = rng.choice((1, 2, 3))
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
            return name, self.rng.choice(MISTAKES)
        return name, self.rng.choice(demands)

    def hold(self, wanted: Demand) -> float:
        long = self.rng.random() < (0.1 if wanted.permits else 0.04)
        return self.rng.expovariate(1.0 / (LONG_HOLD if long else HOLD))

    def comes_back(self) -> bool:
        return self.now < self.story.troubled and self.rng.random() < self.devotion

    # Time

    def clock_rate(self) -> float:
        return self._clocks.choice((1 - SKEW, 1.0, 1 + SKEW)) if self.skewed else 1.0

    def after(
        self, delay: float, process: Process | None, action: Callable[[], Any]
    ) -> None:
        self.at(self.now + delay, process, action)

    def at(self, time: float, process: Process | None, action: Callable[[], Any]) -> None:
        self._pushed += 1
        heappush(self._heap, (time, self._pushed, process, action))

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
                self.at(process.paused_until, process, action)
                return
            if process.slowness:
                self.slow_at = self.now
            process.node.check_lease()
            action()
            if not process.dead:
                process.flush()

    def calm_since(self) -> float:
        """Since when no process has been slow, stood still or been out of reach."""
        every = self.everyone.values()
        still = max((process.paused_until for process in every), default=0.0)
        ways = (way for process in every for way in process.ways.values())
        return max(self.slow_at, still, *(way.blocked_until for way in ways), 0.0)

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
                if way.up and self.everyone[member] is process:
                    broken = partial(other.broken, member, way, way.generation)
                    self.after(self.delay(), other, broken)

    def processes_of(self, view: View) -> list[tuple[MemberId, Process]]:
        members = self.engine.members
        return [(m.id, members[m.id]) for m in view.members if m.id in members]

    def carry(self, sender: Process, way: Connection, to: MemberId, batch: Batch) -> None:
        receiver = self.everyone[to]
        generation, me = way.generation, sender.node.me

        def arrive() -> None:
            if way.generation != generation or not way.up:
                return
            if sender.muted and sender.paused_until > self.now and not sender.dead:
                way.last_arrival = max(way.last_arrival, sender.paused_until)
                self.at(sender.paused_until, receiver, arrive)
            else:
                receiver.receive(me, batch)

        way.last_arrival = max(way.last_arrival, self.now + self.delay(receiver))
        self.at(way.last_arrival, receiver, arrive)

    # The story

    def run(self) -> Outcome:
        for _ in range(self.rng.randint(2, 4)):
            self.begin()
        self.faults.plan()
        self._plan_users()
        self._until(lambda: self.now >= self.story.troubled, "the faults")
        self.faults.cease()
        self.tell(self.processes[0], "sees the end of all faults")
        self._until(self._at_peace, "those who wait")
        self._invite()
        self._until(self._at_peace, "those who should get in together")
        self._until(self._nothing_remembered, "what is remembered")
        return self._outcome()

    def _until(self, reached: Callable[[], bool], what: str) -> None:
        limit = self.now + 60.0
        while not reached():
            if self.now > limit:
                raise Misrule(f"{what}: no end. {self._situation()}")
            for _ in range(10):
                self.step()

    def _invite(self) -> None:
        """As many as may be in at once: no permit is lost, readers do read together."""
        for name, demands in self.names:
            wanted = max(demands)  # a reader, if there are any
            size = wanted.permits or (len(self.staying) if wanted.shared else 1)
            if wanted.algorithm == "kakugawa":  # whose permits may go unused
                size = 1
            party = Party(size)
            for i in range(size):
                process = self.staying[i % len(self.staying)]
                user = User(process, name, wanted, party)
                self.after(0.0, process, partial(process.wait, user))
                process.users[user] = None

    def _at_peace(self) -> bool:
        """Nobody holds or waits or is yet to ask, nor is anything asked for in vain."""
        if any(p.users or p.paused_until >= self.now for p in self.processes):
            return False
        locks = (lock for p in self.processes for lock in p.node.locks.values())
        return not any(slot.asking for lock in locks for slot in lock.slots)

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
        if errors := sum(n.statistics.remote_errors for n in nodes):
            raise Misrule(f"{errors} messages among honest nodes made no sense")
        self.happened["readers together"] = self.witness.together
        self.happened["permits in use together"] = self.witness.permitted
        self.happened["places kept"] = self.places.compared
        self.happened["recalls"] = sum(n.statistics.messages["Recall"] for n in nodes)
        return Outcome(
            seed=self.story.seed,
            grants=self.witness.grants,
            lost=sum(n.statistics.lost for n in nodes),
            views=self.engine.number,
            messages=sum(n.statistics.messages.total() for n in nodes),
            faults=self.faults.struck,
            events=self.events,
            happened=dict(sorted(self.happened.items())),
        )

    def _plan_users(self) -> None:
        pace = self.rng.choice((10.0, 20.0, 40.0))

        def come() -> None:
            if self.now < self.story.troubled:
                process = self.rng.choice(self.staying)
                self.after(0.0, process, process.ask)
                self.after(self.rng.expovariate(pace), None, come)

        self.after(0.01, None, come)
