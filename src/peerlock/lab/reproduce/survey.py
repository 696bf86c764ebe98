"""Velazquez, 1993: every row of the survey's three tables."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from math import floor, log, log2, sqrt
from statistics import fmean
from typing import Any

from peerlock.core.peer import NodeId
from peerlock.core.topology import topology
from peerlock.lab.reproduce import measure
from peerlock.lab.reproduce.expect import (
    AtMost,
    Between,
    Exactly,
    Expectation,
    Near,
    Order,
    Said,
)
from peerlock.lab.reproduce.item import Because, Item
from peerlock.quorums.agreements import grid_set
from peerlock.quorums.constructions import plane
from peerlock.quorums.coterie import choices, k_coterie
from peerlock.quorums.information import KINDS as STRUCTURES
from peerlock.quorums.tree_quorums import children, tree_quorums
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.load import Heavy, Light
from peerlock.simulator.scenario import Scenario
from peerlock.traces.trace import Kind

SOURCE = "Velazquez survey 1993"

Measure = Callable[[], Any]
SIZES = (5, 10, 20, 35, 50)
QUICK = 20


def items() -> Iterator[Item]:
    for n in SIZES:
        yield from (*table_1(n), *table_2(n), *table_3(n))
    yield from single_entries()
    yield from largest_searches()


def row(
    table: int,
    title: str,
    name: str,
    n: int,
    expected: Expectation,
    measured: Measure,
    because: Because | None = None,
    remark: str = "",
    **more: Any,
) -> Item:
    parameters = {"n": n, "algorithm": name, **more}
    title = f"Table {table}: {title}"
    slow = n > QUICK
    return Item(SOURCE, title, parameters, expected, measured, because, remark, slow)


def light(name: str, n: int, entries: int, **options: Any) -> Scenario:
    return Scenario(name, n, entries, Light(), **options)


def heavy(name: str, n: int, **options: Any) -> Scenario:
    return Scenario(name, n, 20 * n, Heavy(), **options)


def mean(scenario: Scenario) -> Measure:
    return partial(measure.mean, scenario)


def most(scenario: Scenario) -> Measure:
    return partial(measure.most, scenario)


def distinct(scenario: Scenario) -> Measure:
    return partial(measure.distinct, scenario)


def span(scenario: Scenario) -> Measure:
    return partial(measure.span, scenario)


# Table 1: tokens


def table_1(n: int) -> Iterator[Item]:
    yield from asks_everybody(n)
    yield from agreements(n)
    yield from along_edges(n)
    yield from flooded(n)
    yield from raymond(n)
    yield from heuristic(n)


def asks_everybody(n: int) -> Iterator[Item]:
    """0 where the token is, else N: the table has the N."""
    rows = (
        ("Ricart-Agrawala, N", "ricart-agrawala-token"),
        ("Suzuki-Kasami, N", "suzuki-kasami"),
        ("Nishio, N", "nishio-li-manning"),
    )
    for title, name in rows:
        measured = distinct(light(name, n, 6 * n))
        expected: Expectation = Said(f"0 or {n}", Exactly([0, n]))
        yield row(1, title, name, n, expected, measured, load="light")
        measured = mean(heavy(name, n))
        expected = Near(n, relative=0.02)
        yield row(1, title, name, n, expected, measured, load="heavy")
    for limit in (2, 5):
        yield row(
            1,
            "Suzuki-Kasami, L·N+(N−1) for bounded sequence numbers",
            "suzuki-kasami-bounded",
            n,
            Exactly(limit * n + n - 1),
            partial(a_round, n, limit),
            load="light",
            L=limit,
        )


def a_round(n: int, limit: int) -> int:
    """Two nodes in turn, so that each has to ask: what L entries of one of them cost."""
    cluster = ByHand("suzuki-kasami-bounded", n, limit=limit)
    spent: dict[NodeId, int] = {2: 0, 3: 0}
    for node in (2, 3) * limit:
        before = cluster.sent
        cluster.request(node)
        cluster.settle()
        cluster.leave(node)
        cluster.settle()
        spent[node] += cluster.sent - before
    assert spent[2] == spent[3]
    return spent[2]


ROUNDED = (
    "The survey's 3√N leaves out that a plane has K = √N + ½ or so, and more where no "
    "plane has N nodes. K−1 REQUESTs, a PRIVILEGE, K−1 ACQUIRED and K−1 REQUESTS are "
    "3K−2, K being the mean: no more when nobody competes, and all of them when all do."
)


LONGER = (
    "2√2·√N − 2 is |R| + 2|A| − 2 for a row R of √(2N) and a column A half as long. Where "
    "N is not twice a square they are longer on average. When all compete, that many "
    "messages are sent."
)


def agreements(n: int) -> Iterator[Item]:
    name = "mizuno-neilsen-rao"
    height, sets = floor(log2(n)), grid_set(n)
    all_sent = Near(3 * plane(n).sizes.mean - 2, relative=0.01)
    asked, told = fmean(map(len, sets.request)), fmean(map(len, sets.acquired))
    row_and_columns = Near(asked + 2 * told - 2, relative=0.02)
    for load, tree, projective, grid in (
        (
            "light",
            light(name, n, 10 * n, quorums="tree"),
            light(name, n, 10 * n, quorums="plane"),
            light(name, n, 10 * n),
        ),
        (
            "heavy",
            heavy(name, n, quorums="tree"),
            heavy(name, n, quorums="plane"),
            heavy(name, n),
        ),
    ):
        yield row(
            1,
            "Mizuno-Neilsen-Rao, binary tree protocol, average log N",
            name,
            n,
            Order("average log N", 3 * height + 1, "3⌊log₂ N⌋+1"),
            mean(tree),
            remark="REQUEST, ACQUIRED and REQUESTS along a path of ⌊log₂ N⌋ others, and a "
            "PRIVILEGE.",
            load=load,
        )
        yield row(
            1,
            "Mizuno-Neilsen-Rao, finite projective planes, 3√N",
            name,
            n,
            AtMost(3 * sqrt(n)),
            mean(projective),
            Because(ROUNDED, all_sent if load == "heavy" else AtMost(all_sent.value)),
            load=load,
        )
        yield row(
            1,
            "Mizuno-Neilsen-Rao, modified grid set, 2√2·√N − 2",
            name,
            n,
            AtMost(2 * sqrt(2) * sqrt(n) - 2),
            mean(grid),
            Because(LONGER, row_and_columns) if load == "heavy" else None,
            load=load,
        )


PASSED_ON = (
    "That a REQUEST which comes after ACQUIRED is passed on, as it must be, costs "
    "messages: each node that is asked may send its array, also to a node that has the "
    "token no more. It sends one for each ACQUIRED, so that the bound holds on average."
)


def single_entries() -> Iterator[Item]:
    """Where N is twice a square, and rows and columns are as the formula has them."""
    name = "mizuno-neilsen-rao"
    for half in (2, 3, 4, 5):
        n, row_size = 2 * half**2, 2 * half
        bound = row_size + 2 * half - 2
        for title, expected, measured, because in (
            ("on average", AtMost(bound), mean(light(name, n, 20 * n)), None),
            (
                "of a single entry",
                AtMost(bound),
                most(light(name, n, 20 * n)),
                Because(PASSED_ON, Between(bound + 1, 2 * row_size + 2 * half - 2)),
            ),
        ):
            yield Item(
                SOURCE,
                f"Mizuno-Neilsen-Rao: 2√2·√N − 2 is the upper bound, {title}",
                {"n": n, "algorithm": name, "load": "light"},
                expected,
                measured,
                because,
                slow=n > QUICK,
            )


def along_edges(n: int) -> Iterator[Item]:
    name = "neilsen-mizuno"
    diameter = topology("tree", n).diameter
    ends_of_line = partial(measure.by_hand, name, n, n, topology=topology("line", n))
    for kind, title, bound, measured in (
        ("line", "linear topology, N", n, ends_of_line),
        ("star", "star topology, 3", 3, farthest(name, n, "star")),
        ("tree", "D+1", diameter + 1, farthest(name, n, "tree")),
    ):
        title = f"Neilsen-Mizuno, {title}"
        yield row(1, title, name, n, Exactly(bound), measured, load="light")
        measured = mean(heavy(name, n, topology=kind))
        yield row(1, title, name, n, AtMost(bound), measured, load="heavy")


def farthest(name: str, n: int, kind: str) -> Measure:
    return most(light(name, n, 30 * n, topology=kind))


def flooded(n: int) -> Iterator[Item]:
    name = "helary-plouzeau-raynal"
    diameter = topology("tree", n).diameter
    for kind, title, low, high in (
        ("tree", "tree topology, N to N−1+D", n, n - 1 + diameter),
        ("line", "linear topology, N to 2(N−1)", n, 2 * (n - 1)),
        ("ring", "ring topology, N to 2N", n, 2 * n),
        ("complete", "complete topology, N", n, n),
    ):
        title = f"Helary-Plouzeau-Raynal, {title}"
        measured = span(light(name, n, 6 * n, topology=kind))
        expected: Expectation = Between(low, high)
        if kind == "complete":
            expected = Said(n, expected)
        yield row(1, title, name, n, expected, measured, load="light")
        if kind == "complete":
            expected = Near(n, relative=0.02)  # the first entry is the holder's
        measured = mean(heavy(name, n, topology=kind))
        yield row(1, title, name, n, expected, measured, load="heavy")


def raymond(n: int) -> Iterator[Item]:
    diameter = topology("tree", n).diameter
    yield row(
        1,
        "Raymond, 2·D",
        "raymond",
        n,
        Exactly(2 * diameter),
        farthest("raymond", n, "tree"),
        remark="Reached, and never passed.",
        load="light",
    )
    yield row(
        1,
        "Raymond, average log N",
        "raymond",
        n,
        Order("average log N", 4 * log2(n), "4 log₂ N"),
        mean(light("raymond", n, 20 * n, topology="tree")),
        remark="2D messages at most, and D is 2 log₂ N at most.",
        load="light",
    )


AT_HAND = "The node that has the token needs no message; the formula counts one for it."
HARMONIC = "The mean is the harmonic number H(N−1), between ln N and log₂ N."


def heuristic(n: int) -> Iterator[Item]:
    name, half = "singhal-heuristic", (n + 1) / 2
    yield row(
        1,
        "Singhal's heuristic, (N+1)/2",
        name,
        n,
        Near(half, relative=0.03),
        mean(light(name, n, 2000)),
        Because(AT_HAND, Near(half - 1 / n, relative=0.03)),
        load="light",
    )
    measured = mean(heavy(name, n))
    title = "Singhal's heuristic, N"
    yield row(1, title, name, n, Near(n, relative=0.02), measured, load="heavy")
    name, title = "naimi-trehel", "Naimi-Trehel, average log N"
    expected = Order("average log N", log2(n), "log₂ N, and at least ln N", log(n))
    measured = mean(light(name, n, 40 * n + 1000))
    yield row(1, title, name, n, expected, measured, remark=HARMONIC, load="light")
    expected = Order("average log N", 4, "4")
    measured = mean(heavy(name, n))
    yield row(1, title, name, n, expected, measured, load="heavy")


# Table 2: permissions


def table_2(n: int) -> Iterator[Item]:
    for name, title, cost in (
        ("lamport", "Lamport, 3(N−1)", 3 * (n - 1)),
        ("ricart-agrawala", "Ricart-Agrawala, 2(N−1)", 2 * (n - 1)),
    ):
        measured = mean(light(name, n, 10))
        yield row(2, title, name, n, Exactly(cost), measured, load="light")
        measured = mean(heavy(name, n))
        yield row(2, title, name, n, Exactly(cost), measured, load="heavy")
    name = "carvalho-roucairol"
    title = "Carvalho-Roucairol, 0 to 2(N−1)"
    expected: Expectation = Exactly([0, 2 * (n - 1)])
    measured = partial(ends, light(name, n, 6 * n))
    remark = "Both ends are reached."
    yield row(2, title, name, n, expected, measured, remark=remark, load="light")
    expected = Said(f"0 to {2 * (n - 1)}", AtMost(2 * (n - 1)))
    measured = mean(heavy(name, n))
    yield row(2, title, name, n, expected, measured, load="heavy")
    yield from primes(n)
    yield from quorums(n)
    yield from dynamic(n)


def ends(scenario: Scenario) -> list[int]:
    found = measure.distinct(scenario)
    return [found[0], found[-1]]


def primes(n: int) -> Iterator[Item]:
    name = "raynal-prime"
    title = "Raynal as the survey mends it, (N−1)² at most"
    measured: Measure = partial(from_request_to_entry, n)
    yield row(2, title, name, n, AtMost((n - 1) ** 2), measured, load="light")


def from_request_to_entry(n: int) -> int:
    """The most messages; they never cease, so those of an entry are those until it."""
    found = messages = 0
    for step in measure.recorded(light("raynal-prime", n, 40)):
        if step.kind is Kind.REQUEST:
            messages = 0
        elif step.kind is Kind.ENTER:
            found = max(found, messages)
        messages += step.kind is Kind.SEND
    return found


MEMBER = (
    "The survey counts K = √N messages of each kind. A node is a member of its own set, "
    "and a message to oneself is none here: 3(K−1), and 4(K−1) when all compete. And K is "
    "√N + ½ or so, and more where no plane has N nodes."
)


def quorums(n: int) -> Iterator[Item]:
    sizes = plane(n).sizes
    yield row(
        2,
        "Maekawa, 3√N",
        "maekawa",
        n,
        Near(3 * sqrt(n), relative=0.01),
        partial(measure.by_hand_mean, "maekawa", n, quorums=plane(n)),
        Because(MEMBER, Near(3 * (sizes.mean - 1))),
        load="light, each node once",
    )
    yield row(
        2,
        "Maekawa, 3√N to 5√N",
        "maekawa",
        n,
        Between(3 * sqrt(n), 5 * sqrt(n)),
        mean(heavy("maekawa", n)),
        Because(MEMBER, Near(4 * (sizes.mean - 1), relative=0.02)),
        load="heavy",
    )
    for kind, make in STRUCTURES.items():
        structure = make(n)
        node = n // 2 + 1
        yield row(
            2,
            "Sanders, |I−{i}| + 2|R−{i}|",
            "sanders",
            n,
            Exactly(structure.messages(node)),
            partial(measure.by_hand, "sanders", n, node, information=structure),
            load="light",
            structure=kind,
        )
    tree = tree_quorums(n).sizes.max - 1
    name, title = "agrawal-el-abbadi", "Agrawal-El Abbadi, O(log N)"
    remark = (
        "Three for each other node on a path of the tree; six at most when all compete."
    )
    measured = most(light(name, n, 6 * n))
    expected = Order("O(log N)", 3 * log2(n), "3 log₂ N")
    yield row(2, title, name, n, expected, measured, remark=remark, load="light")
    measured = mean(heavy(name, n))
    expected = Order("O(log N)", 6 * tree, "6 for each other node of a path")
    yield row(2, title, name, n, expected, measured, remark=remark, load="heavy")


SATURATED = (
    "3(N−1)/2 is the mean if it is chance whether the one that need not ask also comes "
    "first. A node that asks again as soon as it has left has just given way to all that "
    "wait, and asks them all: 2(N−1)."
)


def dynamic(n: int) -> Iterator[Item]:
    name = "singhal-dynamic"
    yield row(
        2,
        "Singhal's dynamic structure, N−1",
        name,
        n,
        Near(n - 1, relative=0.07),
        mean(light(name, n, 40 * n + 400)),
        load="light",
    )
    yield row(
        2,
        "Singhal's dynamic structure, 3(N−1)/2",
        name,
        n,
        Near(3 * (n - 1) / 2, relative=0.05),
        mean(heavy(name, n)),
        Because(SATURATED, Near(2 * (n - 1), relative=0.05)),
        load="heavy",
    )


# Table 3: several at a time

PERMITS = 3
SENT_ON = (
    "A token that was sent for nothing may be sent on for nothing; N+k−1 counts each of "
    "the k tokens once."
)


def table_3(n: int) -> Iterator[Item]:
    k = PERMITS
    name, title = "raymond-k", "Raymond, 2(N−1)"
    measured = mean(light(name, n, 20, permits=k))
    yield row(3, title, name, n, Exactly(2 * (n - 1)), measured, load="light", k=k)
    measured = mean(heavy(name, n, permits=k, hold=9.0))
    yield row(3, title, name, n, AtMost(2 * (n - 1)), measured, load="heavy", k=k)
    name, title = "srimani-reddy", "Srimani-Reddy, 0 or N+K−1"
    because = Because(SENT_ON, AtMost(n - 1 + 2 * k))
    for load, measured in (
        ("light", most(light(name, n, 6 * n, permits=k))),
        ("heavy", mean(heavy(name, n, permits=k, hold=9.0))),
    ):
        expected = Said(f"0 or {n + k - 1}", AtMost(n + k - 1))
        yield row(3, title, name, n, expected, measured, because, load=load, k=k)
    yield from kakugawa(n)


LARGEST = (
    "The survey counts s messages of each kind, s the largest quorum. A node is in its own "
    "quorum, and a message to oneself is none here: 3(s−1). And some quorums are smaller."
)
CHOOSING = (
    "The survey counts one quorum. A node that does not know which one is free asks all k "
    "when all compete, with a REQUEST and a FAILED, and either a LOCKED and a RELEASE or a "
    "WITHDRAW and a WITHDRAWN: 4(ks−1)."
)


def kakugawa(n: int) -> Iterator[Item]:
    k, name, title = PERMITS, "kakugawa", "Kakugawa et al, 3s to 5s"
    sizes = k_coterie(n, k).sizes
    expected = Between(3 * sizes.max, 5 * sizes.max)
    measured = mean(light(name, n, 20 * n, permits=k))
    because = Because(LARGEST, Near(3 * (sizes.mean - 1), relative=0.03))
    yield row(3, title, name, n, expected, measured, because, load="light", k=k)
    measured = mean(heavy(name, n, permits=k, hold=9.0))
    others = fmean(in_all_choices(n, k, node) - 1 for node in range(1, n + 1))
    because = Because(CHOOSING, Near(4 * others, relative=0.05))
    yield row(3, title, name, n, expected, measured, because, load="heavy", k=k)


def in_all_choices(n: int, k: int, node: NodeId) -> int:
    return sum(quorum.bit_count() for quorum in choices(k_coterie(n, k), node))


# What only a search of all schedules shows, and trees with nodes that are down

LEAVES = (
    "The survey counts the nodes of the quorum. With all inner nodes down it is the "
    "(N+1)/2 leaves; each of them but the asking one is sent REQUEST and RELINQUISH, and "
    "sends PERMISSION."
)
AGAIN = (
    "A node that learns that it is not its turn asks all others again after a while. "
    "2(N−1)² counts one attempt for each turn; nothing bounds their number."
)


def largest_searches() -> Iterator[Item]:
    for n in (2, 3):
        yield Item(
            SOURCE,
            "Table 2: Raynal, 2(N−1)², in every schedule",
            {"n": n, "algorithm": "raynal-prime-1989", "requests": 1},
            AtMost(2 * (n - 1) ** 2),
            partial(measure.most_messages, "raynal-prime-1989", n, 1),
            Because(AGAIN, Exactly("without bound")),
        )
    yield Item(
        SOURCE,
        "Table 3: Srimani-Reddy, 0 or N+K−1, in every schedule",
        {"n": 3, "algorithm": "srimani-reddy", "requests": 1, "k": 2},
        Said("0 or 4", AtMost(4)),
        partial(measure.most_messages, "srimani-reddy", 3, 1, permits=2),
        Because(SENT_ON, Exactly(5)),
    )
    yield Item(
        SOURCE,
        "Table 2: Agrawal-El Abbadi, (N+1)/2 messages when some fail",
        {"n": 15, "algorithm": "agrawal-el-abbadi"},
        Exactly(8),
        partial(by_a_leaf_of_leaves, 15),
        Because(LEAVES, Exactly(3 * (8 - 1))),
    )


def by_a_leaf_of_leaves(n: int) -> int:
    """The messages of a leaf's entry when all inner nodes are down."""
    cluster = ByHand("agrawal-el-abbadi", n)
    for node in cluster.members:
        if children(node, n):
            cluster.crash(node)
    cluster.settle()
    before = cluster.sent
    cluster.request(n)
    cluster.settle()
    cluster.leave(n)
    cluster.settle()
    return cluster.sent - before
