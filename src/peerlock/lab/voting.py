"""The least load of weighted votes, over all sets of nodes that win.

There are too many of these to list them all.  The linear program is solved over some; the
weights of the nodes that come with its solution then ask for a winning set that is lighter
than the busiest node's load.  If there is one, it was missing, and is added; if there is
none, the solution is the best over all of them.  P. C. Gilmore, R. E. Gomory, "A Linear
Programming Approach to the Cutting-Stock Problem", 1961.

Nodes with equal votes are alike, so a set is given by how many it has of each number of
votes.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from math import inf, lcm
from random import Random
from typing import Any

from peerlock.lab.linear import Choice, Optimum, Solution, fractions, solve
from peerlock.quorums.hitting import OutOfEffort
from peerlock.quorums.weighted import Votes

EFFORT = 60_000_000  # partial sets before the search is given up: some seconds
START = 2  # winning sets for each number of votes to begin with: often enough, if fair
MOST_TO_START = 600  # more make the linear program slow
MOST_VOTES = 2**62  # so that their sums fit into the integers of numpy
EXACT_SUMS = 2**50  # below this, sums of whole numbers are exact as floating point, too
CLOSE = 1e-6  # a load this close to what is proved is as good as proved
CLOSER = 1e-9  # where it is to become a fraction

Taken = tuple[int, ...]  # how many of each group


@dataclass(frozen=True)
class VoteGroups:
    """Those with votes[g] votes are members[g] nodes; a set needs `need` votes to win."""

    votes: tuple[int, ...]
    members: tuple[int, ...]
    need: int

    @property
    def total(self) -> int:
        return sum(v * m for v, m in zip(self.votes, self.members, strict=True))

    def parts(self) -> Iterator[tuple[int, int]]:
        """Group and number: 1, 2, 4, … nodes at once, so that every number can be had."""
        for g, left in enumerate(self.members):
            number = 1
            while left:
                yield g, min(number, left)
                left -= min(number, left)
                number *= 2

    def choice(self, taken: Taken) -> Choice:
        """How busy it keeps a node of each group, if they take turns."""
        return [(g, k / self.members[g]) for g, k in enumerate(taken) if k]


def grouped(votes: Votes) -> VoteGroups:
    found = sorted(Counter(vote for vote in votes if vote).items(), reverse=True)
    return VoteGroups(
        tuple(vote for vote, _ in found),
        tuple(members for _, members in found),
        sum(votes) // 2 + 1,
    )


def voting_load(votes: Votes, exact: bool = True, effort: int = EFFORT) -> Optimum:
    """Within `CLOSE`; with `exact` also as a fraction, if it has a small one."""
    groups = grouped(votes)
    if len(groups.votes) == 1:
        fewest = -(-groups.need // groups.votes[0])
        load = Fraction(fewest, groups.members[0])
        return Optimum(float(load), load)
    close = CLOSER if exact else CLOSE
    sets, solved, at_least = searched(groups, close, effort)
    if solved.load > at_least + close:
        return Optimum(solved.load, at_least=at_least)
    return Optimum(solved.load, certified(groups, sets, solved) if exact else None)


def searched(
    groups: VoteGroups, close: float, effort: int
) -> tuple[list[Taken], Solution, float]:
    """Winning sets, the best that can be made of them, and a load that none goes below."""
    sets = fair_sets(groups)
    at_least = groups.need / groups.total  # every set weighs that, if votes are weights
    while True:
        solved = solve([groups.choice(taken) for taken in sets], len(groups.votes))
        if solved.load <= at_least + close:
            return sets, solved, at_least
        effort -= len(groups.votes) ** 2 * len(sets) // 3
        weights = [y / m for y, m in zip(solved.weights, groups.members, strict=True)]
        search = Lightest(groups, weights, effort)
        try:
            missing = search.below(solved.load - close)
        except OutOfEffort:
            return sets, solved, at_least
        if missing is None:
            return sets, solved, solved.load
        effort = search.effort
        weight = sum(y * k for y, k in zip(weights, missing, strict=True))
        at_least = max(at_least, weight)
        sets.append(missing)


def fair_sets(groups: VoteGroups) -> list[Taken]:
    """Some winning sets with hardly more votes than are needed, which use all alike.

    A node with few votes always fits in.  So every third set has no node that was in more
    than half of them, unless there is no other way.
    """
    rng = Random(1)
    used = [0.0] * len(groups.votes)
    found = []
    for made in range(min(START * len(groups.votes) + 2, MOST_TO_START)):
        order = sorted(range(len(used)), key=lambda g: (used[g], rng.random()))
        most = made if made % 3 else made / 2 + 1
        taken = filled(groups, [g for g in order if used[g] <= most])
        found.append(spared(groups, taken, reversed(order)))
        for g, busy in groups.choice(found[-1]):
            used[g] += busy
    return list(dict.fromkeys(found))


def filled(groups: VoteGroups, order: Sequence[int]) -> Taken:
    """Whatever fits, in this order; and for the rest the fewest votes that are enough."""
    taken = [0] * len(groups.votes)
    missing = groups.need
    for g in order:
        taken[g] = min(groups.members[g], missing // groups.votes[g])
        missing -= taken[g] * groups.votes[g]
    while missing > 0:
        free = [g for g, m in enumerate(groups.members) if taken[g] < m]
        enough = [g for g in free if groups.votes[g] >= missing]
        g = enough[-1] if enough else free[0]
        taken[g] += 1
        missing -= groups.votes[g]
    return tuple(taken)


def spared(groups: VoteGroups, taken: Taken, order: Iterable[int]) -> Taken:
    """Without those that it wins without, in this order."""
    left = list(taken)
    spare = sum(k * v for k, v in zip(taken, groups.votes, strict=True)) - groups.need
    for g in order:
        gone = min(left[g], spare // groups.votes[g])
        left[g] -= gone
        spare -= gone * groups.votes[g]
    return tuple(left)


class Lightest:
    """The lightest winning set under some weights: a knapsack, filled the other way round.

    Node after node joins or does not, those first that have most votes for their weight.
    Partial sets with fewer votes and more weight are dropped, and so are those that cannot
    win any more, or not without getting too heavy, at the price of the next vote.
    """

    def __init__(self, groups: VoteGroups, weights: Sequence[float], effort: int) -> None:
        self.groups, self.weights, self.effort = groups, weights, effort
        self.price = [y / v for y, v in zip(weights, groups.votes, strict=True)]
        self.parts = sorted(groups.parts(), key=lambda part: self.price[part[0]])

    def below(self, limit: float) -> Taken | None:
        """The lightest, or none if it weighs that much."""
        import numpy as np

        groups, left = self.groups, self.groups.total
        if left > MOST_VOTES:
            raise OutOfEffort
        votes, weight = np.zeros(1, dtype=np.int64), np.zeros(1)
        ways = []
        for (g, number), next_ in zip(self.parts, [*self.parts[1:], None], strict=True):
            self._spend(2 * len(votes))
            more, heavier = number * groups.votes[g], number * self.weights[g]
            left -= more
            price = self.price[next_[0]] if next_ else 0.0
            votes = np.minimum(np.concatenate((votes, votes + more)), groups.need)
            weight = np.concatenate((weight, weight + heavier))
            missing = groups.need - votes
            hopeful = (missing <= left) & (weight + missing * price < limit)
            kept = _unbeaten(votes, weight, np.flatnonzero(hopeful))
            ways.append((kept, len(votes) // 2))
            votes, weight = votes[kept], weight[kept]
        return self._taken(ways) if len(votes) else None

    def _spend(self, effort: int) -> None:
        self.effort -= effort
        if self.effort < 0:
            raise OutOfEffort

    def _taken(self, ways: Sequence[tuple[Any, int]]) -> Taken:
        """The way back from the one that is left at the end."""
        taken = [0] * len(self.groups.votes)
        at = 0
        for (g, number), (kept, before) in zip(
            reversed(self.parts), reversed(ways), strict=True
        ):
            at = int(kept[at])
            if at >= before:
                taken[g] += number
                at -= before
        return tuple(taken)


def _unbeaten(votes: Any, weight: Any, among: Any) -> Any:
    """Most votes first; each one weighs less than all that have as many or more."""
    import numpy as np

    order = among[np.lexsort((weight[among], -votes[among]))]
    heavy = weight[order]
    lightest_before = np.concatenate(([inf], np.minimum.accumulate(heavy)[:-1]))
    return order[heavy < lightest_before] if len(order) else order


def certified(
    groups: VoteGroups, sets: Sequence[Taken], solved: Solution
) -> Fraction | None:
    """The load as a fraction, if shares and weights, made fractions, prove each other."""
    w, y = fractions(solved.shares), fractions(solved.weights)
    if w is None:
        return None
    busiest = max(
        sum((x * taken[g] for x, taken in zip(w, sets, strict=True)), Fraction(0)) / members
        for g, members in enumerate(groups.members)
    )
    if busiest == Fraction(groups.need, groups.total):
        return busiest  # by the votes as weights
    if y is None:
        return None
    return busiest if _none_lighter(groups, y, busiest) else None


def _none_lighter(groups: VoteGroups, weights: Sequence[Fraction], load: Fraction) -> bool:
    each = [y / m for y, m in zip(weights, groups.members, strict=True)]
    scale = lcm(*(x.denominator for x in (load, *each)))
    if scale > EXACT_SUMS:
        return False
    whole = [float(x * scale) for x in each]
    try:
        return Lightest(groups, whole, EFFORT).below(float(load * scale) - 0.5) is None
    except OutOfEffort:
        return False
