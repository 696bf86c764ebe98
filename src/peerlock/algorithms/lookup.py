"""An algorithm by what a user writes for it; it is imported when it is asked for.

One of the catalogue is written by its name.  One from elsewhere is written as a file
(`./mine.py`, or `./mine.py:Class`), as `package.module:Class`, by the name under which an
installed package has registered it, or, in Python, by its class.

Between nodes, one of the catalogue goes by its name, one from elsewhere as
`package.module:Class`.  What another node names is imported only if it is in the catalogue,
or if this program has asked for it itself: no peer can make us run code.
"""

from __future__ import annotations

from functools import cache
from importlib import import_module

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.index import INDEX
from peerlock.core.errors import UsageError
from peerlock.core.peer import Peer

# Algorithms from elsewhere that this program has asked for, by how that was written.
OUTSIDE: dict[str, Algorithm] = {}


def algorithm(wanted: str | type[Peer]) -> Algorithm:
    if isinstance(wanted, str):
        if wanted in OUTSIDE:
            return OUTSIDE[wanted]
        if wanted in INDEX:
            return _ours(wanted)
    from peerlock.algorithms import outside  # which most programs never need

    return outside.find(wanted)


@cache
def _ours(name: str) -> Algorithm:
    module = import_module(f"peerlock.algorithms.{INDEX[name].module}")
    entries: tuple[Algorithm, ...] = module.ENTRIES
    return next(entry for entry in entries if entry.name == name)


def reference(wanted: str | type[Peer]) -> str:
    """The same in words that `algorithm` understands in this process, and in its forks."""
    if isinstance(wanted, str):
        return wanted
    from peerlock.algorithms import outside

    entry = outside.find(wanted)
    if outside.is_ours(entry):
        return entry.name
    name = outside.key(wanted)
    OUTSIDE[name] = entry
    return name


def name_between_nodes(wanted: str | type[Peer]) -> str:
    """What all members of a cluster call it; from now on, they may name it to us."""
    if isinstance(wanted, str) and (wanted in INDEX or wanted in OUTSIDE):
        return wanted
    from peerlock.algorithms import outside

    if isinstance(wanted, str) and outside.is_file(wanted):
        raise UsageError(
            f"{wanted} is known by its file, which other members cannot know: "
            "write package.module:Class, or pass the class"
        )
    return reference(outside.find(wanted).peer)


def known(name: str) -> Algorithm | None:
    """The algorithm that another node names; None if this program has not asked for it."""
    if name in INDEX:
        return _ours(name)
    return OUTSIDE.get(name)


def is_foreign(name: str) -> bool:
    """It can be the name of an algorithm from elsewhere, whether or not there is one."""
    module, colon, kind = name.partition(":")
    parts = [*module.split("."), *kind.split(".")]
    return bool(colon) and len(name) <= 200 and all(map(str.isidentifier, parts))


def is_strange(name: str) -> bool:
    """Another node may use it; this program has not asked for it, and does not know it."""
    return name not in INDEX and name not in OUTSIDE and is_foreign(name)


def serves(name: str) -> tuple[str, ...]:
    """What a lock node can offer with it; for the catalogue's, nothing is imported."""
    return (INDEX[name] if name in INDEX else algorithm(name)).serves
