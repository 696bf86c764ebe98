"""The judge stands outside the algorithm and sees only requests, grants and releases."""

from __future__ import annotations

from peerlock.core.peer import NodeId, listed
from peerlock.traces.trace import Trace


class Violation(Exception):
    """A run went wrong; `trace` tells how it came about, if it was recorded."""

    def __init__(self, node: NodeId, text: str) -> None:
        super().__init__(node, text)  # both, or it could not come from another process
        self.node = node
        self.text = text
        self.trace: Trace | None = None

    def __str__(self) -> str:
        return self.text


class Judge:
    """Who may be inside together, fences that grow, and nobody forgotten.

    One at a time, unless there are more permits; readers with readers.  Fences grow from
    entry to entry where one at a time is let in; a reader's is above every earlier
    writer's, and a writer's above all.  Where nodes crash, what they knew is gone with
    them, and fences are not watched.
    """

    def __init__(self, capacity: int = 1, fences: bool = True) -> None:
        self.capacity = capacity
        self.fences = fences and capacity == 1
        self.waiting: set[NodeId] = set()
        self.inside: set[NodeId] = set()
        self.readers: set[NodeId] = set()  # of those that wait or are inside
        self.last_fence = 0
        self.last_writers_fence = 0

    def requested(self, node: NodeId, shared: bool = False) -> None:
        self.waiting.add(node)
        if shared:
            self.readers.add(node)

    def granted(self, node: NodeId, fence: int) -> None:
        if node not in self.waiting:
            raise Violation(node, f"{node} is let in without having asked")
        self.waiting.remove(node)
        self.inside.add(node)
        if len(self.inside) > self.capacity and not self.inside <= self.readers:
            raise Violation(node, f"{listed(self.inside)} are inside together")
        if self.fences:
            reader = node in self.readers
            before = self.last_writers_fence if reader else self.last_fence
            if fence <= before:
                raise Violation(node, f"{node}'s fence {fence} follows {before}")
            if fence > self.last_fence:
                self.last_fence = fence
            if not reader:
                self.last_writers_fence = fence

    def left(self, node: NodeId) -> None:
        self.inside.remove(node)
        if self.readers:
            self.readers.discard(node)

    def crashed(self, node: NodeId) -> None:
        for nodes in (self.waiting, self.inside, self.readers):
            nodes.discard(node)

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
