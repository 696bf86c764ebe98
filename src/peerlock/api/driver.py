"""What drives a node: an event loop, in a thread of the node's own or of the caller.

- `OwnThread`: for threads.  Their steps are made in their own threads, under the node's
  guard, and so is what they say to members; and one that waits reads what members say
  (`reading`).  For a turn, and for what cannot be sent at once, the node's thread is woken.
- `BesideLoop`: for tasks.  The node has a thread of its own, too, so that it answers others
  while the event loop of the tasks is blocked.  But that loop sends what it can by itself,
  and takes its own turns, since waking the other thread takes longer than all else that a
  lock takes which is here and free:
    - connections on which members send often are lent to that loop (`lending`);
    - when members have sent something on another one that was not read yet, the node's
      thread takes the turn;
    - as long as turns for which others may wait are due again and again, or connections are
      lent, the node's thread patrols, and sees to what is still there when it comes by
      again: the loop is blocked.  (Where a core is busy, each visit costs milliseconds.)
  `beat` says what a loop loses that does not answer for long.
- `InLoop`: for tasks, without a thread: the node answers when the tasks' loop does.
"""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from typing import Any, TypeVar

from peerlock.api.beat import Beat
from peerlock.api.errors import ClusterError, NotOurs
from peerlock.api.loops import new_event_loop
from peerlock.runtime.arrivals import Arrivals
from peerlock.runtime.connection import Connection
from peerlock.runtime.host import Host
from peerlock.runtime.lending import PATROL, Lending
from peerlock.runtime.reading import Reading

T = TypeVar("T")

ENDING: set[Future[None]] = set()  # a loop does not keep its tasks


class Driver:
    loop: asyncio.AbstractEventLoop  # the node's
    tasks_loop: asyncio.AbstractEventLoop | None = None  # of the tasks that use the node

    def __init__(self, host: Host) -> None:
        self.host = host
        self.guard = host.guard
        self.take = host.node.take
        self.put_back = host.node.put_back
        self._ended: Future[None] | None = None

    def do(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """In the node's loop, asked for in another thread; RuntimeError if it is closed."""
        try:
            return asyncio.run_coroutine_threadsafe(work, self.loop)
        except RuntimeError:
            work.close()
            raise

    def end(self, undo: bool = False) -> Future[None]:
        """Leave, and end what was made for the node; once, even if called several times.

        undo: the start, however far it has come.
        """
        self.host.refuse_users()
        with self.guard:
            if self._ended is None:
                self._ended = self.do(self._end(undo))
                ENDING.add(self._ended)
                self._ended.add_done_callback(ENDING.discard)
        return self._ended

    async def _end(self, undo: bool) -> None:
        await self.host.stop()

    def is_running(self) -> bool:
        return self.loop.is_running()

    def soon(self, work: Callable[..., object], *arguments: Any) -> None:
        """In the node's loop."""
        raise NotImplementedError

    def after_step(self) -> None:
        """What follows from a step of the node that a user has made."""
        raise NotImplementedError

    def before_wait(self) -> None:
        """The thread that has made the step waits now, and comes back for nothing that it
        has released."""
        node = self.host.node
        if node.turnstile.marked:
            with self.guard:
                if node.may_let_go:
                    self.host.step(node.turn)
        self.after_step()

    def tell(self, work: Callable[..., None], *arguments: Any) -> None:
        """Call this in the loop of the tasks, from any thread."""
        loop = self.tasks_loop
        assert loop is not None
        if asyncio._get_running_loop() is loop:
            work(*arguments)
        else:
            with suppress(RuntimeError):  # it is closed
                loop.call_soon_threadsafe(work, *arguments)

    def must_be_in_its_loop(self) -> None:
        loop = self.tasks_loop
        if loop is not None and asyncio.get_running_loop() is not loop:
            raise NotOurs("the node was joined in another event loop: join in this one")


class OwnThread(Driver):
    _thread: threading.Thread | None = None

    def begin(self) -> None:
        self.host.reading = Reading(self.host, self.soon, self._after_batch)
        self._begin()

    def _begin(self) -> None:
        self.loop = new_event_loop()
        self._thread = threading.Thread(target=self._run, name="peerlock", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.loop.run_forever()
        finally:
            self.loop.close()

    async def _end(self, undo: bool) -> None:
        try:
            if undo:
                await self._cancel_all()
            await self.host.stop()
        finally:
            self.loop.call_soon(
                self.loop.stop
            )  # which runs after the waiters were notified

    async def _cancel_all(self) -> None:
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def join(self) -> None:
        """After the end, wait for that of the thread."""
        if self._thread is not None:
            self._thread.join()

    def soon(self, work: Callable[..., object], *arguments: Any) -> None:
        with suppress(RuntimeError):  # we have left, and there is no loop any more
            self.loop.call_soon_threadsafe(work, *arguments)

    def after_step(self) -> None:
        host = self.host
        with self.guard:
            if not host.something_follows():
                return
            try:
                host.is_busy = True
                told = host.send_at_once() or host.must_be_flushed()
            finally:
                host.is_busy = False
        if told:
            self.soon(host.flush)

    def _after_batch(self) -> None:
        """What follows from what a thread of the program has read."""
        node = self.host.node
        with self.guard:
            follow = node.mail.waits_for_view or not node.member
        if follow:
            self.soon(self.host.follow_batch)
        self.after_step()


class BesideLoop(OwnThread):
    def __init__(self, host: Host) -> None:
        super().__init__(host)
        # Turns of ours for which others may wait, now and when the patrol was here.
        self._turns = self._seen = 0
        self._patrolling = False
        self._beat = Beat(self)

    async def start(self) -> None:
        if self.host.started:
            raise ClusterError("a node joins once; peerlock.join() makes another")
        self.tasks_loop = asyncio.get_running_loop()
        self._arrivals = self.host.arrivals = Arrivals(self.guard)
        self._arrivals.on_heard = self._came
        self._lending = self.host.lending = Lending(
            self.guard, self._arrivals, self.tasks_loop, self.soon, self._after_batch
        )
        self._begin()
        self.loop.set_exception_handler(self._report)
        try:
            await asyncio.wrap_future(self.do(self.host.start()))
        except BaseException:
            await self.leave(undo=True)
            raise
        self.soon(self._beat.begin)

    async def leave(self, undo: bool = False) -> None:
        """The caller may be cancelled; the node leaves nevertheless."""
        if self._thread is not None:
            await asyncio.shield(asyncio.wrap_future(self.end(undo)))
            self.join()

    def _report(self, _: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        """To the loop that the program knows."""
        assert self.tasks_loop is not None
        self.tell(self.tasks_loop.call_exception_handler, context)

    # Turns

    def after_step(self) -> None:
        host, begins = self.host, False
        with self.guard:
            if not host.something_follows():
                return
            turn, flush = host.must_turn(), host.send_at_once()
            if turn and host.node.turn_concerns_others:
                self._turns += 1
                begins, self._patrolling = not self._patrolling, True
        if turn:
            assert self.tasks_loop is not None
            self.tasks_loop.call_soon(self._turn)
        if flush:
            self.soon(host.flush)
        if begins:
            self.soon(self._patrol)

    def _turn(self) -> None:
        host, node = self.host, self.host.node
        with self.guard:
            if not host.turn_is_due:  # any more
                return
            # Where it only lets go, it need not wait for what others have sent.
            unheard = not node.may_let_go and not self._all_is_heard()
            host.turn_is_due = unheard
        if unheard:
            self.soon(self.loop.call_soon, host.turn)  # when the other loop has read it
            return
        host.step(node.turn)
        self._after_batch()

    def _all_is_heard(self) -> bool:
        """What members have sent; what was lent to this loop is heard now."""
        heard = self._lending.hear_all(self._arrivals.waiting())
        return heard and not self._arrivals.reading

    # In the node's thread

    def _came(self, connection: Connection) -> None:
        if self._lending.came(connection) and self._must_patrol():
            self._patrol()

    def _must_patrol(self) -> bool:
        """Whether to begin."""
        with self.guard:
            begins, self._patrolling = not self._patrolling, True
        return begins

    def _patrol(self) -> None:
        """A message makes this thread take a turn that is late (`Host`); here it looks for
        locks that are given back without having been asked for."""
        again = self._lending.patrol()
        with self.guard:
            stuck = self._turns == self._seen
            self._seen = self._turns
            self._patrolling = bool(again) or not stuck
        if self._patrolling:
            self.loop.call_later(again or PATROL, self._patrol)
        if stuck and self.host.turn_is_due:
            self.host.turn()


class InLoop(Driver):
    async def start(self) -> None:
        await self.host.start()
        self.loop = self.tasks_loop = asyncio.get_running_loop()

    async def leave(self) -> None:
        await self.host.stop()

    def is_running(self) -> bool:
        return self.tasks_loop is not None and self.tasks_loop.is_running()

    def soon(self, work: Callable[..., object], *arguments: Any) -> None:
        work(*arguments)

    def after_step(self) -> None:
        self.host.flush_if_needed()
