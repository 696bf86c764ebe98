"""The same experiment for several algorithms, sizes and loads, many runs of each."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from itertools import product
from multiprocessing import Pool
from statistics import fmean, stdev
from typing import Any

from peerlock.algorithms.catalogue import (
    Algorithm,
    Settings,
    UsageError,
    algorithm,
    takers,
)
from peerlock.simulator.latency import parse_latency
from peerlock.simulator.load import parse_load
from peerlock.simulator.network import Network
from peerlock.simulator.report import Report
from peerlock.simulator.simulation import Scenario, simulate


@dataclass(frozen=True)
class Experiment(Settings):
    """A setting is for those of the algorithms that take it."""

    algorithms: tuple[str, ...]
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
    """Of one measure over the runs."""

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
        return asdict(self)


Cell = tuple[str, int, str]
Task = tuple[Cell, int, Scenario]  # what it is a run of, which one, and the run


def compare(
    experiment: Experiment,
    jobs: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Result]:
    """In the order of the experiment, whichever process is done first."""
    tasks = list(scenarios(experiment))
    reports: dict[Cell, dict[int, Report]] = {cell: {} for cell, _, _ in tasks}
    with Pool(jobs or os.cpu_count(), initializer=leave_ctrl_c) as pool:
        finished = pool.imap_unordered(perform, tasks)
        for done, (cell, run, report) in enumerate(finished, start=1):
            reports[cell][run] = report
            progress(done)
    return [result(cell, [runs[i] for i in sorted(runs)]) for cell, runs in reports.items()]


def perform(task: Task) -> tuple[Cell, int, Report]:
    cell, run, scenario = task
    return cell, run, simulate(scenario)


def leave_ctrl_c() -> None:
    """Ctrl-C is for the parent, which then stops the workers, and they just stop."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)


def scenarios(experiment: Experiment) -> Iterator[Task]:
    if experiment.runs < 1:
        raise UsageError(f"at least 1 run is needed, not {experiment.runs}")
    must_be_of_use(experiment)
    for load, name, nodes in product(
        experiment.loads, experiment.algorithms, experiment.sizes
    ):
        entry = algorithm(name)
        entry.settings(nodes, **experiment.of(entry))  # complains before all is done
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
    deviation = stdev(values) if len(values) > 1 else 0.0
    return Spread(fmean(values), deviation, min(values), max(values))
