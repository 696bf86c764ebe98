"""A message on its way between two peers, in runs that are played step by step."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from peerlock.core.peer import NodeId


@dataclass(frozen=True, slots=True)
class UnderWay:
    number: int  # the same in the trace
    sender: NodeId
    receiver: NodeId
    message: Any
    fence: int  # the sender's, when it sent
