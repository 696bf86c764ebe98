"""The node's side of claims: each claim has a local user of its lock.

The node lives in the same event loop, so what follows from a step is carried out at once.
"""

from __future__ import annotations

from peerlock.node.waiters import State, Waiter
from peerlock.runtime.host import Host
from peerlock.serve.sessions import Claim, Sessions

PROBE = 0.05  # seconds after which a user that would not wait asks the others again


class ClaimUser(Waiter):
    """What the node calls here must not call the node."""

    def __init__(self, host: Host, sessions: Sessions, claim: Claim) -> None:
        super().__init__(claim.demand)
        self.label = claim.session.label
        self._host = host
        self._node = host.node
        self._sessions = sessions
        self._claim = claim

    def ask(self) -> None:
        if self._node.take(self._claim.name, self):
            self.on_granted()
            return
        self._host.step(self._request)
        if self._claim.nonblock:
            self._probe()
        self._host.flush_if_needed()

    def drop(self) -> None:
        """It is no longer wanted, in whatever state it is."""
        if not self._node.put_back(self):
            self._host.step(self._let_go)
            self._host.flush_if_needed()

    def _request(self) -> None:
        self._host.must_be_in()
        self._node.acquire(self._claim.name, self)

    def _let_go(self) -> None:
        if self.state is State.HOLDING:
            self._node.check_lease()  # which may be over
        if self.state is State.HOLDING:
            self._node.release(self)
        else:
            self._node.give_up(self)

    def _probe(self) -> None:
        """Repeated, because a new view discards answers."""
        if self.state is State.WAITING:
            self._host.step(self._node.probe, self)
            self._host.flush()
            self._host.loop.call_later(PROBE, self._probe)

    # Called by the node

    def on_granted(self) -> None:
        self._sessions.held(self._claim, self.fence)

    def on_refused(self, why: str) -> None:
        self._sessions.refused(self._claim, f"{self._claim.name!r}: {why}")

    def on_lost(self) -> None:
        self._sessions.lost(self._claim)

    def on_probed(self, busy: bool) -> None:
        if busy:
            self._sessions.busy(self._claim)
            self._host.loop.call_soon(self.drop)

    def abandon(self) -> None:
        self._sessions.refused(self._claim, "the server has left the cluster")
