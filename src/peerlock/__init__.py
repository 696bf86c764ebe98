"""Distributed locks between your processes, with no lock server."""

from importlib import import_module

TYPE_CHECKING = False  # to type checkers it is true; to import typing takes longer than all

if TYPE_CHECKING:
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

# Where each is; it is imported when it is first used, and not by those who need no lock.
_PLACES = {
    "peerlock.api.tasks": ("Grant", "Lock", "LockNode", "join"),
    "peerlock.api.meeting": ("Reach",),
    "peerlock.node.statistics": ("Statistics",),
}

if not TYPE_CHECKING:

    def __getattr__(name: str) -> object:
        if name not in __all__:
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        if name == "sync":
            value = import_module("peerlock.api.threads")
        else:
            places = (place for place, names in _PLACES.items() if name in names)
            value = getattr(import_module(next(places, "peerlock.api.errors")), name)
        globals()[name] = value
        return value
