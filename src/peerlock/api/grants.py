"""What grants and handles for tasks and for threads have in common.

A user steps the node in its own thread, under the node's guard; the driver carries out what
follows.  The node may settle a grant in any thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peerlock.api.errors import ClusterError, Conflict, Deadlock, WouldBlock
from peerlock.api.names import plain_timeout
from peerlock.node.locks import State, Waiter
from peerlock.node.terms import Demand

if TYPE_CHECKING:
    from peerlock.api.driver import Driver

# How long a caller that does not want to wait waits for a lock that seems free, before it
# probes again.
PROBE = 0.05


class Grant(Waiter):
    """The right to be in the critical section, until it is released or lost."""

    _handle: Handle
    _settled = False
    _error: Exception | None = None  # that it was settled with

    def __repr__(self) -> str:
        return f"<{self.state.value} grant of {self.name!r}, fence {self.fence}>"

    @property
    def name(self) -> str:
        return self._handle.name

    @property
    def is_lost(self) -> bool:
        """Whether the lock is lost, also if only the clock of this process shows it."""
        return self._handle.has_lost(self)

    def release(self) -> None:
        """Release it.  Raises Lost if it was lost, NotHeld if it was released before."""
        self._handle.release_grant(self)

    # Called by the node

    def on_granted(self) -> None:
        self._settle(None)

    def on_refused(self, why: str) -> None:
        self._settle(Conflict(f"{self.name!r}: {why}"))

    def on_probed(self, busy: bool) -> None:
        if busy:
            self._settle(WouldBlock(f"{self.name!r} is held by another user"))

    def abandon(self) -> None:
        self._settle(ClusterError("the node has left the cluster"))

    def _settle(self, error: Exception | None) -> None:
        if not self._settled:
            self._settled, self._error = True, error
            self._wake()

    def _wake(self) -> None:
        """Wake the user that waits for it."""
        raise NotImplementedError

    @property
    def is_awaited(self) -> bool:
        """Whether its user still waits for it."""
        raise NotImplementedError

    def must_be_granted(self) -> None:
        if self._error is not None:
            raise self._error


class Handle:
    """A named lock or semaphore."""

    def __init__(
        self, driver: Driver, name: str, demand: Demand, timeout: float | None
    ) -> None:
        self.name = name
        self.demand = demand
        self.timeout = plain_timeout(timeout)
        self._driver = driver
        self._host = driver.host
        self._pure = driver.host.node
        self._guard = driver.guard

    # For grants

    def release_grant(self, grant: Any) -> None:
        raise NotImplementedError

    def has_lost(self, grant: Grant) -> bool:
        if grant.state is State.HOLDING:
            try:
                self._host.step(self._pure.check_lease)
            except Deadlock:  # in a signal handler, which must not disturb the step
                if self._pure.clock() >= self._pure.deadline:
                    return True
        return grant.state is State.LOST

    # Steps of the node

    def _ask(self, grant: Grant) -> None:
        self._host.must_be_in()
        self._pure.acquire(self.name, grant)

    def _give_back(self, grant: Grant) -> bool:
        """Whether it was held until now; otherwise it was lost."""
        if grant.state is State.HOLDING:
            self._pure.check_lease()
        if grant.state is State.LOST:
            return False
        self._pure.release(grant)
        return True

    def _withdraw(self, grant: Grant) -> None:
        """It is no longer wanted, in whatever state it is."""
        if self._host.step(self._drop, grant):
            self._driver.after_step()

    def _drop(self, grant: Grant) -> bool:
        if grant.state is not State.HOLDING:
            return self._pure.give_up(grant)
        self._pure.release(grant)
        return True

    # In the node's loop

    def _probe(self, grant: Grant) -> None:
        """Probe whether others hold it.  Repeated, because a new view discards answers."""
        if grant.state is State.WAITING:
            with self._guard:
                self._pure.probe(grant)
            self._host.loop.call_later(PROBE, self._probe, grant)
        self._host.flush()
