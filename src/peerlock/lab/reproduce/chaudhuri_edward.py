"""Chaudhuri and Edward: sixteen nodes, what an entry costs, and figures 3 to 6."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from itertools import pairwise
from math import ceil, isqrt, sqrt
from statistics import fmean

from peerlock.core.topology import topology
from peerlock.lab.reproduce import measure
from peerlock.lab.reproduce.expect import (
    Ahead,
    AtMost,
    Between,
    Exactly,
    Near,
    Of,
    Order,
    Said,
    Together,
    Towards,
)
from peerlock.lab.reproduce.item import Because, Item
from peerlock.lab.reproduce.stories import Scene, replayed
from peerlock.simulator.load import Heavy, Level, Light
from peerlock.simulator.scenario import Scenario
from peerlock.traces.trace import Kind

SOURCE = "Chaudhuri-Edward"
NAME = "chaudhuri-edward"

# The paper's node (i, k) is i + 1 + 4(k−1) here.
HEADER = f"algorithm {NAME}\nnodes 16"
FIGURE_2 = (
    Scene(
        "Fig. 2a: requests",
        (
            ("8 requests", "8 sends REQUEST([8], 0) to 4"),
            ("4 receives REQUEST from 8", "4 sends REQUEST([4], 0) to 1"),
        ),
    ),
    Scene(
        "Fig. 2b: the token to the link-node, and news of the global collector",
        (
            (
                "1 receives REQUEST from 4",
                "1 sends GR_COLLECTOR(1, 4) to 2, 3 and 4; 1 sends TOKEN([4], 1) to 4",
            ),
        ),
    ),
    Scene(
        "Fig. 2c: the token to node (3, 2), and news of the local collector",
        (
            (
                "4 receives TOKEN from 1",
                "4 sends LR_COLLECTOR(2, 8) to 8, 12 and 16; 4 sends TOKEN([8], 2) to 8",
            ),
            ("8 receives TOKEN from 4", "8 enters"),
        ),
    ),
)


def items() -> Iterator[Item]:
    for scene in FIGURE_2:
        yield Item(
            SOURCE,
            scene.name,
            {"n": 16},
            Exactly(scene.told),
            partial(replayed, HEADER, FIGURE_2, scene.name),
        )
    yield from arbitrary_network()
    yield from worst_case()
    yield from heavy_load()
    yield from figure_3()
    yield from figures_4_to_6()
    yield from others()


# Section 5

SQUARES = (4, 9, 16, 25, 49, 100)


# Section 2, of Hélary, Plouzeau and Raynal, and of Raymond

HELARY = "helary-plouzeau-raynal"
WORST = "line"  # of the topologies for Raymond's algorithm
NETWORKS = {
    "complete": [(n, n * (n - 1) // 2) for n in (5, 10)],
    "ring": [(n, n) for n in (5, 10, 25)],
    "line": [(n, n - 1) for n in (5, 10, 25)],
    "graph:1-2,2-3,3-4,4-5,5-6,6-1,1-4,2-5,3-6": [(6, 9)],
}


def arbitrary_network() -> Iterator[Item]:
    for spec, sizes in NETWORKS.items():
        for n, links in sizes:
            yield Item(
                SOURCE,
                "§2: helary-plouzeau-raynal, n to 2e+n−1 messages, e the number of links",
                {"n": n, "network": spec, "load": "light"},
                Between(n, 2 * links + n - 1),
                partial(measure.span, Scenario(HELARY, n, 20, Light(), topology=spec)),
            )
    for n in (10, 25, 50):
        yield Item(
            SOURCE,
            "§2: raymond, O(n) messages on the worst topology",
            {"n": n, "network": WORST, "load": "from the far end"},
            Said("O(n)", Exactly(2 * (n - 1))),
            partial(measure.by_hand, "raymond", n, n, topology=topology(WORST, n)),
        )


LARGER = (
    "The paper counts √n groups of √n nodes. Where n is no square it makes ⌈√n⌉ groups, "
    "some of them of more than √n nodes. Three broadcasts tell all others of the two "
    "largest groups, and all other link-nodes."
)


def worst_case() -> Iterator[Item]:
    for n in SQUARES:
        worst = 6 + 3 * (isqrt(n) - 1)
        yield Item(
            SOURCE,
            "§5.1: the worst case, 6 + 3(√n−1), from one local node to another",
            {"n": n, "load": "light"},
            Exactly(worst),
            partial(measure.by_hand, NAME, n, n, first_holder=n - 1),
        )
        yield Item(
            SOURCE,
            "§5.1: the worst case, never passed when nobody competes",
            {"n": n, "load": "light", "entries": 12 * n},
            AtMost(worst),
            partial(measure.most, Scenario(NAME, n, 12 * n, Light())),
        )
    for n in (5, 6, 7, 10, 12, 20, 30):
        yield Item(
            SOURCE,
            "§5.1: the worst case, where n is not a square",
            {"n": n, "load": "light", "entries": 12 * n},
            AtMost(6 + 3 * (sqrt(n) - 1)),
            partial(measure.most, Scenario(NAME, n, 12 * n, Light())),
            Because(LARGER, Exactly(6 + told_in_the_largest_groups(n))),
        )
    yield Item(
        SOURCE,
        "§5.1: the worst case, in every schedule",
        {"n": 4, "requests": 1},
        Exactly(9),
        partial(measure.most_messages, NAME, 4, 1),
    )


def told_in_the_largest_groups(n: int) -> int:
    """Three broadcasts, if nodes are dealt out to groups as section 3.1 has it."""
    groups = ceil(sqrt(n))
    sizes = sorted(ceil((n - at) / groups) for at in range(groups))
    return (sizes[-1] - 1) + (sizes[-2] - 1) + (groups - 1)


SELF = (
    "The paper counts what a link-node asks of itself. A message to oneself is none here, "
    "and 2 + 1/√n − 1/n remain, or a TOKEN more in a round, which is 2 + 1/√n, where a "
    "link-node is in the middle of its own queue. Counted as the paper does, in another "
    "item, it agrees for large n."
)


MIDDLE = (
    "One or two TOKENs more in a round of n entries: a link-node in the middle of its "
    "own queue gets the TOKEN there, and again when those after it have been served."
)


def heavy_load() -> Iterator[Item]:
    for n in SQUARES:
        formula = 2 * (1 + 1 / sqrt(n) - 1 / n)
        scenario = Scenario(NAME, n, 60 * n, Heavy())
        yield Item(
            SOURCE,
            "§5.1: heavy load, 2(1 + 1/√n − 1/n)",
            {"n": n, "load": "heavy"},
            Near(formula, relative=0.02),
            partial(measure.mean, scenario),
            Because(SELF, Between(2 + 1 / sqrt(n) - 1 / n, 1.005 * (2 + 1 / sqrt(n)))),
        )
        yield Item(
            SOURCE,
            "§5.1: heavy load, with what link-nodes ask of themselves",
            {"n": n, "load": "heavy"},
            Near(formula, relative=0.02),
            partial(with_own_requests, scenario),
            Because(MIDDLE, Between(formula + 0.9 / n, formula + 2.2 / n)),
        )
    yield Item(
        SOURCE,
        "§5.1: heavy load, approaches 2",
        {"n": list(SQUARES), "load": "heavy"},
        Towards(2, near=0.12, waver=0.1),
        partial(heavy_curve, SQUARES),
        remark="It rises from n = 4 to n = 9, where the formula falls, and then falls.",
    )


def with_own_requests(scenario: Scenario) -> float:
    trace = measure.recorded(scenario)
    links = isqrt(scenario.nodes)
    counted = sum(
        step.kind is Kind.SEND or (step.kind is Kind.REQUEST and step.node <= links)
        for step in trace
    )
    return counted / sum(step.kind is Kind.ENTER for step in trace)


def heavy_curve(sizes: tuple[int, ...]) -> dict[str, float]:
    return {str(n): measure.mean(Scenario(NAME, n, 60 * n, Heavy())) for n in sizes}


# Figures 3 to 6

CURVES: dict[str, tuple[str, str | None]] = {
    "A": ("chaudhuri-karaata", None),
    "B": ("raymond", "tree"),
    "C": ("raymond", "line"),
    "D": ("banerjee-chrysanthis", None),
    "E": (NAME, None),
}
LOADS = {0.05: "Fig. 4", 0.25: "Fig. 5", 0.7: "Fig. 6"}
SIZES = (9, 25, 49, 100, 225, 400, 625, 900)
QUICK = 50  # up to this size in a quick run
HOLD = 3.0  # time units that a critical section takes
RUNS = 5


def at_load(name: str, topology: str | None, n: int, load: float) -> float:
    """More than 2n entries, as the paper has it."""
    entries = 4 * n + 200
    scenario = Scenario(name, n, entries, Level(load), hold=HOLD, topology=topology)
    return measure.mean(scenario, RUNS)


def all_curves(n: int, load: float) -> dict[str, float]:
    return {key: at_load(*curve, n, load) for key, curve in CURVES.items()}


def own_curve(sizes: tuple[int, ...], load: float) -> dict[str, float]:
    return {str(n): at_load(NAME, None, n, load) for n in sizes}


def figure_3() -> Iterator[Item]:
    for load in LOADS:
        yield Item(
            SOURCE,
            "Fig. 3: towards 2 at every load as n grows",
            {"n": list(SIZES), "load": load, "hold": HOLD},
            Towards(2, near=0.15, waver=0.06),
            partial(own_curve, SIZES, load),
            slow=load < 0.5,
        )


FIFO = (
    "Raymond's nodes serve their queues in order. On its way back along the line the token "
    "finds the neighbour's request before the node's own, so each node enters once while "
    "the token goes to and fro: 4(n−1)/n messages, on the line as on the tree. If a node "
    "that the token comes by went first, it would be near the paper's curve."
)
MAYBE = "The paper does not say whether its simulation did so; the survey proposes it."


def figures_4_to_6() -> Iterator[Item]:
    for load, figure in LOADS.items():
        for n in SIZES:
            same = {"n": n, "load": load, "hold": HOLD, "curves": "A–E"}
            curves, slow = partial(all_curves, n, load), n > QUICK
            if load < 0.5:
                title = f"{figure}: ahead of four others at {100 * load:g} % load"
                yield Item(SOURCE, title, same, Ahead("E"), curves, slow=slow)
                continue
            yield Item(
                SOURCE,
                f"{figure}: near Raymond's line at {100 * load:g} % load",
                same,
                Together("E", "C", relative=0.15),
                curves,
                Because(FIFO, Of("C", Near(4 * (n - 1) / n, relative=0.1))),
                slow=slow,
            )
            yield Item(
                SOURCE,
                f"{figure}: near Raymond's line, with REQUESTs piggybacked on the token",
                {**same, "curves": "C and E"},
                Together("E", "C", relative=0.15),
                partial(piggybacked_line, n, load),
                remark=MAYBE,
                slow=slow,
            )


def piggybacked_line(n: int, load: float) -> dict[str, float]:
    curves = {"C": ("raymond-piggyback", "line"), "E": (NAME, None)}
    return {key: at_load(*curve, n, load) for key, curve in curves.items()}


# Section 2: what the paper says of those that it is compared with

ENOUGH = (
    "The paper gives √n, which would be REQUESTs to whole rows. One to the row's gate is "
    "enough, and about 4 messages are needed however large the mesh: more than √n below "
    "n = 16, fewer above."
)


OWN_ROW = (
    "That is what it costs to get the privilege from another row. In the row that has it, "
    "one in √n, an entry costs less: at the node where it rests 0, at the others {} on "
    "average. {} for all nodes."
)
ROWS = {
    "chaudhuri-91": OWN_ROW.format("1.5√n", "(√n−1)(3.5 + 1/√n)"),
    "chaudhuri-95": OWN_ROW.format("√n+1", "(√n−1)(3 + 2/√n)"),
}


def light_demand(name: str, n: int, per_root: float) -> Iterator[Item]:
    root, slow = isqrt(n), n > QUICK
    title = f"§2: {name}, {per_root:g}√n messages under light demand"
    expected = Near(per_root * root, absolute=1)
    over_all = (root - 1) * (3.5 + 1 / root if per_root > 3 else 3 + 2 / root)
    where = {"n": n, "load": "light"}
    yield Item(
        SOURCE,
        f"{title}, from another row",
        where,
        expected,
        partial(from_another_row, Scenario(name, n, 1200, Light())),
        remark="Within 1: close enough to tell the two meshes apart.",
        slow=slow,
    )
    yield Item(
        SOURCE,
        f"{title}, all nodes",
        where,
        expected,
        partial(measure.mean, Scenario(name, n, 1200, Light())),
        Because(ROWS[name], Near(over_all, relative=0.03)),
        slow=slow,
    )


def from_another_row(scenario: Scenario) -> float:
    """The mean of the entries in a row other than that of the entry before."""
    width, trace = isqrt(scenario.nodes), measure.recorded(scenario)
    rows = [(step.node - 1) // width for step in trace if step.kind is Kind.REQUEST]
    found = list(zip(pairwise(rows), list(measure.costs(scenario))[1:], strict=True))
    return fmean(cost for (before, row), cost in found if before != row)


def others() -> Iterator[Item]:
    for n in (16, 25, 36, 64, 100):
        root, slow = sqrt(n), n > QUICK
        for name, per_root, heavy in (
            ("chaudhuri-91", 3.5, Near(4, relative=0.06)),
            ("chaudhuri-95", 3.0, Near(root, relative=0.05)),
        ):
            yield from light_demand(name, n, per_root)
            yield Item(
                SOURCE,
                f"§2: {name}, {'4' if per_root > 3 else '√n'} messages under heavy demand",
                {"n": n, "load": "heavy"},
                heavy,
                partial(measure.mean, Scenario(name, n, 20 * n, Heavy())),
                Because(ENOUGH, Near(4, absolute=0.15)) if per_root == 3 else None,
                slow=slow,
            )
        yield Item(
            SOURCE,
            "§2: banerjee-chrysanthis, O(n) messages under light load",
            {"n": n, "load": "light"},
            Order("O(n)", n + 1, "n+1"),
            partial(measure.most, Scenario("banerjee-chrysanthis", n, 4 * n, Light())),
            slow=slow,
        )
    yield from in_space()


def in_space() -> Iterator[Item]:
    for n in (27, 64, 125, 216, 343):
        root = round(n ** (1 / 3))
        yield Item(
            SOURCE,
            "§2: chaudhuri-karaata, O(∛n) messages",
            {"n": n, "load": "light"},
            Order("O(∛n)", 8 * (root - 1), "8(∛n−1)"),
            partial(measure.most, Scenario("chaudhuri-karaata", n, 3 * n, Light())),
            slow=n > QUICK,
        )
        yield Item(
            SOURCE,
            "§2: banerjee-chrysanthis, towards 3 messages under heavy load",
            {"n": n, "load": "heavy"},
            Said("towards 3", Near(3, relative=0.1)),
            partial(measure.mean, Scenario("banerjee-chrysanthis", n, 10 * n, Heavy())),
            slow=n > QUICK,
        )
