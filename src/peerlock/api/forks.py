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


# No other thread may be in the middle of a step: in the child it would never end it.

_guarded: list[Host] = []


def _before() -> None:
    _guarded.extend(HOSTS)
    for host in _guarded:
        host.guard.__enter__()


def _in_the_parent() -> None:
    while _guarded:
        _guarded.pop().guard.__exit__(None, None, None)


def _in_the_child() -> None:
    for host in _guarded:
        host.abandon()
        FORKED.add(host)
    HOSTS.clear()
    _in_the_parent()


os.register_at_fork(
    before=_before, after_in_parent=_in_the_parent, after_in_child=_in_the_child
)
