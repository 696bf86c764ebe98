"""Whole lock nodes in virtual time, with faults drawn from a seed.

The same node and presence that run in real processes run here, hosted by a simulated
process (`simulator/process.py`): it may crash, be started again, join, leave, be slow,
stand still for longer than its lease, fail in the middle of a step, and its connections may
break, lag or lose what was under way (`simulator/faults.py`).  The members are kept in the
register that real engines keep, behind the delays and errors of a real one.  Users come and
go, wait, give up, hold, release and come back (`simulator/users.py`).

Some runs are on one machine, where a death is known at once and there is one clock.  Others
are between machines: a death is known when the lease is over, clocks may run at different
rates or stop, and the engine may report changes by itself.

The faults come first.  After they end, every waiter must acquire its lock, and the users
finish.  Then as many users as each name allows must hold it together, and after a while no
state may be left.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from heapq import heappop, heappush
from math import inf
from random import Random
from typing import Any

from peerlock.algorithms.index import INDEX
from peerlock.node.knobs import Knobs
from peerlock.node.node import Node
from peerlock.node.presence import Join, Leave, Question, Renew, Reserve, margin
from peerlock.node.register import Table
from peerlock.node.terms import Demand, demand
from peerlock.node.views import Member, MemberId, View
from peerlock.simulator.faults import LEASE, Faults
from peerlock.simulator.places import Places
from peerlock.simulator.process import Answer, Process, Route
from peerlock.simulator.users import Party, SimulatedUser
from peerlock.simulator.witness import Misrule, Witness

# Virtual seconds.
STEP = 0.0005  # a message, a transaction: half a millisecond, more or less
REMEMBER = 5.0

# In some runs clocks run at different rates, which reduces the margin.
SKEW = 0.05
SKEWED_MARGIN = LEASE - (LEASE - margin(LEASE)) / (1 - SKEW)
HOLD = 0.005
LONG_HOLD = 1.0  # of some users, so that views change and leases end while they hold

EXCLUSIVE = tuple(a.name for a in INDEX.values() if "lock" in a.serves)
SEMAPHORES = tuple(a.name for a in INDEX.values() if "semaphore" in a.serves)
MISTAKES = (demand("central"), demand("", 2), demand("kakugawa", 5), demand(shared=True))


@dataclass(frozen=True)
class ClusterStory:
    """Everything that a run depends on."""

    seed: int
    troubled: float = 8.0  # for how long there are faults
    most: int = 6  # processes at once, at most


@dataclass(frozen=True)
class StoryOutcome:
    seed: int
    grants: int
    lost: int
    views: int
    messages: int
    faults: int
    events: int
    happened: dict[str, int]  # faults by kind, and what they led to


class SimulatedEngine:
    """The members of the cluster: the register of the real engines, in one place.

    Its clock is the virtual time.  A renewal is answered with the lease's length alone,
    counted from the answer; the process itself counts from its request.
    """

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.table = Table()

    @property
    def first(self) -> Process | None:
        members = self.table.view.members
        return self.cluster.everyone[members[0].id] if members else None

    def answer(self, process: Process, question: Question) -> Answer:
        """Decide now; the answer is called when it has arrived."""
        before = self.table.view.number
        answer = self._decide(process, question)
        if self.table.view.number > before:
            self._tell_watchers(self.table.view)
        return answer

    def _decide(self, process: Process, question: Question) -> Answer:
        table, presence = self.table, process.presence
        match question:
            case Join(address, beyond):
                me = self._join(process, address, beyond)
                ends = process.clock() + LEASE
                return partial(self._joined, process, table.view, me, ends)
            case Renew(me, _):
                ends, changed = self._renew(me)
                in_it = ends > -inf
                return partial(self._renewed, process, table.view, in_it, changed)
            case Reserve():
                return partial(presence.reserved, table.reserve())
            case Leave(me):
                table.leave(me)
                return partial(presence.left, table.view)

    def _renewed(self, process: Process, view: View, in_it: bool, changed: bool) -> None:
        ends = process.clock() + LEASE if in_it else -inf
        process.presence.renewed(view, ends, changed)

    def _join(self, process: Process, address: str, beyond: int) -> MemberId:
        self._renew(0)  # removes dead members
        ends, former = self.cluster.now + LEASE, process.former
        me = self.table.join(address, 0, ends, beyond, former)
        self.cluster.everyone[me] = process
        self.cluster.tell(process, f"joins as {me} in view {self.table.view.number}")
        return me

    def _joined(self, process: Process, view: View, me: MemberId, ends: float) -> None:
        """A lost answer leaves a member without a process, until its lease ends."""
        process.former = me
        process.presence.joined(view, me, ends, LEASE)

    def _renew(self, me: MemberId) -> tuple[float, bool]:
        now = self.cluster.now
        return self.table.renew(me, now + LEASE, now, self._is_dead)

    def _is_dead(self, member: Member) -> bool:
        """Between machines this is not known."""
        return not self.cluster.between_machines and self.cluster.everyone[member.id].dead

    def _tell_watchers(self, view: View) -> None:
        for member in view.members[: self.cluster.watchers]:
            process = self.cluster.everyone[member.id]
            heard = partial(process.heard, view)
            self.cluster.after(self.cluster.faults.engine_delay(process), process, heard)


class Cluster:
    def __init__(
        self, story: ClusterStory, log: Callable[[str], None] | None = None
    ) -> None:
        self.story = story
        self.rng = Random(story.seed)
        self._clocks = Random(f"clocks {story.seed}")
        self.between_machines = self._clocks.random() < 0.5
        watching = self.between_machines and self._clocks.random() < 0.5
        # The first members are notified of changes, sometimes fewer than there are elders.
        self.watchers = self._clocks.choice((1, 2, 8)) if watching else 0
        # Clocks run at different rates.
        self.skewed = self.between_machines and self._clocks.random() < 0.5
        self.splits = self._clocks.random() < 0.3  # a batch becomes several frames
        self.members_per_elder = self._clocks.choice((1, 1, 2, 8))
        self.now = 0.0
        self.events = 0
        self.happened: Counter[str] = Counter()
        self.faults = Faults(self)
        notice = SKEWED_MARGIN if self.skewed else margin(LEASE)
        self.witness = Witness(lambda: self.now, notice)
        self.places = Places(
            lambda: self.now, self.faults.calm_since, self.faults.whole_since
        )
        self.engine = SimulatedEngine(self)
        self.knobs = Knobs(
            hand_overs=self.rng.choice((1, 2, 64)),
            hand_over_time=self.rng.choice((0.0, 0.001, 0.02)),
            remember=REMEMBER,
            remembered=self.rng.choice((2, 1000)),
        )
        self.names = self._names()
        self.devotion = self.rng.choice(
            (0.0, 0.1, 0.5)
        )  # the share of users that come back at once
        self.everyone: dict[MemberId, Process] = {}
        self.processes: list[Process] = []
        self._log = log
        self._started = 0
        self._heap: list[tuple[float, int, Process | None, Callable[[], Any]]] = []
        self._pushed = 0
        self._nodes_before: list[Node] = []

    def _names(self) -> list[tuple[str, tuple[Demand, ...]]]:
        """The demands of the users: a few names, each used as one kind of lock."""
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
        if self.rng.random() < 0.01:  # one user demands other terms for a name
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
            action()
            if not process.dead:
                process.settle()

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
        for way in process.ways.values():
            self.notice_end(way)
        for other in self.processes:
            for member, way in other.ways.items():
                if way.receiver is process:
                    self.after(self.delay(), other, partial(other.broken, member, way))

    def end(self, way: Route) -> None:
        """The receiver closes it; what is under way in it is lost."""
        way.cut = True
        sender, receiver = self.everyone[way.me], way.receiver
        for member, theirs in sender.ways.items():
            if theirs is way:
                self.after(self.delay(), sender, partial(sender.broken, member, way))
        self.after(self.delay(), receiver, partial(receiver.presence.suspect, way.me))

    def notice_end(self, way: Route) -> None:
        """The sender has closed it, or is dead: after all that is under way in it."""
        receiver = way.receiver
        suspect = partial(receiver.presence.suspect, way.me)
        self.at(max(way.last_arrival, self.now + self.delay()), receiver, suspect)

    # The run

    def run(self) -> StoryOutcome:
        for _ in range(self.rng.randint(2, 4)):
            self.begin()
        self.faults.plan()
        self._plan_users()
        self._until(lambda: self.now >= self.story.troubled, "the faults")
        self.faults.cease()
        self.tell(self.processes[0], "sees the end of all faults")
        self._until(self._at_peace, "the waiters")
        self._invite()
        self._until(self._at_peace, "those that should get in together")
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
        """As many holders as allowed: no permit is lost, and readers share."""
        for name, demands in self.names:
            wanted = max(demands)  # a reader, if there are any
            size = wanted.permits or (len(self.staying) if wanted.shared else 1)
            party = Party(size)
            for i in range(size):
                process = self.staying[i % len(self.staying)]
                user = SimulatedUser(process, name, wanted, party)
                self.after(0.0, process, partial(process.wait, user))
                process.users[user] = None

    def _at_peace(self) -> bool:
        """No user holds, waits or is yet to ask, and no request is left over."""
        if any(p.users or p.paused_until >= self.now or p.blind for p in self.processes):
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

    def _outcome(self) -> StoryOutcome:
        nodes = [*self._nodes_before, *(p.node for p in self.processes)]
        if errors := sum(n.statistics.remote_errors for n in nodes):
            raise Misrule(f"{errors} messages among honest nodes were invalid")
        self.happened["readers together"] = self.witness.together
        self.happened["permits in use together"] = self.witness.permitted
        self.happened["places kept"] = self.places.compared
        return StoryOutcome(
            seed=self.story.seed,
            grants=self.witness.grants,
            lost=sum(n.statistics.lost for n in nodes),
            views=self.engine.table.view.number,
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
