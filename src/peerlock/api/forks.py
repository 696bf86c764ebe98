"""After a fork the child has a copy of a node that is not its own."""

from __future__ import annotations

import os
from weakref import WeakSet

from peerlock.api.errors import NotOurs
from peerlock.runtime.host import Host

HOSTS: WeakSet[Host] = WeakSet()
FORKED: WeakSet[Host] = WeakSet()


def mind_forks(host: Host) -> None:
    HOSTS.add(host)


def belongs_here(host: Host) -> None:
    if host in FORKED:
        raise NotOurs("this node belongs to the process that was forked; join in this one")


def _in_the_child() -> None:
    for host in HOSTS:
        host.abandon()
        FORKED.add(host)
    HOSTS.clear()


os.register_at_fork(after_in_child=_in_the_child)
