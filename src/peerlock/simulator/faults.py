"""What goes wrong in a cluster of whole nodes, drawn from the run's seed.

Faults strike now and then, and some are aimed: at the moment when the nodes recover from
the one before, and at the first member, who then has a part of its own to play.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from peerlock.simulator.cluster import Cluster, Process

LEASE = 3.0  # virtual seconds

Kinds = tuple[Callable[[], None], ...]


class Faults:
    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.rng = cluster.rng
        self.struck = 0
        self.between = self.rng.choice((0.2, 1.0, 3.0))
        self.aimed = self.rng.choice((0, 4, 12))  # how many may strike during recovery
        self.kinds: Kinds = (
            self.crash,
            self.join,
            self.leave,
            self.slow,
            self.stall,
            self.pause,
            self.sever,
            self.sever,
        )
        self.aimed_kinds: Kinds = (
            self.behead,
            self.crash,
            self.join,
            self.pause,
            self.sever,
        )

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

    def while_they_recover(self, again: bool) -> None:
        """A node has seen a new view; `again` if it was recovering from another one."""
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

    def cease(self) -> None:
        for process in self.cluster.processes:
            process.slowness = process.disk = 0.0

    # What

    def crash(self) -> None:
        if len(self.cluster.staying) > 1:
            self._kill(self.rng.choice(self.cluster.processes), "crash")

    def behead(self) -> None:
        """The first member dies, if possible before it has said that all are ready."""
        first = next(iter(self.cluster.engine.members.values()), None)
        if first and not first.dead and len(self.cluster.staying) > 1:
            waited_for = not first.node.running
            self._kill(first, "first member's end in recovery" if waited_for else "crash")

    def _kill(self, process: Process, kind: str) -> None:
        self._tell(process, "is killed", kind)
        for user in list(process.users):
            user.over()
        self.cluster.kill(process)
        if self.rng.random() < 0.7:
            self.cluster.after(self.rng.random(), None, self.join)

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
        self._tell(process, f"is slower by {process.slowness}", "slow")

    def stall(self) -> None:
        """Its disk, or its way to the engine, is slow: up to beyond a lease."""
        process = self.rng.choice(self.cluster.processes)
        process.disk = self.rng.choice((0.0, 1.0, 2.0, LEASE, 1.5 * LEASE))
        self._tell(process, f"waits for the engine for up to {process.disk}", "stall")

    def engine_delay(self, process: Process) -> float:
        """For how long a question to the engine, or its answer, is under way."""
        delay = self.cluster.delay()
        if process.disk and self.rng.random() < 0.5:
            delay += process.disk * self.rng.random()
        return delay

    def pause(self) -> None:
        process = self.rng.choice(self.cluster.processes)
        if process.paused_until > self.cluster.now:
            return
        usual = self.rng.choice((0.05, 0.5, LEASE, 1.5 * LEASE))
        pause = usual * self.rng.uniform(0.8, 1.2)
        process.paused_until = self.cluster.now + pause
        process.muted = self.rng.random() < 0.5
        self._tell(process, f"stands still for {pause:.3f}", "pause")

    def sever(self) -> None:
        """A connection breaks, what is under way in it is lost, another may take time."""
        process = self.rng.choice(self.cluster.processes)
        up = [(m, way) for m, way in process.ways.items() if way.up]
        if up:
            member, way = self.rng.choice(up)
            way.generation += 1
            way.blocked_until = self.cluster.now + self.rng.choice((0.0, 0.0, 0.5))
            broken = partial(process.broken, member, way, way.generation)
            self.cluster.after(self.cluster.delay(), process, broken)
            self._tell(process, f"loses its connection to {member}", "sever")

    def _tell(self, process: Process, what: str, kind: str) -> None:
        self.cluster.happened[kind] += 1
        self.cluster.tell(process, what)
