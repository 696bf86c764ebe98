"""What a request is for, and which requests may be inside together: what a judge judges by.

The rules:
  * A request is for one of `demands`, immutable values.  A plain one, by `acquire`, is for
    the first of them; any is made by `acquire_for`.
  * `together` says whether requests for these may be inside at a time.  Their order does
    not matter, and of those that may some may.
  * If two may not be inside together, the later one's fence is above the earlier one's: on
    an asynchronous network there is a chain of messages from the one to the other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any, Protocol

from peerlock.core.bits import bits, nodes_in
from peerlock.core.peer import SHARED

Demand = Any

EXCLUSIVE = ""
DEFAULT_PERMITS = 2


class Rule(Protocol):
    @property
    def demands(self) -> tuple[Demand, ...]: ...
    def together(self, inside: Sequence[Demand]) -> bool: ...
    def words(self, demand: Demand) -> str:
        """For a trace."""


@dataclass(frozen=True)
class Permits:
    """At most this many."""

    count: int = 1
    demands = (EXCLUSIVE,)

    def together(self, inside: Sequence[Demand]) -> bool:
        return len(inside) <= self.count

    def words(self, demand: Demand) -> str:
        return str(demand)


@dataclass(frozen=True)
class Sharing:
    """Readers with readers, a writer alone."""

    demands = (EXCLUSIVE, SHARED)

    def together(self, inside: Sequence[Demand]) -> bool:
        return len(inside) <= 1 or EXCLUSIVE not in inside

    def words(self, demand: Demand) -> str:
        return str(demand)


@dataclass(frozen=True)
class Groups:
    """Those of one group, 1 to `count`."""

    count: int = DEFAULT_PERMITS

    @property
    def demands(self) -> tuple[int, ...]:
        return tuple(range(1, self.count + 1))

    def together(self, inside: Sequence[Demand]) -> bool:
        return len(set(inside)) <= 1

    def words(self, demand: Demand) -> str:
        return f"group {demand}"


@dataclass(frozen=True)
class Units:
    """So many units, of which a request is for one or more."""

    count: int = DEFAULT_PERMITS

    @property
    def demands(self) -> tuple[int, ...]:
        return tuple(range(1, self.count + 1))

    def together(self, inside: Sequence[Demand]) -> bool:
        return sum(inside) <= self.count

    def words(self, demand: Demand) -> str:
        return f"{demand} of {self.count}"


@dataclass(frozen=True)
class Resources:
    """Each of 1 to `count` once; a request is for a set of them, the bits of an integer."""

    count: int = DEFAULT_PERMITS

    @property
    def demands(self) -> tuple[int, ...]:
        all_of_them = range(1, self.count + 1)
        return tuple(
            bits(some) for k in all_of_them for some in combinations(all_of_them, k)
        )

    def together(self, inside: Sequence[Demand]) -> bool:
        return all(not a & b for a, b in combinations(inside, 2))

    def words(self, demand: Demand) -> str:
        return "+".join(map(str, nodes_in(demand)))


# By the setting that says how many there are.
RULES: Mapping[str, Callable[[int], Rule]] = {
    "permits": Permits,
    "groups": Groups,
    "units": Units,
    "resources": Resources,
}
