"""The members of a cluster, and the interface of the engines that keep them.

An engine of another package implements `Engine`, and is found by an entry point of the
group `peerlock.engines`, whose name is the scheme of its addresses.  `peerlock.testing` has
the tests that it must pass.
"""

from peerlock.membership.engine import (
    BetweenMachines,
    ClusterError,
    Engine,
    Gone,
    Joined,
    Renewed,
    Watching,
)
from peerlock.node.numbers import early, origin
from peerlock.node.register import Register
from peerlock.node.views import Member, MemberId, View

__all__ = [
    "BetweenMachines",
    "ClusterError",
    "Engine",
    "Gone",
    "Joined",
    "Member",
    "MemberId",
    "Register",
    "Renewed",
    "View",
    "Watching",
    "early",
    "origin",
]
