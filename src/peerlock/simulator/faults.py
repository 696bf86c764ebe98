"""What goes wrong in a cluster of whole nodes, drawn from the run's seed.

Faults come at random times, and some are aimed: at the moment when the nodes recover from
the previous one, and at the first member, which then has a special role.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from math import inf
from typing import TYPE_CHECKING, Any

from peerlock.node.presence import POLL
from peerlock.node.views import Member, MemberId, View
from peerlock.node.wire import Batch
from peerlock.simulator.witness import Misrule

if TYPE_CHECKING:
    from peerlock.simulator.cluster import Cluster
    from peerlock.simulator.process import Process, Route

LEASE = 3.0  # virtual seconds


class Stumble(Exception):
    """A step fails in the middle, as by an internal error or by Ctrl-C."""


Kinds = tuple[Callable[[], None], ...]


class Faults:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.rng = cluster.rng
        self.struck = 0
        self.disturbed_until = 0.0  # messages took longer, or were lost
        self.haunted_until = 0.0  # a dead process was still a member
        self.unaware_until = 0.0  # a process could not learn of a new view
        self.between = self.rng.choice((0.2, 1.0, 3.0))
        self.aimed = self.rng.choice((0, 4, 12))  # how many faults may come during recovery
        self.kinds: Kinds = (
            self.crash,
            self.join,
            self.leave,
            self.slow,
            self.stall,
            self.refuse,
            self.pause,
            self.suspend,
            self.stop_clocks,
            self.stumble,
            self.sever,
            self.sever,
            self.lag,
            self.lose,
        )
        self.aimed_kinds: Kinds = (
            self.behead,
            self.crash,
            self.join,
            self.pause,
            self.stumble,
            self.sever,
            self.lose,
        )
        if self.rng.random() < 0.2:  # members come and go, and messages are quick
            self.kinds = (self.crash, self.join, self.join, self.leave)
            self.aimed_kinds = (self.behead, self.crash, self.join)

    # When

    def plan(self) -> None:
        self.cluster.after(self.rng.random(), None, self._now_and_then)

    def _now_and_then(self) -> None:
        if not self.over:
            self._strike(self.kinds)
            if self.rng.random() < 0.3:  # one more at the same time
                self._strike(self.kinds)
            wait = self.rng.expovariate(1.0 / self.between)
            self.cluster.after(wait, None, self._now_and_then)

    def while_they_recover(self, before: View, again: bool) -> None:
        """A node has seen a new view; `again` if it was recovering from another one."""
        if self._is_haunted(before):
            self.haunted_until = self.cluster.now
        if again:
            self.cluster.happened["view during recovery"] += 1
        if self.aimed and not self.over and self.rng.random() < 0.3:
            self.aimed -= 1
            strike = partial(self._strike, self.aimed_kinds)
            self.cluster.after(self.cluster.delay(), None, strike)

    def _strike(self, kinds: Kinds) -> None:
        self.struck += 1
        self.rng.choice(kinds)()

    @property
    def over(self) -> bool:
        return self.cluster.now >= self.cluster.story.troubled - 1.0

    def calm_since(self) -> float:
        """Since when messages and processes have been as quick as usual; inf: they are
        not."""
        disturbed = any(
            process.slowness
            or process.out_of_reach
            or not {"tick", "receive", "turn"}.isdisjoint(process.node.__dict__)
            or any(way.lag or way.loses or way.lossy for way in process.ways.values())
            for process in self.cluster.processes
        )
        return inf if disturbed else self.disturbed_until

    def whole_since(self) -> float:
        """Since when, in calm, all processes could see new views, and none has considered
        one a member that is dead, or out after a failed step; inf: one does."""
        views = [p.node.view for p in self.cluster.processes if p.node.member]
        haunted = any(map(self._is_haunted, views))
        if haunted:
            return inf
        return max(self.haunted_until, self.unaware_until, self.calm_since())

    def _is_haunted(self, view: View) -> bool:
        return not all(map(self._is_in, view.members))

    def _is_in(self, member: Member) -> bool:
        process = self.cluster.everyone[member.id]
        node = process.node
        return not process.dead and node.member and node.me == member.id

    def disturb(self, *until: float) -> None:
        self.disturbed_until = max(self.disturbed_until, self.cluster.now, *until)

    def cease(self) -> None:
        for process in self.cluster.processes:
            self.disturb(*(way.last_arrival for way in process.ways.values()))
            process.slowness = process.disk = process.refused_until = 0.0
            process.blocked.clear()
            for way in process.ways.values():
                way.lag, way.loses = 0.0, False

    # What

    def crash(self) -> None:
        if len(self.cluster.staying) > 1:
            self._kill(self.rng.choice(self.cluster.processes), "crash")

    def behead(self) -> None:
        """The first member dies, if possible while it forms a circle or takes over."""
        first = self.cluster.engine.first
        if first and not first.dead and len(self.cluster.staying) > 1:
            waited_for = bool(first.node.awaited)
            self._kill(first, "first member's end in recovery" if waited_for else "crash")

    def _kill(self, process: Process, kind: str) -> None:
        self._disturb_if_slow(process)
        self._tell(process, "is killed", kind)
        for user in list(process.users):
            user.over()
        self.cluster.kill(process)
        if self.rng.random() < 0.7:
            self.cluster.after(self.rng.random(), None, self.join)

    def _disturb_if_slow(self, process: Process) -> None:
        """Messages that it has sent may arrive late."""
        ways = process.ways.values()
        if process.slowness or any(way.lag for way in ways):
            self.disturb(*(way.last_arrival for way in ways))

    def join(self) -> None:
        if len(self.cluster.processes) < self.cluster.story.most:
            self._tell(self.cluster.begin(), "is started", "join")

    def leave(self) -> None:
        if len(self.cluster.staying) > 1:
            process = self.rng.choice(self.cluster.staying)
            process.leaving = True
            self._tell(process, "leaves", "leave")
            self.cluster.after(0.0, process, process.leave)

    def slow(self) -> None:
        process = self.rng.choice(self.cluster.processes)
        process.slowness = self.rng.choice((0.0, 0.01, 0.3))
        self.disturb(self.cluster.now + 0.3)
        self._tell(process, f"is slower by {process.slowness}", "slow")

    def stall(self) -> None:
        """Its disk, or its connection to the engine, is slow: up to more than a lease."""
        process = self.rng.choice(self.cluster.processes)
        process.disk = self.rng.choice((0.0, 1.0, 2.0, LEASE, 1.5 * LEASE))
        self._tell(process, f"waits for the engine for up to {process.disk}", "stall")

    def engine_delay(self, process: Process) -> float:
        """For how long a question to the engine, or its answer, is under way."""
        delay = self.cluster.delay()
        if process.disk and self.rng.random() < 0.5:
            delay += process.disk * self.rng.random()
            self._cannot_see_until(self.cluster.now + delay)
        return delay

    def refuse(self) -> None:
        """The engine answers with errors, perhaps after it has done what was asked."""
        process = self.rng.choice(self.cluster.processes)
        for_long = self.rng.choice((0.5, LEASE, 1.5 * LEASE))
        process.refused_until = self.cluster.now + for_long
        self._cannot_see_until(process.refused_until + POLL)
        self._tell(process, "gets errors from the engine", "refuse")

    def _cannot_see_until(self, until: float) -> None:
        """A process may learn of a new view only then."""
        self.unaware_until = max(self.unaware_until, until)

    # Standing still

    def pause(self) -> None:
        """As by SIGSTOP: the clocks run on, and timers that were due fire at the end."""
        if process := self._one_that_runs():
            pause = self._stop(process)
            process.muted = self.rng.random() < 0.5
            self._tell(process, f"stands still for {pause:.3f}", "pause")

    def suspend(self) -> None:
        """The lease clock runs on; timers count on another clock, and fire late."""
        if process := self._one_that_runs():
            pause = self._stop(process)
            process.muted = True
            process.delay_timers(pause)
            self._tell(process, f"is suspended for {pause:.3f}", "suspend")

    def stop_clocks(self) -> None:
        """Its virtual machine is paused; later, its wall clock is corrected.

        It cannot know before that, and then has a tick to notice it.
        """
        if not self.cluster.between_machines or not (process := self._one_that_runs()):
            return
        pause = self._stop(process)
        process.muted = True
        process.delay_timers(pause)
        process.stood_still += pause
        corrected = process.paused_until + self.rng.random()
        self.cluster.at(corrected, None, partial(self._correct, process, pause))
        self._blind(process, corrected)
        self._tell(process, f"has clocks that stand still for {pause:.3f}", "stop clocks")

    def _blind(self, process: Process, until: float) -> None:
        """And for a tick more."""
        process.blind_until = max(process.blind_until, until + LEASE / 5 / process.rate)
        process.blind_until += 0.001
        self.cluster.at(process.blind_until, None, partial(self._must_know, process))

    def _correct(self, process: Process, by: float) -> None:
        process.corrected += by

    def _must_know(self, process: Process, rested: bool = False) -> None:
        """If it believes that it has a lease, so does the engine."""
        now, node = self.cluster.now, process.node
        if process.dead or process.paused_until > now or process.blind or not node.member:
            return
        if process.presence.resting and not rested:  # its ticks are twice as far apart
            again = partial(self._must_know, process, rested=True)
            self.cluster.at(now + LEASE / 5 / process.rate, None, again)
            return
        ends = self.cluster.engine.table.deadlines.get(node.me, 0.0)
        if now < process.when(node.deadline) > ends:
            raise Misrule(f"{process.name} believes in a lease that is over")

    def _one_that_runs(self) -> Process | None:
        process = self.rng.choice(self.cluster.processes)
        return process if process.paused_until <= self.cluster.now else None

    def _stop(self, process: Process) -> float:
        usual = self.rng.choice((0.05, 0.5, LEASE, 1.5 * LEASE))
        pause = usual * self.rng.uniform(0.8, 1.2)
        process.paused_until = self.cluster.now + pause
        self.disturb(process.paused_until, process.paused_until + pause)  # late timers
        if process.blind:
            self._blind(process, process.paused_until + LEASE / 5 / process.rate)
        return pause

    def stumble(self) -> None:
        """One of its next steps fails, before or after it has done its part."""
        process = self.rng.choice(self.cluster.processes)
        name = self.rng.choice(("tick", "receive", "turn"))
        half = self.rng.random() < 0.5
        step = getattr(process.node, name)

        def fail(*arguments: Any) -> None:
            self.disturb()
            process.node.__dict__.pop(name, None)
            if half:
                step(*arguments)
            raise Stumble(name)

        if name not in process.node.__dict__:
            setattr(process.node, name, fail)
            self._tell(process, f"will fail in {name}", "stumble")

    # Connections

    def sever(self) -> None:
        """A connection breaks; what is under way in it is lost, or still arrives.

        A new connection may take time.
        """
        if found := self._some_way():
            process, member, way = found
            way.cut = self.rng.random() < 0.5
            blocked_until = self.cluster.now + self.rng.choice((0.0, 0.0, 0.5))
            process.blocked[way.receiver] = blocked_until
            self.disturb(blocked_until, way.last_arrival)
            broken = partial(process.broken, member, way)
            self.cluster.after(self.cluster.delay(), process, broken)
            self.cluster.notice_end(way)
            self._tell(process, f"loses its connection to {member}", "sever")

    def lag(self) -> None:
        """Messages over this connection take long, while other members see new views."""
        if found := self._some_way():
            process, member, way = found
            way.lag = self.rng.choice((0.3, 2.0, 6.0))
            self._tell(process, f"reaches {member} {way.lag} later", "lag")

    def lose(self) -> None:
        """A batch is lost although its connection lives."""
        if found := self._some_way():
            process, member, way = found
            way.loses = True
            self._tell(process, f"loses a batch to {member}", "lose")

    def loses(self, way: Route, batch: Batch) -> bool:
        """Early messages are kept, and handled when no member can end the connection."""
        if not way.loses or not way.receiver.node.member:
            return False
        way.loses, way.lossy = False, True
        self.disturb()
        return True

    def _some_way(self) -> tuple[Process, MemberId, Route] | None:
        process = self.rng.choice(self.cluster.processes)
        ways = list(process.ways.items())
        return (process, *self.rng.choice(ways)) if ways else None

    def _tell(self, process: Process, what: str, kind: str) -> None:
        self.cluster.happened[kind] += 1
        self.cluster.tell(process, what)
