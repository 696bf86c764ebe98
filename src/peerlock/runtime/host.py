"""What a real process does for its node: sockets, timers, and questions to the engine.

The node and its presence, which are pure, decide what to do and when; a host notifies them
of what happens and carries out their effects.  It has no policy of its own.

Step, drain, then await: node and presence are stepped by one thread at a time, under
`guard`, and never across an await.  Whatever follows from a step of the node is carried out
by `flush`, from a step of the presence by `_tell`, both in the loop's thread.  Users may be
in other threads, and step the node there.  What follows they send themselves where that is
possible (`send_at_once`): to wake the loop for it would take longer than the message does.
So whatever is sent to members is sent under `guard`, and in the order of the steps.

Leases are counted on `membership.clock`, which keeps running while the machine is
suspended; the timers of event loops do not.  So a timer that is set is compared with the
lease clock at every occasion, and set again by the difference.
"""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable, Coroutine
from functools import partial
from math import inf
from typing import Any, TypeVar, cast

from peerlock.core.errors import Deadlock, NotHeld
from peerlock.core.peer import RemoteError
from peerlock.membership import clock
from peerlock.membership.engine import (
    BetweenMachines,
    ClusterError,
    Engine,
    Gone,
    Watching,
)
from peerlock.node.knobs import Knobs
from peerlock.node.node import Node
from peerlock.node.presence import (
    BeFound,
    Dial,
    HangUp,
    Join,
    LeaseUntil,
    Leave,
    PassOn,
    Presence,
    Question,
    Renew,
    Reserve,
)
from peerlock.node.views import MemberId, View
from peerlock.node.wire import Batch
from peerlock.runtime.arrivals import Arrivals
from peerlock.runtime.codec import (
    VERSION,
    Ask,
    Foreign,
    Frame,
    Garbage,
    Hello,
    Refusal,
    Seen,
    StatusTold,
)
from peerlock.runtime.connection import Connection
from peerlock.runtime.door import Caller, Door
from peerlock.runtime.journal import Journal
from peerlock.runtime.lending import Lending
from peerlock.runtime.questions import must_be_welcome, words
from peerlock.runtime.reading import Reading
from peerlock.runtime.transport import Transport

T = TypeVar("T")

# A timer is set anew if it is off by more than this many seconds, and set for no less:
# uvloop counts milliseconds, and may call up to one before the time.
PRECISION = 0.001

# Another thread whose turn it is has this many seconds for it when a message has come.
LATE = 0.001

# Members that hear last words have this many seconds for it.
PARTING = 0.5
PATIENCE = 10.0

# To a signal handler, in the middle of a step.
INTERRUPTED = "the signal interrupted peerlock: set a flag, and do this after the handler"


class Host:
    def __init__(
        self,
        engine: Engine,
        transport: Transport,
        knobs: Knobs | None = None,
        describe: Callable[[Node], dict[str, Any]] = lambda node: {},
    ) -> None:
        self.engine = engine
        self.node = Node(clock.now, knobs)
        self.presence = Presence(
            self.node,
            time.time,
            engine.lease,
            watching=isinstance(engine, Watching),
            between_machines=isinstance(engine, BetweenMachines),
        )
        self.guard = threading.RLock()
        # The owner of the guard is in the middle of a step; or, beside the node's loop, it
        # reads or writes, and has not told the node, or the members, all of it.
        self.is_stepping = self.is_busy = False
        self.transport = transport
        self.address = ""  # where other members reach this one, after the start
        self.describe = describe
        self.door = Door()
        self._journal = Journal(self.node)
        self.on_renewal: Callable[[float], None] = lambda deadline: None

        self._lines: dict[MemberId, Connection] = {}  # that we made, and are up
        self._dialling: dict[MemberId, Connection] = {}
        self._incoming: dict[Connection, MemberId] = {}
        self._connections: set[Connection] = set()  # all that are open
        self._parted = asyncio.Event()  # none is left
        self._tasks: set[asyncio.Task[Any]] = set()
        self._asking: asyncio.Task[None] | None = None  # the engine
        self._timer: asyncio.Handle | None = None
        self._timer_due = inf  # on the loop's clock; not all loops tell it of a handle
        self.turn_is_due = False  # and who said so will see to it
        self._late_turn: asyncio.Handle | None = None
        self._told_to_flush = False
        # What other threads could not send, and to whom there is no line.
        self._left_over: list[tuple[MemberId, Connection | None, bytes]] = []
        # For another thread that takes turns, and reads.
        self.arrivals: Arrivals | None = None
        self.lending: Lending | None = None
        self.reading: Reading | None = None  # for threads that wait
        self._refusing = self._stopped = False
        self.forked = False  # it belongs to the process that was forked
        self._leaving: asyncio.Task[None] | None = None
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
        if self.reading is not None:
            self.reading.begin()
        try:
            self.address = await self.transport.listen(self._accept)
            if isinstance(self.engine, BetweenMachines):
                await must_be_welcome(self.engine, self.transport)
            question = self.step(self.presence.start, self.address)
            self._tell(await self._answered(question))
        except BaseException:
            self._close()
            raise
        self._journal.look(self._why())

    async def stop(self) -> None:
        """Leave properly; what is held is given back.

        The caller may be cancelled; the member leaves nevertheless: otherwise others would
        wait for a member that neither answers nor dies.
        """
        if not self._stopped and self.started:
            with self.guard:
                self._stopped = True
                question = self.presence.leave()
                for waiter in list(self.node.waiting()):
                    self.node.give_up(waiter)
                    waiter.abandon()
            self._leaving = self.loop.create_task(self._leave(question))
        if self._leaving is not None:
            await asyncio.shield(self._leaving)

    async def _leave(self, question: Leave) -> None:
        reason = ""
        try:
            self.transport.hide()
            if self._asking is not None:  # it may be joining, and would be in after it left
                await asyncio.wait({self._asking}, timeout=PARTING)
            tasks = list(self._tasks)
            for task in tasks:
                task.cancel()
            await asyncio.gather(*tasks, return_exceptions=True)
            await asyncio.sleep(0)  # pending connections are accepted before the close
            self._tell(await self._answered(question))
        except ClusterError as error:
            reason = str(error)  # they will notice by themselves
        finally:
            self._journal.left(reason)
            self._close()
            await self._part()

    async def _part(self) -> None:
        """Until everything was sent, except to members that do not read."""
        self._parted.clear()
        for grace in (PARTING, PARTING):
            if self._connections:
                with contextlib.suppress(TimeoutError):
                    await asyncio.wait_for(self._parted.wait(), grace)
            for connection in self._connections:
                connection.end()

    def _close(self) -> None:
        self._stopped = True
        if self._timer is not None:
            self._timer.cancel()
        self.transport.close()
        for connection in self._connections:
            connection.finish()
        if self.arrivals is not None:
            self.arrivals.close()
        if self.reading is not None:
            self.reading.close()
        self.engine.close()

    def abandon(self) -> None:
        """In a forked child: nothing of this is ours."""
        self._stopped = True
        self.node.lose_everything()
        self.engine.abandon()
        if self.arrivals is not None:
            self.arrivals.close()
        if self.lending is not None:
            self.lending.abandon()
        if self.reading is not None:
            self.reading.abandon()
        if self.started:
            for connection in self._connections:
                connection.abandon()
            self.door.abandon()
            self.transport.abandon()

    def must_be_in(self) -> None:
        """Under `guard`: waiters are notified when the node leaves, and none comes
        later."""
        if not self.started:
            raise ClusterError("the node has not joined: async with peerlock.join() …")
        if self._stopped or self._refusing:
            raise ClusterError("the node has left the cluster")

    def refuse_users(self) -> None:
        """In any thread: no user is accepted any more, though `stop` has not begun yet."""
        with self.guard:
            self._refusing = self.started

    @property
    def trouble(self) -> ClusterError | None:
        """What prevents this member from working properly, if anything does."""
        trouble = self.presence.trouble
        if trouble:
            return ClusterError(trouble)
        return self.transport.trouble or self.door.trouble

    def _why(self) -> str:
        return str(self.trouble or "")

    # Steps

    def step(self, step: Callable[..., T], *arguments: Any) -> T:
        """A step of the node or its presence: completed, or counted as failed.

        If it ends in the middle, by Ctrl-C or by an internal error, it is not known how
        much of it was done: the presence is told, and loses what the node holds.  A signal
        handler that runs in the middle of a step is refused.
        """
        if self.is_stepping and self.is_interrupted:
            raise Deadlock(INTERRUPTED)  # the flag may be that of another thread
        with self.guard:
            try:
                self.is_stepping = True
                return step(*arguments)
            except (RemoteError, NotHeld, ClusterError):
                raise
            except BaseException as error:
                self.presence.stumbled(repr(error))
                with contextlib.suppress(RuntimeError):  # the loop may be closed
                    self.loop.call_soon_threadsafe(self._carry_out)
                raise
            finally:
                self.is_stepping = False

    @property
    def is_interrupted(self) -> bool:
        """For callers from outside: a signal has interrupted this thread in the middle of
        our work.  What it waits for then would never come."""
        return self.guard._is_owned()  # type: ignore[attr-defined, no-any-return]

    def flush(self) -> None:
        """Carry out the effects of the last step of the node; in the loop's thread."""
        node, lines, unreached = self.node, self._lines, []
        with self.guard:
            self._told_to_flush = False
            left_over, self._left_over = self._left_over, []
            for member, line, rest in left_over:
                if line is not None:
                    line.write(rest)
                else:
                    unreached.append(member)
            for member, batch in node.drain():
                if member in lines:
                    lines[member].send(batch)
                else:
                    unreached.append(member)
            if self.must_turn():
                self.loop.call_soon(self.turn)
            stir, look = self.presence.must_stir, node.waits_for_view
            fences = node.wants_fences
        for member in unreached:
            self._tell(self.presence.wanted, member)
        if stir:
            self._tell(self.presence.stir)
        if look:
            self._look_soon()
        elif fences:
            self._tell(self.presence.fences_run_low)

    def flush_if_needed(self) -> None:
        """The same; quick when there is nothing to do, as after most releases."""
        if not self.turn_is_due or self.node.has_something_to_say:
            self.flush()

    def turn(self) -> None:
        """All that had arrived was heard; in the loop's thread."""
        with self.guard:
            due, self.turn_is_due = self.turn_is_due, False
        if not due:
            return  # any more
        if self.reading is not None and not self.node.may_let_go:
            self.reading.hear_all()
        self.step(self.node.turn)
        self.flush()
        self._mind_loss()

    def _see_to_turn(self) -> None:
        """Another thread will take it, unless it is blocked."""
        if self._late_turn is None:
            self._late_turn = self.loop.call_later(LATE, self._turn_late)

    def _turn_late(self) -> None:
        self._late_turn = None
        self.turn()

    # For other threads, under `guard`

    def something_follows(self) -> bool:
        """Whether something is to be done after a step: mostly, after a grant or a release
        that nobody waits for, there is not."""
        node = self.node
        turnstile = node.turnstile
        if node.mail.dirty or turnstile.marked or turnstile.resting:
            return True
        return self.presence.must_act

    def must_be_flushed(self) -> bool:
        """Whether the loop must be told to, once: for a turn, to send, to end a rest, or to
        ask for fences."""
        if self._told_to_flush:
            return False
        turnstile = self.node.turnstile
        turn = (turnstile.marked or turnstile.resting) and not self.turn_is_due
        follows = turn or self.node.mail.dirty or self.presence.must_act
        self._told_to_flush = bool(follows)
        return self._told_to_flush

    def send_at_once(self) -> bool:
        """What can be sent without the loop; whether the loop must be told to flush."""
        node, must_act, told = self.node, self.presence.must_act, self._told_to_flush
        if self._left_over or not (node.mail.dirty or must_act):
            return False
        for member, batch in node.drain():
            line = self._lines.get(member)
            rest = b"" if line is None else line.send_at_once(batch)
            if line is None or rest:
                self._left_over.append((member, line, rest))
        self._told_to_flush = told or must_act or bool(self._left_over)
        return self._told_to_flush and not told

    def must_turn(self) -> bool:
        """Whether the caller must see to a turn, once."""
        turnstile = self.node.turnstile
        if self.turn_is_due or not (turnstile.marked or turnstile.resting):
            return False
        self.turn_is_due = True
        return True

    # The presence

    def _tell(self, what: Callable[..., None], *arguments: Any) -> None:
        """Tell the presence what has happened, and carry out its effects."""
        self.step(what, *arguments)
        self._carry_out()
        if self.must_be_flushed():
            self.flush()

    def _carry_out(self) -> None:
        with self.guard:
            effects, wake_at = self.presence.drain(), self.presence.wake_at
        for effect in effects:
            try:
                CARRIERS[type(effect)](self, effect)
            except Exception as error:  # the others are carried out nevertheless
                self._fault(f"{type(effect).__name__} cannot be carried out", error)
        self._set_timer(wake_at)

    def _set_timer(self, at: float) -> None:
        due = self.loop.time() + max(at - clock.now(), PRECISION)
        if self._timer is not None:
            if abs(self._timer_due - due) <= PRECISION and not self._stopped:
                return
            self._timer.cancel()
            self._timer = None
        if at < inf and not self._stopped:
            self._timer, self._timer_due = self.loop.call_at(due, self._wake), due

    def _wake(self) -> None:
        self._timer = None
        self._tell(self.presence.wake)
        self._journal.look(self._why())

    def _mind_loss(self) -> None:
        """If this process is out, join again; its waiters still wait."""
        if not self.node.member:
            self._look_soon()

    def _look_soon(self) -> None:
        self._tell(self.presence.look)

    def _heard(self, view: View | None) -> None:
        """The engine has seen something change."""
        if view is None:
            self._look_soon()
        else:
            self._tell(self.presence.heard, view)

    # What the presence wants

    def _put(self, question: Question) -> None:
        self._asking = self._spawn(self._ask(question))

    async def _ask(self, question: Question) -> None:
        """Ask the engine, and tell the presence its answer."""
        try:
            answer = await self._answered(question)
        except ClusterError as error:
            gone = isinstance(error, Gone)
            answer = partial(self.presence.failed, str(error), gone)
        except Exception as error:
            self._fault("a question to the membership engine has failed", error)
            answer = partial(self.presence.failed, repr(error))
        self._tell(answer)
        self._journal.look(self._why())

    async def _answered(self, question: Question) -> Callable[[], None]:
        """What is to be told to the presence."""
        engine, presence = self.engine, self.presence
        match question:
            case Join(address, beyond):
                view, me, deadline = await engine.join(address, beyond)
                return partial(presence.joined, view, me, deadline, engine.lease)
            case Renew(me, suspects):
                view, deadline, changed, trouble = await engine.renew(me, suspects)
                reason = str(trouble) if trouble else ""
                return partial(presence.renewed, view, deadline, changed, reason)
            case Reserve():
                return partial(presence.reserved, await engine.reserve())
            case Leave(me):
                return partial(presence.left, await engine.leave(me))

    def _dial(self, effect: Dial) -> None:
        connection = self._dialling[effect.member] = Connection(self)
        self._spawn(self._connect(*effect, connection))

    async def _connect(
        self, member: MemberId, address: str, connection: Connection
    ) -> None:
        reason = ""
        try:
            await self.transport.connect(address, connection)
            if not connection.is_open:
                raise ConnectionResetError
        except Exception as error:
            if not isinstance(error, OSError | ValueError):  # an address may be invalid
                self._fault("a member could not be dialled", error)
            reason = words(error)
        except asyncio.CancelledError:  # this member leaves; it may be up nevertheless
            self._drop(connection)
            raise
        if self._dialling.get(member) is not connection:  # it was hung up meanwhile
            self._drop(connection)
            return
        del self._dialling[member]
        if reason:
            self._tell(self.presence.unreachable, member, reason)
        else:
            self._connected(member, connection)

    def _drop(self, connection: Connection) -> None:
        if connection.is_open:
            self._connections.add(connection)  # until it is closed
        connection.end()

    def _connected(self, member: MemberId, connection: Connection) -> None:
        self._connections.add(connection)
        node = self.node
        with self.guard:
            self._lines[member] = connection
            connection.send(Hello(VERSION, self.engine.cluster, node.me))
            connection.send(Seen(node.view))
        self._tell(self.presence.connected, member)

    def _hang_up(self, effect: HangUp) -> None:
        self._dialling.pop(effect.member, None)
        connection = self._lines.pop(effect.member, None)
        if connection is not None:
            connection.finish()

    def _pass_on(self, effect: PassOn) -> None:
        with self.guard:
            self._lines[effect.member].send(Seen(effect.view))

    def _be_found(self, effect: BeFound) -> None:
        """Our socket may be gone; other members could not connect, and would wait."""
        try:
            if self.transport.can_be_found():
                self.step(self.presence.found)
            else:
                self._spawn(self._listen())
        except OSError as error:
            self.step(self.presence.hidden, f"cannot be reached by others: {words(error)}")

    async def _listen(self) -> None:
        try:
            await self.transport.listen(self._accept)
        except (OSError, ClusterError) as error:
            self.step(self.presence.hidden, f"cannot be reached by others: {words(error)}")

    # Connections

    def _accept(self, caller: Caller) -> None:
        if self._stopped:
            caller.peer.close()
            return
        connection = Connection(self)
        self._connections.add(connection)
        self.door.wait(connection, caller)

    def frame(self, connection: Connection, frame: Frame | Foreign) -> None:
        sender = self._incoming.get(connection)
        if sender is None:
            self._first_frame(connection, frame)
        elif type(frame) is Batch:
            self.step(self.node.receive, sender, frame)
            if not connection.lent:
                self.follow_batch()
        elif type(frame) is Seen:
            self.step(self.presence.must_be_possible, frame.view)
            if connection.lent:
                tell, heard = self._tell, self.presence.heard
                self.loop.call_soon_threadsafe(tell, heard, frame.view)
            else:
                self._tell(self.presence.heard, frame.view)
        else:
            raise Garbage("a frame that has no place here")

    def follow_batch(self) -> None:
        """Carry out what follows from a batch; in the loop's thread."""
        node = self.node
        with self.guard:
            follows = node.calls_for_flush or self.presence.must_stir
        if follows:
            self.flush()
        if self.turn_is_due and self.arrivals is not None:
            self._see_to_turn()
        if not node.member:
            self._mind_loss()

    def _first_frame(self, connection: Connection, frame: Frame | Foreign) -> None:
        if isinstance(frame, Foreign):
            self.door.refuse(connection, frame)
        elif isinstance(frame, Refusal):
            self._refused(connection, frame)
        elif not isinstance(frame, Hello | Ask) or self._stopped:
            raise Garbage("a frame that has no place here")
        elif frame.version != VERSION or frame.cluster != self.engine.cluster:
            raise Garbage("a stranger")
        elif isinstance(frame, Ask):
            self._answer(connection)
        else:
            self.door.pass_in(connection, member=True)
            self._incoming[connection] = frame.sender
            if self.arrivals is not None:
                self.arrivals.watch(connection)
            if self.reading is not None:
                self.reading.share(connection)

    def _refused(self, connection: Connection, refusal: Refusal) -> None:
        for member, line in self._lines.items():
            if line is connection and refusal.version != VERSION:
                self.step(self.presence.refused, member, refusal.reason)
                self._journal.refused(refusal.reason)
        connection.end()

    def _answer(self, connection: Connection) -> None:
        with self.guard:
            told = StatusTold(self.describe(self.node))
        self.door.pass_in(connection)
        connection.send(told)
        connection.finish()
        self.loop.call_later(PATIENCE, connection.end)  # if it does not want to hear it

    def closed(self, connection: Connection) -> None:
        with self.guard:  # its descriptor is closed next, and no thread is sending
            self._connections.discard(connection)
        if not self._connections:
            self._parted.set()
        self.door.closed(connection)
        if (sender := self._incoming.pop(connection, None)) is not None:
            if self.arrivals is not None:
                self.arrivals.closed(connection)
            if self.lending is not None:
                self.lending.closed(connection)
            if self.reading is not None:
                self.reading.closed(connection)
            self._tell(self.presence.suspect, sender)
        for member, line in self._lines.items():
            if line is connection:
                del self._lines[member]
                self._tell(self.presence.disconnected, member)
                break

    # Tasks

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = self.loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._ended)
        return task

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if not task.cancelled() and (error := task.exception()):
            self._report("a task has failed", error)

    def _fault(self, what: str, error: Exception) -> None:
        """An unexpected error that leaves the node as it was."""
        self._report(what, error)
        self.step(self.presence.faulted, repr(error))

    def _report(self, what: str, error: BaseException) -> None:
        self.loop.call_exception_handler(
            {"message": f"peerlock: {what}", "exception": error}
        )


CARRIERS: dict[type, Callable[[Host, Any], None]] = {
    Join: Host._put,
    Renew: Host._put,
    Reserve: Host._put,
    Dial: Host._dial,
    HangUp: Host._hang_up,
    PassOn: Host._pass_on,
    LeaseUntil: lambda host, effect: host.on_renewal(effect.deadline),
    BeFound: Host._be_found,
}
