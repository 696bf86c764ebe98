"""What a node counts."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Statistics:
    """What a node has counted since it was made, at the time of the call."""

    grants: int
    handed_over: int  # grants that needed no message
    waited: float  # seconds, the sum of all waits
    lost: int
    views: int
    remote_errors: int
    resent: int  # messages that were sent again over a new connection
    faults: int  # unexpected errors of this node itself
    messages: Counter[str]  # sent messages, by type


@dataclass
class Counts:
    """The same, while it counts."""

    grants: int = 0
    requested: int = 0  # grants that were the first after a request of this node
    waited: float = 0.0
    lost: int = 0
    views: int = 0
    remote_errors: int = 0
    resent: int = 0
    faults: int = 0
    messages: Counter[str] = field(default_factory=Counter)

    @property
    def handed_over(self) -> int:
        return self.grants - self.requested

    def copy(self) -> Statistics:
        counted = {name: getattr(self, name) for name in Statistics.__match_args__}
        return Statistics(**(counted | {"messages": self.messages.copy()}))
