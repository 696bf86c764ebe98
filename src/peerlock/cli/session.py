"""A command under a lock, from joining to leaving, and the exit code of `peerlock lock`."""

from __future__ import annotations

import asyncio
import signal
import time
from math import inf

from peerlock.api.errors import Conflict, Lost, Timeout, WouldBlock
from peerlock.api.meeting import Reach
from peerlock.api.several import Several, must_be_held
from peerlock.api.tasks import Grant, Lock, LockNode, join
from peerlock.cli.cluster import complain_about_cluster, must_be_of_many_processes
from peerlock.cli.ending import UNAVAILABLE, Failure, end_by, say
from peerlock.cli.lock_line import LockRequest
from peerlock.core.errors import UsageError
from peerlock.node.presence import margin
from peerlock.supervision.child import answered
from peerlock.supervision.joining import Patience, member
from peerlock.supervision.neighbour import Neighbour
from peerlock.supervision.signals import Signals
from peerlock.supervision.watchdog import FOR_ALL, Watchdog

LOST = 75  # EX_TEMPFAIL of sysexits.h

# If one of these has ended the command, it ends this process, too: a shell uses that to
# decide whether Ctrl-C was meant for its script as well.
FROM_THE_KEYBOARD = (signal.SIGINT, signal.SIGQUIT)


def hold_and_run(request: LockRequest, watchdog: Watchdog, neighbour: Neighbour) -> int:
    def renewed(deadline: float) -> None:
        watchdog.until(deadline + grace(request.lease))

    try:
        with complain_about_cluster():
            node = node_for(request)
            node.host.on_renewal = renewed
            locks, signals = handles(node, request), Signals(neighbour)
            session = LockSession(request, node, locks, watchdog, signals)
            code = asyncio.run(session.run())
    except Conflict as error:
        raise UsageError(str(error)) from None
    if session.interrupted or -code in FROM_THE_KEYBOARD:
        end_by(session.interrupted or -code)
    return code if code >= 0 else 128 - code


def node_for(request: LockRequest) -> LockNode:
    must_be_of_many_processes(request.cluster)
    reach = Reach(request.listen, request.advertise, request.certificates, request.insecure)
    # No thread: a renewal shows the watchdog that this loop is alive.
    return join(
        request.cluster,
        lease=request.lease,
        reach=reach,
        thread=False,
        label=request.label,
    )


def grace(lease: float | None) -> float:
    """Seconds for the command to end by itself before another process can acquire the
    lock."""
    return 0.0 if lease is None else margin(lease) / 2


def handles(node: LockNode, request: LockRequest) -> list[Lock]:
    """In the order in which several locks are always acquired: see `api/several.py`."""
    names, permits, algorithm = (
        Several(request.names).in_order,
        request.permits,
        request.algorithm,
    )
    if permits and request.shared:
        raise UsageError("a semaphore cannot be shared: omit -s or --permits")
    if permits:
        return [node.semaphore(name, permits, algorithm=algorithm) for name in names]
    return [node.lock(name, shared=request.shared, algorithm=algorithm) for name in names]


class LockSession:
    def __init__(
        self,
        request: LockRequest,
        node: LockNode,
        locks: list[Lock],
        watchdog: Watchdog,
        signals: Signals,
    ) -> None:
        self.request = request
        self.node = node
        self.locks = locks
        self.grants: dict[str, Grant] = {}
        self.watchdog = watchdog
        self.signals = signals
        self.started = False
        self.over = asyncio.Event()  # the command has ended, or the lock is lost
        self.unwatched = asyncio.Event()  # the watchdog has ended
        self.interrupted = 0  # by this signal, while waiting for the lock
        self.patience = Patience(0.0 if request.nonblock else request.timeout)

    async def run(self) -> int:
        """The exit code of the command, or of this process; a signal is negative."""
        loop = asyncio.get_running_loop()
        self.task = asyncio.current_task()
        for number in answered():
            loop.add_signal_handler(number, self._signalled, number)
        loop.add_reader(self.watchdog.line, self._hear)
        passing_on = asyncio.ensure_future(self._pass_on_signals())
        try:
            async with member(self.node, self.patience.for_joining):
                return await self._hold()
        except asyncio.CancelledError:
            if self.interrupted:
                return -self.interrupted
            if self.unwatched.is_set():
                raise Failure(
                    "the watchdog was killed while waiting for the lock", UNAVAILABLE
                ) from None
            raise
        finally:
            passing_on.cancel()

    async def _hold(self) -> int:
        request, began = self.request, time.perf_counter()
        try:
            for lock in self.locks:
                self.grants[lock.name] = await self._get(lock)
            must_be_held(self.grants.values())
        except (Timeout, WouldBlock):
            if request.verbose:
                say("failed to acquire the lock")
            return request.conflict
        except Lost:
            say(f"lost {request.what} as soon as it was acquired")
            return LOST
        if request.verbose:
            say(f"acquiring the lock took {time.perf_counter() - began:.6f} seconds")
            say(f"executing {request.command[0]}")
        try:
            return await self._run()
        except Lost:
            return await self._stop(f"lost {request.what}")

    async def _get(self, lock: Lock) -> Grant:
        left = self.patience.left()
        return await (lock.try_acquire() if left == 0 else lock.acquire(left))

    async def _run(self) -> int:
        self.started = True
        grants = [self.grants[name] for name in self.request.names]
        fences = ",".join(str(grant.fence) for grant in grants)
        self.watchdog.run(fences, self.node.keeps_us_in, not self.request.close)
        for grant in grants:
            grant.lost.add_done_callback(lambda _: self.over.set())
        await self.over.wait()
        if self.watchdog.status is None and not any(grant.is_lost for grant in grants):
            return await self._stop("the watchdog was killed")
        for grant in grants:
            grant.release()
        assert self.watchdog.status is not None
        return self.watchdog.status

    async def _stop(self, why: str) -> int:
        """Before the lease ends: another process may acquire the lock then."""
        self.watchdog.stop(grace(self.request.lease))
        await self.unwatched.wait()
        done = self.watchdog.status is not None or self.watchdog.take_over()
        say(f"{why}: {'stopped' if done else 'cannot stop'} {self.request.command[0]}")
        return LOST

    def _hear(self) -> None:
        if not self.watchdog.hear():
            asyncio.get_running_loop().remove_reader(self.watchdog.line)
            self.unwatched.set()
            self.over.set()
            self._give_up()
        elif self.watchdog.status is not None and -self.watchdog.status in FOR_ALL:
            self.watchdog.stop(inf)  # and the processes that it has left behind

    def _give_up(self) -> None:
        if not self.started and self.task is not None:
            self.task.cancel()

    def _signalled(self, number: int) -> None:
        if self.started:
            self.signals.came(number)
        else:
            self.interrupted = number
            self._give_up()

    async def _pass_on_signals(self) -> None:
        while True:
            number, for_all = await self.signals.next()
            if self.watchdog.status is not None:  # only what it left behind runs
                self.watchdog.stop(inf)
            elif not for_all:
                self.watchdog.send_signal(number)
