"""The same locks for threads, with the semantics of threading.Lock.

with peerlock.sync.join() as node:
    with node.lock("invoices") as grant:
        store.write(data, fence=grant.fence)

The node lives in a thread of its own.  A lock that is here and free is acquired and
released by the calling thread alone.  `signals` says what a signal handler may do.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from functools import partial, wraps
from inspect import isasyncgenfunction, iscoroutinefunction, isgeneratorfunction
from typing import ParamSpec, TypeVar

from peerlock.api.driver import OwnThread
from peerlock.api.errors import Deadlock
from peerlock.api.forks import belongs_here, mind_forks
from peerlock.api.grants import Public, shown_node
from peerlock.api.leaving import Departure
from peerlock.api.meeting import USUAL, Reach, rendezvous
from peerlock.api.names import asked_for, leadership, must_be_bool, must_have_permits
from peerlock.api.reentrant import ThreadLock
from peerlock.api.several import BlockingLocks
from peerlock.api.signals import must_not_be_in_a_step
from peerlock.api.status import Holder, Status, Survey, describe, plain_label
from peerlock.api.tasks import LEASE
from peerlock.api.thread_locks import Grant, Lock
from peerlock.core.errors import UsageError
from peerlock.core.peer import Peer
from peerlock.node.knobs import Knobs
from peerlock.node.statistics import Statistics
from peerlock.runtime.host import INTERRUPTED, Host

__all__ = ["Grant", "Lock", "LockNode", "join"]

P = ParamSpec("P")
T = TypeVar("T")


class LockNode(Public):
    """This process as a member of a cluster: `with peerlock.sync.join() as node`."""

    def __init__(self, host: Host, survey: Survey) -> None:
        must_not_be_in_a_step()
        self.host = host
        self._survey = survey
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

    def __repr__(self) -> str:
        return shown_node(self.host)

    def __enter__(self) -> LockNode:
        return self

    def __exit__(self, *_: object) -> None:
        if not self.host.forked:  # the end of the block in a forked child is not ours
            self.leave()

    def lock(
        self,
        name: str | bytes,
        *,
        shared: bool = False,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
        reentrant: bool = False,
    ) -> Lock:
        """A lock with at most one holder in the cluster.

        shared: several readers may hold it
        reentrant: its owner may acquire it again
        """
        must_be_bool("reentrant", reentrant)
        kind = ThreadLock if reentrant else Lock
        return kind(self, *asked_for(name, algorithm, 0, shared), timeout)

    def locks(
        self,
        *names: str | bytes,
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
        name: str | bytes,
        permits: int,
        *,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
    ) -> Lock:
        """A semaphore: at most `permits` holders in the cluster."""
        wanted = asked_for(name, algorithm, must_have_permits(permits), False)
        return Lock(self, *wanted, timeout)

    def locked(
        self,
        name: str | bytes,
        *,
        shared: bool = False,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
    ) -> Callable[[Callable[P, T]], Callable[P, T]]:
        """Decorate a function: each call of it holds the lock."""
        lock = self.lock(name, shared=shared, timeout=timeout, algorithm=algorithm)

        def decorate(function: Callable[P, T]) -> Callable[P, T]:
            if iscoroutinefunction(function):
                raise UsageError("decorate a function, or use peerlock.join()")
            if isgeneratorfunction(function) or isasyncgenfunction(function):
                raise UsageError("a generator runs after its call: lock inside it")

            @wraps(function)
            def holding(*args: P.args, **kwargs: P.kwargs) -> T:
                with lock:
                    return function(*args, **kwargs)

            return holding

        return decorate

    def leader(self, name: str | bytes, *, timeout: float | None = None) -> Lock:
        """Leader election: one process is the leader, and the others wait for its end.

        `with node.leader("scheduler") as term`: `term.fence` grows from term to term,
        and `term.lost` is set if this process is the leader no longer.
        """
        return self.lock(leadership(name), timeout=timeout)

    def status(self) -> Status:
        """The members, and the holders and waiters of each lock, as the members report."""
        belongs_here(self.host)
        must_not_be_in_a_step()
        with self.host.guard:
            self.host.must_be_in()
        return self.driver.do(self._survey.ask()).result()

    def leader_of(self, name: str | bytes) -> Holder | None:
        """The leader, as the members of the cluster report it; None: there is none."""
        return self.status().holder_of(leadership(name))

    def statistics(self) -> Statistics:
        """What this node has counted so far."""
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
    label: str | None = None,
) -> LockNode:
    """Join a cluster, before it returns; the arguments are those of peerlock.join()."""
    knobs = Knobs(hand_overs=hand_overs, hand_over_time=hand_over_time)
    engine, transport = rendezvous(cluster, lease, reach)
    host = Host(engine, transport, knobs, partial(describe, label=plain_label(label)))
    return LockNode(host, Survey(cluster, reach))
