"""The same experiment for several algorithms, sizes and loads, many runs of each."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Generator, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from dataclasses import asdict, dataclass
from itertools import product
from multiprocessing import active_children
from statistics import fmean, stdev
from typing import Any, TypeVar

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.settings import Settings, arguments, takers
from peerlock.core.errors import UsageError
from peerlock.simulator.judge import Violation
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
T = TypeVar("T")
R = TypeVar("R")


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
    jobs: int | None = None,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Result]:
    """In the order of the experiment; RunFailed is about the first of it that failed."""
    tasks = list(scenarios(experiment))
    reports: dict[Cell, list[Report]] = {cell: [] for cell, _, _ in tasks}
    with closing(in_processes(perform, tasks, jobs)) as results:
        for done, (cell, run, report) in enumerate(results, start=1):
            if isinstance(report, str):
                raise RunFailed(cell, experiment.seed + run, report)
            reports[cell].append(report)
            progress(done)
    return [result(cell, runs) for cell, runs in reports.items()]


def perform(task: Task) -> tuple[Cell, int, Report | str]:
    """A run; a text if it went wrong."""
    cell, run, scenario = task
    try:
        return cell, run, simulate(scenario)
    except Violation as violation:
        return cell, run, violation.text


def in_processes(
    work: Callable[[T], R], tasks: Sequence[T], jobs: int | None = None
) -> Generator[R, None, None]:
    """What comes of the tasks, in their order, whichever is done first.

    If one fails, by an error that nobody foresaw or by the end of its process, or if
    nobody wants to know the rest, all processes are ended.
    """
    others = set(active_children())
    pool = ProcessPoolExecutor(jobs or os.cpu_count(), initializer=leave_ctrl_c)
    try:
        yield from pool.map(work, tasks)
    except BaseException:
        for process in set(active_children()) - others:
            process.terminate()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


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
    deviation = stdev(values) if len(values) > 1 else 0.0
    return Spread(fmean(values), deviation, min(values), max(values))
