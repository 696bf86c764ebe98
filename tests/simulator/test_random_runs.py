"""Ten thousand runs at random: 2 to 9 nodes, every algorithm, the network it assumes."""

from collections.abc import Iterator
from random import Random

import pytest

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.simulator.latency import Constant, Exponential, Latency, Uniform
from peerlock.simulator.load import Heavy, Level, Light, Load
from peerlock.simulator.network import Network
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import simulate
from peerlock.simulator.violation import Violation

RUNS = 10_000
LATENCIES: tuple[Latency, ...] = (Constant(1.0), Uniform(0.0, 4.0), Exponential(1.0))
TIMELY: tuple[Latency, ...] = (Constant(1.0), Uniform(0.0, 1.5), Uniform(0.5, 1.5))
LOADS: tuple[Load, ...] = (Heavy(), Heavy(), Level(0.2), Level(0.7), Light())
STRUCTURES: dict[str, tuple[str, ...]] = {
    "quorums": ("plane", "grid", "majority"),
    "topology": ("line", "star", "tree", "tree:3", "complete", "ring"),
}


def scenarios(entry: Algorithm, runs: int) -> Iterator[Scenario]:
    rng = Random(entry.name)  # the same every time
    names = [s for s in STRUCTURES.get(entry.takes, ()) if fits(entry, s)]
    for seed in range(runs):
        latency = rng.choice(TIMELY if entry.timely else LATENCIES)
        fifo = entry.fifo or rng.random() < 0.2
        structure = rng.choice(names) if names else None
        yield Scenario(
            entry.name,
            nodes=rng.randint(2, 9),
            entries=rng.randint(5, 30),
            load=rng.choice(LOADS),
            network=Network(latency, fifo),
            hold=rng.choice((0.0, 0.5, 2.0)),
            quorums=structure if entry.takes == "quorums" else None,
            topology=structure if entry.takes == "topology" else None,
            permits=rng.randint(1, 10) if entry.takes == "permits" else None,
            shared=rng.random() if entry.shares else 0.0,
            seed=seed,
        )


def fits(entry: Algorithm, structure: str) -> bool:
    return entry.takes == "quorums" or structure.partition(":")[0] in entry.topologies


@pytest.mark.parametrize(
    "entry", [a for a in CATALOGUE if a.verdict == "holds"], ids=lambda a: a.name
)
def test_no_violation_is_found(entry: Algorithm) -> None:
    runs = -(-RUNS // sum(a.verdict == "holds" for a in CATALOGUE))
    for scenario in scenarios(entry, runs):
        report = simulate(scenario)  # a Violation names the scenario's seed in its trace
        assert report.entries == scenario.entries
        if len(entry.rule({}).demands) == 1:
            assert report.max_inside <= entry.capacity(scenario.permits)
        assert report.remote_errors == 0


def test_maekawa_1985_deadlocks_now_and_then() -> None:
    entry = next(a for a in CATALOGUE if a.name == "maekawa-1985")
    deadlocks = 0
    for scenario in scenarios(entry, 1000):
        try:
            simulate(scenario)
        except Violation as violation:
            assert "deadlock" in violation.text
            deadlocks += 1
    assert deadlocks > 0
