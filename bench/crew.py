"""Processes that use locks for a measurement, and what they do.

Each connects, gets ready and says so; when all are, they are told when to begin and when
to end, on the clock that the processes of a machine share.  Each says what it found, and
stays until all have: leaving is not measured.
"""

from __future__ import annotations

import asyncio
import multiprocessing
import random
import time
from collections.abc import Awaitable, Callable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AbstractContextManager,
    contextmanager,
)
from itertools import pairwise
from multiprocessing.connection import Connection
from multiprocessing.context import SpawnProcess
from typing import Any, NamedTuple

from bench.rivals import Client, Connect, Lock, Session

PATIENCE = 120.0  # seconds for an answer
TTL = 60.0

NAMES = 64
CHUNK = 0.01  # seconds between two looks at the clock

# For how long a lock is held before it is handed on: the next one is waiting by then.
HOLD = (0.002, 0.004)


class Span(NamedTuple):
    """One stay in a critical section."""

    asked: float
    granted: float
    released: float


class Times(NamedTuple):
    begin: float
    end: float


class Member(NamedTuple):
    """One process of a crew, as it sees itself."""

    client: Client
    number: int
    pipe: Connection

    async def told(self) -> Any:
        """What we are told next; meanwhile the loop is not held up."""
        return await asyncio.get_running_loop().run_in_executor(None, self.pipe.recv)

    async def ready(self) -> Times:
        self.pipe.send("ready")
        times: Times = await self.told()
        await asyncio.sleep(times.begin - time.monotonic())
        return times


Task = Callable[[Member], Awaitable[Any]]


class Crew:
    def __init__(
        self, connect: Connect, address: str, size: int, task: Task, loop: str, ttl: float
    ) -> None:
        self.pipes: list[Connection] = []
        self.processes: list[SpawnProcess] = []
        context = multiprocessing.get_context("spawn")
        for number in range(size):
            ours, theirs = context.Pipe()
            arguments = (theirs, connect, address, ttl, task, number, loop)
            process = context.Process(target=work, args=arguments, daemon=True)
            process.start()
            theirs.close()
            self.pipes.append(ours)
            self.processes.append(process)

    def hear(self, number: int) -> Any:
        if not self.pipes[number].poll(PATIENCE):
            raise RuntimeError(f"process {number} of a crew does not answer")
        said = self.pipes[number].recv()
        if isinstance(said, Exception):
            raise said
        return said

    def hear_all(self) -> list[Any]:
        return [self.hear(number) for number in range(len(self.pipes))]

    def tell(self, number: int, what: Any) -> None:
        self.pipes[number].send(what)

    def tell_all(self, what: Any) -> None:
        for pipe in self.pipes:
            pipe.send(what)

    def run(self, seconds: float) -> list[Any]:
        """One measurement, from the moment at which everybody is ready."""
        self.start(seconds)
        return self.finish()

    def start(self, seconds: float = 0.0) -> None:
        self.hear_all()
        begin = time.monotonic() + 0.05
        self.tell_all(Times(begin, begin + seconds))

    def finish(self) -> list[Any]:
        found = self.hear_all()
        self.tell_all("leave")
        return found

    def end(self) -> None:
        for process in self.processes:
            process.join(PATIENCE if process.exitcode is None else 0)
            if process.exitcode is None:
                process.kill()
                process.join()

    def kill(self) -> None:
        for process in self.processes:
            process.kill()
            process.join()


@contextmanager
def crew(
    connect: Connect, address: str, size: int, task: Task, loop: str, ttl: float = TTL
) -> Iterator[Crew]:
    made = Crew(connect, address, size, task, loop, ttl)
    try:
        yield made
    except BaseException:
        made.kill()
        raise
    made.end()


def work(
    pipe: Connection,
    connect: Connect,
    address: str,
    ttl: float,
    task: Task,
    number: int,
    loop: str,
) -> None:
    async def lifetime() -> None:
        async with entered(connect(address, ttl)) as client:
            member = Member(client, number, pipe)
            pipe.send(await task(member))
            await member.told()

    with asyncio.Runner(loop_factory=loop_factory(loop)) as runner:
        try:
            runner.run(lifetime())
        except Exception as error:
            pipe.send(error)


def loop_factory(name: str) -> Callable[[], asyncio.AbstractEventLoop]:
    if name == "uvloop":
        import uvloop

        return uvloop.new_event_loop
    return asyncio.new_event_loop


class Adapted:
    """To be entered by `async with`, though it blocks; nothing else is in the loop."""

    def __init__(self, blocking: AbstractContextManager[Any]) -> None:
        self.enter, self.exit = blocking.__enter__, blocking.__exit__

    async def __aenter__(self) -> Any:
        return self.enter()

    async def __aexit__(self, *error: Any) -> None:
        self.exit(*error)


def entered(what: Lock | Session) -> AbstractAsyncContextManager[Any]:
    return what if isinstance(what, AbstractAsyncContextManager) else Adapted(what)


# What members of a crew do


async def alone(member: Member) -> float:
    """Grants per second, again and again of one lock that nobody else uses."""
    lock = member.client.lock("alone")
    rounds = 1
    while await use(lock, rounds) < CHUNK:
        rounds *= 2
    _, end = await member.ready()
    grants, began = 0, time.monotonic()
    while time.monotonic() < end:
        await use(lock, rounds)
        grants += rounds
    return grants / (time.monotonic() - began)


async def use(lock: Lock, rounds: int) -> float:
    """Seconds for this many grants: each in the way its users would write it."""
    began = time.monotonic()
    if isinstance(lock, AbstractAsyncContextManager):
        for _ in range(rounds):
            async with lock:
                pass
    else:
        for _ in range(rounds):
            with lock:
                pass
    return time.monotonic() - began


async def contend(member: Member) -> int:
    """Grants of one lock that all of the crew want."""
    lock = entered(member.client.lock("wanted"))
    async with lock:
        pass
    _, end = await member.ready()
    grants = 0
    while time.monotonic() < end:
        async with lock:
            grants += time.monotonic() < end
    return grants


async def roam(member: Member) -> int:
    """Grants of many locks, each chosen at random."""
    locks = [entered(member.client.lock(f"name-{i}")) for i in range(NAMES)]
    for lock in locks:
        async with lock:
            pass
    choose = random.Random(member.number).choice
    _, end = await member.ready()
    grants = 0
    while time.monotonic() < end:
        async with choose(locks):
            grants += time.monotonic() < end
    return grants


async def hand_on(member: Member) -> list[Span]:
    """Take the lock and give it back, as we are told; `alternate` tells us."""
    lock = entered(member.client.lock("handed on"))
    await member.ready()
    spans = []
    while await member.told() == "ask":
        asked = time.monotonic()
        async with lock:
            granted = time.monotonic()
            member.pipe.send("granted")
            await member.told()
            released = time.monotonic()
        spans.append(Span(asked, granted, released))
    return spans


def alternate(two: Crew, seconds: float) -> list[float]:
    """The lock goes to and fro; how long each hand-off took."""
    two.start()
    holder, waiter = 0, 1
    two.tell(holder, "ask")
    two.hear(holder)
    how_long = random.Random(1).uniform
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        two.tell(waiter, "ask")
        time.sleep(how_long(*HOLD))
        two.tell(holder, "release")
        two.hear(waiter)
        holder, waiter = waiter, holder
    two.tell(holder, "release")
    two.tell_all("that is all")
    return hand_offs(two.finish())


def hand_offs(members: list[list[Span]]) -> list[float]:
    """From a release to the return of another's acquire, who had asked before."""
    spans = sorted(
        ((span, who) for who, spans in enumerate(members) for span in spans),
        key=lambda pair: pair[0].granted,
    )
    return [
        after.granted - before.released
        for (before, one), (after, other) in pairwise(spans)
        if one != other and after.asked < before.released
    ]


async def hold(member: Member) -> None:
    """And never let go: we are killed."""
    async with entered(member.client.lock("left behind")):
        member.pipe.send("holding")
        await asyncio.sleep(PATIENCE)


async def inherit(member: Member) -> float:
    """When we got what another held."""
    lock = entered(member.client.lock("left behind"))
    member.pipe.send("here")
    await member.told()
    member.pipe.send("asking")
    async with lock:
        return time.monotonic()
