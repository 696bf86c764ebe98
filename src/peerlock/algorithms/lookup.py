"""An algorithm by its name; its module is imported when it is asked for, and not before."""

from __future__ import annotations

from importlib import import_module

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.index import INDEX
from peerlock.core.errors import UsageError, unknown

# Algorithms that are not ours and that this program has asked for, by what it asked for.
OUTSIDE: dict[str, Algorithm] = {}


def algorithm(name: str) -> Algorithm:
    if name in OUTSIDE:
        return OUTSIDE[name]
    if name not in INDEX:
        raise UsageError(unknown("algorithm", name, INDEX))
    module = import_module(f"peerlock.algorithms.{INDEX[name].module}")
    entries: tuple[Algorithm, ...] = module.ENTRIES
    return next(entry for entry in entries if entry.name == name)


def serves(name: str) -> tuple[str, ...]:
    """What a lock node can offer with it; of ours, nothing is imported to know."""
    return (INDEX[name] if name in INDEX else algorithm(name)).serves
