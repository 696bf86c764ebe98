"""The terms of a name: the algorithm, the number of permits, shared or not.

A user comes with a Demand.  The first demand for a name settles its Terms, for the whole
cluster, until no member has the name open.
"""

from __future__ import annotations

from functools import cache, lru_cache
from operator import index
from typing import Any, NamedTuple

from peerlock.algorithms.index import INDEX
from peerlock.algorithms.lookup import (
    is_foreign,
    is_strange,
    known,
    name_between_nodes,
    serves,
)
from peerlock.core.errors import UsageError
from peerlock.core.peer import NodeId, Peer, RemoteError
from peerlock.core.topology import Star

# These algorithms serve demands that do not name one; bench/choice.py compares them with
# the others.
LOCK = "neilsen-mizuno"
SHARED_LOCK = "ricart-agrawala-readers-writers"
SEMAPHORE = "raymond-k"

MOST_PERMITS = 1_000


class Demand(NamedTuple):
    algorithm: str = ""  # empty: whatever serves
    permits: int = 0  # how many at once, for a semaphore; 0 for a lock
    shared: bool = False


class Terms(NamedTuple):
    algorithm: str
    permits: int  # 0 for a lock
    named: bool  # the algorithm was asked for by name
    start: int  # the rank of the member that begins with the token, if there is one

    @property
    def slots(self) -> int:
        """How many peers each member runs: as many as may be inside."""
        return self.permits or 1


def demand(name: str | type[Peer] = "", permits: int = 0, shared: bool = False) -> Demand:
    """A valid demand; equal ones are one object.

    An algorithm from elsewhere is imported, and from then on known to this process.

    Other nodes refuse a message whose values are not of the very types that they expect,
    and with it all that comes after: so True is not a number here, and 1 becomes True.
    """
    if type(name) is not str or type(permits) is not int or type(shared) is not bool:
        if isinstance(name, str):
            name = str.__str__(name)
        if shared not in (True, False):
            raise UsageError(f"shared must be True or False, got {shared!r:.50}")
        permits, shared = plain_permits(permits), bool(shared)
    return _demand(name_between_nodes(name) if name != "" else "", permits, shared)


def plain_permits(permits: int) -> int:
    try:
        if not isinstance(permits, bool):
            return index(permits)
    except TypeError:
        pass
    raise UsageError(f"permits must be a whole number, got {permits!r:.50}")


@cache
def _demand(name: str, permits: int, shared: bool) -> Demand:
    _validate(name, permits, shared)
    return Demand(name, permits, shared)


def _validate(name: str, permits: int, shared: bool) -> None:
    """For an algorithm that this process has not asked for, other members know the rest."""
    if permits and shared:
        raise UsageError("a semaphore cannot be shared: omit permits or shared")
    if not 0 <= permits <= MOST_PERMITS:
        raise UsageError(f"permits must be 1 to {MOST_PERMITS:,}, got {permits}")
    if name and not is_strange(name):
        need = "semaphore" if permits else "shared lock" if shared else "lock"
        if need not in serves(name):
            able = ", ".join(a.name for a in INDEX.values() if need in a.serves)
            raise UsageError(f"{name} cannot serve a {need}; these can: {able}")


def settle(wanted: Demand, start: int) -> Terms:
    """The terms for a name that no member has open."""
    usual = SEMAPHORE if wanted.permits else SHARED_LOCK if wanted.shared else LOCK
    chosen = wanted.algorithm or usual
    return same(Terms(chosen, wanted.permits, bool(wanted.algorithm), start))


@lru_cache(maxsize=1_000)
def same(terms: Terms) -> Terms:
    """Terms that are equal are one object."""
    return terms


def objection(wanted: Demand, terms: Terms) -> str:
    """Why the demand conflicts with the terms of the name; empty if it does not."""
    if bool(wanted.permits) != bool(terms.permits):
        kinds = ("a lock", "a semaphore")
        use, want = kinds[bool(terms.permits)], kinds[bool(wanted.permits)]
        return f"the cluster uses it as {use}, not as {want}"
    if wanted.permits != terms.permits:
        return f"the cluster uses it with {terms.permits} permits, not {wanted.permits}"
    if wanted.algorithm and wanted.algorithm != terms.algorithm:
        return f"the cluster uses it with {terms.algorithm}, not with {wanted.algorithm}"
    if not wanted.algorithm and is_foreign(terms.algorithm):
        return f"the cluster uses it with {terms.algorithm}: ask for that algorithm"
    if wanted.algorithm or not wanted.shared or not terms.named:
        return ""
    if "shared lock" not in serves(terms.algorithm):
        return f"the cluster uses it with {terms.algorithm}, which has no shared locks"
    return ""


def must_switch(wanted: Demand, terms: Terms) -> bool:
    """Whether a reader comes to a lock whose algorithm has no readers."""
    if not wanted.shared or terms.permits or terms.named:
        return False
    return "shared lock" not in serves(terms.algorithm)


def validate_demand(wanted: Demand) -> None:
    """The demand of another node's user, which that node should have validated."""
    try:
        _validate(*wanted)
    except UsageError as error:
        raise RemoteError(str(error)) from None


def validate_terms(terms: Terms, members: int) -> None:
    """Terms come from another node; we must be able to take part on them."""
    validate_demand(Demand(terms.algorithm, terms.permits))
    if is_strange(terms.algorithm):
        raise RemoteError(f"this process has not asked for {terms.algorithm}")
    if not 0 <= terms.start < members:
        raise RemoteError(f"there is no member of rank {terms.start}")


class Blueprint(NamedTuple):
    """What the peers of an instance are made with: one value for all of them."""

    peer: type[Peer]
    members: tuple[NodeId, ...]
    settings: dict[str, Any]


@lru_cache(maxsize=1_000)
def blueprint(terms: Terms, members: int) -> Blueprint:
    entry = known(terms.algorithm)
    assert entry is not None  # otherwise no member would take part
    peer = entry.peer
    settings: dict[str, Any] = {}
    if terms.permits:
        settings["units" if entry.takes == "units" else "permits"] = terms.permits
    start = terms.start * terms.slots + 1
    for name in ("first_holder", "coordinator"):
        if hasattr(peer, name):
            settings[name] = start
    if entry.default == "star":  # its centre is where all requests go first: see Circles
        settings["topology"] = Star(members * terms.slots, start)
    return Blueprint(peer, tuple(range(1, members * terms.slots + 1)), settings)
