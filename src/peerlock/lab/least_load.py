"""The least load that a quorum system can have, by linear programming.

M. Naor, A. Wool, "The Load, Capacity, and Availability of Quorum Systems", 1998.  A node
need not ask its own quorum: each quorum Q is chosen with a probability w_Q, so that the
load of the busiest node is minimal.  Weights y_j of the nodes prove that no choice is
better, if every quorum weighs at least as much as the load of the busiest node.
"""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from peerlock.core.bits import Nodes, nodes_in
from peerlock.lab.linear import Optimum, Solution, fractions, solve
from peerlock.lab.voting import voting_load
from peerlock.quorums.constructions import QuorumSystem
from peerlock.quorums.weighted import WeightedVotes

SMALL = 30  # nodes, or different numbers of votes, up to which a solution is made exact
LARGE = 1_500  # nodes; beyond that the linear program takes minutes, and is not solved


def optimal_load(system: QuorumSystem) -> Optimum:
    """Over all quorums where the construction knows them, else over those of its table."""
    if isinstance(system, WeightedVotes):
        return voting_load(system.votes, exact=len(set(system.votes)) <= SMALL)
    if (known := system.known_optimal_load) is not None:
        return Optimum(float(known), known)
    load, bound = _own_load(system), _bound(system)
    if load == bound:
        return Optimum(float(load), load)
    if system.nodes > LARGE:
        return Optimum(float(load), at_least=float(bound))
    quorums = system.essential
    nodes = sorted({j for quorum in quorums for j in nodes_in(quorum)})
    at = {j: row for row, j in enumerate(nodes)}
    choices = [[(at[j], 1.0) for j in nodes_in(quorum)] for quorum in quorums]
    solved = solve(choices, len(nodes))
    if system.nodes > SMALL:
        return Optimum(solved.load)
    return Optimum(solved.load, _certified(quorums, nodes, solved))


def _own_load(system: QuorumSystem) -> Fraction:
    """If each node asks its own quorum, and all nodes ask equally often."""
    return Fraction(round(system.load * system.nodes), system.nodes)


def _bound(system: QuorumSystem) -> Fraction:
    """No choice of quorums is better than this.

    A quorum has at least `fewest` nodes, which are shared among all; and if any two quorums
    of that size meet, some node is in at least one of `fewest` of them.
    """
    fewest = min(map(int.bit_count, system.essential))
    bounds = [Fraction(fewest, system.nodes)]
    if system.intersecting:
        bounds.append(Fraction(1, fewest))
    return max(bounds)


def _certified(
    quorums: Sequence[Nodes], nodes: Sequence[int], solved: Solution
) -> Fraction | None:
    """The load as a fraction, if shares and weights, made fractions, prove each other."""
    w, y = fractions(solved.shares), fractions(solved.weights)
    if w is None or y is None:
        return None
    busiest = max(
        sum(x for x, q in zip(w, quorums, strict=True) if q >> j & 1) for j in nodes
    )
    weight = dict(zip(nodes, y, strict=True))
    lightest = min(sum(weight[j] for j in nodes_in(quorum)) for quorum in quorums)
    return Fraction(busiest) if busiest == lightest else None
