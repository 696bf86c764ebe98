"""Takes locks again and again, and writes down what happens: python -m tests.chaos.worker.

What it is to do comes as JSON in its first argument.  It does it until its standard input
ends; then everybody here who still waits is let in once more, and it leaves.

What it writes down is true whenever it is killed: a grant from the moment it was let in, an
end from before the release.  Times are CLOCK_MONOTONIC, which all processes share.
"""

import asyncio
import json
import os
import sys
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import partial
from random import Random
from typing import Any

import peerlock
from peerlock.api.loops import new_event_loop
from peerlock.api.tasks import Grant, Lock, LockNode
from peerlock.node.node import Node
from tests.chaos.store import Client

PATIENCE = 60.0
LOOK = 0.05  # seconds between two looks whether our loop was held up
STALL = 0.1


@dataclass(frozen=True)
class Use:
    """Of a name: how, and for how long on average."""

    name: str
    algorithm: str = ""
    permits: int = 0
    readers: float = 0.0  # this share of all entries is shared
    hold: float = 0.005
    think: float = 0.4


@dataclass(frozen=True)
class Task:
    who: str
    cluster: str
    certificates: str
    lease: float
    store: str
    history: str
    seed: int
    uses: tuple[Use, ...]

    def dump(self) -> str:
        return json.dumps(asdict(self))

    @classmethod
    def load(cls, text: str) -> "Task":
        told = json.loads(text)
        return cls(**{**told, "uses": tuple(Use(**use) for use in told["uses"])})


class Worker:
    def __init__(self, task: Task) -> None:
        self.task = task
        self.random = Random(task.seed)
        flags = os.O_WRONLY | os.O_CREAT | os.O_APPEND
        self._history = os.open(task.history, flags, 0o644)
        self._stopping = asyncio.Event()
        self.node: LockNode

    def note(self, what: str, *more: Any, at: float | None = None) -> None:
        line = [what, time.monotonic() if at is None else at, *more]
        os.write(self._history, json.dumps(line).encode() + b"\n")

    async def main(self) -> None:
        self.note("start", os.getpid())
        await self._join()
        loop = asyncio.get_running_loop()
        commands = asyncio.StreamReader()
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(commands), sys.stdin
        )
        watch = loop.create_task(self._watch_ourselves())
        users = [loop.create_task(self._use(i)) for i in range(len(self.task.uses))]
        ended = loop.create_task(commands.read())
        await asyncio.wait([ended, *users], return_when=asyncio.FIRST_COMPLETED)
        self._stopping.set()
        await asyncio.wait_for(asyncio.gather(*users), 2 * PATIENCE)
        watch.cancel()
        counts = self.node.host.node.statistics
        self.note("leave", counts.remote_errors, self.node.host.door.strangers)
        await self.node.leave()
        self.note("end")

    async def _join(self) -> None:
        """When etcd can be reached; and until we are to stop trying."""
        reach = peerlock.Reach(certificates=self.task.certificates)
        while True:
            node = peerlock.join(self.task.cluster, lease=self.task.lease, reach=reach)
            self._note_leases(node.host.node)
            try:
                self.node = await node
                break
            except peerlock.ClusterError as error:
                self.note("outside", str(error))
                await asyncio.sleep(0.2)
        self.note("joined", self.node.host.engine.lease)

    def _note_leases(self, node: Node) -> None:
        """Before the node grants anything under them, in whichever thread."""

        def noted(deadline: float) -> None:
            self.note("lease", deadline)
            renewed(deadline)

        renewed = node.renewed
        node.renewed = noted  # type: ignore[method-assign]

    async def _watch_ourselves(self) -> None:
        """A process that is late because the machine is busy is not to blame for it."""
        node, seen = self.node.host.node, (0, False, False)
        while True:
            if (now := (node.view.number, node.member, node.running)) != seen:
                seen = now
                self.note("view", *now, [member.id for member in node.view.members])
            before = time.monotonic()
            await asyncio.sleep(LOOK)
            late = time.monotonic() - before - LOOK
            if late > STALL:
                self.note("stall", late)

    # Using a name

    async def _use(self, number: int) -> None:
        use = self.task.uses[number]
        store = await Client.to(self.task.store, self.task.who)
        await asyncio.sleep(self.random.uniform(0, use.think))
        while not self._stopping.is_set():
            shared = self.random.random() < use.readers
            lock = self._lock(use, shared)
            self.note("ask", number, use.name)
            grant = await self._enter(lock, number)
            if grant is not None:
                kind = "shared" if shared else "exclusive"
                kind = f"permit {use.permits}" if use.permits else kind
                self.note(
                    "grant", number, use.name, grant.fence, kind, at=grant._user.since
                )
                grant.lost.add_done_callback(partial(self._told, grant))
                await self._inside(use, grant, kind, store)
                self._leave(grant)
            await self._pause(self.random.expovariate(1 / use.think))

    def _lock(self, use: Use, shared: bool) -> Lock:
        algorithm = use.algorithm or None
        if use.permits:
            return self.node.semaphore(use.name, use.permits, algorithm=algorithm)
        return self.node.lock(use.name, shared=shared, algorithm=algorithm)

    async def _enter(self, lock: Lock, number: int) -> Grant | None:
        try:
            return await lock.acquire()
        except peerlock.Lost:
            self.note("not in", number, lock.name)
            return None

    async def _inside(self, use: Use, grant: Grant, kind: str, store: Client) -> None:
        """Read, think, write, as everybody does; but with the fence."""
        name, fence, seconds = use.name, grant.fence, self._how_long(use)
        if kind == "shared":
            await store.ask("look", name, fence)
            await self._hold(grant, seconds)
        elif kind == "exclusive":
            value = await store.ask("read", name, fence)
            await self._hold(grant, seconds)
            if value is not None:
                value = await store.ask("write", name, fence, value + 1)
            if value is None:
                await self._must_be_lost(name, grant)
        else:
            await self._hold(grant, seconds)

    def _how_long(self, use: Use) -> float:
        """Mostly short, now and then long enough for something to happen meanwhile."""
        long = 20 if self.random.random() < 0.03 else 1
        return min(10.0, self.random.expovariate(1 / use.hold) * long)

    async def _hold(self, grant: Grant, seconds: float) -> None:
        """Those who are told stop; but some do not listen, and write all the same."""
        if self.random.random() < 0.5:
            stopping: asyncio.Future[bool] = asyncio.ensure_future(self._stopping.wait())
            first = asyncio.FIRST_COMPLETED
            await asyncio.wait({grant.lost, stopping}, timeout=seconds, return_when=first)
            stopping.cancel()
        else:
            await self._pause(seconds)

    async def _pause(self, seconds: float) -> None:
        with suppress(TimeoutError):
            await asyncio.wait_for(self._stopping.wait(), seconds)

    async def _must_be_lost(self, name: str, grant: Grant) -> None:
        """Whose write is refused has lost the lock, and is told so; else two were in."""
        self.note("refused", name, grant.fence)
        async with asyncio.timeout(PATIENCE):
            assert await grant.lost

    def _leave(self, grant: Grant) -> None:
        if not grant.is_lost:
            self.note("free", grant.name, grant.fence)
        with suppress(peerlock.Lost):
            grant.release()

    def _told(self, grant: Grant, told: asyncio.Future[bool]) -> None:
        if told.result():
            self.note("lost", grant.name, grant.fence)


if __name__ == "__main__":
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(Worker(Task.load(sys.argv[1])).main())
