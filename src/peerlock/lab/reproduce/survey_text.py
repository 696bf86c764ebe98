"""Velazquez, 1993, in its text: of order, of trees, and of messages that are saved."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from functools import partial
from itertools import combinations
from typing import cast

from peerlock.algorithms import raymond
from peerlock.algorithms.suzuki_kasami import Request
from peerlock.core.peer import NodeId
from peerlock.core.topology import Tree, topology
from peerlock.lab.reproduce import measure
from peerlock.lab.reproduce.expect import Above, AtMost, Exactly, Near, Of, Said
from peerlock.lab.reproduce.item import Because, Item
from peerlock.lab.reproduce.survey import QUICK, SIZES, SOURCE
from peerlock.quorums.tree_quorums import tree_quorum
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.latency import Constant
from peerlock.simulator.load import Heavy, Level
from peerlock.simulator.network import Network
from peerlock.simulator.scenario import Scenario
from peerlock.traces.trace import Kind, Trace


def items() -> Iterator[Item]:
    yield from bounded_numbers()
    yield from first_come_first_served()
    yield from piggybacked()
    yield from arbitrary_trees()
    yield from twice_while_another_waits()


# Table 1, of Mishra and Srimani

BOUNDED = "mishra-srimani-bounded"


def bounded_numbers() -> Iterator[Item]:
    for n in SIZES:
        for limit in (2, 5):
            scenario = Scenario(BOUNDED, n, 40 * n, Heavy(), limit=limit)
            yield Item(
                SOURCE,
                "Table 1: Mishra-Srimani, L·N+(N−1) for L entries",
                {"n": n, "load": "heavy", "L": limit},
                Near(limit * n + n - 1, relative=0.05),
                partial(for_so_many_entries, scenario, limit),
                slow=n > QUICK,
            )

    for n in (5, 10, 20):
        for limit in (2, n + 1):
            yield Item(
                SOURCE,
                "Srimani-Reddy: sequence numbers are bounded",
                {"n": n, "load": "light", "L": limit, "k": 2},
                Said("bounded by L", Exactly(2 * limit + 2)),
                partial(highest_number, n, limit),
                remark="Modulo 2L+3: those that are compared are up to L+1 apart.",
            )


def highest_number(n: int, limit: int) -> int:
    """If all enter in turn, twice as often as the numbers would need to be used up."""
    run = ByHand("srimani-reddy-bounded", n, limit=limit)
    for _ in range(2 * (2 * limit + 3)):
        for node in run.members:
            run.request(node)
            run.settle()
            run.leave(node)
    sent = (step.message for step in run.trace if step.kind is Kind.SEND)
    return max(message.number for message in sent if isinstance(message, Request))


def for_so_many_entries(scenario: Scenario, entries: int) -> float:
    return entries * measure.mean(scenario)


# First come, first served: a message takes one unit of time

SERVED = "first come, first served"
UNHEARD = (
    "No node knows of a request before a message about it arrives, so that later ones come "
    "first meanwhile. None does that could have been made in knowledge of it."
)
AT_EACH_NODE = (
    "It is first come, first served at every node, which is less: where the token is, "
    "requests of that part of the tree go before others that have waited for longer."
)
BEFORE, AWARE = "before an earlier request", "of these, when it could be known"
IN_TURN = "out of turn at a node"
CLAIMS: tuple[tuple[str, str, str | None, Because], ...] = (
    ("Lamport", "lamport", None, Because(UNHEARD, Of(AWARE, Exactly(0)))),
    ("Ricart-Agrawala", "ricart-agrawala", None, Because(UNHEARD, Of(AWARE, Exactly(0)))),
    (
        "Helary-Plouzeau-Raynal",
        "helary-plouzeau-raynal",
        "complete",
        Because(UNHEARD, Of(AWARE, Exactly(0))),
    ),
    ("Raymond", "raymond", "tree", Because(AT_EACH_NODE, Of(IN_TURN, Exactly(0)))),
)
ENTRIES = 100  # of each node


def first_come_first_served() -> Iterator[Item]:
    for called, name, spec, because in CLAIMS:
        beyond = because if because.text == AT_EACH_NODE else None
        for n in (5, 15):
            reach = topology(spec, n).diameter if spec else 1
            for title, counted, reason in (
                ("by the time of asking", BEFORE, because),
                ("when a message could have reached all", AWARE, beyond),
            ):
                yield Item(
                    SOURCE,
                    f"{called}: {SERVED}, {title}",
                    {"n": n, "load": "0.05", "network": spec or "complete"},
                    Of(counted, Exactly(0)),
                    partial(order_of_entries, ordered(name, n, spec), reach),
                    reason,
                )
    for n in (5, 15):
        yield Item(
            SOURCE,
            f"Ricart-Agrawala's token: {SERVED}, is not guaranteed",
            {"n": n, "load": "0.05"},
            Said("not guaranteed", Of(AWARE, Above(0))),
            partial(order_of_entries, ordered("ricart-agrawala-token", n, None), 1),
        )


def ordered(name: str, n: int, spec: str | None) -> Scenario:
    steady = Network(latency=Constant(1.0), fifo=True)
    return Scenario(name, n, ENTRIES * n, Level(0.05), steady, topology=spec)


def order_of_entries(scenario: Scenario, margin: float) -> dict[str, int]:
    trace = measure.recorded(scenario)
    found = {
        BEFORE: overtaking_entries(trace, 0),
        AWARE: overtaking_entries(trace, margin),
    }
    if scenario.algorithm == "raymond":
        found[IN_TURN] = sent_out_of_turn(trace)
    return found


def overtaking_entries(trace: Trace, margin: float) -> int:
    """Entries before that of a node which had asked earlier, by more than the margin."""
    asked: dict[int, float] = {}
    found = 0
    for step in trace:
        if step.kind is Kind.REQUEST:
            asked[step.node] = step.time
        elif step.kind is Kind.ENTER:
            mine = asked.pop(step.node)
            found += any(before + margin < mine for before in asked.values())
    return found


def sent_out_of_turn(trace: Trace) -> int:
    """How often the token goes from a node to another than has asked there first."""
    waiting: dict[NodeId, list[NodeId | None]] = defaultdict(list)
    found = 0
    for step in trace:
        match step.kind, step.message:
            case Kind.REQUEST, _:
                waiting[step.node].append(step.node)
            case Kind.RECEIVE, raymond.Request():
                waiting[step.node].append(step.peer)
            case (Kind.ENTER, _) | (Kind.SEND, raymond.Privilege()):
                to = step.peer or step.node
                found += waiting[step.node][:1] != [to]
                waiting[step.node] = [j for j in waiting[step.node] if j != to]
    return found


# Raymond: "a piggyback strategy could be used to reduce the number of messages"

LIMITS = {"line": 2.0, "tree": 2.5, "star": 3.0}


def piggybacked() -> Iterator[Item]:
    for spec, limit in LIMITS.items():
        for n in (25, 50, 100):
            yield Item(
                SOURCE,
                "Raymond: a piggyback strategy reduces the number of messages",
                {"n": n, "load": "heavy", "network": spec},
                Said("fewer than 4", Near(limit, relative=0.05)),
                partial(measure.mean, heavily("raymond-piggyback", n, spec)),
                remark="Without it 4(n−1)/n, whatever the tree is.",
            )


def heavily(name: str, n: int, spec: str) -> Scenario:
    return Scenario(name, n, 20 * n, Heavy(), topology=spec)


# Agrawal and El Abbadi: "can be generalized to arbitrary trees"

SHAPES = ("line", "star", "tree:3", "edges:1-2,1-3,1-4,2-5,2-6,4-7,7-8,7-9", "tree:4")


def arbitrary_trees() -> Iterator[Item]:
    for spec in SHAPES:
        yield Item(
            SOURCE,
            "Agrawal-El Abbadi: any two quorums of any tree meet, whichever nodes are down",
            {"n": 9, "network": spec},
            Exactly(0),
            partial(disjoint_quorums, spec, 9),
            remark="Of all sets of nodes that are down, all quorums that are asked then.",
        )


def disjoint_quorums(spec: str, n: int) -> int:
    """Pairs of these that have no node in common."""
    tree = cast(Tree, topology(spec, n))
    nodes = range(1, n + 1)
    found = {
        frozenset(quorum)
        for down in (set(c) for size in range(n) for c in combinations(nodes, size))
        for node in nodes
        if (quorum := tree_quorum(node, n, down, tree)) is not None
    }
    assert found
    return sum(not a & b for a, b in combinations(found, 2))


# Singhal's heuristic: "prevents a node from obtaining the token twice"

SELDOM = (
    "The token goes to the node that has asked least often. One that has asked less often "
    "than a waiting one gets it again and again, until it has asked as often."
)


def twice_while_another_waits() -> Iterator[Item]:
    yield Item(
        SOURCE,
        "Singhal's heuristic: entries of one node while another waits",
        {"n": 4, "asked before": "3 twice, 2 and 4 never"},
        Said("not twice", AtMost(1)),
        entries_while_node_3_waits,
        Because(SELDOM, Exactly(2)),
    )


def entries_while_node_3_waits() -> int:
    """Of node 2, which has never asked before, when all know that 3 waits."""
    run = ByHand("singhal-heuristic", 4)
    for node in (3, 1, 3):
        run.request(node)
        run.settle()
        run.leave(node)
    for node in (1, 3, 2, 4):
        run.request(node)
        run.settle()
    entries = 0
    while 3 not in run.judge.inside:
        (inside,) = run.judge.inside
        entries += inside == 2
        run.leave(inside)
        if inside == 2 and entries == 1:
            run.request(2)
        run.settle()
    return entries
