"""Which part of a space is searched: the reductions that apply, and those in use."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from importlib.util import find_spec
from typing import TYPE_CHECKING

from peerlock.checker.commuting import DeliveryKind, Dependent
from peerlock.checker.model import Model
from peerlock.checker.renaming import Asymmetric, candidates, generators, inverse
from peerlock.checker.search import Limits
from peerlock.core.errors import UsageError

if TYPE_CHECKING:
    from peerlock.checker.arrays.reduced import ReducedSearch

SYMMETRY, COMMUTING = "symmetry", "commuting"
REDUCTIONS = (SYMMETRY, COMMUTING)
FIRST_LOOK = 300  # states, in which most of what does not apply is found out


def must_suit(model: Model) -> None:
    if model.requests is None:
        raise UsageError("a reduction needs a number of requests: omit --forever")
    if model.network.faults:
        raise UsageError(
            "a reduction needs a network without faults: "
            "use --losses 0 --duplicates 0 --crashes 0"
        )
    if find_spec("numpy") is None:
        raise UsageError("a reduction needs NumPy: pip install 'peerlock[lab]'")


def reduced(model: Model, limits: Limits, wanted: Collection[str]) -> ReducedSearch:
    """A search that uses as much of what is wanted as applies.

    Whenever something turns out not to apply, it begins anew.
    """
    from peerlock.checker.arrays.reduced import ReducedSearch

    assert model.requests is not None
    used = candidates(model.requests) if SYMMETRY in wanted else []
    given_up: set[DeliveryKind] | None = set()
    if COMMUTING not in wanted or model.medium or model.outlasting:
        given_up = None
    first_look = True
    while True:
        try:
            search = ReducedSearch(model, used, given_up)
            if not first_look:
                search.run(limits)
                return search
            search.run(replace(limits, states=min(FIRST_LOOK, limits.states)))
            used, first_look = generators(used), False
        except Asymmetric as found:
            differ = {*found.renamings, *map(inverse, found.renamings)}
            used = [renaming for renaming in used if renaming not in differ]
        except Dependent as found:
            given_up = None if found.kind is None else {*(given_up or ()), found.kind}


def used_by(search: ReducedSearch) -> tuple[str, ...]:
    found = [SYMMETRY] if search.renamings.used else []
    if search.commuting is not None and search.commuting.used:
        found.append(COMMUTING)
    return tuple(found)
