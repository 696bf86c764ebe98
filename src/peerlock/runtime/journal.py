"""What a node logs: that it has joined, lost its place, joined again, left; and why.

The logger is `peerlock`.  Where a program has not configured logging, nothing is printed.
"""

from __future__ import annotations

import logging

from peerlock.node.node import Node

log = logging.getLogger("peerlock")
log.addHandler(logging.NullHandler())


class Journal:
    """Compares what it is shown with what it has logged last."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._member: int | None = None
        self._trouble = ""
        self._was_in = False

    def look(self, trouble: str) -> None:
        node = self._node
        member = node.me if node.member else None
        if member != self._member:
            self._member = member
            if member is None:
                log.warning("lost the place in the cluster: %s", trouble or "lease is over")
            else:
                self._entered(member)
        if trouble != self._trouble:
            self._trouble = trouble
            if trouble:
                log.warning("trouble: %s", trouble)
            else:
                log.info("the trouble is over")

    def _entered(self, member: int) -> None:
        did = "rejoined" if self._was_in else "joined"
        view = self._node.view
        log.info("%s as member %d, one of %d", did, member, len(view.members))
        self._was_in = True

    def refused(self, reason: str) -> None:
        log.warning("a member refuses this process: %s", reason)

    def left(self, reason: str) -> None:
        if self._was_in:
            self._was_in, self._member = False, None
            log.info("left the cluster%s", f", unnoticed by it: {reason}" if reason else "")
