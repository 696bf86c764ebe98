"""What a run raises that violated a property."""

from __future__ import annotations

from peerlock.core.peer import NodeId
from peerlock.traces.trace import Trace


class Violation(Exception):
    """A run violated a property; `trace` shows how, if the run was recorded."""

    def __init__(self, node: NodeId, text: str) -> None:
        super().__init__(node, text)  # both, so that it can be pickled
        self.node = node
        self.text = text
        self.trace: Trace | None = None

    def __str__(self) -> str:
        return self.text
