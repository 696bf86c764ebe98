"""The mutants of each algorithm, in a file that has the algorithm's name."""

from __future__ import annotations

from dataclasses import replace
from importlib import import_module

from peerlock.algorithms.catalogue import CATALOGUE
from tests.support.mutants import Mutant


def mutants_of(name: str) -> tuple[Mutant, ...]:
    module = import_module(f"{__name__}.{name.replace('-', '_')}")
    return tuple(replace(mutant, algorithm=name) for mutant in module.MUTANTS)


MUTANTS = tuple(
    mutant
    for entry in CATALOGUE
    if entry.family != "museum"
    for mutant in mutants_of(entry.name)
)
