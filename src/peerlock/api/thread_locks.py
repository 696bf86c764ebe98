"""A named lock for threads, its users and its grants."""

from __future__ import annotations

import threading
from _thread import allocate_lock
from types import TracebackType
from typing import TYPE_CHECKING, Any

from peerlock.api import grants
from peerlock.api.errors import (
    Cancelled,
    Deadlock,
    Lost,
    NotHeld,
    NotOurs,
    Timeout,
    WouldBlock,
)
from peerlock.api.forks import belongs_here
from peerlock.api.leaving import twin
from peerlock.api.signals import Loss, must_not_be_in_a_step
from peerlock.api.status import Holder
from peerlock.core.errors import UsageError
from peerlock.node.terms import Demand
from peerlock.node.waiters import HOLDING, LOST, WAITING
from peerlock.runtime.host import INTERRUPTED
from peerlock.runtime.reading import Reading

if TYPE_CHECKING:
    from peerlock.api.threads import LockNode


def must_be_timeout(blocking: bool, timeout: float) -> None:
    """Raises what threading.Lock raises, with the same texts."""
    if not blocking:
        raise UsageError("can't specify a timeout for a non-blocking call")
    if not timeout >= 0:
        raise UsageError("timeout value must be a non-negative number")
    if timeout > threading.TIMEOUT_MAX:
        raise OverflowError("timeout value is too large")


class Current(threading.local):
    """The calling thread; unlike its number, this object is not reused when it ends."""

    def __init__(self) -> None:
        self.thread = object()


CURRENT = Current()


new = object.__new__


class User(grants.BaseUser):
    """A thread that waits for a lock, and then holds it."""

    handle: Lock
    _gate: Any = None  # closed until it is settled
    lost: Loss | None
    entered = False  # of a semaphore, by `with`: the same thread releases it

    # Called by the node, in any thread

    def on_lost(self) -> None:
        if self.lost is not None:
            self.lost.set()

    def _wake(self) -> None:
        gate = self._gate
        if gate is not None:
            gate.release()
            self._reading.nudge(gate)

    @property
    def _reading(self) -> Reading:
        reading = self.handle._host.reading
        assert reading is not None  # every node for threads has one
        return reading

    # Called by the handle

    def expect(self) -> None:
        self._gate = allocate_lock()
        self._gate.acquire()

    def wait(self, timeout: float) -> bool:
        """Whether it was settled in time; -1 waits without limit."""
        settled = self._reading.wait(self._gate, timeout)
        if settled:
            self._gate = None
            self.must_be_granted()
        return settled


class Grant(grants.BaseGrant):
    """The right to be in the critical section, until it is released or lost."""

    __slots__ = ()

    _user: User

    @property
    def lost(self) -> threading.Event:
        """An event that is set as soon as the lock is lost; a thread may wait for it."""
        user = self._user
        # Of several threads, or a thread and its signal handler, one makes it.
        event: Loss = user.lost or vars(user).setdefault("loss", Loss())
        user.lost = event
        if self.is_lost:
            event.set()
        return event


class Lock(grants.Handle):
    """A named lock or semaphore, with the methods of threading.Lock.

    A thread may release what another thread has acquired through the same object.
    """

    __slots__ = ("_held", "_left", "_node", "_twin")

    def __init__(
        self, node: LockNode, name: str, demand: Demand, timeout: float | None = None
    ) -> None:
        super().__init__(node.driver, name, demand, timeout)
        self._held: list[User] = []
        self._left: list[object] = []  # threads that are in a block, without the lock
        self._twin = twin(self)
        self._node = node  # so that it is not forgotten as long as this handle is used

    def __repr__(self) -> str:
        state = "locked" if self.locked() else "unlocked"
        kind = "peerlock.sync semaphore" if self._demand.permits else "peerlock.sync.Lock"
        return f"<{state} {kind} object {self._name!r} at {id(self):#x}>"

    def locked(self) -> bool:
        """Whether it is held through this object; `holder()` asks the cluster."""
        return any(user.state is HOLDING for user in self._held)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Like threading.Lock.acquire; with `timeout` -1, the timeout of the lock counts.

        Raises Deadlock if the thread would wait for itself, and Lost, as does `with`, if
        the lease ends before the thread continues after the grant.
        """
        if timeout != -1:
            must_be_timeout(blocking, timeout)
        elif not blocking:
            timeout = 0
        elif self._timeout is not None:
            timeout = self._timeout
        user = User(self._twin, CURRENT.thread)
        try:
            return self._acquire(user, timeout)
        except BaseException:
            self._withdraw(user)
            raise

    def cancel(self) -> int:
        """End the waits of all threads that acquire it through this object.

        They raise Cancelled and leave no request behind.  Returns how many waited.
        """
        with self._guard:
            lock = self._pure.locks.get(self._name)
            users = [u for u in (lock.waiters if lock else ()) if isinstance(u, User)]
            mine = [user for user in users if user.handle is self._twin]
            for user in mine:
                user.settle(Cancelled(f"waiting for {self._name!r} was cancelled"))
        return len(mine)

    def holder(self) -> Holder | None:
        """The holder, as the members of the cluster report it; of several, the first.

        It is asked for, and may have changed when the answer is here.
        """
        return self._node.status().holder_of(self._name)

    def release(self) -> None:
        """Release it.  Raises NotHeld if it is not held, Lost if it was lost meanwhile."""
        self._release(None)

    def __enter__(self) -> Grant:
        driver = self._driver
        host = driver.host
        user = User(self._twin, CURRENT.thread)
        if self._demand.permits:
            user.entered = True
        try:
            if (host.is_stepping or host.is_busy) and host.is_interrupted:
                raise Deadlock(INTERRUPTED)
            # Like `host.step`, but quicker: `take` does all or nothing, because it calls
            # nothing once it has begun to change what it has looked at.
            with driver.guard:
                host.is_stepping = True
                taken = driver.take(self._name, user)
                host.is_stepping = False
            if not taken:
                self._wait_in_time(user)
            self._held.append(user)
        except BaseException:
            self._withdraw(user)
            raise
        grant = new(Grant)  # like Grant(user), in half the time
        grant._user = user
        return grant

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            if self._left and self._has_left():
                raise NotHeld(f"{self._name!r} was released before the end of the block")
            self._release(None)
        except (Lost, NotHeld, NotOurs):
            if error is None:
                raise

    # For grants

    def _release_user(self, user: User) -> None:
        if user in self._held:
            self._left.append(user.owner)
        self._release(user)

    def _has_left(self) -> bool:
        """Whether this thread has released the grant of the block that it leaves."""
        me = CURRENT.thread
        if me not in self._left or any(user.owner is me for user in self._held):
            return False
        self._left.remove(me)
        return True

    # Inside

    def _acquire(self, user: User, timeout: float) -> bool:
        """Within this many seconds; -1: without limit, 0: only if it is free."""
        driver, host = self._driver, self._driver.host
        if host.is_busy and host.is_interrupted:
            raise Deadlock(INTERRUPTED)
        taken = host.step(driver.take, self._name, user)
        if not taken and not self._wait(user, timeout):
            self._withdraw(user)
            return False
        if user.owner in self._left:  # the end of its block releases this instead
            self._left.remove(user.owner)
        self._held.append(user)
        return True

    def _wait_in_time(self, user: User) -> None:
        timeout = self._timeout
        if not self._wait(user, -1 if timeout is None else timeout):
            raise Timeout(f"could not acquire {self._name!r} within {timeout:g} s")

    def _wait(self, user: User, timeout: float) -> bool:
        driver = self._driver
        belongs_here(driver.host)
        must_not_be_in_a_step()
        if timeout:
            self._must_not_wait_for_itself(user)
        user.expect()
        driver.host.step(self._ask, user)
        if timeout:
            driver.before_wait()
        else:
            driver.soon(self._probe, user)
        try:
            settled = user.wait(timeout or -1)
        except WouldBlock:
            return False
        except OSError:  # in a child that was forked meanwhile, by a signal handler
            belongs_here(driver.host)
            raise
        if user.state is LOST:
            raise Lost(f"{self._name!r} was lost as soon as it was granted")
        return settled

    def _must_not_wait_for_itself(self, user: User) -> None:
        """A thread that already waits may ask again in a signal handler."""
        lock = self._driver.host.node.locks.get(self._name)
        if lock is None or not (lock.holders or lock.waiters):
            return
        with self._guard:
            users = (*lock.holders, *lock.waiters)
        mine = [u for u in users if isinstance(u, User) and u.owner is user.owner]
        if mine and not self._demand.permits:
            raise Deadlock(f"this thread already holds or waits for {self._name!r}")
        # A permit from `acquire` may be released by another thread.
        stuck = [u for u in mine if u.entered or u.state is WAITING]
        if stuck and len(stuck) >= self._demand.permits:
            raise Deadlock(f"this thread already holds all permits of {self._name!r}")

    def _drop(self, user: grants.BaseUser) -> bool:
        if user in self._held:
            self._held.remove(user)
        return super()._drop(user)

    def _release(self, user: User | None) -> None:
        host = self._driver.host
        if host.is_busy and host.is_interrupted:
            raise Deadlock(INTERRUPTED)
        try:
            kept = host.step(self._give_back_last, user)
        except NotHeld:
            must_not_be_in_a_step()  # of another node, which would take it for its own
            raise
        if kept:
            self._driver.after_step()
        elif kept is not None:
            belongs_here(self._host)
            raise Lost(f"{self._name!r} was lost while it was held")

    def _give_back_last(self, user: User | None) -> bool | None:
        """Whether it was held until now; None: it was, and nothing else is to do."""
        held = self._held
        if user is None and len(held) == 1:
            user = held.pop()  # the only one
        else:
            user = user or self._last()
            if user in held:
                held.remove(user)
        return None if self._driver.put_back(user) else self._give_back(user)

    def _last(self) -> User:
        """This thread's own, if it has one, so that each thread learns of its own loss."""
        held = self._held
        if not held:
            raise NotHeld(f"cannot release {self._name!r}: it is not held")
        me = CURRENT.thread
        return next((g for g in reversed(held) if g.owner is me), held[-1])
