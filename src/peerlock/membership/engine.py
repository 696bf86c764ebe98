"""What a membership engine does for a node.

A node's host calls these, one at a time, from its event loop.  Each is one transaction on
what all members share.  A call may take long (it may use a thread or the network), but
must not block the loop.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import NamedTuple, Protocol, runtime_checkable

from peerlock.core.errors import Error
from peerlock.node.succession import MOST_ELDERS
from peerlock.node.views import MemberId, View

NEEDS_A_LEASE = (
    "between machines a member needs a lease, because a silent member may be dead or cut "
    "off: use a number of seconds"
)


class ClusterError(Error, RuntimeError):
    """The membership of the cluster cannot be read or changed; the text says what to do."""


class Gone(ClusterError):
    """The shared state was removed: no process is a member any more."""


class Joined(NamedTuple):
    """What `join` returns."""

    view: View  # with the new member
    me: MemberId  # the new member
    deadline: float  # of its lease, on its own clock


class Renewed(NamedTuple):
    """What `renew` returns."""

    view: View  # the newest at some time after the call
    deadline: float  # of the lease; -inf: this member was removed
    changed: bool  # this transaction has removed a member
    trouble: ClusterError | None = None  # still a member, but the view cannot be changed


class Engine(Protocol):
    """Keeps the members of a cluster: a protocol, from which nothing is inherited.

    Calls come one at a time, from one event loop.
    """

    cluster: str  # the identity of the cluster, which only its members know
    lease: float | None  # for how long a member may be silent; None: as long as it lives

    @property
    def lock_file(self) -> int | None:
        """A descriptor that keeps the member alive as long as any process has it open."""

    async def join(self, address: str, beyond: int = 0) -> Joined:
        """Become a member with this address, in a view with a number above `beyond`."""

    async def renew(self, me: MemberId, suspects: Collection[MemberId] = ()) -> Renewed:
        """Renew the lease; remove members that are dead or have been silent for too long.

        suspects: members that may be; an engine need not check all others each time.
        """

    async def reserve(self) -> int:
        """A number for fences: all below it may be used, and no later view has a lower one.

        About a thousand numbers more than there were: enough for millions of grants.
        """

    async def leave(self, me: MemberId) -> View:
        """Be a member no longer; also if this process has joined again since it was `me`,
        and the answer to that was lost."""

    async def read(self) -> View:
        """The members, for a process that is not a member; nothing is changed."""

    def abandon(self) -> None:
        """In a forked child: it must not keep its parent in."""

    def close(self) -> None:
        """No more calls."""


# The first members of a view hear of changes at once: the elders, which keep the homes of
# names, and as many to come after them.  A hundred processes that wake up for every process
# that joins or leaves would keep the holders of locks from running.
WATCHERS = 2 * MOST_ELDERS


@runtime_checkable
class Watching(Protocol):
    """An engine that hears of changes by itself, in the first WATCHERS members at least.

    Its host sets `on_change` before it joins.  It is called in the event loop, at any
    time, with a newer view; or with None if something has happened that calls for a
    `renew` now, such as that we have been put out.
    """

    on_change: Callable[[View | None], None]


@runtime_checkable
class BetweenMachines(Protocol):
    """An engine whose members are on several machines, and talk over TCP."""

    @property
    def near(self) -> tuple[tuple[str, int], ...]:
        """Hosts and ports that all members reach.

        The address of this host on the way to them is the one that it advertises.
        """
