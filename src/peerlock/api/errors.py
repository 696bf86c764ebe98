"""What can go wrong, for users."""

from __future__ import annotations

from peerlock.core.errors import Deadlock
from peerlock.membership.engine import ClusterError
from peerlock.node.node import NotHeld

__all__ = [
    "ClusterError",
    "Conflict",
    "Deadlock",
    "Lost",
    "NotHeld",
    "NotOurs",
    "Timeout",
    "WouldBlock",
]


class Timeout(TimeoutError):
    """The lock did not come in time; nothing is left behind."""


class WouldBlock(Exception):
    """Somebody else holds it, and you did not want to wait."""


class Conflict(ValueError):
    """The cluster uses this name in another way: another algorithm, other permits."""


class Lost(RuntimeError):
    """The lock was lost while it was held: somebody else may hold it by now."""


class NotOurs(RuntimeError):
    """This node belongs to another process, the one that was forked; join in this one."""
