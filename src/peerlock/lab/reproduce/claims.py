"""What the papers say in passing: of sets, links, queues, delays and waiting."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import count, permutations
from math import ceil, isqrt, sqrt
from random import Random
from typing import Any, cast

from peerlock.algorithms.chaudhuri_edward import MARKER, ChaudhuriEdward
from peerlock.core.peer import snake
from peerlock.lab.reproduce import chaudhuri_edward, lecture, maekawa, measure, tr869
from peerlock.lab.reproduce.expect import AtMost, Exactly, Near, Said
from peerlock.lab.reproduce.item import Because, Item
from peerlock.lab.reproduce.sets import sizes_and_duties
from peerlock.lab.reproduce.table_3 import reports_of_a_failure
from peerlock.quorums.constructions import grid, plane
from peerlock.quorums.galois import prime_power
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Constant
from peerlock.simulator.load import Heavy, Light, Load, Schedule
from peerlock.simulator.network import Network
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import simulate
from peerlock.traces.trace import Kind


def items() -> Iterator[Item]:
    yield from sets_of_maekawa()
    yield from failures_of_maekawa()
    yield from delays_of_tr869()
    yield from groups_of_chaudhuri_edward()
    yield from minimal_arrangements()


def has_plane(order: int) -> bool:
    return order == 1 or prime_power(order) is not None


# Maekawa, sections 7 to 9


def sets_of_maekawa() -> Iterator[Item]:
    for most, found in ((20, [15, 17]), (50, [34, 38])):
        yield Item(
            maekawa.SOURCE,
            "§7: the largest gap between L and M",
            {"n": most * (most - 1) + 1, "K": most},
            Exactly(found),
            partial(largest_gap, most),
        )
    yield Item(
        maekawa.SOURCE,
        "§7: Bruck and Ryser exclude no order that has a plane",
        {"n": 50 * 51 + 1, "orders": "2 to 50"},
        Exactly([]),
        excluded_although_there,
        remark="They exclude 6, 14, 21, 22, 30, 33, 38, 42 and 46: no prime powers.",
    )
    yield Item(
        maekawa.SOURCE,
        "§7: the sets for N = 5, made from those for 7",
        {"n": 5},
        Exactly([[1, 2, 3], [2, 4], [3, 4, 5], [1, 4, 5], [2, 5]]),
        partial(made_from_seven, 5),
    )
    yield from grids_of_maekawa()


def made_from_seven(n: int) -> list[list[int]]:
    return [list(line) for line in maekawa.reduced(n)]


def grids_of_maekawa() -> Iterator[Item]:
    for side in (3, 5, 7, 10):
        n, size = side**2, 2 * side - 1
        yield Item(
            maekawa.SOURCE,
            "§7: Method 2, sets of 2√N−1, and each node in as many",
            {"n": n},
            Exactly({"sizes": [size], "sets that a node is in": [size]}),
            partial(sizes_and_duties, grid, n),
        )
        light = Scenario("maekawa", n, n, Light(), quorums="grid")
        yield Item(
            maekawa.SOURCE,
            "§7: Method 2, about twice the messages of K = √N",
            {"n": n, "load": "light"},
            Said("about twice 3(√N−1)", Exactly(2 * 3 * (side - 1))),
            partial(measure.mean, light),
        )


def largest_gap(most: int) -> list[int]:
    """L and M, the next K that has a plane, for the K that have none."""
    gaps = {
        k: next(m for m in count(k + 1) if has_plane(m - 1))
        for k in range(2, most + 1)
        if not has_plane(k - 1)
    }
    widest = max(gaps, key=lambda k: gaps[k] - k)
    return [widest, gaps[widest]]


def excluded(order: int) -> bool:
    squares = {a * a for a in range(order + 1)}
    is_sum = any(order - square in squares for square in squares)
    return order % 4 in (1, 2) and not is_sum


def excluded_although_there() -> list[int]:
    return [k for k in range(2, 51) if excluded(k) and has_plane(k)]


ONE_EACH = "A REPORT from each node in whose set the failed one was: K−1 others."


def failures_of_maekawa() -> Iterator[Item]:
    for n in (13, 57, 133):
        yield Item(
            maekawa.SOURCE,
            "§9: lost information is regained by O(√N) messages",
            {"n": n, "K": len(plane(n).of(1))},
            AtMost(sqrt(n)),
            partial(reports_of_a_failure, n),
            remark=ONE_EACH,
        )


# TR-869, sections 5 and 6.2: a message takes one unit of time

STEADY = Network(latency=Constant(1.0))
ONE_BROADCAST = "ricart-agrawala-implicit-broadcast"


def delays_of_tr869() -> Iterator[Item]:
    for n in (3, 10, 25):
        yield Item(
            tr869.SOURCE,
            "§5.3.1: no request is serviced in less than one round trip; achieved",
            {"n": n, "load": "light"},
            Exactly([2]),
            partial(delays, n, Light(), Kind.REQUEST),
        )
        yield Item(
            tr869.SOURCE,
            "§5.3.2: half of the time the later of two requests has to be answered first",
            {"n": n, "asking": 2},
            Exactly(0.5),
            partial(grants_that_wait_for_the_later_one, n),
            remark="Of all two nodes, the second one asking before it hears of the first; "
            "otherwise the first one enters after its own round trip.",
        )
        yield Item(
            tr869.SOURCE,
            "§5.3.3: no other node enters less than a one-way trip later; achieved",
            {"n": n, "load": "heavy"},
            Exactly([1]),
            partial(delays, n, Heavy(), Kind.LEAVE),
        )
        yield Item(
            tr869.SOURCE,
            "§6.2: with implicit replies a broadcast REQUEST is the only message",
            {"n": n, "load": "light"},
            Exactly(1),
            partial(measure.mean, Scenario(ONE_BROADCAST, n, 20, Light())),
        )


def delays(n: int, load: Load, since: Kind) -> list[float]:
    """From the latest such step to each entry, but for the first in a busy time."""
    scenario = Scenario("ricart-agrawala", n, 5 * n, load, STEADY)
    found, before = set(), None
    for step in measure.recorded(scenario):
        if step.kind is since:
            before = step.time
        elif step.kind is Kind.ENTER and before is not None:
            found.add(round(step.time - before, 6))
    return sorted(found)


def grants_that_wait_for_the_later_one(n: int) -> float:
    """How many of the pairs, if the second asks half of a message's time later."""
    late, pairs = 0, list(permutations(range(1, n + 1), 2))
    for first, second in pairs:
        load = Schedule(((0.0, first), (0.5, second)))
        trace = measure.recorded(Scenario("ricart-agrawala", n, 2, load, STEADY))
        entered = next(step.time for step in trace if step.kind is Kind.ENTER)
        assert entered in (2.0, 2.5)
        late += entered == 2.5
    return late / len(pairs)


# Chaudhuri and Edward, sections 3, 5.2 and 7

DEALT = "Dealt out to ⌈√n⌉ groups, the largest has ⌈n/⌈√n⌉⌉ nodes, and that can be more."
FAR = (
    "The bound leaves out the way of the REQUEST and that of the token: with nobody else "
    "asking, three messages there and three back are 6ϑ, whatever n is."
)


def groups_of_chaudhuri_edward() -> Iterator[Item]:
    source, name = chaudhuri_edward.SOURCE, chaudhuri_edward.NAME
    yield Item(
        source,
        "§3.1: groups of at most √n nodes where n is not a square",
        {"n": "2 to 16"},
        Exactly([]),
        larger_groups,
        Because(DEALT, Exactly([3, 7, 8, 13, 14, 15])),
    )
    for n in (4, 9, 16, 25):
        root = isqrt(n)
        yield Item(
            source,
            "§3.2: the number of links that are used, √n(n−1)/2",
            {"n": n},
            Exactly(root * (n - 1) // 2),
            partial(links_used, n),
        )
        yield Item(
            source,
            "Theorem 3: the token's queue has at most √n entries",
            {"n": n, "load": "heavy"},
            Exactly(root),
            partial(longest_queue, n),
            remark="Reached, and never passed in these runs.",
        )
        yield Item(
            source,
            "Theorem 3: LRQ and GRQ have at most √n entries each",
            {"n": n, "load": "all ask again at once, in any order"},
            AtMost(root),
            partial(longest_request_queue, n),
            remark="Not counting the marker.",
        )
    for n in (4, 9):
        yield Item(
            source,
            "§7: a node waits for at most (n−1)(t+ϑ)",
            {"n": n, "t": 0.1, "load": "light"},
            AtMost((n - 1) * 1.1),
            partial(longest_wait, name, n),
            Because(FAR, Near(6, absolute=0.01)),
        )


def larger_groups() -> list[int]:
    return [n for n in range(2, 17) if ceil(n / ceil(sqrt(n))) > sqrt(n)]


def sends(n: int, load: Load) -> Iterator[Any]:
    scenario = Scenario(chaudhuri_edward.NAME, n, 30 * n, load)
    return (step for step in measure.recorded(scenario) if step.kind is Kind.SEND)


def links_used(n: int) -> int:
    return len(
        {frozenset((s.node, s.peer)) for x in (Light(), Heavy()) for s in sends(n, x)}
    )


def longest_queue(n: int) -> int:
    return max(len(getattr(step.message, "queue", ())) for step in sends(n, Heavy()))


def longest_request_queue(n: int) -> int:
    """Of any node, after every step of a schedule that is drawn from a seed."""
    run, chance, longest = ByHand(chaudhuri_edward.NAME, n), Random(n), 0
    for _ in range(200 * n):
        if asking := sorted(set(run.members) - run.judge.waiting - run.judge.inside):
            run.request(chance.choice(asking))
        elif run.flying and (not run.judge.inside or chance.random() < 0.8):
            flight = chance.choice(run.flying)
            run.deliver(flight.sender, flight.receiver, snake(type(flight.message)).upper())
        else:
            run.leave(*run.judge.inside)
        for peer in cast(list[ChaudhuriEdward], list(run.peers.values())):
            longest = max(longest, len(peer.grq), sum(j != MARKER for j in peer.lrq))
    return longest


def longest_wait(name: str, n: int) -> float:
    scenario = Scenario(name, n, 12 * n, Light(), STEADY, hold=0.1)
    return simulate(scenario).response_time.max


# Mühl's lecture, the minimal arrangements

ARRANGEMENTS = {1: 3, 2: 7, 3: 13, 4: 21, 5: 43, 7: 57, 8: 73}
MISPRINT = "K(K−1)+1 is 31 for K = 6; 43 is that of K = 7, for which there is none."
NINE = "K−1 = 9 = 3² is a power of a prime, so there is one, of 91 processes."


def minimal_arrangements() -> Iterator[Item]:
    for order, said in ARRANGEMENTS.items():
        yield Item(
            lecture.SOURCE,
            "minimal arrangements: n = K(K−1)+1 processes",
            {"n": said, "K": order + 1},
            Exactly(said),
            partial(smallest_plane_of, order + 1),
            Because(MISPRINT, Exactly(31)) if order == 5 else None,
        )
    for k in (7, 10):
        yield Item(
            lecture.SOURCE,
            "minimal arrangements: there is none for K = 7 or K = 10",
            {"n": k * (k - 1) + 1, "K": k},
            Exactly(False),
            partial(is_minimal, k),
            Because(NINE, Exactly(True)) if k == 10 else None,
        )


def smallest_plane_of(k: int) -> int:
    """The number of nodes for which our sets have k members each, and are symmetric."""
    return next(n for n in count(k) if plane(n).symmetric and len(plane(n).of(1)) == k)


def is_minimal(k: int) -> bool:
    found = plane(k * (k - 1) + 1)
    return found.symmetric and found.sizes.max == k
