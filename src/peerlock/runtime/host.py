"""What a real process does for its node: connections, time, membership.

Step, drain, then await: the node is stepped by one thread at a time, under `guard`, and
never across an await.  Whatever follows from a step is carried out by `flush`.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from math import inf
from typing import Any, TypeVar, cast

from peerlock.core.errors import Deadlock
from peerlock.core.peer import RemoteError
from peerlock.membership.engine import (
    BetweenMachines,
    ClusterError,
    Engine,
    Gone,
    Renewed,
    Watching,
)
from peerlock.node.knobs import Knobs
from peerlock.node.node import Node, NotHeld
from peerlock.node.views import MemberId, View, must_be_possible
from peerlock.node.wire import Batch
from peerlock.runtime.codec import VERSION, Ask, Frame, Garbage, Hello, Seen, Told
from peerlock.runtime.connection import Connection
from peerlock.runtime.questions import must_be_welcome, words
from peerlock.runtime.transport import Transport

T = TypeVar("T")

# A look at the members when nothing calls for it, in seconds; and how soon we try again to
# reach somebody who is still a member.
POLL = 1.0
RETRY = 0.001
RETRY_AT_MOST = 0.5

# A view that is not entered within so many seconds is worth a word.
SLOW = 2.0

# So many connections may be open whose other end has not said who it is, and so long.
MOST_UNKNOWN = 128

# Who leaves gives others so many seconds to hear his last words.
PARTING = 0.5
PATIENCE = 10.0

# To a signal handler, in the middle of a step.
INTERRUPTED = "the signal interrupted peerlock: set a flag, and do this after the handler"


class Way:
    """To one member: a connection, or the attempt to make one."""

    __slots__ = ("again", "connection", "dialling", "pause", "since", "trouble")

    def __init__(self) -> None:
        self.connection: Connection | None = None
        self.again = False  # there has been a connection before
        self.dialling = False
        self.pause = RETRY
        self.since = -inf  # when the last connection was made
        self.trouble: Exception | None = None  # why it could not be reached


class Host:
    def __init__(
        self,
        engine: Engine,
        transport: Transport,
        knobs: Knobs | None = None,
        describe: Callable[[Node], dict[str, Any]] = lambda node: {},
    ) -> None:
        self.engine = engine
        self.node = Node(time.monotonic, knobs)
        self.guard = threading.RLock()
        self.stepping = False  # who has the guard is in the middle of a step
        self.transport = transport
        self.address = ""  # where others reach us, once we have started
        self.describe = describe
        self._trouble: ClusterError | None = None  # why we cannot renew, while we cannot
        self.strangers = 0  # who came, and did not say who they are, or are not ours
        self.on_renewal: Callable[[float], None] = lambda deadline: None

        self._ways: dict[MemberId, Way] = {}
        self._incoming: dict[Connection, MemberId] = {}
        self._connections: set[Connection] = set()  # all that are open
        self._parted = asyncio.Event()  # none is left
        # Who has not said who they are, and when we are tired of them.
        self._unknown: dict[Connection, asyncio.TimerHandle] = {}
        self._addresses: dict[MemberId, str] = {}
        self._seen_at = inf  # when we saw the view
        self._tasks: set[asyncio.Task[Any]] = set()
        self._newest = View(0, ())  # of the views that came while we were out
        self._looking = False
        self._look_again = False
        self._turning = False
        self._told_to_flush = False
        self._stopped = False
        self._leaving: asyncio.Task[None] | None = None
        self._end_of_lease: asyncio.TimerHandle | None = None
        self._others_wait_until = -inf  # when nobody renews it, our place is free
        self.started = False
        self.loop = cast(asyncio.AbstractEventLoop, None)  # until we have started

    # Life

    async def start(self) -> None:
        if self.started or self._stopped:
            raise ClusterError("a node joins once; peerlock.join() makes another")
        self.started = True
        self.loop = asyncio.get_running_loop()
        if isinstance(self.engine, Watching):
            self.engine.on_change = self._heard
        try:
            self.address = await self.transport.listen(self._accept)
            if isinstance(self.engine, BetweenMachines):
                await must_be_welcome(self.engine, self.transport)
            await self._join()
        except BaseException:
            self._close()
            raise
        self._spawn(self._tick())

    async def stop(self) -> None:
        """Leave properly; what is held is given back.

        Whoever does not want to wait for that may go, and we leave all the same: others
        would wait for a member that neither answers nor dies.
        """
        if not self._stopped and self.started:
            me = self.node.me
            with self.guard:
                self._stopped = True
                self.node.lose_everything()
                for waiter in list(self.node.waiting()):
                    self.node.give_up(waiter)
                    waiter.abandon()
            self._leaving = self.loop.create_task(self._leave(me))
        if self._leaving is not None:
            await asyncio.shield(self._leaving)

    async def _leave(self, me: MemberId) -> None:
        try:
            self.transport.hide()
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0)  # whoever was on his way is here, before we close
            view = await self.engine.leave(me)
            self._spread(view)
        except ClusterError:
            pass  # they find out by themselves
        finally:
            self._close()
            await self._part()

    async def _part(self) -> None:
        """Until all has been said; who does not listen is not waited for."""
        self._parted.clear()
        for grace in (PARTING, PARTING):
            if self._connections:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._parted.wait(), grace)
            for connection in self._connections:
                connection.end()

    def _close(self) -> None:
        self._stopped = True
        if self._end_of_lease:
            self._end_of_lease.cancel()
        self.transport.close()
        for connection in self._connections:
            connection.finish()
        self.engine.close()

    def abandon(self) -> None:
        """In a forked child: nothing of this is ours."""
        self._stopped = True
        self.node.lose_everything()
        self.engine.abandon()
        if self.started:
            for connection in self._connections:
                connection.abandon()
            self.transport.abandon()

    def must_be_in(self) -> None:
        """Under `guard`: those who wait when we leave are told, and nobody comes later."""
        if not self.started:
            raise ClusterError("the node has not joined: async with peerlock.join() …")
        if self._stopped:
            raise ClusterError("the node has left the cluster")

    @property
    def trouble(self) -> ClusterError | None:
        """What keeps us from working as we should, if anything does."""
        if self._trouble or self.transport.trouble:
            return self._trouble or self.transport.trouble
        for member, way in self._ways.items():
            if way.trouble and way.pause == RETRY_AT_MOST:
                where = self._addresses.get(member)
                reason = words(way.trouble)
                return ClusterError(f"cannot reach the member at {where}: {reason}")
        if time.monotonic() - self._seen_at > SLOW:
            for member in self.node.awaited - {self.node.me}:
                where = self._addresses.get(member)
                return ClusterError(f"all wait for the member at {where}, which is silent")
        return None

    # Steps

    def step(self, step: Callable[..., T], *arguments: Any) -> T:
        """Of the node: whole, or it counts as none.

        If it ends in the middle, by Ctrl-C or by a fault of ours, nobody knows how much of
        it was done.  So the node does what it does when its lease has run out: it loses
        what it holds, and joins again.  A signal handler that runs in the middle of one
        is refused.
        """
        with self.guard:
            if self.stepping:
                raise Deadlock(INTERRUPTED)
            try:
                self.stepping = True
                return step(*arguments)
            except (RemoteError, NotHeld, ClusterError):
                raise
            except BaseException:
                self.node.lose_everything()
                with contextlib.suppress(RuntimeError):  # the loop may be closed
                    self.loop.call_soon_threadsafe(self._mind_loss)
                raise
            finally:
                self.stepping = False

    def flush(self) -> None:
        """Carry out what the last step of the node led to; in the loop's thread."""
        node = self.node
        with self.guard:
            self._told_to_flush = False
            batches = node.drain()
            if node.wants_turn and not self._turning:
                self._turning = True
                self.loop.call_soon(self._turn)
        for member, batch in batches:
            way = self._ways.get(member)
            if way is not None and way.connection is not None:
                way.connection.send(batch)
            else:
                self._dial(member)
        if node.waits_for_view:
            self._look_soon()

    def flush_if_needed(self) -> None:
        """The same; quick when there is nothing to do, as after most releases."""
        if not self._turning or self.node.has_something_to_say:
            self.flush()

    def must_be_flushed(self) -> bool:
        """For other threads, under `guard`: whether the loop must be told, once."""
        if self._told_to_flush:
            return False
        node = self.node
        turn = node.wants_turn and not self._turning
        self._told_to_flush = turn or node.has_something_to_say
        return self._told_to_flush

    def _turn(self) -> None:
        self._turning = False
        self.step(self.node.turn)
        self.flush()
        self._mind_loss()

    def _see(self, view: View) -> None:
        if not self.node.member:  # we are about to join again, and then need the newest
            self._newest = max(self._newest, view)
        elif view.number > self.node.view.number:
            self.step(self.node.see, view)
            self._go_with(view)

    def _go_with(self, view: View) -> None:
        self._addresses = {member.id: member.address for member in view.members}
        self._seen_at = time.monotonic()
        for member in [m for m in self._ways if m not in self._addresses]:
            way = self._ways.pop(member)
            if way.connection:
                way.connection.finish()
        self.flush()
        self._mind_loss()

    def _mind_loss(self) -> None:
        """If we are out, get in again; those who wait here still do."""
        if not self.node.member and not self._stopped:
            self._look_soon()

    # Membership

    async def _join(self) -> None:
        joined = await self.engine.join(self.address, self.node.view.number)
        for way in self._ways.values():  # whoever knew us knew us under another number
            if way.connection:
                way.connection.finish()
        self._ways.clear()
        self._renewed_until(joined.deadline)
        self.step(self.node.see, joined.view, joined.me)
        self._others_wait_until = joined.deadline
        self._go_with(joined.view)
        self._spread(joined.view)
        self._see(self._newest)

    async def _tick(self) -> None:
        pause = POLL if self.engine.lease is None else min(POLL, self.engine.lease / 5)
        while True:
            await asyncio.sleep(pause)
            await self._be_found()
            self.step(self.node.tick)
            self.flush()
            self._look_soon()

    async def _be_found(self) -> None:
        """Somebody may have removed our socket; who cannot reach us would wait for ever."""
        if not self.transport.can_be_found():
            try:
                await self.transport.listen(self._accept)
            except ClusterError as error:
                self._trouble = error

    def _heard(self, view: View | None) -> None:
        """The engine has seen something change."""
        if view is None:
            self._look_soon()
        else:
            self._see(view)

    def _look_soon(self) -> None:
        """Renew, and see whether somebody is gone; one at a time."""
        if self._looking:
            self._look_again = True
        elif not self._stopped:
            self._looking = True
            self._spawn(self._look())

    def _suspect_death(self) -> None:
        """Somebody cannot be reached.  Whoever keeps the members knows, and may tell us
        by itself: then a hundred of us need not ask, again and again."""
        if not isinstance(self.engine, Watching):
            self._look_soon()

    async def _look(self) -> None:
        try:
            while not self._stopped:
                self._look_again = False
                await self._look_once()
                if not self._look_again:
                    return
        except ClusterError as error:
            self._trouble = error
            if isinstance(error, Gone):
                with self.guard:
                    self.node.lose_everything()
                self.loop.call_soon(self._mind_loss)  # once this look is over
        finally:
            self._looking = False

    async def _look_once(self) -> None:
        if not self.node.member:
            await self._join_again()
            return
        me = self.node.me
        renewed = await self.engine.renew(me)
        self._trouble = renewed.trouble
        if self.node.fences_run_out:
            renewed = Renewed(await self.engine.renumber(), renewed.deadline, True)
        if me == self.node.me and renewed.deadline > -inf:
            self._renewed_until(renewed.deadline)
        self._see(renewed.view)
        if renewed.changed:
            self._spread(renewed.view)
        if not self.node.member:
            await self._join_again()

    async def _join_again(self) -> None:
        """Who joins gives up its old place, and what it held there is free for others.

        Our users have been told a margin before that, so as to stop in time: they must
        have it, however soon we could be in again.
        """
        left = self._others_wait_until - time.monotonic()
        if self.engine.lease is not None and 0 < left <= margin(self.engine.lease):
            await asyncio.sleep(left)
        await self._join()

    def _renewed_until(self, deadline: float) -> None:
        """Our users lose what they hold a little before others can have it."""
        if deadline == inf:
            return
        assert self.engine.lease is not None
        if self.node.member:
            self._others_wait_until = deadline
        deadline -= margin(self.engine.lease)
        with self.guard:
            self.node.renewed(deadline)
        self.on_renewal(deadline)
        if self._end_of_lease:
            self._end_of_lease.cancel()
        # Loops count on the clock that time.monotonic reads.
        self._end_of_lease = self.loop.call_at(deadline, self._lease_ends)

    def _lease_ends(self) -> None:
        with self.guard:
            too_early = self.node.check_lease()
        if too_early:  # uvloop counts milliseconds, and may call up to one before the time
            self._end_of_lease = self.loop.call_later(0.001, self._lease_ends)
        self._mind_loss()

    def _spread(self, view: View) -> None:
        """Tell the members of a view that we were the first to see."""
        for member in view.members:
            if member.id != self.node.me:
                way = self._ways.get(member.id)
                if way is not None and way.connection is not None:
                    way.connection.send(Seen(view))
                elif not self._stopped:
                    self._dial(member.id)

    # Connections

    def _accept(self) -> Connection:
        """Strangers may come in any number; they must not take all descriptors."""
        connection = Connection(self)
        if self._stopped:
            connection.end()
            return connection
        self._connections.add(connection)
        tired = self.loop.call_later(PATIENCE, self._tired_of, connection)
        self._unknown[connection] = tired
        if len(self._unknown) > MOST_UNKNOWN:
            self._tired_of(next(iter(self._unknown)))
        return connection

    def _tired_of(self, connection: Connection) -> None:
        self._count_stranger(connection)
        connection.end()

    def _count_stranger(self, connection: Connection) -> None:
        if self._is_unknown_no_more(connection):
            self.strangers += 1

    def _is_unknown_no_more(self, connection: Connection) -> bool:
        """Whether it was, until now."""
        tired = self._unknown.pop(connection, None)
        if tired is not None:
            tired.cancel()
        return tired is not None

    def _dial(self, member: MemberId) -> None:
        way = self._ways.setdefault(member, Way())
        if not way.dialling and member in self._addresses and not self._stopped:
            way.dialling = True
            self._spawn(self._connect(member, way))

    async def _connect(self, member: MemberId, way: Way) -> None:
        """Until it is reached, or no member any more."""
        if self.loop.time() - way.since < RETRY_AT_MOST:
            await self._pause(way)  # it let us in and then did not want us
        else:
            way.pause = RETRY
        while self._ways.get(member) is way and not self._stopped:
            connection = Connection(self)
            try:
                await self.transport.connect(self._addresses[member], connection)
                if not connection.is_open:
                    raise ConnectionResetError
            except (OSError, ValueError) as error:  # an address may be nonsense
                way.trouble = error
                self._suspect_death()
                await self._pause(way)
                continue
            way.trouble = None
            way.dialling = False
            way.since = self.loop.time()
            self._connected(member, way, connection)
            return

    async def _pause(self, way: Way) -> None:
        await asyncio.sleep(way.pause)
        way.pause = min(2 * way.pause, RETRY_AT_MOST)

    def _connected(self, member: MemberId, way: Way, connection: Connection) -> None:
        self._connections.add(connection)
        if self._ways.get(member) is not way:
            connection.end()
            return
        way.connection = connection
        node = self.node
        connection.send(Hello(VERSION, self.engine.cluster, node.me, node.view))
        self.step(node.connected, member, way.again)
        way.again = True
        self.flush()

    def frame(self, connection: Connection, frame: Frame) -> None:
        sender = self._incoming.get(connection)
        if sender is None:
            self._first_frame(connection, frame)
        elif type(frame) is Batch:
            node = self.node
            self.step(node.receive, sender, frame)
            if node.calls_for_flush:
                self.flush()
            if not node.member:
                self._mind_loss()
        elif type(frame) is Seen:
            must_be_possible(frame.view)
            self._see(frame.view)
        else:
            raise Garbage("a frame that has no place here")

    def _first_frame(self, connection: Connection, frame: Frame) -> None:
        if isinstance(frame, Hello | Ask):
            expected = (VERSION, self.engine.cluster)
            if (frame.version, frame.cluster) == expected and not self._stopped:
                if isinstance(frame, Ask):
                    self._answer(connection)
                    return
                must_be_possible(frame.view)
                self._is_unknown_no_more(connection)
                self._incoming[connection] = frame.sender
                self._see(frame.view)
                return
        raise Garbage("a stranger")

    def _answer(self, connection: Connection) -> None:
        with self.guard:
            told = Told(self.describe(self.node))
        self._is_unknown_no_more(connection)
        connection.send(told)
        connection.finish()
        self.loop.call_later(PATIENCE, connection.end)  # if it does not want to hear it

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._parted.set()
        self._count_stranger(connection)
        member = self._incoming.pop(connection, None)
        for other, way in self._ways.items():
            if way.connection is connection:
                way.connection = None
                member = other
                if other in self._addresses:
                    self._dial(other)
                break
        if member in self._addresses:
            self._suspect_death()

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self.loop.call_exception_handler(
                {"message": "peerlock: a task has failed", "exception": error, "task": task}
            )


def margin(lease: float) -> float:
    """How long before its end a lease counts as run out."""
    return min(0.5, lease / 10)
