"""The same locks for threads, with the semantics of threading.Lock.

with peerlock.sync.join() as node:
    with node.lock("invoices") as grant:
        store.write(data, fence=grant.fence)

The node lives in a thread of its own.  A lock that is here and free is acquired and
released by the calling thread alone.  `signals` says what a signal handler may do.
"""

from __future__ import annotations

import threading
from _thread import allocate_lock
from types import TracebackType
from typing import Any

from peerlock.api import grants
from peerlock.api.driver import OwnThread
from peerlock.api.errors import Deadlock, Lost, NotHeld, NotOurs, Timeout, WouldBlock
from peerlock.api.forks import belongs_here, mind_forks
from peerlock.api.leaving import Departure, twin
from peerlock.api.meeting import USUAL, Reach, meet
from peerlock.api.names import asked_for, must_have_permits
from peerlock.api.several import BlockingLocks
from peerlock.api.signals import Loss, must_not_be_in_a_step
from peerlock.api.status import describe
from peerlock.api.tasks import LEASE
from peerlock.core.peer import Peer
from peerlock.node.knobs import Knobs
from peerlock.node.locks import State
from peerlock.node.statistics import Statistics
from peerlock.node.terms import Demand
from peerlock.runtime.host import INTERRUPTED, Host


def must_be_timeout(blocking: bool, timeout: float) -> None:
    """Raises what threading.Lock raises, with the same texts."""
    if not blocking:
        raise ValueError("can't specify a timeout for a non-blocking call")
    if not timeout >= 0:
        raise ValueError("timeout value must be a non-negative number")
    if timeout > threading.TIMEOUT_MAX:
        raise OverflowError("timeout value is too large")


class Current(threading.local):
    """The calling thread; unlike its number, this object is not reused when it ends."""

    def __init__(self) -> None:
        self.thread = object()


CURRENT = Current()


class Grant(grants.Grant):
    """The right to be in the critical section, until it is released or lost."""

    _handle: Lock
    _gate: Any = None  # closed until it is settled
    _lost: Loss | None = None
    entered = False  # of a semaphore, by `with`: the same thread releases it

    def __init__(self, handle: Lock) -> None:
        self.demand = handle.demand
        self._handle = handle
        self.owner = CURRENT.thread

    @property
    def lost(self) -> threading.Event:
        """An event that is set as soon as the lock is lost; a thread may wait for it."""
        event: Loss = self._lost or vars(self).setdefault("_lost", Loss())
        if self.is_lost:
            event.set()
        return event

    # Called by the node, in any thread

    def on_lost(self) -> None:
        if self._lost is not None:
            self._lost.set()

    def _wake(self) -> None:
        if self._gate is not None:
            self._gate.release()

    # Called by the handle

    def expect(self) -> None:
        self._gate = allocate_lock()
        self._gate.acquire()

    def wait(self, timeout: float) -> bool:
        """Whether it was settled in time; -1 waits without limit."""
        settled = bool(self._gate.acquire(timeout=timeout))
        if settled:
            self.must_be_granted()
        return settled


class Lock(grants.Handle):
    """A named lock or semaphore, with the methods of threading.Lock.

    A thread may release what another thread has acquired through the same object.
    """

    def __init__(
        self, node: LockNode, name: str, demand: Demand, timeout: float | None = None
    ) -> None:
        super().__init__(node.driver, name, demand, timeout)
        self._held: list[Grant] = []
        self._twin = twin(self)
        self._node = node  # so that it is not forgotten as long as this handle is used

    def __repr__(self) -> str:
        state = "locked" if self.locked() else "unlocked"
        return f"<{state} peerlock.sync.Lock object {self.name!r} at {id(self):#x}>"

    def locked(self) -> bool:
        """Whether it is held through this object."""
        return any(grant.state is State.HOLDING for grant in self._held)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """Like threading.Lock.acquire; with `timeout` -1, the timeout of the lock counts.

        Raises Deadlock if the thread would wait for itself.
        """
        if timeout != -1:
            must_be_timeout(blocking, timeout)
        elif not blocking:
            timeout = 0
        elif self.timeout is not None:
            timeout = self.timeout
        grant = Grant(self._twin)
        try:
            return self._acquire(grant, timeout)
        except BaseException:
            self._withdraw(grant)
            raise

    def release(self) -> None:
        """Release it.  Raises NotHeld if it is not held, Lost if it was lost meanwhile."""
        self._release(None)

    def __enter__(self) -> Grant:
        timeout = -1 if self.timeout is None else self.timeout
        grant = Grant(self._twin)
        if self.demand.permits:
            grant.entered = True
        try:
            if self._acquire(grant, timeout):
                return grant
        except BaseException:
            self._withdraw(grant)
            raise
        raise Timeout(f"could not acquire {self.name!r} within {self.timeout:g} s")

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._release(None)
        except (Lost, NotHeld, NotOurs):
            if error is None:
                raise

    # For grants

    def release_grant(self, grant: Grant) -> None:
        self._release(grant)

    # Inside

    def _acquire(self, grant: Grant, timeout: float) -> bool:
        """Within this many seconds; -1: without limit, 0: only if it is free."""
        taken = self._host.step(self._pure.take, self.name, grant)
        if not taken and not self._wait(grant, timeout):
            self._withdraw(grant)
            return False
        self._held.append(grant)
        return True

    def _wait(self, grant: Grant, timeout: float) -> bool:
        belongs_here(self._host)
        must_not_be_in_a_step()
        if timeout:
            self._must_not_wait_for_itself(grant)
        grant.expect()
        self._host.step(self._ask, grant)
        if timeout:
            self._driver.after_step()
        else:
            self._driver.soon(self._probe, grant)
        try:
            settled = grant.wait(timeout or -1)
        except WouldBlock:
            return False
        if grant.state is State.LOST:
            raise Lost(f"{self.name!r} was lost as soon as it was granted")
        return settled

    def _must_not_wait_for_itself(self, grant: Grant) -> None:
        """A thread that already waits may ask again in a signal handler."""
        with self._guard:
            lock = self._pure.locks.get(self.name)
            users = (*lock.holders, *lock.waiters) if lock else ()
        mine = [u for u in users if isinstance(u, Grant) and u.owner is grant.owner]
        if mine and not self.demand.permits:
            raise Deadlock(f"this thread already holds or waits for {self.name!r}")
        # A permit from `acquire` may be released by another thread.
        stuck = [u for u in mine if u.entered or u.state is State.WAITING]
        if stuck and len(stuck) >= self.demand.permits:
            raise Deadlock(f"this thread already holds all permits of {self.name!r}")

    def _drop(self, grant: grants.Grant) -> bool:
        if grant in self._held:
            self._held.remove(grant)
        return super()._drop(grant)

    def _release(self, grant: Grant | None) -> None:
        try:
            kept, quick = self._host.step(self._give_back_last, grant)
        except NotHeld:
            must_not_be_in_a_step()  # of another node, which would take it for its own
            raise
        if not kept:
            belongs_here(self._host)
            raise Lost(f"{self.name!r} was lost while it was held")
        if not quick:
            self._driver.after_step()

    def _give_back_last(self, grant: Grant | None) -> tuple[bool, bool]:
        """Whether it was held until now, and whether nothing else is to do."""
        grant = grant or self._last()
        if grant in self._held:
            self._held.remove(grant)
        quick = self._pure.put_back(grant)
        return quick or self._give_back(grant), quick

    def _last(self) -> Grant:
        """This thread's own, if it has one, so that each thread learns of its own loss."""
        held = self._held
        if not held:
            raise NotHeld(f"cannot release {self.name!r}: it is not held")
        if len(held) > 1:
            me = CURRENT.thread
            return next((g for g in reversed(held) if g.owner is me), held[-1])
        return held[0]


class LockNode:
    """This process as a member of a cluster: `with peerlock.sync.join() as node`."""

    def __init__(self, host: Host) -> None:
        must_not_be_in_a_step()
        self.host = host
        self._leaving = threading.RLock()
        self._is_leaving = False  # a signal handler may try while its thread does
        self.driver = OwnThread(host)
        self.driver.begin()
        self._departure = Departure(self, self.driver)
        try:
            self.driver.do(host.start()).result()
        except BaseException:
            self._departure.done()
            self.driver.end(undo=True).result()
            self.driver.join()
            raise
        mind_forks(host)

    def __enter__(self) -> LockNode:
        return self

    def __exit__(self, *_: object) -> None:
        self.leave()

    def lock(
        self,
        name: str,
        *,
        shared: bool = False,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
    ) -> Lock:
        """A lock with at most one holder in the cluster; `shared`: several readers."""
        return Lock(self, *asked_for(name, algorithm, 0, shared), timeout)

    def locks(
        self,
        *names: str,
        shared: bool = False,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
    ) -> BlockingLocks[Grant]:
        """Several locks: all of them or none, without deadlock, in whichever order."""

        def handle(name: str, timeout: float | None) -> Lock:
            return Lock(self, *asked_for(name, algorithm, 0, shared), timeout)

        return BlockingLocks(names, timeout, handle)

    def semaphore(
        self,
        name: str,
        permits: int,
        *,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
    ) -> Lock:
        """A semaphore: at most `permits` holders in the cluster."""
        wanted = asked_for(name, algorithm, must_have_permits(permits), False)
        return Lock(self, *wanted, timeout)

    def statistics(self) -> Statistics:
        with self.host.guard:
            return self.host.node.statistics.copy()

    def leave(self) -> None:
        """Release what is held, end the waits with ClusterError, and leave the cluster."""
        belongs_here(self.host)
        must_not_be_in_a_step()
        with self._leaving:
            if self._is_leaving:
                raise Deadlock(INTERRUPTED)
            try:
                self._is_leaving = True
                self._departure.done()
                self.driver.end().result()
                self.driver.join()
            finally:
                self._is_leaving = False


def join(
    cluster: str | None = None,
    *,
    lease: float | None = LEASE,
    hand_overs: int = Knobs.hand_overs,
    hand_over_time: float = Knobs.hand_over_time,
    reach: Reach = USUAL,
) -> LockNode:
    """Join a cluster, before it returns; the arguments are those of peerlock.join()."""
    knobs = Knobs(hand_overs=hand_overs, hand_over_time=hand_over_time)
    engine, transport = meet(cluster, lease, reach)
    return LockNode(Host(engine, transport, knobs, describe))
