"""After a fork the child has a copy of a node that is not its own."""

from __future__ import annotations

import os
import threading
from weakref import ref

from peerlock.api.errors import NotOurs
from peerlock.runtime.host import Host

# Of this process.  Replaced as a whole: another thread may be iterating over it.
_hosts: tuple[ref[Host], ...] = ()

# Re-entrant, because a signal handler may come in between, and join or fork.
_changing = threading.RLock()


def mind_forks(host: Host) -> None:
    global _hosts
    with _changing:
        _hosts = (*(known for known in _hosts if known()), ref(host))


def hosts() -> list[Host]:
    return [host for known in _hosts if (host := known())]


def belongs_here(host: Host) -> None:
    if host.forked:
        raise NotOurs("this node belongs to the process that was forked; join in this one")


# No other thread may be in the middle of a step: in the child, the step would never end.

_guarded: list[list[Host]] = []


def _before() -> None:
    _changing.acquire()
    _guarded.append(hosts())
    for host in _guarded[-1]:
        host.guard.acquire()


def _in_the_parent() -> None:
    for host in reversed(_guarded.pop()):
        host.guard.release()
    _changing.release()


def _in_the_child() -> None:
    global _hosts
    for host in _guarded[-1]:
        host.abandon()
        host.forked = True
    _hosts = ()
    _in_the_parent()


os.register_at_fork(
    before=_before, after_in_parent=_in_the_parent, after_in_child=_in_the_child
)
