"""The same locks for trio, also for anyio on trio.

    async with peerlock.contrib.trio.join() as node:
        async with node.lock("invoices") as grant:
            await store.write(data, fence=grant.fence)

The node is one for threads, with a thread of its own.  A task that waits costs no thread:
the node wakes it.  A task that is cancelled while it waits leaves no request behind.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from functools import partial
from types import TracebackType
from typing import Any

import trio

from peerlock.api import grants, threads
from peerlock.api.errors import Deadlock, Lost, NotHeld, Timeout, UsageError, WouldBlock
from peerlock.api.forks import belongs_here
from peerlock.api.leaving import twin
from peerlock.api.names import asked_for, leadership, must_have_permits, plain_timeout
from peerlock.api.status import Holder, Status
from peerlock.core.peer import Peer
from peerlock.node.statistics import Statistics
from peerlock.node.terms import Demand
from peerlock.node.waiters import State

__all__ = ["Grant", "Lock", "LockNode", "join"]


class User(grants.BaseUser):
    """A task that waits for a lock, and then holds it."""

    handle: Lock
    settled: trio.Event | None = None
    lost: trio.Event | None = None  # for those that asked for it
    entered = False  # by `async with`: the same task releases it

    # Called by the node, in any thread

    def on_lost(self) -> None:
        if self.lost is not None:
            self.handle._tell(self.lost.set)

    def _wake(self) -> None:
        if self.settled is not None:
            self.handle._tell(self.settled.set)


class Grant(grants.BaseGrant):
    """The right to be in the critical section, until it is released or lost."""

    __slots__ = ()

    _user: User

    @property
    def lost(self) -> trio.Event:
        """An event that is set as soon as the lock is lost."""
        user = self._user
        if user.lost is None:
            user.lost = trio.Event()
        if self.is_lost:
            user.lost.set()
        return user.lost


class Lock(grants.Handle):
    """A named lock or semaphore.  Tasks may share it, and use it any number of times."""

    __slots__ = ("_held", "_node", "_token", "_twin")

    def __init__(
        self, node: LockNode, name: str, demand: Demand, timeout: float | None
    ) -> None:
        super().__init__(node._node.driver, name, demand, timeout)
        self._token = node._token
        self._held: list[User] = []
        self._twin = twin(self)
        self._node = node  # so that it is not forgotten as long as this handle is used

    def locked(self) -> bool:
        """Whether it is held through this object; `holder()` asks the cluster."""
        return any(user.state is State.HOLDING for user in self._held)

    async def __aenter__(self) -> Grant:
        return await self._acquire(self._timeout, enters=True)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self.release()
        except (Lost, NotHeld):
            if error is None:
                raise

    async def acquire(self, timeout: float | None = None) -> Grant:
        """Acquire the lock; Timeout if it is not acquired within `timeout` seconds."""
        return await self._acquire(
            self._timeout if timeout is None else plain_timeout(timeout)
        )

    async def try_acquire(self) -> Grant:
        """Acquire the lock if no other user holds it or waits for it.

        Raises WouldBlock otherwise.
        """
        return await self._acquire(None, probe=True)

    acquire_nowait = try_acquire

    async def holder(self) -> Holder | None:
        """The holder, as the members of the cluster report it; of several, the first."""
        return (await self._node.status()).holder_of(self._name)

    def release(self) -> None:
        """Release what this task has acquired.  Raises NotHeld if it holds nothing."""
        me = trio.lowlevel.current_task()
        for user in reversed(self._held):
            if user.owner is me:
                self._release_user(user)
                return
        raise NotHeld(f"this task does not hold {self._name!r}")

    # For grants

    def _release_user(self, user: User) -> None:
        if user in self._held:
            self._held.remove(user)
        if not self._host.step(self._give_back, user):
            raise Lost(f"{self._name!r} was lost while it was held")
        self._driver.after_step()

    def _tell(self, work: Callable[[], None]) -> None:
        with suppress(trio.RunFinishedError):  # no task of it waits any more
            self._token.run_sync_soon(work)

    # Inside

    async def _acquire(
        self, timeout: float | None, probe: bool = False, enters: bool = False
    ) -> Grant:
        await trio.lowlevel.checkpoint_if_cancelled()
        user = User(self._twin, trio.lowlevel.current_task())
        user.entered = enters
        with self._guard:
            taken = self._driver.take(self._name, user)
        if taken:
            await trio.lowlevel.cancel_shielded_checkpoint()
        else:
            await self._wait(user, timeout, probe)
        self._held.append(user)
        return Grant(user)

    async def _wait(self, user: User, timeout: float | None, probe: bool) -> None:
        belongs_here(self._host)
        self._must_not_wait_for_itself(user)
        user.settled = trio.Event()
        try:
            self._host.step(self._ask, user)
            if probe or timeout == 0:
                self._driver.soon(self._probe, user)
            else:
                self._driver.after_step()
            with trio.move_on_after(timeout or float("inf")):
                await user.settled.wait()
            user.must_be_granted()
            if not user.settled.is_set():
                raise WouldBlock
        except BaseException as error:
            self._withdraw(user)
            if timeout is not None and isinstance(error, WouldBlock):
                what = f"could not acquire {self._name!r} within {timeout:g} s"
                raise Timeout(what) from None
            raise
        if user.state is State.LOST:
            raise Lost(f"{self._name!r} was lost as soon as it was granted")

    def _must_not_wait_for_itself(self, user: User) -> None:
        with self._guard:
            lock = self._pure.locks.get(self._name)
            holders = list(lock.holders) if lock else []
        mine = [h for h in holders if isinstance(h, User) and h.owner is user.owner]
        if mine and not self._demand.permits:
            raise Deadlock(f"this task already holds {self._name!r}")
        # A task may acquire permits for its workers, and wait until one is released.
        stuck = [h for h in mine if h.demand == self._demand and h.entered]
        if stuck and len(stuck) == self._demand.permits:
            raise Deadlock(f"this task already holds all permits of {self._name!r}")


class LockNode(grants.Public):
    """This process as a member of a cluster, for the tasks of one `trio.run`."""

    def __init__(self, node: threads.LockNode) -> None:
        self._node = node
        self._token = trio.lowlevel.current_trio_token()

    def __repr__(self) -> str:
        return repr(self._node)

    def lock(
        self,
        name: str | bytes,
        *,
        shared: bool = False,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
    ) -> Lock:
        """A lock with at most one holder in the cluster; `shared`: several readers."""
        return Lock(self, *asked_for(name, algorithm, 0, shared), timeout)

    def semaphore(
        self,
        name: str | bytes,
        permits: int,
        *,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
    ) -> Lock:
        """A semaphore: at most `permits` holders in the cluster."""
        wanted = asked_for(name, algorithm, must_have_permits(permits), False)
        return Lock(self, *wanted, timeout)

    def leader(self, name: str | bytes, *, timeout: float | None = None) -> Lock:
        """Leader election: one process is the leader, and the others wait for its end."""
        return self.lock(leadership(name), timeout=timeout)

    async def status(self) -> Status:
        """The members, and the holders and waiters of each lock, as the members report."""
        return await trio.to_thread.run_sync(self._node.status)

    async def leader_of(self, name: str | bytes) -> Holder | None:
        """The leader, as the members of the cluster report it; None: there is none."""
        return (await self.status()).holder_of(leadership(name))

    def statistics(self) -> Statistics:
        """What this node has counted so far."""
        return self._node.statistics()


@asynccontextmanager
async def join(cluster: str | None = None, **options: Any) -> AsyncIterator[LockNode]:
    """Join a cluster; the arguments are those of peerlock.sync.join()."""
    if not trio.lowlevel.in_trio_run():
        raise UsageError("peerlock.contrib.trio needs trio: use peerlock.join() here")
    joining = partial(threads.join, cluster, **options)
    node = await trio.to_thread.run_sync(joining)
    try:
        yield LockNode(node)
    finally:
        with trio.CancelScope(shield=True):
            await trio.to_thread.run_sync(node.leave)
