"""The judge stands outside the algorithm and sees only requests, grants and releases."""

from __future__ import annotations

from peerlock.core.peer import NodeId, listed
from peerlock.traces.trace import Trace


class Violation(Exception):
    """A run went wrong; `trace` tells how it came about, if it was recorded."""

    def __init__(self, node: NodeId, text: str) -> None:
        super().__init__(text)
        self.node = node
        self.text = text
        self.trace: Trace | None = None


class Judge:
    """Mutual exclusion, fences that grow, and nobody forgotten."""

    def __init__(self) -> None:
        self.waiting: set[NodeId] = set()
        self.inside: set[NodeId] = set()
        self.last_fence = 0

    def requested(self, node: NodeId) -> None:
        self.waiting.add(node)

    def granted(self, node: NodeId, fence: int) -> None:
        if node not in self.waiting:
            raise Violation(node, f"{node} is let in without having asked")
        self.waiting.remove(node)
        self.inside.add(node)
        if len(self.inside) > 1:
            raise Violation(node, f"{listed(self.inside)} are inside together")
        if fence <= self.last_fence:
            raise Violation(node, f"{node}'s fence {fence} follows {self.last_fence}")
        self.last_fence = fence

    def left(self, node: NodeId) -> None:
        self.inside.remove(node)

    def crashed(self, node: NodeId) -> None:
        self.waiting.discard(node)
        self.inside.discard(node)

    def at_rest(self) -> None:
        """Nothing more can happen by itself."""
        if self.waiting:
            waits = "waits" if len(self.waiting) == 1 else "wait"
            raise Violation(
                min(self.waiting),
                f"deadlock: {listed(self.waiting)} {waits}, and nothing more can happen",
            )

    def no_progress(self, events: int) -> None:
        """`events` in a row have let nobody in."""
        if self.waiting and not self.inside:
            raise Violation(
                min(self.waiting),
                f"{listed(self.waiting)} waited through {events:,} events, "
                "and nobody was let in",
            )
