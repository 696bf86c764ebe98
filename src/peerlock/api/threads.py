"""The same locks for threads, with the semantics of threading.Lock.

with peerlock.sync.join() as node:
    with node.lock("invoices") as grant:
        store.write(data, fence=grant.fence)

The node lives in a thread of its own.  A lock that is here and free is acquired and
released by the calling thread alone.  `signals` says what a signal handler may do.
"""

from __future__ import annotations

import threading

from peerlock.api.driver import OwnThread
from peerlock.api.errors import Deadlock
from peerlock.api.forks import belongs_here, mind_forks
from peerlock.api.grants import Public
from peerlock.api.leaving import Departure
from peerlock.api.meeting import USUAL, Reach, meet
from peerlock.api.names import asked_for, must_have_permits
from peerlock.api.several import BlockingLocks
from peerlock.api.signals import must_not_be_in_a_step
from peerlock.api.status import describe
from peerlock.api.tasks import LEASE
from peerlock.api.thread_locks import Grant, Lock
from peerlock.core.peer import Peer
from peerlock.node.knobs import Knobs
from peerlock.node.statistics import Statistics
from peerlock.runtime.host import INTERRUPTED, Host

__all__ = ["Grant", "Lock", "LockNode", "join"]


class LockNode(Public):
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
) -> LockNode:
    """Join a cluster, before it returns; the arguments are those of peerlock.join()."""
    knobs = Knobs(hand_overs=hand_overs, hand_over_time=hand_over_time)
    engine, transport = meet(cluster, lease, reach)
    return LockNode(Host(engine, transport, knobs, describe))
