"""How the papers' figures are found out: by runs, by hand, and by searches.

All of these are plain functions of plain values, as they are called in other processes.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from fractions import Fraction
from statistics import fmean
from typing import Any

from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, model
from peerlock.core.peer import NodeId
from peerlock.simulator.by_hand import ByHand
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import empty_trace, simulate
from peerlock.traces.trace import Kind, Trace


def mean(scenario: Scenario, runs: int = 1) -> float:
    """Messages per entry, over runs with seeds of their own."""
    seeds = range(scenario.seed, scenario.seed + runs)
    return fmean(
        simulate(replace(scenario, seed=seed)).messages_per_entry for seed in seeds
    )


def recorded(scenario: Scenario) -> Trace:
    trace = empty_trace(scenario)
    simulate(scenario, trace)
    return trace


def costs(scenario: Scenario) -> Iterator[int]:
    """The messages of each entry, where the next request comes when all is quiet."""
    entries = messages = 0
    for step in recorded(scenario):
        if step.kind is Kind.REQUEST:
            if entries:
                yield messages
            entries, messages = entries + 1, 0
        messages += step.kind is Kind.SEND
    yield messages


def distinct(scenario: Scenario) -> list[int]:
    return sorted(set(costs(scenario)))


def span(scenario: Scenario) -> list[int]:
    """The least and the most messages of an entry that takes any."""
    found = [cost for cost in costs(scenario) if cost]
    return [min(found), max(found)]


def most(scenario: Scenario) -> int:
    return max(costs(scenario))


def by_hand(name: str, n: int, node: NodeId, **settings: Any) -> int:
    """The messages of one entry from the beginning, leaving included."""
    cluster = ByHand(name, n, **settings)
    cluster.request(node)
    cluster.settle()
    assert cluster.judge.inside == {node}
    cluster.leave(node)
    cluster.settle()
    return cluster.sent


def by_hand_mean(name: str, n: int, **settings: Any) -> float:
    """Over all nodes, each of which asks once when nobody else does."""
    return fmean(by_hand(name, n, node, **settings) for node in range(1, n + 1))


# Searches of all schedules


def searched(
    name: str,
    nodes: int,
    requests: int | tuple[int, ...] | None,
    fifo: bool | None = None,
    quorums: str | None = None,
    permits: int | None = None,
    votes: str | None = None,
    increments: str | None = None,
) -> Model:
    """Without the fences, which no paper has: that leaves fewer states."""
    network = None if fifo is None else Network(fifo)
    chosen = {"votes": votes, "increments": increments}
    found = model(name, nodes, requests, network, quorums, None, permits, **chosen)
    return replace(found, fences=False)


def most_messages(*which: Any, **more: Any) -> float | str:
    """Per entry, over all schedules."""
    found = check(searched(*which, **more)).max_messages_per_entry
    return "without bound" if found is None else as_number(found)


def most_overtaken(*which: Any, **more: Any) -> int | None:
    return check(searched(*which, **more)).max_overtaken


def verdict(*which: Any, **more: Any) -> str:
    report = check(searched(*which, **more))
    if report.violation is not None:
        return report.violation.property
    return "holds" if report.complete else "cut short"


def as_number(found: Fraction) -> float:
    return found.numerator if found.denominator == 1 else float(found)
