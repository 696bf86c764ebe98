"""An event loop that does not answer for a whole lease loses what its tasks hold.

The node lives in a thread of its own and keeps its place in the cluster whatever the loop
of its tasks does.  A lock that such a loop holds must not be held for ever.  So the node's
thread asks the loop again and again to call back; the lease is counted from before the
question, like that of the node itself.

- If it has not answered in time, what its tasks hold is lost: `grant.is_lost` says so at
  once, in any thread.  The lock itself is released a margin later: other processes acquire
  it when the work under the lock has had time to stop, as with any loss.
- Requests of tasks that wait are withdrawn, because no task could use the lock.  They are
  made again when the loop answers.
- A task may call before its loop answers, because it has not returned to the loop since it
  was blocked.  What it requests then shows that it runs, and is lost only if the loop is
  silent for a lease after that.
- Without a lease nothing is lost as long as the process lives.
"""

from __future__ import annotations

from collections.abc import Iterable
from math import inf
from typing import TYPE_CHECKING

from peerlock.api.errors import ClusterError
from peerlock.api.grants import BaseUser
from peerlock.membership import clock
from peerlock.node.presence import margin
from peerlock.node.waiters import State, Waiter

if TYPE_CHECKING:
    from peerlock.api.driver import BesideLoop

MOST = 1.0  # seconds between two checks


def ours(waiters: Iterable[Waiter]) -> list[BaseUser]:
    """Those of tasks, without heirs."""
    return [waiter for waiter in waiters if isinstance(waiter, BaseUser)]


class Beat:
    def __init__(self, driver: BesideLoop) -> None:
        self._driver = driver
        self._host = driver.host
        self._asked_at: float | None = None  # and there was no answer yet
        self._silent = False  # what its tasks held is lost, and there was no answer yet
        self._withdrawn: list[BaseUser] = []

    # In the node's thread

    def begin(self) -> None:
        if self._host.presence.lease is not None:
            self._look()

    def _look(self) -> None:
        lease = self._host.presence.lease
        assert lease is not None
        now, pace = clock.now(), min(MOST, lease / 5)
        patience = lease - pace - margin(lease)
        if self._asked_at is None and self._host.node.locks:
            self._asked_at = now
            self._driver.tell(self._answer)
        asked_at = now if self._asked_at is None else self._asked_at
        left = asked_at + patience - now
        # Before anything that might fail, so that this look is not the last.
        self._driver.loop.call_later(min(pace, left) if left > 0 else pace, self._look)
        if left <= 0:
            self._take(now - patience, time_to_stop=margin(lease))

    def _take(self, before: float, time_to_stop: float) -> None:
        heirs = self._host.step(self._take_all, before)
        if heirs:
            self._driver.loop.call_later(time_to_stop, self._release, heirs)
        self._host.flush()

    def _take_all(self, before: float) -> list[Waiter]:
        """Of all users; of those that came while it was silent, if they came before."""
        node = self._host.node
        if self._asked_at is None:
            return []  # it has just answered
        if not self._silent:
            self._silent, before = True, inf
        for user in ours(node.waiting()):
            if user.asked_at <= before and node.give_up(user):
                self._withdrawn.append(user)
        late = [user for user in ours(node.holding()) if user.since <= before]
        return [node.dispossess(user) for user in late]

    def _release(self, heirs: list[Waiter]) -> None:
        for heir in heirs:
            if heir.state is State.HOLDING:
                self._host.step(self._host.node.release, heir)
        self._host.flush()

    # In the tasks' loop

    def _answer(self) -> None:
        self._host.step(self._ask_again)
        self._driver.after_step()

    def _ask_again(self) -> None:
        self._asked_at, self._silent = None, False
        withdrawn, self._withdrawn = self._withdrawn, []
        for user in withdrawn:
            try:
                self._host.must_be_in()
            except ClusterError:
                user.abandon()
                continue
            if user.is_awaited:
                user.state = State.WAITING
                self._host.node.acquire(user.name, user)
                if user.probing:
                    self._driver.soon(user.handle._probe, user)
