"""What the survey and the lecture say of sets: meshes, triangles, trees, and k-coteries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from itertools import combinations
from math import ceil, log2, sqrt

from peerlock.core.bits import bits
from peerlock.core.peer import listed
from peerlock.lab.reproduce import lecture, survey
from peerlock.lab.reproduce.expect import Above, Exactly, Near, Said
from peerlock.lab.reproduce.item import Because, Item
from peerlock.quorums.constructions import QuorumSystem, grid, majority, plane
from peerlock.quorums.coterie import most_disjoint
from peerlock.quorums.tree_quorums import tree_quorum
from peerlock.quorums.triangle import triangle_columns, triangle_rows
from peerlock.simulator.by_hand import ByHand

Make = Callable[[int], QuorumSystem]


def items() -> Iterator[Item]:
    yield from meshes()
    yield from triangles()
    yield from planes()
    yield from majorities()
    yield from trees()
    yield from k_coteries()


# Mühl's lecture: the mesh, the triangle, and the minimal arrangement


def meshes() -> Iterator[Item]:
    for side in (2, 3, 4, 5, 7):
        size = 2 * side - 1
        yield Item(
            lecture.SOURCE,
            "mesh: sets of 2√n−1, and each process in as many",
            {"n": side**2},
            Exactly({"sizes": [size], "sets that a node is in": [size]}),
            partial(sizes_and_duties, grid, side**2),
        )
        yield Item(
            lecture.SOURCE,
            "mesh: two sets have at least two processes in common",
            {"n": side**2},
            Said("at least 2", Above(1)),
            partial(least_in_common, grid, side**2),
        )


def triangles() -> Iterator[Item]:
    for rows in (3, 5, 10, 20):
        n = rows * (rows + 1) // 2
        yield Item(
            lecture.SOURCE,
            "triangle: sets of about √2·√n",
            {"n": n},
            Said("about √2·√n", Near(sqrt(2 * n), absolute=0.5)),
            partial(largest_set, triangle_columns, n),
            remark="Rows of 1, 2, …, m nodes have sets of m.",
        )
        yield Item(
            lecture.SOURCE,
            "triangle: sets of either scheme and of both that have nothing in common",
            {"n": n},
            Exactly(0),
            partial(disjoint_sets, n),
        )
        yield Item(
            lecture.SOURCE,
            "triangle: in both schemes together all are asked equally often",
            {"n": n},
            Exactly([2 * rows]),
            partial(duties_in_both, n),
            remark="In 2m of the 2n sets, if there are m rows.",
        )
    yield Item(
        lecture.SOURCE,
        "triangle: by one scheme process 1 is in nine sets and process 15 in one",
        {"n": 15},
        Exactly({"process 1": 9, "process 15": 1}),
        first_and_last,
    )


def planes() -> Iterator[Item]:
    for k in (3, 4, 5, 6, 8, 9, 10):
        n = k * (k - 1) + 1
        yield Item(
            lecture.SOURCE,
            "minimal arrangements: K = ½(1 + √(4n−3)) = ⌈√n⌉",
            {"n": n},
            Exactly(ceil(sqrt(n))),
            partial(largest_set, plane, n),
        )


def sizes_and_duties(make: Make, n: int) -> dict[str, list[int]]:
    quorums = make(n).quorums
    duties = Counter(j for quorum in quorums for j in quorum)
    return {
        "sizes": sorted({len(quorum) for quorum in quorums}),
        "sets that a node is in": sorted(set(duties.values())),
    }


def least_in_common(make: Make, n: int) -> int:
    return min(len({*a} & {*b}) for a, b in combinations(make(n).quorums, 2))


def largest_set(make: Make, n: int) -> int:
    return make(n).sizes.max


def disjoint_sets(n: int) -> int:
    found = {bits(q) for make in (triangle_columns, triangle_rows) for q in make(n).quorums}
    return sum(not a & b for a, b in combinations(found, 2))


def duties_in_both(n: int) -> list[int]:
    both = (*triangle_columns(n).quorums, *triangle_rows(n).quorums)
    return sorted(set(Counter(j for quorum in both for j in quorum).values()))


def first_and_last() -> dict[str, int]:
    found = Counter(j for quorum in triangle_columns(15).quorums for j in quorum)
    return {f"process {j}": found[j] for j in (1, 15)}


# The survey: majorities, as in the lecture, trees, and k-coteries


def majorities() -> Iterator[Item]:
    for n in (4, 9, 16, 25, 49):
        yield Item(
            lecture.SOURCE,
            "majority: ⌊n/2⌋ + 1 processes, itself included",
            {"n": n},
            Exactly(n // 2 + 1),
            partial(largest_set, majority, n),
        )
    for n in (3, 7, 13, 51):
        yield Item(
            survey.SOURCE,
            "Thomas: a majority of (N+1)/2 nodes",
            {"n": n},
            Exactly((n + 1) // 2),
            partial(largest_set, majority, n),
        )


def trees() -> Iterator[Item]:
    for n in (3, 7, 15):
        yield Item(
            survey.SOURCE,
            "Agrawal-El Abbadi: log N failures can leave no quorum",
            {"n": n},
            Exactly(ceil(log2(n))),
            partial(fewest_that_stop_all, n),
            remark="A path from the root to a leaf; fewer never do.",
        )


def fewest_that_stop_all(n: int) -> int:
    nodes = range(1, n + 1)
    return next(
        size
        for size in nodes
        for down in combinations(nodes, size)
        if all(tree_quorum(i, n, down) is None for i in nodes if i not in down)
    )


ONE_OF_THEM = (
    "The survey asks of the one more only that it misses one of the h, which these quorums "
    "do. It must miss all of them: with two nodes inside a third permit is free here, and "
    "no quorum for it is."
)
# To the letter a 3-coterie: each pair of disjoint ones has another that misses one of them.
LITERAL = QuorumSystem("3-coterie", ((1,), (2, 3), (2, 4), (3, 4)))
EXAMPLE = QuorumSystem("2-coterie", ((1, 3), (1, 2), (2, 4), (3, 4)))


def k_coteries() -> Iterator[Item]:
    yield Item(
        survey.SOURCE,
        "Kakugawa et al: with fewer than k inside a quorum is free",
        {"n": 4, "k": 3, "sets": "{1}, {2, 3}, {2, 4}, {3, 4}"},
        Exactly(3),
        partial(most_disjoint, LITERAL),
        Because(ONE_OF_THEM, Exactly(2)),
    )
    yield Item(
        survey.SOURCE,
        "Kakugawa et al: the example, nodes 2 and 4 inside together and no other",
        {"n": 4, "k": 2, "sets": "{1, 2}, {1, 3}, {2, 4}, {3, 4}"},
        Exactly("2 and 4"),
        inside_in_the_example,
    )


def inside_in_the_example() -> str:
    run = ByHand("kakugawa", 4, permits=2, quorums=EXAMPLE)
    for node in (2, 4, 1, 3):
        run.request(node)
        run.settle()
    return listed(run.judge.inside)
