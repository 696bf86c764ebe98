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
from peerlock.simulator.judge import Violation
from peerlock.simulator.latency import parse_latency
from peerlock.simulator.load import parse_load
from peerlock.simulator.network import Network
from peerlock.simulator.report import Report, without_nan
from peerlock.simulator.simulation import Scenario, simulate


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
        """What was chosen of what this one takes."""
        return {name: v for name, v in self.chosen.items() if name == entry.takes}


@dataclass(frozen=True)
class Spread:
    """Of one measure over the runs that have it; each is NaN if none has."""

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
Outcome = tuple[Cell, int, Report | str]  # a text if it went wrong


class RunFailed(Exception):
    """A run of a comparison went wrong; `simulate` tells more of it."""

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
    """Run all of an experiment, and sum up the runs of each cell, in its order.

    progress: is called after each run with how many are done
    perform_all: performs the tasks, in their order; here, one after the other

    Raises RunFailed about the first run that went wrong.
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
    """A run; a text if it went wrong."""
    cell, run, scenario = task
    try:
        return cell, run, simulate(scenario)
    except Violation as violation:
        return cell, run, violation.text


def scenarios(experiment: Experiment) -> Iterator[Task]:
    if experiment.runs < 1:
        raise UsageError(f"at least 1 run is needed, not {experiment.runs}")
    must_be_of_use(experiment)
    for load, name, nodes in product(
        experiment.loads, map(reference, experiment.algorithms), experiment.sizes
    ):
        entry = algorithm(name)
        arguments(entry, nodes, **experiment.of(entry))  # complains before all is done
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
    """A setting that none of the algorithms takes is a mistake."""
    entries = [algorithm(name) for name in experiment.algorithms]
    for setting in experiment.chosen:
        if not any(entry.takes == setting for entry in entries):
            raise UsageError(
                f"none of these is built on a choice of {setting}; but {takers(setting)}"
            )
    if experiment.shared and not any(entry.shares for entry in entries):
        raise UsageError("none of these lets readers be inside together")


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
