"""Locks for asyncio.

async with peerlock.join() as node:
    async with node.lock("invoices") as grant:
        await store.write(data, fence=grant.fence)
"""

from __future__ import annotations

import asyncio
from asyncio import current_task
from collections.abc import Callable, Generator
from contextlib import suppress
from types import TracebackType
from typing import Any

from peerlock.api import grants
from peerlock.api.driver import BesideLoop, InLoop
from peerlock.api.errors import Deadlock, Lost, NotHeld, Timeout, WouldBlock
from peerlock.api.forks import belongs_here, mind_forks
from peerlock.api.leaving import Departure, twin
from peerlock.api.meeting import USUAL, Reach, meet
from peerlock.api.names import asked_for, must_have_permits, plain_timeout
from peerlock.api.several import Locks
from peerlock.api.status import describe
from peerlock.core.peer import Peer
from peerlock.node.knobs import Knobs
from peerlock.node.locks import State
from peerlock.node.statistics import Statistics
from peerlock.node.terms import Demand
from peerlock.runtime.host import Host

LEASE = 10.0


class Grant(grants.Grant):
    """The right to be in the critical section, until it is released or lost."""

    _handle: Lock
    _future: asyncio.Future[None] | None = None
    _lost: asyncio.Future[bool] | None = None
    cancelled = False  # peerlock cancelled the owner, because the lock was lost

    def __init__(self, handle: Lock, owner: asyncio.Task[Any] | None) -> None:
        self.demand = handle.demand
        self._handle = handle
        self.owner = owner

    @property
    def lost(self) -> asyncio.Future[bool]:
        """A future: its result is True as soon as the lock is lost, False if it is
        released."""
        if self._lost is None or self._lost.cancelled():
            self._lost = asyncio.get_running_loop().create_future()
            if self.state is not State.HOLDING:
                self._lost.set_result(self.is_lost)
        return self._lost

    # Called by the node, in any thread

    def on_lost(self) -> None:
        if self._lost is not None or self._handle.cancel_on_loss:
            self._handle.tell(self._tell_loss)

    def _wake(self) -> None:
        if self._future is not None:
            self._handle.tell(self._wake_task)

    # Called by the handle, in the loop of the tasks

    def until_settled(self) -> asyncio.Future[None] | None:
        """None if it is settled.  Under the guard, so that it is not settled meanwhile."""
        if not self._settled:
            self._future = asyncio.get_running_loop().create_future()
        return self._future

    @property
    def is_awaited(self) -> bool:
        return self._future is not None and not self._future.done()

    def over(self) -> None:
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(False)

    def _wake_task(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def _tell_loss(self) -> None:
        if self._lost is not None and not self._lost.done():
            self._lost.set_result(True)
        if self.owner is not None and self._handle.cancel_on_loss:
            self._handle.cancel_owner_of(self, self.owner)


class Lock(grants.Handle):
    """A named lock or semaphore.  Tasks may share it, and use it any number of times."""

    def __init__(
        self,
        node: LockNode,
        name: str,
        demand: Demand,
        timeout: float | None = None,
        cancel_on_loss: bool = False,
    ) -> None:
        super().__init__(node.driver, name, demand, timeout)
        self.cancel_on_loss = cancel_on_loss
        self._entered: list[Grant] = []  # by `async with`, which releases them
        self._acquired: list[Grant] = []  # by `acquire`; the same task releases them
        self._twin = twin(self)
        self._node = node  # so that it is not forgotten as long as this handle is used

    def __repr__(self) -> str:
        kind = "semaphore" if self.demand.permits else "lock"
        return f"<peerlock {kind} {self.name!r}>"

    def locked(self) -> bool:
        """Whether a task holds the lock through this object."""
        held = self._entered + self._acquired
        return any(grant.state is State.HOLDING for grant in held)

    async def __aenter__(self) -> Grant:
        grant = Grant(self._twin, current_task(self._driver.tasks_loop))
        guard = self._guard
        try:  # like `with`, in half the time
            guard.acquire()
            taken = self._pure.take(self.name, grant)
        finally:
            guard.release()
        if not taken:
            await self._wait(grant, self.timeout)
        self._entered.append(grant)
        return grant

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        held = self._entered
        if len(held) == 1 and not self._acquired:
            grant = held.pop()  # the only one
        else:
            try:
                grant = self._mine(held, self._acquired)
            except NotHeld:
                if error is None:
                    raise
                return
        guard = self._guard
        try:  # like `with`, in half the time
            guard.acquire()
            put_back = self._pure.put_back(grant)
        finally:
            guard.release()
        if put_back:
            if grant._lost is not None:
                grant.over()
        elif grant.state is State.HOLDING and self._host.step(self._give_back, grant):
            grant.over()
            self._driver.after_step()
        elif grant.state is State.LOST:
            await self._out_of_a_lost_lock(grant, error)

    async def acquire(self, timeout: float | None = None) -> Grant:
        """Acquire the lock.

        Raises Timeout if it is not acquired within `timeout` seconds; 0 acquires it only if
        it is free.  Without a timeout, that of the lock counts.
        """
        timeout = self.timeout if timeout is None else plain_timeout(timeout)
        return await self._acquire(timeout)

    async def try_acquire(self) -> Grant:
        """Acquire the lock if no other user holds it or waits for it.

        Raises WouldBlock otherwise.
        """
        return await self._acquire(None, probe=True)

    def release(self) -> None:
        """Release what this task has acquired.  Raises NotHeld if it holds nothing."""
        self._release(self._mine(self._acquired, self._entered))

    # For grants

    def release_grant(self, grant: Grant) -> None:
        for held in (self._acquired, self._entered):
            if grant in held:
                held.remove(grant)
        self._release(grant)

    def tell(self, work: Callable[[], None]) -> None:
        self._driver.tell(work)

    def cancel_owner_of(self, grant: Grant, owner: asyncio.Task[Any]) -> None:
        if grant not in self._entered and grant not in self._acquired:
            return  # it has not entered yet, or has left already
        if current_task() is owner:
            # It has just noticed, and may leave by itself before it waits again.
            asyncio.get_running_loop().call_soon(self.cancel_owner_of, grant, owner)
        else:
            grant.cancelled = owner.cancel(f"lost {self.name!r}")

    # Inside

    async def _acquire(self, timeout: float | None, probe: bool = False) -> Grant:
        grant = Grant(self._twin, current_task(self._driver.tasks_loop))
        with self._guard:
            taken = self._pure.take(self.name, grant)
        if not taken:
            await self._wait(grant, timeout, probe)
        self._acquired.append(grant)
        return grant

    async def _wait(self, grant: Grant, timeout: float | None, probe: bool = False) -> None:
        belongs_here(self._host)
        self._driver.must_be_in_its_loop()
        self._must_not_wait_for_itself(grant)
        try:
            future = self._host.step(self._ask_and_wait, grant)
            if future is not None and (probe or timeout == 0):
                self._driver.soon(self._probe, grant)
            else:
                self._driver.after_step()
            if future is not None and timeout:
                async with asyncio.timeout(timeout):
                    await future
            elif future is not None:
                await future
            grant.must_be_granted()
        except BaseException as error:
            self._withdraw(grant)
            if timeout is not None and isinstance(error, TimeoutError | WouldBlock):
                raise Timeout(
                    f"could not acquire {self.name!r} within {timeout:g} s"
                ) from None
            raise
        if grant.state is State.LOST:
            raise Lost(f"{self.name!r} was lost as soon as it was granted")

    def _ask_and_wait(self, grant: Grant) -> asyncio.Future[None] | None:
        self._ask(grant)
        return grant.until_settled()

    def _release(self, grant: Grant) -> None:
        with self._guard:
            put_back = self._pure.put_back(grant)
        if put_back:
            grant.over()
            return
        if not self._host.step(self._give_back, grant):
            if not self._still_cancelled(grant):
                raise Lost(f"{self.name!r} was lost while it was held")
            return
        grant.over()
        self._driver.after_step()

    def _must_not_wait_for_itself(self, grant: Grant) -> None:
        if grant.owner is None:
            return
        with self._guard:
            lock = self._pure.locks.get(self.name)
            holders = list(lock.holders) if lock else []
        mine = [h for h in holders if isinstance(h, Grant) and h.owner is grant.owner]
        if mine and not self.demand.permits:
            raise Deadlock(f"this task already holds {self.name!r}")
        # A task may acquire permits for its workers, and wait until one is released.
        stuck = [h for h in mine if h.demand == self.demand and h in h._handle._entered]
        if stuck and len(stuck) == self.demand.permits:
            raise Deadlock(f"this task already holds all permits of {self.name!r}")

    def _mine(self, first: list[Grant], then: list[Grant]) -> Grant:
        """The last grant of this task in these lists, which is removed from its list."""
        me = current_task(self._driver.tasks_loop)
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
            with suppress(asyncio.CancelledError):  # it may still be pending
                await asyncio.sleep(0)
        if self._still_cancelled(grant):
            if error is None:
                raise asyncio.CancelledError
        elif error is None or isinstance(error, asyncio.CancelledError):
            raise Lost(f"{self.name!r} was lost, and the body was cancelled") from error

    def _still_cancelled(self, grant: Grant) -> bool:
        """Whether others have cancelled this task, too; our own cancellation ends here."""
        task = current_task()
        if task is None or not grant.cancelled or task is not grant.owner:
            return False
        grant.cancelled = False
        return task.uncancel() > 0


class LockNode:
    """This process as a member of a cluster: `async with peerlock.join() as node`."""

    _departure: Departure | None = None

    def __init__(self, driver: BesideLoop | InLoop) -> None:
        self.driver = driver
        self.host = driver.host

    async def __aenter__(self) -> LockNode:
        await self.driver.start()
        mind_forks(self.host)
        self._departure = Departure(self, self.driver)
        await self._departure.mind_the_loop(self.driver.leave)
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
        """A lock with at most one holder in the cluster; `shared`: several readers."""
        wanted = asked_for(name, algorithm, 0, shared)
        return Lock(self, *wanted, timeout, cancel_on_loss)

    def locks(
        self,
        *names: str,
        shared: bool = False,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
        cancel_on_loss: bool = False,
    ) -> Locks[Grant]:
        """Several locks: all of them or none, without deadlock, in whichever order."""

        def handle(name: str, timeout: float | None) -> Lock:
            wanted = asked_for(name, algorithm, 0, shared)
            return Lock(self, *wanted, timeout, cancel_on_loss)

        return Locks(names, timeout, handle)

    def semaphore(
        self,
        name: str,
        permits: int,
        *,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """A semaphore: at most `permits` holders in the cluster."""
        wanted = asked_for(name, algorithm, must_have_permits(permits), False)
        return Lock(self, *wanted, timeout, cancel_on_loss)

    @property
    def keeps_us_in(self) -> int | None:
        """A descriptor: a child process that inherits it keeps this member alive."""
        return self.host.engine.lock_file

    def statistics(self) -> Statistics:
        with self.host.guard:
            return self.host.node.statistics.copy()

    async def leave(self) -> None:
        """Release what is held, end the waits with ClusterError, and leave the cluster."""
        if self._departure is not None:
            self._departure.done()
        await self.driver.leave()


def join(
    cluster: str | None = None,
    *,
    lease: float | None = LEASE,
    hand_overs: int = Knobs.hand_overs,
    hand_over_time: float = Knobs.hand_over_time,
    reach: Reach = USUAL,
    thread: bool = True,
) -> LockNode:
    """Join a cluster of processes that share locks.

    cluster: its address; by default $PEERLOCK_CLUSTER, or this user's on this machine.
    lease: seconds after which a silent process loses what it holds; None disables this.
    hand_overs, hand_over_time: how often, and for how many seconds, a lock may be handed
      from one local user to the next while other processes wait; 1 is strictly in turn.
    reach: for clusters on many machines, addresses and certificates.
    thread: the node has a thread of its own, and answers other processes while this event
      loop is blocked; False runs it in this loop, and other processes wait meanwhile.
    """
    knobs = Knobs(hand_overs=hand_overs, hand_over_time=hand_over_time)
    engine, transport = meet(cluster, lease, reach)
    host = Host(engine, transport, knobs, describe)
    return LockNode(BesideLoop(host) if thread else InLoop(host))
