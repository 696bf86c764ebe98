"""The exceptions that users meet."""

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
    """The lock was not acquired in time; no request is left behind."""


class WouldBlock(Exception):
    """Another user holds the lock, and the caller did not want to wait."""


class Conflict(ValueError):
    """The cluster uses this name on other terms: another algorithm, other permits."""


class Lost(RuntimeError):
    """The lock was lost while it was held: another process may hold it by now."""


class NotOurs(RuntimeError):
    """This node belongs to the parent process; join again in this one."""
