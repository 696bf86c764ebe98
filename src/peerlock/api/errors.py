"""The exceptions that users meet, all of them `peerlock.Error`."""

from __future__ import annotations

from peerlock.core.errors import Deadlock, Error, NotHeld, UsageError
from peerlock.membership.engine import ClusterError

__all__ = [
    "Cancelled",
    "ClusterError",
    "Conflict",
    "Deadlock",
    "Error",
    "Lost",
    "NotHeld",
    "NotOurs",
    "Timeout",
    "UsageError",
    "WouldBlock",
]


class Timeout(Error, TimeoutError):
    """The lock was not acquired in time; no request is left behind."""


class WouldBlock(Error):
    """Another user holds the lock, and the caller did not want to wait."""


class Cancelled(Error):
    """Another thread has ended this wait, by the lock's cancel()."""


class Conflict(Error, ValueError):
    """The cluster uses this name on other terms: another algorithm, other permits."""


class Lost(Error, RuntimeError):
    """The lock was lost while it was held: another process may hold it by now."""


class NotOurs(Error, RuntimeError):
    """This node belongs to the parent process, or to another event loop; join again in
    this one."""
