"""A process with a node, for tests of real processes: it does what it reads.

Commands come on standard input, a JSON object in each line; each is done in a task of its
own, and what there is to say about it goes to standard output, with the command's number.
"""

import asyncio
import json
import os
import sqlite3
import sys
import time
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import peerlock
from peerlock.api.loops import new_event_loop
from peerlock.api.meeting import Reach
from peerlock.api.tasks import Grant, Lock, LockNode

STORE = """
CREATE TABLE store (fence INTEGER NOT NULL, value INTEGER NOT NULL);
INSERT INTO store VALUES (0, 0);
CREATE TABLE written (value INTEGER NOT NULL, fence INTEGER NOT NULL, pid INTEGER NOT NULL);
"""


class Worker:
    def __init__(self, cluster: str, lease: float | None) -> None:
        self.cluster = cluster
        self.lease = lease
        self.node: LockNode
        self.here = asyncio.Lock()
        self.releases: dict[str, asyncio.Event] = {}
        self.stopping = False
        self.tasks: set[asyncio.Task[None]] = set()

    async def main(self) -> None:
        self.node = await self.join()
        say(joined=self.node.host.node.me)
        commands = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(commands), sys.stdin
        )
        while line := await commands.readline():
            task = loop.create_task(self.obey(json.loads(line)))
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)
        await self.node.leave()

    async def join(self) -> LockNode:
        here = self.cluster.startswith("sqlite:")
        reach = Reach() if here else Reach("127.0.0.1:0", insecure=True)
        return await peerlock.join(self.cluster, lease=self.lease, reach=reach)

    async def obey(self, command: dict[str, Any]) -> None:
        number = command.pop("number")
        work: Callable[..., Awaitable[Any]] = getattr(self, f"do_{command.pop('do')}")
        try:
            say(number=number, done=await work(number, **command))
        except (peerlock.Lost, peerlock.Timeout, peerlock.WouldBlock) as error:
            say(number=number, error=type(error).__name__)
        except Exception as error:
            say(number=number, error=repr(error), failed=True)

    def lock(self, name: str, algorithm: str | None, permits: int) -> Lock:
        if permits:
            return self.node.semaphore(name, permits, algorithm=algorithm)
        return self.node.lock(name, algorithm=algorithm)

    # What it can do

    async def do_attempt(self, number: int, name: str) -> None:
        (await self.node.lock(name).try_acquire()).release()

    async def do_hold(self, number: int, name: str, shared: bool = False) -> None:
        """Until told to release it; or until it is lost."""
        self.releases[name] = asyncio.Event()
        say(number=number, asked=True)
        async with self.node.lock(name, shared=shared, cancel_on_loss=True) as grant:
            say(number=number, holding=grant.fence, at=time.monotonic())
            await self.releases[name].wait()

    async def do_release(self, number: int, name: str) -> None:
        self.releases[name].set()

    async def do_rejoin(self, number: int) -> None:
        async with self.here:
            await self.node.leave()
            self.node = await self.join()

    async def do_count(
        self,
        number: int,
        name: str,
        folder: str,
        rounds: int,
        algorithm: str | None = None,
        permits: int = 0,
    ) -> dict[str, Any]:
        """Add one to a number in a file, not atomically; and see who else is inside."""
        lock, counter = self.lock(name, algorithm, permits), Path(folder, "counter")
        inside, mine = Path(folder, "inside"), Path(folder, "inside", str(os.getpid()))
        entries, most = [], 0
        for _ in range(rounds):
            async with lock as grant:
                mine.touch()
                value = 0 if permits else int(counter.read_text())
                await asyncio.sleep(0.002 if permits else 0)
                most = max(most, sum(1 for _ in inside.iterdir()))
                if not permits:
                    counter.write_text(str(value + 1))
                mine.unlink()
                entries.append((value, grant.fence))
        return {"entries": entries, "most": most}

    async def do_write(
        self, number: int, name: str, store: str, rounds: int = 0, pause: float = 0.002
    ) -> dict[str, int]:
        """Write to a store that knows fences, so often, or until told to stop."""
        self.stopping = False
        written = lost = 0
        db = sqlite3.connect(store, timeout=30)
        try:
            while not self.stopping and (written < rounds or not rounds):
                async with self.here:  # and not between two clusters
                    lock = self.node.lock(name)
                with suppress(peerlock.Lost, peerlock.ClusterError):
                    async with lock as grant:
                        if await self.fenced_write(db, grant, pause):
                            written += 1
                        else:
                            lost += 1
                            await must_be_lost(grant)
        finally:
            db.close()
        return {"written": written, "lost": lost}

    async def fenced_write(
        self, db: sqlite3.Connection, grant: Grant, pause: float
    ) -> bool:
        """Read, think, write: the store refuses it if a later holder was there before."""
        with db:
            raised = "UPDATE store SET fence = ? WHERE fence < ?"
            if not db.execute(raised, (grant.fence, grant.fence)).rowcount:
                return False
            (value,) = db.execute("SELECT value FROM store").fetchone()
        await asyncio.sleep(pause)
        with db:
            change = "UPDATE store SET value = ? WHERE fence = ?"
            if not db.execute(change, (value + 1, grant.fence)).rowcount:
                return False
            row = (value + 1, grant.fence, os.getpid())
            db.execute("INSERT INTO written VALUES (?, ?, ?)", row)
        return True

    async def do_stop(self, number: int) -> None:
        self.stopping = True


async def must_be_lost(grant: Grant) -> None:
    """Whose write is refused has lost his lock, and is told so; else two were in."""
    async with asyncio.timeout(10):
        assert await grant.lost


def say(**what: Any) -> None:
    print(json.dumps(what), flush=True)


if __name__ == "__main__":
    cluster, lease = sys.argv[1], float(sys.argv[2])
    with asyncio.Runner(loop_factory=new_event_loop) as runner:
        runner.run(Worker(cluster, lease or None).main())
