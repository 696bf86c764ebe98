"""Mühl's lecture: its closing table of message complexities, and what else it says."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import log, sqrt
from typing import cast

from peerlock.algorithms.raymond_echo import RaymondEcho
from peerlock.core.peer import NodeId
from peerlock.core.topology import topology
from peerlock.lab.reproduce import measure
from peerlock.lab.reproduce.expect import (
    Above,
    AtMost,
    Between,
    Exactly,
    Near,
    Order,
    Said,
)
from peerlock.lab.reproduce.item import Because, Item
from peerlock.lab.reproduce.worst import on_a_mesh
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.load import Heavy, Light, Schedule
from peerlock.simulator.scenario import Scenario

SOURCE = "Mühl lecture"
TABLE = "closing table"
SIZES = (4, 9, 16, 25, 49)
QUICK = 16


def items() -> Iterator[Item]:
    for n in SIZES:
        yield from token_ring(n)
        yield from broadcasts(n)
        yield from mesh(n)
        yield from lift(n)
        yield from central(n)
    yield from worst_case_on_a_mesh()
    yield from avoidance_of_deadlock()
    yield from starting_state()
    yield from order_of_the_queue()


def token_ring(n: int) -> Iterator[Item]:
    title, bounds = f"{TABLE}: Token Ring, 1 … ∞", "1 … ∞"
    yield Item(
        SOURCE,
        title,
        {"n": n, "load": "heavy"},
        Said(bounds, Near(1, absolute=0.05)),
        partial(measure.mean, Scenario("token-ring", n, 30 * n, Heavy())),
        slow=n > QUICK,
    )
    waits = 1000.0 * n
    yield Item(
        SOURCE,
        title,
        {"n": n, "load": f"one request after {waits:g} time units"},
        Said(bounds, Above(waits / 2)),
        partial(measure.mean, Scenario("token-ring", n, 1, Schedule(((waits, 1),)))),
        remark="Without bound: one message for each time unit that nobody asks.",
        slow=n > QUICK,
    )
    name, title = "suzuki-kasami", f"{TABLE}: Improved Token Ring, 0 … 2n−1"
    yield Item(
        SOURCE,
        "complete mesh: exactly 0 or n messages",
        {"n": n, "load": "light"},
        Exactly([0, n]),
        partial(measure.distinct, Scenario(name, n, 12 * n, Light())),
        slow=n > QUICK,
    )
    yield Item(
        SOURCE,
        title,
        {"n": n, "load": "light"},
        Between(0, 2 * n - 1),
        partial(ends, Scenario(name, n, 12 * n, Light(), topology="ring")),
        slow=n > QUICK,
    )
    yield Item(
        SOURCE,
        title,
        {"n": n, "load": "heavy"},
        Between(0, 2 * n - 1),
        partial(measure.mean, Scenario(name, n, 12 * n, Heavy(), topology="ring")),
        slow=n > QUICK,
    )


def ends(scenario: Scenario) -> list[int]:
    found = measure.distinct(scenario)
    return [found[0], found[-1]]


def broadcasts(n: int) -> Iterator[Item]:
    for title, name, cost in (
        ("Simple Broadcast, 3(n−1)", "lamport", 3 * (n - 1)),
        ("Improved Broadcast, 2(n−1)", "ricart-agrawala", 2 * (n - 1)),
    ):
        for load in (Light(), Heavy()):
            yield Item(
                SOURCE,
                f"{TABLE}: {title}",
                {"n": n, "load": type(load).__name__.lower()},
                Exactly(cost),
                partial(measure.mean, Scenario(name, n, 10 * n, load)),
                slow=n > QUICK,
            )


ITSELF = (
    "The lecture counts 2√n−1 messages of each kind, one of them to oneself. A message to "
    "oneself is none here: 3(2√n−2)."
)


def mesh(n: int) -> Iterator[Item]:
    side = 2 * sqrt(n) - 1
    title = f"{TABLE}: Mesh Arrangement, O(√n): 3(2√n−1), at most 5(2√n−1)"
    yield Item(
        SOURCE,
        title,
        {"n": n, "load": "light"},
        Exactly(3 * side),
        partial(measure.mean, Scenario("maekawa", n, 4 * n, Light(), quorums="grid")),
        Because(ITSELF, Exactly(3 * (side - 1))),
        slow=n > QUICK,
    )
    yield Item(
        SOURCE,
        title,
        {"n": n, "load": "heavy"},
        AtMost(5 * side),
        partial(measure.mean, Scenario("maekawa", n, 12 * n, Heavy(), quorums="grid")),
        slow=n > QUICK,
    )


PREEMPTED = (
    "The lecture leaves out that a process which relinquished is sent CONFIRM again, and "
    "can be preempted at the same process again: six messages, not five, for a REQUEST "
    "that precedes."
)


def worst_case_on_a_mesh() -> Iterator[Item]:
    side, each = 22, 6
    yield Item(
        SOURCE,
        "mesh: 5(2√n−1) is the worst case, in one schedule",
        {"n": side**2, "asking": side + each * (side - 1)},
        AtMost(5 * (2 * side - 1)),
        partial(on_a_mesh, side, each),
        Because(PREEMPTED, Between(5 * (2 * side - 1), 6 * (2 * side - 2))),
    )


def lift(n: int) -> Iterator[Item]:
    for k in (2, 3, 4):
        if n < 2 * k:
            continue
        for load, scenario in (("light", Light()), ("heavy", Heavy())):
            run = Scenario("raymond", n, 12 * n, scenario, topology=f"tree:{k}")
            yield Item(
                SOURCE,
                f"{TABLE}: Lift Algorithm on k-ary Tree, O(log_k n)",
                {"n": n, "k": k, "load": load},
                Order("O(log_k n)", 4 * log(n, k), "4 log_k n"),
                partial(measure.mean, run),
                remark="At most 2D messages, and D is 2 log_k n at most.",
                slow=n > QUICK,
            )


COORDINATOR = (
    "The lecture counts three messages for the coordinator's own entries, too. What it "
    "would send to itself is none here: 0 for its own, 3(n−1)/n on average."
)


def central(n: int) -> Iterator[Item]:
    title = f"{TABLE}: Central Manager, 3"
    yield Item(
        SOURCE,
        title,
        {"n": n, "load": "light"},
        Said(3, Exactly([3])),
        partial(measure.distinct, Scenario("central", n, 12 * n, Light())),
        Because(COORDINATOR, Exactly([0, 3])),
        slow=n > QUICK,
    )
    yield Item(
        SOURCE,
        title,
        {"n": n, "load": "heavy"},
        Near(3, relative=0.02),
        partial(measure.mean, Scenario("central", n, 40 * n, Heavy())),
        Because(COORDINATOR, Near(3 * (n - 1) / n, relative=0.02)),
        slow=n > QUICK,
    )


# What the slides say besides

BOTH_ANSWERS = (
    "A member INQUIREs for each REQUEST that precedes, the node relinquishes each time, "
    "and each answer has the member confirm one of them. See maekawa-lecture; with one "
    "INQUIRE at a time it holds: maekawa-relinquish."
)


def avoidance_of_deadlock() -> Iterator[Item]:
    requests, quorums = (0, 1, 1, 1), "triangle-columns"
    for name, because in (
        ("maekawa-lecture", Because(BOTH_ANSWERS, Exactly("exclusion"))),
        ("maekawa-relinquish", None),
    ):
        yield Item(
            SOURCE,
            "deadlocks are avoidable by INQUIRE and RELINQUISH",
            {"n": 4, "requests": list(requests), "sets": quorums, "by": name},
            Exactly("holds"),
            partial(measure.verdict, name, 4, requests, quorums=quorums),
            because,
        )


def starting_state() -> Iterator[Item]:
    for spec in ("ring", "line", "complete"):
        for n in (4, 9, 16):
            yield Item(
                SOURCE,
                "lift algorithm: a directed path leads from each process to the winner",
                {"n": n, "network": spec},
                Exactly(n),
                partial(led_to_the_winner, spec, n),
            )


def led_to_the_winner(spec: str, n: int) -> int:
    """How many nodes are, when the election is over."""
    run = ByHand("raymond-echo", n, topology=topology(spec, n))
    run.settle()
    holder = {i: cast(RaymondEcho, peer).holder for i, peer in run.peers.items()}
    led = {i for i, towards in holder.items() if towards == i}
    assert len(led) == 1
    for _ in range(n):
        led |= {i for i, towards in holder.items() if towards in led}
    return len(led)


def order_of_the_queue() -> Iterator[Item]:
    yield Item(
        SOURCE,
        "Suzuki-Kasami: the queue is in the order of sequence numbers",
        {"n": 4, "asked before": "2, 0 and 1 times"},
        Exactly([3, 4, 2]),
        partial(queue_by_number, "suzuki-kasami-by-number"),
    )


def queue_by_number(name: str) -> list[NodeId]:
    """The order of entry of nodes 2, 3 and 4, which have asked 2, 0 and 1 times before."""
    run = ByHand(name, 4)
    for node in (2, 4, 2, 1):
        run.request(node)
        run.settle()
        if node != 1:
            run.leave(node)
            run.settle()
    for node in (2, 3, 4):
        run.request(node)
    run.settle()
    entered = []
    while run.judge.inside:
        (inside,) = run.judge.inside
        entered.append(inside)
        run.leave(inside)
        run.settle()
    return entered[1:]
