"""Locks that their owner may acquire again: `node.lock("x", reentrant=True)`.

- The owner is a task or a thread, as for all locks.  It may acquire the name again through
  this object or through another reentrant one of the same node.
- The inner grants share the outer one's place and fence.  The lock is released when each
  of them is, in any order.
- `release()` is for the owner alone; any thread may release a grant that it was given.
- If the lock is lost, each level says so.  A lost lock is not acquired again by going
  deeper: that waits like any other user.
"""

from __future__ import annotations

from asyncio import current_task
from types import TracebackType
from typing import Any

from peerlock.api import grants, task_locks, thread_locks
from peerlock.api.errors import Lost, NotHeld
from peerlock.node.waiters import State


class Reentrant(grants.Handle):
    """What both kinds have in common, and what distinguishes them from other locks."""

    __slots__ = ()

    def _deeper(self, owner: object) -> Any:
        """The user that this owner already is, once more inside; None: it is not inside."""
        with self._guard:
            lock = self._pure.locks.get(self._name)
            for user in lock.holders if lock else ():
                if not isinstance(user, grants.BaseUser) or user.owner is not owner:
                    continue
                if isinstance(user.handle, Reentrant) and user.demand == self._demand:
                    user.more += 1
                    return user
        return None

    def _is_inner(self, user: grants.BaseUser) -> bool:
        """Whether it stays inside after this release, which is counted."""
        with self._guard:
            inner = user.more > 0
            user.more -= inner
        return inner


def must_not_be_lost(user: grants.BaseUser) -> None:
    if user.state is State.LOST:
        raise Lost(f"{user.name!r} was lost while it was held")


class TaskLock(Reentrant, task_locks.Lock):
    __slots__ = ()

    async def __aenter__(self) -> task_locks.Grant:
        user = self._deeper(current_task(self._driver.tasks_loop))
        if user is None:
            return await super().__aenter__()
        self._entered.append(user)
        return task_locks.Grant(user)

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        me = current_task(self._driver.tasks_loop)
        held = [user for user in self._entered if user.owner is me]
        if not held or not self._is_inner(held[-1]):
            await super().__aexit__(kind, error, trace)
            return
        user = self._mine(self._entered, [])
        if error is None:
            must_not_be_lost(user)

    async def _acquire(
        self, timeout: float | None, probe: bool = False
    ) -> task_locks.Grant:
        user = self._deeper(current_task(self._driver.tasks_loop))
        if user is None:
            return await super()._acquire(timeout, probe)
        self._acquired.append(user)
        return task_locks.Grant(user)

    def _release(self, user: task_locks.User) -> None:
        if self._is_inner(user):
            must_not_be_lost(user)
        else:
            super()._release(user)


class ThreadLock(Reentrant, thread_locks.Lock):
    __slots__ = ()

    def __enter__(self) -> thread_locks.Grant:
        again = self._deeper(thread_locks.CURRENT.thread)
        if again is None:
            return super().__enter__()
        self._held.append(again)
        return thread_locks.Grant(again)

    def _acquire(self, user: thread_locks.User, timeout: float) -> bool:
        again = self._deeper(user.owner)
        if again is None:
            return super()._acquire(user, timeout)
        self._held.append(again)
        return True

    def _give_back_last(self, user: thread_locks.User | None) -> bool | None:
        user = user or self._last()
        if not self._is_inner(user):
            return super()._give_back_last(user)
        self._held.remove(user)
        return False if user.state is State.LOST else None

    def _last(self) -> thread_locks.User:
        """As with threading.RLock, the calling thread's own."""
        me = thread_locks.CURRENT.thread
        for user in reversed(self._held):
            if user.owner is me:
                return user
        raise NotHeld(f"this thread does not hold {self._name!r}")
