"""A local user of a lock, as its node sees it.

Hosts define in classes of their own what follows from what the node says.
"""

from __future__ import annotations

from enum import Enum
from typing import TYPE_CHECKING

from peerlock.node.terms import Demand

if TYPE_CHECKING:
    from peerlock.node.locks import NamedLock, Others, Slot


class State(Enum):
    WAITING = "waiting"
    HOLDING = "holding"
    RELEASED = "released"
    GAVE_UP = "gave up"
    REFUSED = "refused"
    LOST = "lost"


# A member of an enumeration is slow to look up before Python 3.12; these are in a hurry.
WAITING, HOLDING = State.WAITING, State.HOLDING
RELEASED, LOST = State.RELEASED, State.LOST


class Waiter:
    """A local user that waits, and then holds.  Hosts define in a subclass what follows.

    What a host does in an `on_…` method must not call the node.
    """

    # On the class, and not set for each: one is made for every grant.
    state = State.WAITING
    fence = 0
    asked_at = 0.0
    since = 0.0  # when it was let in
    lock: NamedLock | None = None
    slot: Slot | None = None
    asks_since: float | None = None  # its process, if not since `asked_at`; for `status`
    probing = False  # it waits only as long as no other user does
    others: Others | None = None

    def __init__(self, demand: Demand) -> None:
        self.demand = demand

    @property
    def requested_at(self) -> float:
        """When the process has requested the lock for its first waiter, which this is."""
        return self.asked_at if self.asks_since is None else self.asks_since

    def on_granted(self) -> None:
        """It holds now."""

    def on_refused(self, why: str) -> None:
        """The cluster uses the name on other terms."""

    def on_lost(self) -> None:
        """It holds no longer, through no fault of its own."""

    def on_probed(self, busy: bool) -> None:
        """Whether others hold or want what it wants; it may ask again."""

    def abandon(self) -> None:
        """The node leaves: this will never be let in."""
