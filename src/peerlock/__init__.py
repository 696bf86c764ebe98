"""Distributed locks between your processes, with no lock server.

Names are imported when they are first used: `peerlock.simulator`, for example, loads no
event loop, and a lock loads nothing but what it needs.
"""

TYPE_CHECKING = False  # as in typing, whose import takes long
if TYPE_CHECKING:
    from peerlock import sync
    from peerlock.api.errors import (
        Cancelled,
        ClusterError,
        Conflict,
        Deadlock,
        Error,
        Lost,
        NotHeld,
        NotOurs,
        Timeout,
        UsageError,
        WouldBlock,
    )
    from peerlock.api.meeting import Reach
    from peerlock.api.status import Holder, LockStatus, MemberStatus, Status, Waiting
    from peerlock.api.tasks import Grant, Lock, LockNode, join
    from peerlock.node.statistics import Statistics

__all__ = [
    "Cancelled",
    "ClusterError",
    "Conflict",
    "Deadlock",
    "Error",
    "Grant",
    "Holder",
    "Lock",
    "LockNode",
    "LockStatus",
    "Lost",
    "MemberStatus",
    "NotHeld",
    "NotOurs",
    "Reach",
    "Statistics",
    "Status",
    "Timeout",
    "UsageError",
    "Waiting",
    "WouldBlock",
    "join",
    "sync",
]

__version__ = "0.2.0.dev0"

# Where the names above are, unless in `peerlock.api.errors`; the same as for type checkers.
_HOMES = {
    "Grant": "peerlock.api.tasks",
    "Holder": "peerlock.api.status",
    "Lock": "peerlock.api.tasks",
    "LockNode": "peerlock.api.tasks",
    "LockStatus": "peerlock.api.status",
    "MemberStatus": "peerlock.api.status",
    "Reach": "peerlock.api.meeting",
    "Statistics": "peerlock.node.statistics",
    "Status": "peerlock.api.status",
    "Waiting": "peerlock.api.status",
    "join": "peerlock.api.tasks",
    "sync": "peerlock.sync",
}


if not TYPE_CHECKING:  # a type checker would believe that every name exists

    def __getattr__(name):  # noqa: ANN001, ANN202
        """The first use of a name of `__all__` imports it; the next finds it here."""
        if name not in __all__:
            raise AttributeError(f"module 'peerlock' has no attribute {name!r}")
        from importlib import import_module

        home = import_module(_HOMES.get(name, "peerlock.api.errors"))
        globals()[name] = found = home if name == "sync" else getattr(home, name)
        return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
