"""A named lock for tasks, its users and its grants."""

from __future__ import annotations

import asyncio
from asyncio import current_task
from contextlib import suppress
from types import TracebackType
from typing import TYPE_CHECKING, Any

from peerlock.api import grants
from peerlock.api.errors import Deadlock, Lost, NotHeld, Timeout, WouldBlock
from peerlock.api.forks import belongs_here
from peerlock.api.leaving import twin
from peerlock.api.loops import current_task_of
from peerlock.api.names import must_be_bool, plain_timeout
from peerlock.api.status import Holder
from peerlock.node.terms import Demand
from peerlock.node.waiters import HOLDING, LOST

if TYPE_CHECKING:
    from peerlock.api.tasks import LockNode


new = object.__new__


class LossFuture(asyncio.Future[bool]):
    awaited = False  # by a task, or something else is to happen at its end

    def add_done_callback(self, *what: Any, **context: Any) -> None:
        self.awaited = True
        super().add_done_callback(*what, **context)


class User(grants.BaseUser):
    """A task that waits for a lock, and then holds it."""

    handle: Lock
    _future: asyncio.Future[None] | None = None
    lost: list[LossFuture] | None
    cancelled = False  # peerlock cancelled the owner, because the lock was lost

    # Called by the node, in any thread

    def on_lost(self) -> None:
        if self.lost is not None or self.handle._cancel_on_loss:
            self.handle._driver.tell(self._tell_loss)

    def _wake(self) -> None:
        if self._future is not None:
            self.handle._driver.tell(self._wake_task)

    # Called by the handle, in the loop of the tasks

    def until_settled(self) -> asyncio.Future[None] | None:
        """None if it is settled.  Under the guard, so that it is not settled meanwhile."""
        if not self._settled:
            loop = self.handle._driver.tasks_loop
            assert loop is not None
            self._future = loop.create_future()
        return self._future

    @property
    def is_awaited(self) -> bool:
        return self._future is not None and not self._future.done()

    def over(self, lost: bool = False) -> None:
        for future in self.lost or ():
            if not future.done():
                future.set_result(lost)

    def future_of_loss(self) -> LossFuture:
        """One that no other task awaits: a task that is cancelled cancels it, too."""
        pending = self.lost = [future for future in self.lost or () if not future.done()]
        if not pending or pending[-1].awaited:
            pending.append(LossFuture(loop=asyncio.get_running_loop()))
        return pending[-1]

    def _wake_task(self) -> None:
        if self._future is not None and not self._future.done():
            self._future.set_result(None)

    def _tell_loss(self) -> None:
        self.over(lost=True)
        if self.owner is not None and self.handle._cancel_on_loss:
            self.handle._cancel_owner_of(self, self.owner)


class Grant(grants.BaseGrant):
    """The right to be in the critical section, until it is released or lost."""

    __slots__ = ()

    _user: User

    @property
    def lost(self) -> asyncio.Future[bool]:
        """A future: its result is True as soon as the lock is lost, False if it is
        released."""
        future = self._user.future_of_loss()
        if self._user.state is not HOLDING:
            future.set_result(self.is_lost)
        return future


class Lock(grants.Handle):
    """A named lock or semaphore.  Tasks may share it, and use it any number of times."""

    __slots__ = ("_acquired", "_cancel_on_loss", "_entered", "_left", "_node", "_twin")

    def __init__(
        self,
        node: LockNode,
        name: str,
        demand: Demand,
        timeout: float | None = None,
        cancel_on_loss: bool = False,
    ) -> None:
        super().__init__(node.driver, name, demand, timeout)
        must_be_bool("cancel_on_loss", cancel_on_loss)
        self._cancel_on_loss = cancel_on_loss
        self._entered: list[User] = []  # by `async with`, which releases them
        self._acquired: list[User] = []  # by `acquire`; the same task releases them
        # Tasks that have released what they entered, and are still in that block.
        self._left: list[asyncio.Task[Any] | None] = []
        self._twin = twin(self)
        self._node = node  # so that it is not forgotten as long as this handle is used

    def __repr__(self) -> str:
        kind = "semaphore" if self._demand.permits else "lock"
        return f"<peerlock {kind} {self._name!r}>"

    def locked(self) -> bool:
        """Whether it is held through this object; `holder()` asks the cluster."""
        held = self._entered + self._acquired
        return any(user.state is HOLDING for user in held)

    async def __aenter__(self) -> Grant:
        driver = self._driver
        user = new(User)  # like User(…), without a call
        user.demand, user.handle = self._demand, self._twin
        user.owner, user.lost = current_task_of(driver.tasks_loop), None
        guard = driver.guard
        try:  # like `with`, in half the time
            guard.acquire()
            taken = driver.take(self._name, user)
        finally:
            guard.release()
        if not taken:
            user.begin()
            await self._wait(user, self._timeout)
        self._entered.append(user)
        grant = new(Grant)  # like Grant(user), in half the time
        grant._user = user
        return grant

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        held = self._entered
        if len(held) == 1 and not (self._acquired or self._left):
            user = held.pop()  # the only one
        else:
            try:
                user = self._mine(held, self._acquired)
            except NotHeld:
                with suppress(ValueError):
                    self._left.remove(current_task())
                if error is None:
                    raise
                return
        driver = self._driver
        guard = driver.guard
        try:  # like `with`, in half the time
            guard.acquire()
            put_back = driver.put_back(user)
        finally:
            guard.release()
        if put_back:
            if user.lost is not None:
                user.over()
        elif user.state is HOLDING and driver.host.step(self._give_back, user):
            if user.lost is not None:
                user.over()
            driver.after_step()
        elif user.state is LOST:
            await self._out_of_a_lost_lock(user, error)

    async def acquire(self, timeout: float | None = None) -> Grant:
        """Acquire the lock.

        Raises Timeout if it is not acquired within `timeout` seconds; 0 acquires it only if
        it is free.  Without a timeout, that of the lock counts.  Raises Lost, as does
        `async with`, if the lease ends before the task continues after the grant.
        """
        timeout = self._timeout if timeout is None else plain_timeout(timeout)
        return await self._acquire(timeout)

    async def try_acquire(self) -> Grant:
        """Acquire the lock if no other user holds it or waits for it.

        Raises WouldBlock otherwise, and Lost as acquire() does.
        """
        return await self._acquire(None, probe=True)

    async def acquire_nowait(self) -> Grant:
        """The same as try_acquire(), under anyio's name.

        It is awaited, because other processes are asked.
        """
        return await self.try_acquire()

    async def holder(self) -> Holder | None:
        """The holder, as the members of the cluster report it; of several, the first.

        It is asked for, and may have changed when the answer is here.
        """
        return (await self._node.status()).holder_of(self._name)

    def release(self) -> None:
        """Release what this task has acquired.  Raises NotHeld if it holds nothing."""
        entered = len(self._entered)
        user = self._mine(self._acquired, self._entered)
        if len(self._entered) < entered:
            self._left.append(user.owner)
        self._release(user)

    # For grants

    def _release_user(self, user: User) -> None:
        if user in self._acquired:
            self._acquired.remove(user)
        elif user in self._entered:
            self._entered.remove(user)
            self._left.append(user.owner)
        self._release(user)

    def _cancel_owner_of(self, user: User, owner: asyncio.Task[Any]) -> None:
        if user not in self._entered and user not in self._acquired:
            return  # it has not entered yet, or has left already
        if current_task() is owner:
            # It has just noticed, and may leave by itself before it waits again.
            asyncio.get_running_loop().call_soon(self._cancel_owner_of, user, owner)
        else:
            user.cancelled = owner.cancel(f"lost {self._name!r}")

    # Inside

    async def _acquire(self, timeout: float | None, probe: bool = False) -> Grant:
        driver = self._driver
        user = User(self._twin, current_task_of(driver.tasks_loop))
        with driver.guard:
            taken = driver.take(self._name, user)
        if not taken:
            await self._wait(user, timeout, probe)
        if user.owner in self._left:  # the end of its block releases this instead
            self._left.remove(user.owner)
        self._acquired.append(user)
        return Grant(user)

    async def _wait(self, user: User, timeout: float | None, probe: bool = False) -> None:
        driver = self._driver
        belongs_here(driver.host)
        driver.must_be_in_its_loop()
        self._must_not_wait_for_itself(user)
        try:
            user.probing = probe or timeout == 0
            future = driver.host.step(self._ask_and_wait, user)
            if future is not None and user.probing:
                driver.soon(self._probe, user)
            else:
                driver.after_step()
            if future is not None and timeout:
                async with asyncio.timeout(timeout):
                    await future
            elif future is not None:
                await future
            user._future = None
            user.must_be_granted()
        except BaseException as error:
            self._withdraw(user)
            if timeout is not None and isinstance(error, TimeoutError | WouldBlock):
                raise Timeout(
                    f"could not acquire {self._name!r} within {timeout:g} s"
                ) from None
            raise
        if user.state is LOST:
            raise Lost(f"{self._name!r} was lost as soon as it was granted")

    def _ask_and_wait(self, user: User) -> asyncio.Future[None] | None:
        self._ask(user)
        return user.until_settled()

    def _release(self, user: User) -> None:
        driver = self._driver
        with driver.guard:
            put_back = driver.put_back(user)
        if put_back:
            user.over()
            return
        if not self._host.step(self._give_back, user):
            if not self._still_cancelled(user):
                raise Lost(f"{self._name!r} was lost while it was held")
            return
        user.over()
        self._driver.after_step()

    def _must_not_wait_for_itself(self, user: User) -> None:
        lock = self._driver.host.node.locks.get(self._name)
        if user.owner is None or lock is None or not lock.holders:
            return
        with self._guard:
            holders = list(lock.holders)
        mine = [h for h in holders if isinstance(h, User) and h.owner is user.owner]
        if mine and not self._demand.permits:
            raise Deadlock(f"this task already holds {self._name!r}")
        # A task may acquire permits for its workers, and wait until one is released.
        stuck = [h for h in mine if h.demand == self._demand and h in h.handle._entered]
        if stuck and len(stuck) == self._demand.permits:
            raise Deadlock(f"this task already holds all permits of {self._name!r}")

    def _mine(self, first: list[User], then: list[User]) -> User:
        """The last grant of this task in these lists, which is removed from its list."""
        me = current_task_of(self._driver.tasks_loop)
        for held in (first, then):
            for i in range(len(held) - 1, -1, -1):
                if held[i].owner is me:
                    return held.pop(i)
        raise NotHeld(f"this task does not hold {self._name!r}")

    async def _out_of_a_lost_lock(self, user: User, error: BaseException | None) -> None:
        if not user.cancelled:
            if error is None:
                raise Lost(f"{self._name!r} was lost while it was held")
            return
        if not isinstance(error, asyncio.CancelledError):
            with suppress(asyncio.CancelledError):  # it may still be pending
                await asyncio.sleep(0)
        if self._still_cancelled(user):
            if error is None:
                raise asyncio.CancelledError
        elif error is None or isinstance(error, asyncio.CancelledError):
            raise Lost(f"{self._name!r} was lost, and the body was cancelled") from error

    def _still_cancelled(self, user: User) -> bool:
        """Whether others have cancelled this task, too; our own cancellation ends here."""
        task = current_task()
        if task is None or not user.cancelled or task is not user.owner:
            return False
        user.cancelled = False
        return task.uncancel() > 0
