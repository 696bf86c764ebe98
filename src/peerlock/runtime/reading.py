"""Connections that a thread reads while it waits for a lock.

The node's thread reads what members send.  But to wake another thread for a grant takes
longer than everything else that the message takes.  So a thread that waits reads by itself,
and what follows from that is done there.

 1. Connections that other members have made are *shared*: their sockets are in two sets,
    that of the threads that wait (`_ours`), and that of the node's thread (`_theirs`).  The
    kernel notifies the first set that a thread waits on (EPOLLEXCLUSIVE, in the order of
    registration).  So the node's thread sleeps while a thread waits and reads, and it is
    notified when no thread does: all of them compute, or the reader is in a signal handler.
 2. One thread at a time is the *reader*.  Other threads that wait are woken by the thread
    that settles what they wait for.  So is the reader, by an event in its set (`nudge`),
    unless it settles that itself by what it reads.  A signal handler that waits in the
    thread of the reader is the reader meanwhile.
 3. Everything that has come is in the set of the threads.  So the node's thread looks
    there, too: when it is notified, before a turn, and when a reader has ended by an
    exception, which may have come after the kernel had notified it.
 4. A batch is read and received under the node's guard, whichever thread does it: so no
    batch overtakes another.  Whatever goes wrong then, Ctrl-C included, ends the
    connection: the member dials again and sends again what was not acknowledged.
 5. Encrypted connections stay with the node's thread.
"""

from __future__ import annotations

import os
import select
import threading
import time
from collections.abc import Callable
from math import inf
from typing import TYPE_CHECKING, Any

from peerlock.core.peer import RemoteError
from peerlock.runtime.connection import Connection

if TYPE_CHECKING:
    from peerlock.runtime.host import Host

Gate = Any  # a lock that is released when what a thread waits for is settled

LONGEST = 3600.0  # seconds for which a thread sleeps at once: epoll takes no more than days


class Reading:
    def __init__(
        self, host: Host, soon: Callable[..., None], after_step: Callable[[], None]
    ) -> None:
        """soon: call this in the node's loop; after_step: in the thread that has read."""
        self._host = host
        self._guard = host.guard
        self._soon = soon
        self._after_step = after_step
        self._shared: dict[int, Connection] = {}  # by their descriptors
        self._ours = select.epoll()
        self._theirs = select.epoll()
        self._event = os.eventfd(0, os.EFD_NONBLOCK | os.EFD_CLOEXEC)
        self._ours.register(self._event, select.EPOLLIN)
        self._gate: Gate = None  # of the reader, which knows by it that it is the one
        self._thread = 0  # its number
        self._open = True

    # In the node's loop

    def begin(self) -> None:
        self._host.loop.add_reader(self._theirs.fileno(), self._readable)

    def share(self, connection: Connection) -> None:
        """Its other end is known."""
        self._soon(self._share, connection)  # all that came with the greeting is heard

    def _share(self, connection: Connection) -> None:
        if not (self._open and connection.can_be_lent):
            return
        connection.lend()
        events = select.EPOLLIN | select.EPOLLEXCLUSIVE
        with self._guard:
            number = connection.descriptor
            self._shared[number] = connection
            self._ours.register(number, events)
            self._theirs.register(number, events)

    def _readable(self) -> None:
        self.hear_all()
        self._host.follow_batch()

    def hear_all(self) -> None:
        """What has come until now."""
        if self._open:
            for number, _ in self._ours.poll(0):
                self._hear(number)

    def closed(self, connection: Connection) -> None:
        with self._guard:
            if self._shared.get(connection.descriptor) is connection:
                self._forget(connection)

    def close(self) -> None:
        """The reader, if there is one, stops first."""
        with self._guard:
            if self._open:
                self._open = False
                self._host.loop.remove_reader(self._theirs.fileno())
                os.eventfd_write(self._event, 1)
                self._close_unless_used()

    def abandon(self) -> None:
        """In a forked child: the sockets are the parent's."""
        self._open, self._gate = False, None
        self._close_unless_used()

    def _close_unless_used(self) -> None:
        with self._guard:
            if self._gate is None and self._event >= 0:
                self._ours.close()
                self._theirs.close()
                os.close(self._event)
                self._event = -1

    # In a thread that waits

    def wait(self, gate: Gate, timeout: float) -> bool:
        """Whether the gate was opened in time; -1 waits without limit."""
        me, outer = threading.get_ident(), None
        try:
            with self._guard:
                mine = self._gate is None or self._thread == me
                if self._shared and self._open and mine:
                    outer, self._gate, self._thread = self._gate, gate, me
            if self._gate is gate:
                return self._read_until(gate, timeout)
            return bool(gate.acquire(timeout=timeout))
        except BaseException:
            if self._gate is gate and self._open:
                self._soon(self._readable)
            raise
        finally:
            if self._gate is gate:
                self._gate = outer
                self._end_of_reading()

    def _end_of_reading(self) -> None:
        with self._guard:
            if self._gate is not None and self._open:  # it may be open by now
                os.eventfd_write(self._event, 1)
            elif not self._open:
                self._close_unless_used()

    def _read_until(self, gate: Gate, timeout: float) -> bool:
        ends = inf if timeout < 0 else time.monotonic() + timeout
        while not gate.acquire(blocking=False):
            left = ends - time.monotonic()
            if left <= 0:
                return False
            if not self._open:
                return bool(gate.acquire(timeout=-1 if left == inf else left))
            for number, _ in self._ours.poll(min(left, LONGEST)):
                if number == self._event:
                    os.eventfd_read(number)
                else:
                    self._hear(number)
            self._after_step()
        return True

    def nudge(self, gate: Gate) -> None:
        """Under the guard: this gate was opened, and its thread may be the reader."""
        if self._gate is not gate or not self._open:
            return
        if self._thread == threading.get_ident() and self._host.is_busy:
            return  # it is about to look; in a signal handler it is not
        os.eventfd_write(self._event, 1)

    # In both

    def _hear(self, number: int) -> None:
        host = self._host
        with self._guard:
            connection = self._shared.get(number)
            if connection is None:  # any more, or it is the event
                return
            try:
                host.is_busy = True
                alive = connection.hear_now()
            except BaseException as error:
                self._soon(connection.end)
                self._forget(connection)
                if not isinstance(error, RemoteError):
                    raise
                return
            finally:
                host.is_busy = False
            if not alive:  # the node's loop sees that it has ended
                self._soon(connection.take_back)
                self._forget(connection)

    def _forget(self, connection: Connection) -> None:
        number = connection.descriptor
        del self._shared[number]
        for sockets in (self._ours, self._theirs):
            if self._open:
                sockets.unregister(number)
