"""Distributed locks between your processes, with no lock server."""

from peerlock.api import threads as sync
from peerlock.api.errors import (
    ClusterError,
    Conflict,
    Deadlock,
    Lost,
    NotHeld,
    NotOurs,
    Timeout,
    WouldBlock,
)
from peerlock.api.meeting import Reach
from peerlock.api.tasks import Grant, Lock, LockNode, join
from peerlock.node.statistics import Statistics

__all__ = [
    "ClusterError",
    "Conflict",
    "Deadlock",
    "Grant",
    "Lock",
    "LockNode",
    "Lost",
    "NotHeld",
    "NotOurs",
    "Reach",
    "Statistics",
    "Timeout",
    "WouldBlock",
    "join",
    "sync",
]

__version__ = "0.1.0"
