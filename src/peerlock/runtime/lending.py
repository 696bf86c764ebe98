"""Connections that the loop of the tasks reads, while their members send often.

The node's thread reads what members send: it does so while the tasks' loop is blocked.  But
to wake that loop for a grant takes longer than everything else that the message takes.  So
a connection on which messages come often is lent to the tasks' loop, and what follows from
them is done there, without another thread.

 1. The node's thread lends a connection when it was read twice within OFTEN, and stops
    reading it.  The tasks' loop reads it by a descriptor of its own, which only that loop
    closes: a number that is in use cannot be given to another socket.
 2. While some are lent, the node's thread patrols.  It takes all of them back when the
    loop has heard nothing since the last visit although something was waiting (the loop is
    blocked), or nothing for so many visits as QUIET.  When something is waiting it comes
    again soon.  Nothing more is lent to a blocked loop until it has noticed that.
 3. A batch is read and received under the node's guard, whichever thread does it, and a
    loan ends under it: so no batch overtakes another.
 4. Whatever goes wrong while the tasks' loop reads, Ctrl-C included, ends the connection:
    the member dials again and sends again what was not acknowledged.
"""

from __future__ import annotations

import asyncio
import os
import threading
import time
from collections.abc import Callable
from contextlib import suppress

from peerlock.core.peer import RemoteError
from peerlock.runtime.arrivals import Arrivals
from peerlock.runtime.connection import Connection, give_up_descriptor

# Seconds.  The patrol costs more than it takes: the interpreter changes threads for it.
# So it comes less often, the longer the loop has been seen to read.
OFTEN = 0.02
PATROL, SOON, SELDOM = 0.004, 0.001, 0.016
QUIET = 12  # visits


class Loan:
    """One connection that the tasks' loop reads."""

    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self.descriptor = -1  # of the tasks' loop
        self.over = False


class Lending:
    def __init__(
        self,
        guard: threading.RLock,
        arrivals: Arrivals,
        loop: asyncio.AbstractEventLoop,
        soon: Callable[..., None],
        after_step: Callable[[], None],
    ) -> None:
        """loop: of the tasks; soon: call this in the node's loop."""
        self._guard = guard
        self._arrivals = arrivals
        self._loop = loop
        self._soon = soon
        self._after_step = after_step
        self._loans: dict[Connection, Loan] = {}
        self._came_at: dict[Connection, float] = {}
        self._hearings = 0  # of the tasks' loop
        # As of the last visit of the patrol:
        self._counted = 0  # hearings
        self._waiting = False  # something was unread
        self._visits = 0  # since something was heard
        self._pace = PATROL
        self._blocked = False

    # In the node's thread

    def came(self, connection: Connection) -> bool:
        """Something was heard on it; whether it is lent now."""
        now = time.monotonic()
        before = self._came_at.get(connection, 0.0)
        self._came_at[connection] = now
        if now - before > OFTEN or self._blocked or not connection.can_be_lent:
            return False
        with self._guard:
            loan = self._loans[connection] = Loan(connection)
        connection.lend()
        self._tell(self._adopt, loan)
        return True

    def patrol(self) -> float:
        """In how many seconds to come again; 0 if none is lent."""
        if self._counted != self._hearings:  # the loop is not blocked
            self._counted, self._waiting, self._visits = self._hearings, False, 0
            self._pace = min(2 * self._pace, SELDOM)
            return self._pace
        self._pace = PATROL
        self._visits += 1
        waiting = not self._loans.keys().isdisjoint(self._arrivals.waiting())
        self._blocked = waiting and self._waiting
        if self._blocked or self._visits >= QUIET:
            for loan in list(self._loans.values()):
                self._take_back(loan)
        self._waiting = waiting
        if not self._loans:
            return 0.0
        return SOON if waiting else PATROL

    def _take_back(self, loan: Loan) -> None:
        if self._end(loan):
            loan.connection.take_back()

    def _broken(self, loan: Loan) -> None:
        if self._end(loan):
            loan.connection.end()

    def closed(self, connection: Connection) -> None:
        self._came_at.pop(connection, None)
        if (loan := self._loans.get(connection)) is not None:
            self._end(loan)

    def _end(self, loan: Loan) -> bool:
        """False if it was over already."""
        with self._guard:
            loan.over = True
            known = self._loans.pop(loan.connection, None) is not None
        if known:
            self._tell(self._close, loan)
        return known

    def _tell(self, work: Callable[[Loan], None], loan: Loan) -> None:
        try:
            self._loop.call_soon_threadsafe(work, loan)
        except RuntimeError:  # the loop is closed, and has no reader any more
            self._close_descriptor(loan)

    def abandon(self) -> None:
        """In a forked child: the parent's connections must end when the parent ends."""
        for loan in self._loans.values():
            give_up_descriptor(loan.descriptor)

    # In the tasks' loop

    def hear_all(self, connections: list[Connection]) -> bool:
        """What has come on these; False if some of them are not lent."""
        loans = [self._loans.get(connection) for connection in connections]
        for loan in loans:
            if loan is not None:
                self._hear(loan)
        return all(loans)

    def _adopt(self, loan: Loan) -> None:
        with self._guard:  # as long as it is not over, its descriptor is open
            if not loan.over:
                loan.descriptor = os.dup(loan.connection.descriptor)
        if loan.descriptor >= 0:
            self._loop.add_reader(loan.descriptor, self._heard, loan)

    def _heard(self, loan: Loan) -> None:
        self._hear(loan)
        self._after_step()

    def _hear(self, loan: Loan) -> None:
        with self._guard:
            if loan.over:
                return
            self._hearings += 1
            try:
                alive = loan.connection.hear_now()
            except BaseException as error:
                loan.over = True
                self._soon(self._broken, loan)
                if not isinstance(error, RemoteError):
                    raise
                return
            if not alive:  # the node's thread sees that it has ended
                loan.over = True
                self._soon(self._take_back, loan)

    def _close(self, loan: Loan) -> None:
        self._blocked = False
        if loan.descriptor >= 0:
            self._loop.remove_reader(loan.descriptor)
        self._close_descriptor(loan)

    @staticmethod
    def _close_descriptor(loan: Loan) -> None:
        number, loan.descriptor = loan.descriptor, -1
        if number >= 0:
            with suppress(OSError):
                os.close(number)
