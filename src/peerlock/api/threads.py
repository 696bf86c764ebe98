"""The same locks for threads, with the manners of threading.Lock.

with peerlock.sync.join() as node:
    with node.lock("invoices") as grant:
        store.write(data, fence=grant.fence)

The node lives in a thread of its own.  A lock that is here and free is taken and given
back by the calling thread alone.  `signals` says what a signal handler can do.
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
    """What threading.Lock says, in its words."""
    if not blocking:
        raise ValueError("can't specify a timeout for a non-blocking call")
    if not timeout >= 0:
        raise ValueError("timeout value must be a non-negative number")
    if timeout > threading.TIMEOUT_MAX:
        raise OverflowError("timeout value is too large")


class Current(threading.local):
    """The thread that asks; unlike its number, nobody else gets it when it has ended."""

    def __init__(self) -> None:
        self.thread = object()


CURRENT = Current()


class Grant(grants.Grant):
    """You hold the lock, until you release it or it is lost."""

    _handle: Lock
    _gate: Any = None  # closed until it is settled
    _lost: Loss | None = None
    entered = False  # of a semaphore, by `with`: who got it gives it back

    def __init__(self, handle: Lock) -> None:
        self.demand = handle.demand
        self._handle = handle
        self.owner = CURRENT.thread

    @property
    def lost(self) -> threading.Event:
        """An event that is set as soon as the lock is lost; wait for it in a thread."""
        event: Loss = self._lost or vars(self).setdefault("_lost", Loss())
        if self.is_lost:
            event.set()
        return event

    # What the node tells us, in any thread

    def on_lost(self) -> None:
        if self._lost is not None:
            self._lost.set()

    def _wake(self) -> None:
        if self._gate is not None:
            self._gate.release()

    # What the handle tells us

    def expect(self) -> None:
        self._gate = allocate_lock()
        self._gate.acquire()

    def wait(self, timeout: float) -> bool:
        """Whether it was settled in time; -1 waits for ever."""
        settled = bool(self._gate.acquire(timeout=timeout))
        if settled:
            self.must_be_granted()
        return settled


class Lock(grants.Handle):
    """A name, and how to ask for it, with threading.Lock's methods and meanings.

    Any thread may release what another has acquired by the same handle.
    """

    def __init__(
        self, node: LockNode, name: str, demand: Demand, timeout: float | None = None
    ) -> None:
        super().__init__(node.driver, name, demand, timeout)
        self._held: list[Grant] = []
        self._twin = twin(self)
        self._node = node  # which is not forgotten as long as somebody has us

    def __repr__(self) -> str:
        state = "locked" if self.locked() else "unlocked"
        return f"<{state} peerlock.sync.Lock object {self.name!r} at {id(self):#x}>"

    def locked(self) -> bool:
        """Whether it is held through this very handle."""
        return any(grant.state is State.HOLDING for grant in self._held)

    def acquire(self, blocking: bool = True, timeout: float = -1) -> bool:
        """As threading.Lock has it; `timeout` -1 is the handle's, or without end.

        But a thread that would have to wait for itself gets Deadlock.
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
        """RuntimeError if it is not held; Lost if it was lost in the meantime."""
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
        raise Timeout(f"{self.name!r} did not come within {self.timeout:g} s")

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
        """Within so many seconds; -1 is for ever, 0 only if it is free."""
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
        """A thread that already waits is one whose signal handler asks again."""
        with self._guard:
            lock = self._pure.locks.get(self.name)
            users = (*lock.holders, *lock.waiters) if lock else ()
        mine = [u for u in users if isinstance(u, Grant) and u.owner is grant.owner]
        if mine and not self.demand.permits:
            raise Deadlock(f"this thread holds or waits for {self.name!r} already")
        # Whoever got a permit by `acquire` may leave it to another thread to give it back.
        stuck = [u for u in mine if u.entered or u.state is State.WAITING]
        if stuck and len(stuck) >= self.demand.permits:
            raise Deadlock(f"this thread holds all permits of {self.name!r} already")

    def _drop(self, grant: grants.Grant) -> bool:
        if grant in self._held:
            self._held.remove(grant)
        return super()._drop(grant)

    def _release(self, grant: Grant | None) -> None:
        try:
            kept, quick = self._host.step(self._give_back_last, grant)
        except NotHeld:
            must_not_be_in_a_step()  # of another node, which must not take it for its own
            raise
        if not kept:
            belongs_here(self._host)
            raise Lost(f"{self.name!r} was lost while it was held")
        if not quick:
            self._driver.after_step()

    def _give_back_last(self, grant: Grant | None) -> tuple[bool, bool]:
        """Whether it was held until now, and whether nothing follows from that."""
        grant = grant or self._last()
        if grant in self._held:
            self._held.remove(grant)
        quick = self._pure.put_back(grant)
        return quick or self._give_back(grant), quick

    def _last(self) -> Grant:
        """This thread's own, if it has one: each is to hear of the loss of his."""
        held = self._held
        if not held:
            raise NotHeld(f"release of {self.name!r}, which is not held")
        if len(held) > 1:
            me = CURRENT.thread
            return next((g for g in reversed(held) if g.owner is me), held[-1])
        return held[0]


class LockNode:
    """This process in the cluster: `with peerlock.sync.join() as node`."""

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
        """One at a time in the whole cluster; `shared`: with others that share it."""
        return Lock(self, *asked_for(name, algorithm, 0, shared), timeout)

    def locks(
        self,
        *names: str,
        shared: bool = False,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
    ) -> BlockingLocks[Grant]:
        """All of them, or none; in whichever order others name them, without deadlock."""

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
        """At most so many at a time in the whole cluster."""
        wanted = asked_for(name, algorithm, must_have_permits(permits), False)
        return Lock(self, *wanted, timeout)

    def statistics(self) -> Statistics:
        with self.host.guard:
            return self.host.node.statistics.copy()

    def leave(self) -> None:
        """Give back what is held, tell those who wait here, and be a member no longer."""
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
    """Become a member, at once; peerlock.join() tells what the arguments are for."""
    knobs = Knobs(hand_overs=hand_overs, hand_over_time=hand_over_time)
    engine, transport = meet(cluster, lease, reach)
    return LockNode(Host(engine, transport, knobs, describe))
