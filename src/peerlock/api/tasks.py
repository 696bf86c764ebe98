"""Locks for asyncio.

async with peerlock.join() as node:
    async with node.lock("invoices") as grant:
        await store.write(data, fence=grant.fence)
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from functools import partial, wraps
from inspect import iscoroutinefunction
from typing import Any, ParamSpec, TypeVar

from peerlock.api.driver import BesideLoop, InLoop
from peerlock.api.forks import mind_forks
from peerlock.api.grants import Public, shown_node
from peerlock.api.leaving import Departure
from peerlock.api.loops import must_be_asyncio
from peerlock.api.meeting import USUAL, Reach, rendezvous
from peerlock.api.names import asked_for, leadership, must_be_bool, must_have_permits
from peerlock.api.reentrant import TaskLock
from peerlock.api.several import Locks
from peerlock.api.status import Holder, Status, Survey, describe, plain_label
from peerlock.api.task_locks import Grant, Lock
from peerlock.core.errors import UsageError
from peerlock.core.peer import Peer
from peerlock.node.knobs import Knobs
from peerlock.node.statistics import Statistics
from peerlock.runtime.host import Host

__all__ = ["Grant", "Lock", "LockNode", "join"]

LEASE = 10.0

P = ParamSpec("P")
T = TypeVar("T")
Work = Callable[P, Coroutine[Any, Any, T]]


class LockNode(Public):
    """This process as a member of a cluster: `async with peerlock.join() as node`."""

    _departure: Departure | None = None

    def __init__(self, driver: BesideLoop | InLoop, survey: Survey) -> None:
        self.driver = driver
        self._survey = survey
        self.host = driver.host

    def __repr__(self) -> str:
        return shown_node(self.host)

    async def __aenter__(self) -> LockNode:
        must_be_asyncio()
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
        name: str | bytes,
        *,
        shared: bool = False,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
        cancel_on_loss: bool = False,
        reentrant: bool = False,
    ) -> Lock:
        """A lock with at most one holder in the cluster.

        shared: several readers may hold it
        reentrant: its owner may acquire it again
        """
        must_be_bool("reentrant", reentrant)
        kind = TaskLock if reentrant else Lock
        wanted = asked_for(name, algorithm, 0, shared)
        return kind(self, *wanted, timeout, cancel_on_loss)

    def locks(
        self,
        *names: str | bytes,
        shared: bool = False,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
        cancel_on_loss: bool = False,
    ) -> Locks[Grant]:
        """Several locks: all of them or none, without deadlock, in whichever order."""
        must_be_bool("cancel_on_loss", cancel_on_loss)

        def handle(name: str, timeout: float | None) -> Lock:
            wanted = asked_for(name, algorithm, 0, shared)
            return Lock(self, *wanted, timeout, cancel_on_loss)

        return Locks(names, timeout, handle)

    def semaphore(
        self,
        name: str | bytes,
        permits: int,
        *,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """A semaphore: at most `permits` holders in the cluster."""
        wanted = asked_for(name, algorithm, must_have_permits(permits), False)
        return Lock(self, *wanted, timeout, cancel_on_loss)

    def locked(
        self,
        name: str | bytes,
        *,
        shared: bool = False,
        timeout: float | None = None,
        algorithm: str | type[Peer] | None = None,
        cancel_on_loss: bool = False,
    ) -> Callable[[Work[P, T]], Work[P, T]]:
        """Decorate a coroutine function: each call of it holds the lock."""
        lock = self.lock(
            name,
            shared=shared,
            timeout=timeout,
            algorithm=algorithm,
            cancel_on_loss=cancel_on_loss,
        )

        def decorate(function: Work[P, T]) -> Work[P, T]:
            if not iscoroutinefunction(function):
                raise UsageError("decorate a coroutine function, or use peerlock.sync")

            @wraps(function)
            async def holding(*args: P.args, **kwargs: P.kwargs) -> T:
                async with lock:
                    return await function(*args, **kwargs)

            return holding

        return decorate

    def leader(
        self,
        name: str | bytes,
        *,
        timeout: float | None = None,
        cancel_on_loss: bool = False,
    ) -> Lock:
        """Leader election: one process is the leader, and the others wait for its end.

        `async with node.leader("scheduler") as term`: `term.fence` grows from term to term,
        and `term.lost` is set if this process is the leader no longer.
        """
        return self.lock(leadership(name), timeout=timeout, cancel_on_loss=cancel_on_loss)

    async def status(self) -> Status:
        """The members, and the holders and waiters of each lock, as the members report."""
        with self.host.guard:
            self.host.must_be_in()
        return await self._survey.ask()

    async def leader_of(self, name: str | bytes) -> Holder | None:
        """The leader, as the members of the cluster report it; None: there is none."""
        return (await self.status()).holder_of(leadership(name))

    @property
    def keeps_us_in(self) -> int | None:
        """A descriptor: a child process that inherits it keeps this member alive."""
        return self.host.engine.lock_file

    def statistics(self) -> Statistics:
        """What this node has counted so far."""
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
    label: str | None = None,
) -> LockNode:
    """Join a cluster of processes that share locks.

    cluster: its address; by default $PEERLOCK_CLUSTER, or this user's on this machine.
    lease: seconds after which a silent process loses what it holds; None disables this.
    hand_overs, hand_over_time: how often, and for how many seconds, a lock may be handed
      from one local user to the next while other processes wait; 1 is strictly in turn.
    reach: for clusters on many machines, addresses and certificates.
    thread: the node has a thread of its own, and answers other processes while this event
      loop is blocked; False runs it in this loop, and other processes wait meanwhile.
    label: what `status` shows for this process; by default host, process id and program.
    """
    must_be_bool("thread", thread)
    knobs = Knobs(hand_overs=hand_overs, hand_over_time=hand_over_time)
    engine, transport = rendezvous(cluster, lease, reach)
    host = Host(engine, transport, knobs, partial(describe, label=plain_label(label)))
    driver = BesideLoop(host) if thread else InLoop(host)
    return LockNode(driver, Survey(cluster, reach))
