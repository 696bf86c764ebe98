"""The linear program behind every optimal load: how often each choice is made.

Each choice puts some load on some nodes.  The choices get shares that add up to 1, so that
the load of the busiest node is minimal.  The weights of the nodes, which add up to 1 as
well, prove that no shares are better: under them every choice weighs at least as much as
the load of the busiest node.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from peerlock.core.errors import UsageError

LARGEST = 2_000  # the largest denominator that is tried when a solution is made exact

Choice = Sequence[tuple[int, float]]  # for each node that it keeps busy, by how much


@dataclass(frozen=True)
class Optimum:
    load: float
    exact: Fraction | None = None  # where it is known to the last digit
    at_least: float | None = None  # what is proved, where `load` may not be the least


@dataclass(frozen=True)
class Solution:
    load: float
    shares: Sequence[float]  # of each choice
    weights: Sequence[float]  # of each node


def solve(choices: Sequence[Choice], nodes: int) -> Solution:
    """Minimise L, with shares ≥ 0 that add up to 1, and none of nodes 0, 1, … above L."""
    linprog, matrix = _import_scipy()
    last = len(choices)  # the column of L
    cells = [(j, i, by) for i, choice in enumerate(choices) for j, by in choice]
    cells += [(j, last, -1.0) for j in range(nodes)]
    rows, columns, values = zip(*cells, strict=True)
    solved = linprog(
        c=[0.0] * last + [1.0],
        A_ub=matrix((values, (rows, columns)), shape=(nodes, last + 1)),
        b_ub=[0.0] * nodes,
        A_eq=[[1.0] * last + [0.0]],
        b_eq=[1.0],
        method="highs",
    )
    assert solved.success, solved.message
    weights = [-y for y in solved.ineqlin.marginals]
    return Solution(float(solved.fun), list(solved.x[:-1]), weights)


def fractions(numbers: Sequence[float]) -> list[Fraction] | None:
    """The same as fractions, if they then still add up to 1, and none is negative."""
    found = [Fraction(x).limit_denominator(LARGEST) for x in numbers]
    return found if sum(found) == 1 and min(found) >= 0 else None


def _import_scipy() -> tuple[Any, Any]:
    try:
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix
    except ImportError:
        raise UsageError(
            "the optimal load needs SciPy: pip install 'peerlock[lab]'"
        ) from None
    return linprog, csr_matrix
