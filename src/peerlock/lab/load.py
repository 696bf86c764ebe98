"""The least load that a quorum system can have, by linear programming.

M. Naor, A. Wool, "The Load, Capacity, and Availability of Quorum Systems", 1998.  Who asks
need not ask the quorum of its own: each quorum Q is chosen with a probability w_Q, so that
the busiest node is in as few as can be.  Weights y_j of the nodes prove that no choice
does better, if every quorum weighs at least as much as the busiest node has to do.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from peerlock.algorithms.catalogue import UsageError
from peerlock.core.bits import Nodes, nodes_in
from peerlock.core.quorums import QuorumSystem

SMALL = 30  # nodes, up to which a solution is made exact
LARGEST = 2_000  # the largest denominator that is tried then


@dataclass(frozen=True)
class Optimum:
    load: float
    exact: Fraction | None  # where it is known to the last digit


def optimal_load(system: QuorumSystem) -> Optimum:
    """Over all quorums where the construction knows that, else over those of its table."""
    known = system.known_optimal_load or _evident(system)
    if known is not None:
        return Optimum(float(known), known)
    quorums = system.essential
    nodes = sorted({j for quorum in quorums for j in nodes_in(quorum)})
    load, shares, weights = _solve(quorums, nodes)
    if system.nodes > SMALL:
        return Optimum(load, None)
    return Optimum(load, _certified(quorums, nodes, shares, weights))


def _evident(system: QuorumSystem) -> Fraction | None:
    """If all ask alike and the busiest node has no more to do than must be done.

    A quorum has `min` nodes at least, to be shared among all; and if any two meet, a node
    of a quorum of `min` nodes is met by one in `min` quorums, whichever they are.
    """
    asked = round(system.load * system.nodes)
    fewest = system.sizes.min
    load = Fraction(asked, system.nodes)
    bounds = [Fraction(fewest, system.nodes)]
    if system.intersecting:
        bounds.append(Fraction(1, fewest))
    return load if load == max(bounds) else None


def _solve(
    quorums: Sequence[Nodes], nodes: Sequence[int]
) -> tuple[float, Sequence[float], Sequence[float]]:
    """Minimise L, with w_Q ≥ 0 that add up to 1, and each node in at most L."""
    linprog, matrix = _import_scipy()
    rows, columns = [], []
    at = {j: row for row, j in enumerate(nodes)}
    for column, quorum in enumerate(quorums):
        for j in nodes_in(quorum):
            rows.append(at[j])
            columns.append(column)
    last = len(quorums)  # the column of L
    values = [1.0] * len(rows) + [-1.0] * len(nodes)
    rows += range(len(nodes))
    columns += [last] * len(nodes)
    busy = matrix((values, (rows, columns)), shape=(len(nodes), last + 1))
    solved = linprog(
        c=[0.0] * last + [1.0],
        A_ub=busy,
        b_ub=[0.0] * len(nodes),
        A_eq=[[1.0] * last + [0.0]],
        b_eq=[1.0],
        method="highs",
    )
    assert solved.success, solved.message
    return float(solved.fun), list(solved.x[:-1]), [-y for y in solved.ineqlin.marginals]


def _certified(
    quorums: Sequence[Nodes],
    nodes: Sequence[int],
    shares: Sequence[float],
    weights: Sequence[float],
) -> Fraction | None:
    """The load as a fraction, if shares and weights, made fractions, prove each other."""
    w = [Fraction(x).limit_denominator(LARGEST) for x in shares]
    y = [Fraction(x).limit_denominator(LARGEST) for x in weights]
    if sum(w) != 1 or sum(y) != 1 or any(x < 0 for x in (*w, *y)):
        return None
    busiest = max(
        sum(x for x, q in zip(w, quorums, strict=True) if q >> j & 1) for j in nodes
    )
    weight = dict(zip(nodes, y, strict=True))
    lightest = min(sum(weight[j] for j in nodes_in(quorum)) for quorum in quorums)
    return Fraction(busiest) if busiest == lightest else None


def _import_scipy() -> tuple[Any, Any]:
    try:
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix
    except ImportError:
        raise UsageError(
            "the optimal load needs scipy: pip install 'peerlock[lab]'"
        ) from None
    return linprog, csr_matrix
