"""Locks for asyncio.

async with peerlock.join() as node:
    async with node.lock("invoices") as grant:
        await store.write(data, fence=grant.fence)
"""

from __future__ import annotations

import asyncio
from asyncio import current_task
from collections.abc import Generator
from contextlib import suppress
from types import TracebackType
from typing import Any

from peerlock.api.errors import (
    ClusterError,
    Conflict,
    Deadlock,
    Lost,
    NotHeld,
    Timeout,
    WouldBlock,
)
from peerlock.api.forks import belongs_here, mind_forks
from peerlock.api.leaving import Departure, twin
from peerlock.api.meeting import USUAL, Reach, meet
from peerlock.api.names import asked_for, must_have_permits, plain_timeout
from peerlock.api.status import describe
from peerlock.core.peer import Peer
from peerlock.node.knobs import Knobs
from peerlock.node.locks import State, Waiter
from peerlock.node.statistics import Statistics
from peerlock.node.terms import Demand
from peerlock.runtime.host import Host

LEASE = 10.0

# How long who would not wait waits for a lock that seems free before asking again.
PROBE = 0.05


class Grant(Waiter):
    """You hold the lock, until you release it or it is lost."""

    _future: asyncio.Future[None] | None = None
    _lost: asyncio.Future[bool] | None = None
    cancelled = False  # the owner, by us, for it was lost

    def __init__(self, handle: Lock, owner: asyncio.Task[Any] | None) -> None:
        self.demand = handle.demand
        self._handle = handle
        self.owner = owner

    def __repr__(self) -> str:
        return f"<{self.state.value} grant of {self.name!r}, fence {self.fence}>"

    @property
    def name(self) -> str:
        return self._handle.name

    @property
    def lost(self) -> asyncio.Future[bool]:
        """Await it: True as soon as the lock is lost, False when it is released."""
        if self._lost is None or self._lost.cancelled():
            self._lost = asyncio.get_running_loop().create_future()
            if self.state is not State.HOLDING:
                self._lost.set_result(self.is_lost)
        return self._lost

    @property
    def is_lost(self) -> bool:
        """Whether it is, as far as our own clock can tell, too."""
        if self.state is State.HOLDING:
            self._handle.check_lease()
        return self.state is State.LOST

    def release(self) -> None:
        """Give it back.  Lost if it was lost, NotHeld if it was given back before."""
        self._handle.release_grant(self)

    # What the node tells us

    def on_granted(self) -> None:
        future = self._future
        if future is not None and not future.done():
            future.set_result(None)

    def on_refused(self, why: str) -> None:
        self._fail(Conflict(f"{self.name!r}: {why}"))

    def on_probed(self, busy: bool) -> None:
        if busy:
            self._fail(WouldBlock(f"{self.name!r} is held by somebody else"))

    def on_lost(self) -> None:
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(True)
        if self.owner is not None and self._handle.cancel_on_loss:
            self._handle.cancel_owner_of(self, self.owner)

    # What the handle tells us

    def until_settled(self, loop: asyncio.AbstractEventLoop) -> asyncio.Future[None]:
        self._future = loop.create_future()
        return self._future

    def abandon(self) -> None:
        self._fail(ClusterError("the node has left the cluster"))

    def over(self) -> None:
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(False)

    def _fail(self, error: Exception) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_exception(error)


class Lock:
    """A name, and how to ask for it; tasks may share it, and use it again and again."""

    def __init__(
        self,
        node: LockNode,
        name: str,
        demand: Demand,
        timeout: float | None = None,
        cancel_on_loss: bool = False,
    ) -> None:
        self.name = name
        self.demand = demand
        self.timeout = plain_timeout(timeout)
        self.cancel_on_loss = cancel_on_loss
        self._host = node.host
        self._pure = node.host.node
        self._entered: list[Grant] = []  # by `async with`: who got it gives it back
        self._acquired: list[Grant] = []  # otherwise: another task may give it back
        self._twin = twin(self)
        self._node = node  # which is not forgotten as long as somebody has us

    def __repr__(self) -> str:
        kind = "semaphore" if self.demand.permits else "lock"
        return f"<peerlock {kind} {self.name!r}>"

    def locked(self) -> bool:
        """Whether somebody holds it through this very handle."""
        held = self._entered + self._acquired
        return any(grant.state is State.HOLDING for grant in held)

    async def __aenter__(self) -> Grant:
        grant = Grant(self._twin, current_task(self._host.loop))
        if not self._pure.take(self.name, grant):
            await self._wait(grant, self.timeout)
        self._entered.append(grant)
        return grant

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            grant = self._mine(self._entered, self._acquired)
        except NotHeld:
            if error is None:
                raise
            return
        if self._pure.put_back(grant):
            if grant._lost is not None:
                grant.over()
        elif grant.state is State.HOLDING and self._pure.check_lease():
            self._host.step(self._pure.release, grant)
            if grant._lost is not None:
                grant.over()
            self._host.flush_if_needed()
        elif grant.state is State.LOST:
            await self._out_of_a_lost_lock(grant, error)

    async def acquire(self, timeout: float | None = None) -> Grant:
        """Wait for it, `timeout` seconds at most; then Timeout.  0: only if it is free."""
        timeout = self.timeout if timeout is None else plain_timeout(timeout)
        grant = Grant(self._twin, current_task(self._host.loop))
        if not self._pure.take(self.name, grant):
            await self._wait(grant, timeout)
        self._acquired.append(grant)
        return grant

    async def try_acquire(self) -> Grant:
        """Get it if nobody else holds it or waits for it; WouldBlock otherwise."""
        grant = Grant(self._twin, current_task(self._host.loop))
        if not self._pure.take(self.name, grant):
            await self._wait(grant, None, probe=True)
        self._acquired.append(grant)
        return grant

    def release(self) -> None:
        """Give back what this task got by `acquire`."""
        self._give_back(self._mine(self._acquired, self._entered))

    # For grants

    def release_grant(self, grant: Grant) -> None:
        for held in (self._acquired, self._entered):
            if grant in held:
                held.remove(grant)
        self._give_back(grant)

    def check_lease(self) -> None:
        self._pure.check_lease()

    def cancel_owner_of(self, grant: Grant, owner: asyncio.Task[Any]) -> None:
        if grant not in self._entered and grant not in self._acquired:
            return  # it has not come in yet, or it is out already
        if current_task(self._host.loop) is owner:
            # It has just found out, and may go out by itself before it waits again.
            self._host.loop.call_soon(self.cancel_owner_of, grant, owner)
        else:
            grant.cancelled = owner.cancel(f"lost {self.name!r}")

    # Inside

    async def _wait(self, grant: Grant, timeout: float | None, probe: bool = False) -> None:
        belongs_here(self._host)
        self._must_not_wait_for_itself(grant)
        self._host.must_be_in()
        future = grant.until_settled(self._host.loop)
        try:
            self._host.step(self._pure.acquire, self.name, grant)
            self._host.flush()
            if probe or timeout == 0:
                self._probe(grant)
            if timeout:
                async with asyncio.timeout(timeout):
                    await future
            else:
                await future
        except BaseException as error:
            self._withdraw(grant)
            if timeout is not None and isinstance(error, TimeoutError | WouldBlock):
                raise Timeout(f"{self.name!r} did not come within {timeout:g} s") from None
            raise
        if grant.state is State.LOST:
            raise Lost(f"{self.name!r} was lost as soon as it was granted")

    def _give_back(self, grant: Grant) -> None:
        if grant.state is State.HOLDING:
            self._pure.check_lease()
        if grant.state is State.LOST:
            if not self._still_cancelled(grant):
                raise Lost(f"{self.name!r} was lost while it was held")
            return
        self._host.step(self._pure.release, grant)
        grant.over()
        self._host.flush()

    def _probe(self, grant: Grant) -> None:
        """Is it in vain?  Again and again, for a new view takes the answers with it."""
        if grant.state is State.WAITING:
            self._pure.probe(grant)
            self._host.flush()
            self._host.loop.call_later(PROBE, self._probe, grant)

    def _withdraw(self, grant: Grant) -> None:
        if not self._host.step(self._pure.give_up, grant) and grant.state is State.HOLDING:
            self._host.step(self._pure.release, grant)
        self._host.flush()

    def _must_not_wait_for_itself(self, grant: Grant) -> None:
        lock = self._pure.locks.get(self.name)
        if lock is None or grant.owner is None:
            return
        holders = (h for h in lock.holders if isinstance(h, Grant))
        mine = [holder for holder in holders if holder.owner is grant.owner]
        if mine and not self.demand.permits:
            raise Deadlock(f"this task holds {self.name!r} already")
        # Who starts workers may give each of them a permit, and wait until one is back.
        stuck = [h for h in mine if h.demand == self.demand and h in h._handle._entered]
        if stuck and len(stuck) == self.demand.permits:
            raise Deadlock(f"this task holds all permits of {self.name!r} already")

    def _mine(self, first: list[Grant], then: list[Grant]) -> Grant:
        """The last grant that this task got by us, from one of these lists."""
        me = current_task(self._host.loop)
        if first and first[-1].owner is me:
            return first.pop()
        for held in (first, then):
            for i in range(len(held) - 1, -1, -1):
                if held[i].owner is me:
                    return held.pop(i)
        raise NotHeld(f"this task does not hold {self.name!r}")

    async def _out_of_a_lost_lock(self, grant: Grant, error: BaseException | None) -> None:
        if not grant.cancelled:
            if error is None:
                raise Lost(f"{self.name!r} was lost while it was held")
            return
        if not isinstance(error, asyncio.CancelledError):
            with suppress(asyncio.CancelledError):  # it may still be on its way
                await asyncio.sleep(0)
        if self._still_cancelled(grant):
            if error is None:
                raise asyncio.CancelledError
        elif error is None or isinstance(error, asyncio.CancelledError):
            raise Lost(f"{self.name!r} was lost, and the body was cancelled") from error

    def _still_cancelled(self, grant: Grant) -> bool:
        """Somebody else has cancelled this task; our own cancellation ends here."""
        task = current_task()
        if task is None or not grant.cancelled or task is not grant.owner:
            return False
        grant.cancelled = False
        return task.uncancel() > 0


class LockNode:
    """This process in the cluster: `async with peerlock.join() as node`."""

    _departure: Departure | None = None

    def __init__(self, host: Host) -> None:
        self.host = host

    async def __aenter__(self) -> LockNode:
        await self.host.start()
        mind_forks(self.host)
        self._departure = Departure(self, self.host, self.host.loop)
        await self._departure.mind_the_loop()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.leave()

    def __await__(self) -> Generator[Any, None, LockNode]:
        """`node = await peerlock.join()`, and later `await node.leave()`."""
        return self.__aenter__().__await__()

    def lock(
        self,
        name: str,
        *,
        shared: bool = False,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """One at a time in the whole cluster; `shared`: with others that share it."""
        wanted = asked_for(name, algorithm, 0, shared)
        return Lock(self, *wanted, timeout, cancel_on_loss)

    def semaphore(
        self,
        name: str,
        permits: int,
        *,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """At most so many at a time in the whole cluster."""
        wanted = asked_for(name, algorithm, must_have_permits(permits), False)
        return Lock(self, *wanted, timeout, cancel_on_loss)

    @property
    def keeps_us_in(self) -> int | None:
        """A descriptor: whoever inherits it keeps this process's place, as it lives."""
        return self.host.engine.lock_file

    def statistics(self) -> Statistics:
        return self.host.node.statistics.copy()

    async def leave(self) -> None:
        """Give back what is held, tell those who wait here, and be a member no longer."""
        if self._departure is not None:
            self._departure.done()
        await self.host.stop()


def join(
    cluster: str | None = None,
    *,
    lease: float | None = LEASE,
    hand_overs: int = Knobs.hand_overs,
    hand_over_time: float = Knobs.hand_over_time,
    reach: Reach = USUAL,
) -> LockNode:
    """This process becomes a member of a cluster of processes that share locks.

    cluster: where it is; without one, $PEERLOCK_CLUSTER, or this user's on this machine.
    lease: seconds after which a process that does not answer loses what it holds; None
      waits for it for ever.
    hand_overs, hand_over_time: how often and for how many seconds a lock may go from one
      local user to the next while others may wait; 1 is strictly in turn.
    reach: for clusters on many machines, where to listen and how to show who we are.
    """
    knobs = Knobs(hand_overs=hand_overs, hand_over_time=hand_over_time)
    engine, transport = meet(cluster, lease, reach)
    return LockNode(Host(engine, transport, knobs, describe))
