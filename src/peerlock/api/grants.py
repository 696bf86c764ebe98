"""What grants and handles for tasks and for threads have in common.

A user steps the node in its own thread, under the node's guard; the driver carries out what
follows.  The node may settle a grant in any thread.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from peerlock.api.errors import ClusterError, Conflict, Deadlock, WouldBlock
from peerlock.api.names import plain_timeout
from peerlock.node.terms import Demand
from peerlock.node.waiters import HOLDING, LOST, WAITING, Waiter

if TYPE_CHECKING:
    import threading

    from peerlock.api.driver import Driver
    from peerlock.node.node import Node
    from peerlock.runtime.host import Host

# How long a caller that does not want to wait waits for a lock that seems free, before it
# probes again.
PROBE = 0.05


class BaseUser(Waiter):
    """A task or a thread that waits for a lock, and then holds it."""

    # What every grant sets or reads.  One is made for each, and slots make that a third
    # faster.
    __slots__ = (
        "demand",
        "fence",
        "handle",
        "lock",
        "lost",
        "owner",
        "since",
        "slot",
        "state",
    )

    handle: Any
    owner: Any
    lost: Any  # what tells of a loss, for those that asked for it
    more = 0  # times that a reentrant lock is held by it, besides the first
    _settled = False
    _error: Exception | None = None  # that it was settled with

    def __init__(self, handle: Handle, owner: Any) -> None:
        self.demand = handle._demand
        self.handle = handle
        self.owner = owner
        self.lost = None
        self.begin()

    def begin(self) -> None:
        """It waits from now on; a user that is let in at once does not need this."""
        self.state = WAITING
        self.fence = 0
        self.lock = self.slot = None

    @property
    def name(self) -> str:
        name: str = self.handle._name
        return name

    # Called by the node

    def on_granted(self) -> None:
        self.settle(None)

    def on_refused(self, why: str) -> None:
        self.settle(Conflict(f"{self.name!r}: {why}"))

    def on_probed(self, busy: bool) -> None:
        if busy:
            self.settle(WouldBlock(f"{self.name!r} is held by another user"))

    def abandon(self) -> None:
        self.settle(ClusterError("the node has left the cluster"))

    def settle(self, error: Exception | None) -> None:
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


class BaseGrant:
    """The right to be in the critical section, until it is released or lost."""

    __slots__ = ("_user",)

    _user: BaseUser

    def __init__(self, user: BaseUser) -> None:
        self._user = user

    def __repr__(self) -> str:
        user = self._user
        return f"<{user.state.value} grant of {user.name!r}, fence {user.fence}>"

    @property
    def name(self) -> str:
        """The name of the lock."""
        return self._user.name

    @property
    def fence(self) -> int:
        """The number of this grant. It grows from grant to grant: a store can refuse
        writes with a lower one."""
        return self._user.fence

    @property
    def is_lost(self) -> bool:
        """Whether the lock is lost, also if only the clock of this process shows it."""
        handle: Handle = self._user.handle
        return handle._has_lost(self._user)

    def release(self) -> None:
        """Release it.  Raises Lost if it was lost, NotHeld if it was released before."""
        self._user.handle._release_user(self._user)


class Public:
    """dir() lists what the class has: attributes of an object are internal."""

    __slots__ = ()

    def __dir__(self) -> list[str]:
        return dir(type(self))


def shown_node(host: Host) -> str:
    """The repr of a node; the name of its cluster may be a secret."""
    try:
        host.must_be_in()
    except ClusterError:
        return "<peerlock node, not in a cluster>"
    return f"<peerlock node, member {host.node.me}>"


class Handle(Public):
    """A named lock or semaphore.

    A process may have a million of them: they have slots, and no dictionaries.
    """

    __slots__ = (
        "__weakref__",
        "_demand",
        "_driver",
        "_name",
        "_timeout",
    )

    def __init__(
        self, driver: Driver, name: str, demand: Demand, timeout: float | None
    ) -> None:
        self._name = name
        self._demand = demand
        self._timeout = plain_timeout(timeout)
        self._driver = driver

    @property
    def name(self) -> str:
        """The name of the lock."""
        return self._name

    # What the driver has; the fast paths look there themselves

    @property
    def _host(self) -> Host:
        return self._driver.host

    @property
    def _pure(self) -> Node:
        return self._driver.host.node

    @property
    def _guard(self) -> threading.RLock:
        return self._driver.guard

    # For grants

    def _release_user(self, user: Any) -> None:
        raise NotImplementedError

    def _has_lost(self, user: BaseUser) -> bool:
        if user.state is HOLDING:
            try:
                self._host.step(self._pure.check_lease)
            except Deadlock:  # in a signal handler, which must not disturb the step
                if self._pure.clock() >= self._pure.deadline:
                    return True
        return user.state is LOST

    # Steps of the node

    def _ask(self, user: BaseUser) -> None:
        host = self._driver.host
        host.must_be_in()
        host.node.acquire(self._name, user)

    def _give_back(self, user: BaseUser) -> bool:
        """Whether it was held until now; otherwise it was lost."""
        node = self._driver.host.node
        if user.state is HOLDING:
            node.check_lease()
        if user.state is LOST:
            return False
        node.release(user)
        return True

    def _withdraw(self, user: BaseUser) -> None:
        """It is no longer wanted, in whatever state it is."""
        if self._host.step(self._drop, user):
            self._driver.after_step()

    def _drop(self, user: BaseUser) -> bool:
        if user.state is not HOLDING:
            return self._pure.give_up(user)
        self._pure.release(user)
        return True

    # In the node's loop

    def _probe(self, user: BaseUser) -> None:
        """Probe whether others hold it.  Repeated, because a new view discards answers."""
        if user.state is WAITING:
            with self._guard:
                self._pure.probe(user)
            self._host.loop.call_later(PROBE, self._probe, user)
        self._host.flush()
