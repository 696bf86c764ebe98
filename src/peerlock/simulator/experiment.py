"""The same experiment for several algorithms, sizes and loads, many runs of each."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from math import isnan, nan
from statistics import fmean, stdev
from typing import Any

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.lookup import algorithm, reference
from peerlock.algorithms.settings import Settings, arguments, takers
from peerlock.core.errors import UsageError
from peerlock.core.peer import Peer
from peerlock.simulator.latency import parse_latency
from peerlock.simulator.load import parse_load
from peerlock.simulator.network import Network
from peerlock.simulator.report import Report, without_nan
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import simulate
from peerlock.simulator.violation import Violation


@dataclass(frozen=True)
class Experiment(Settings):
    """Several algorithms at several sizes and loads; a setting is for those that take it.

    algorithms: each as in a Scenario
    sizes: how many nodes
    loads: each `light`, `heavy`, or the probability that an idle node asks per time unit
    runs: of each, with the seeds `seed`, `seed` + 1, …
    latency: `constant:1`, `uniform:0.5,1.5`, `exponential:1` or `matrix:1,80/80,1`
    """

    algorithms: tuple[str | type[Peer], ...]
    sizes: tuple[int, ...]
    loads: tuple[str, ...]
    runs: int = 5
    entries: int = 500
    latency: str = "uniform:0.5,1.5"
    hold: float = 1.0
    shared: float = 0.0
    seed: int = 1

    def of(self, entry: Algorithm) -> dict[str, Any]:
        """The chosen settings that this algorithm takes."""
        return {name: v for name, v in self.chosen.items() if name == entry.takes}


@dataclass(frozen=True)
class Spread:
    """One measure over the runs that have it; each value is NaN if none has."""

    mean: float
    stdev: float
    min: float
    max: float


@dataclass(frozen=True)
class Result:
    """One algorithm at one size under one load."""

    algorithm: str
    nodes: int
    load: str
    runs: int
    messages_per_entry: Spread
    response_time: Spread  # the runs' means
    synchronisation_delay: Spread  # the runs' means
    fairness: Spread
    max_overtaken: int

    def as_dict(self) -> dict[str, Any]:
        """As the command line prints it in JSON: figures without samples are None."""
        found: dict[str, Any] = without_nan(asdict(self))
        return found


Cell = tuple[str, int, str]
Task = tuple[Cell, int, Scenario]  # what it is a run of, which one, and the run
Outcome = tuple[Cell, int, Report | str]  # a text if it failed


class RunFailed(Exception):
    """A run of a comparison violated a property; `simulate` with its seed shows how."""

    def __init__(self, cell: Cell, seed: int, violation: str) -> None:
        super().__init__(cell, seed, violation)
        self.algorithm, self.nodes, self.load = cell
        self.seed, self.violation = seed, violation

    def __str__(self) -> str:
        where = f"{self.algorithm}, {self.nodes} nodes, load {self.load}, seed {self.seed}"
        return f"{where}: {self.violation}"

    def as_dict(self) -> dict[str, Any]:
        keys = ("algorithm", "nodes", "load", "seed", "violation")
        return {key: getattr(self, key) for key in keys}


def compare(
    experiment: Experiment,
    progress: Callable[[int], None] = lambda done: None,
    perform_all: Callable[[Iterable[Task]], Iterable[Outcome]] | None = None,
) -> list[Result]:
    """Run an experiment, and summarise the runs of each combination, in order.

    progress: called after each run with the number of finished runs
    perform_all: performs the tasks and returns their outcomes in order

    Raises RunFailed for the first run that violates a property.
    """
    tasks = list(scenarios(experiment))
    reports: dict[Cell, list[Report]] = {cell: [] for cell, _, _ in tasks}
    outcomes = perform_all(tasks) if perform_all else map(perform, tasks)
    for done, (cell, run, report) in enumerate(outcomes, start=1):
        if isinstance(report, str):
            raise RunFailed(cell, experiment.seed + run, report)
        reports[cell].append(report)
        progress(done)
    return [result(cell, runs) for cell, runs in reports.items()]


def perform(task: Task) -> Outcome:
    """Perform one run; the outcome is a text if it failed."""
    cell, run, scenario = task
    try:
        return cell, run, simulate(scenario)
    except Violation as violation:
        return cell, run, violation.text


def scenarios(experiment: Experiment) -> Iterator[Task]:
    if experiment.runs < 1:
        raise UsageError(f"invalid number of runs {experiment.runs}: use 1 or more")
    must_be_of_use(experiment)
    for load, name, nodes in product(
        experiment.loads, map(reference, experiment.algorithms), experiment.sizes
    ):
        entry = algorithm(name)
        arguments(entry, nodes, **experiment.of(entry))  # raises before anything is done
        for run in range(experiment.runs):
            yield (
                (name, nodes, load),
                run,
                Scenario(
                    algorithm=name,
                    nodes=nodes,
                    entries=experiment.entries,
                    load=parse_load(load),
                    network=Network(parse_latency(experiment.latency), fifo=entry.fifo),
                    hold=experiment.hold,
                    shared=experiment.shared,
                    seed=experiment.seed + run,
                    **experiment.of(entry),
                ),
            )


def must_be_of_use(experiment: Experiment) -> None:
    """Refuses a setting that none of the algorithms takes."""
    entries = [algorithm(name) for name in experiment.algorithms]
    for setting in experiment.chosen:
        if not any(entry.takes == setting for entry in entries):
            raise UsageError(f"none of these is built on {setting}; {takers(setting)}")
    if experiment.shared and not any(entry.shares for entry in entries):
        raise UsageError("none of these algorithms has readers: omit shared")


def result(cell: Cell, reports: Sequence[Report]) -> Result:
    name, nodes, load = cell
    return Result(
        algorithm=name,
        nodes=nodes,
        load=load,
        runs=len(reports),
        messages_per_entry=spread([r.messages_per_entry for r in reports]),
        response_time=spread([r.response_time.mean for r in reports]),
        synchronisation_delay=spread([r.synchronisation_delay.mean for r in reports]),
        fairness=spread([r.fairness for r in reports]),
        max_overtaken=max(r.max_overtaken for r in reports),
    )


def spread(values: Sequence[float]) -> Spread:
    values = [value for value in values if not isnan(value)]
    if not values:
        return Spread(nan, nan, nan, nan)
    deviation = stdev(values) if len(values) > 1 else 0.0
    return Spread(fmean(values), deviation, min(values), max(values))
