"""What is measured while the site is built: every algorithm, several sizes, two loads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, is_dataclass
from multiprocessing import Pool
from typing import Any

import msgspec

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId
from peerlock.lab.compare import leave_ctrl_c
from peerlock.simulator.experiment import Experiment, Result, perform, result, scenarios
from peerlock.simulator.load import Heavy, Run
from peerlock.simulator.simulation import Scenario, Simulation, empty_trace
from peerlock.traces.trace import Kind

SIZES = (4, 9, 16, 25, 49)
SIZE = 25  # of the tables that show one size only
LOADS = ("light", "heavy")
RUNS, ENTRIES = 2, 200


@dataclass(frozen=True)
class Room:
    """In bytes, as msgpack: the most that was seen while all nodes competed."""

    state: int
    message: int


@dataclass(frozen=True)
class Measured:
    results: dict[tuple[str, int, str], Result]
    rooms: dict[str, Room]

    def of(self, name: str, load: str, nodes: int = SIZE) -> Result:
        return self.results[name, nodes, load]


def right_ones() -> list[Algorithm]:
    return [entry for entry in CATALOGUE if entry.family != "museum"]


def measure(
    names: Iterable[str] | None = None, sizes: tuple[int, ...] = SIZES, jobs: int = 2
) -> Measured:
    chosen = tuple(names or (entry.name for entry in right_ones()))
    experiment = Experiment(chosen, sizes, LOADS, RUNS, ENTRIES)
    tasks = list(scenarios(experiment))
    reports: dict[tuple[str, int, str], list[Any]] = {cell: [] for cell, _, _ in tasks}
    tasks.sort(key=lambda task: -task[2].nodes)  # long ones first, so that none is last
    with Pool(jobs, initializer=leave_ctrl_c) as pool:
        rooms = pool.map_async(room, chosen, chunksize=1)
        for cell, run, report in pool.imap_unordered(perform, tasks):
            reports[cell].append((run, report))
        found = dict(zip(chosen, rooms.get(), strict=True))
    by_run = {
        cell: [r for _, r in sorted(runs, key=first)] for cell, runs in reports.items()
    }
    return Measured({cell: result(cell, runs) for cell, runs in by_run.items()}, found)


def first(pair: tuple[int, Any]) -> int:
    return pair[0]


class Watching(Heavy):
    """Looks at what all nodes keep, each time that one of them has left."""

    def __init__(self) -> None:
        object.__setattr__(self, "most", 0)

    most: int

    def left(self, run: Run, node: NodeId) -> None:
        super().left(run, node)
        assert isinstance(run, Simulation)
        _, *peers = run._peers  # private, but this run is our own
        found = max(packed(peer.snapshot()) for peer in peers)
        object.__setattr__(self, "most", max(self.most, found))


def room(name: str) -> Room:
    watching = Watching()
    scenario = Scenario(name, SIZE, 5 * SIZE, watching)
    trace = empty_trace(scenario)
    Simulation(scenario, trace).run()
    sent = {step.message for step in trace if step.kind is Kind.SEND}
    return Room(watching.most, max(map(packed, sent), default=0))


def packed(value: Any) -> int:
    plain = astuple(value) if is_dataclass(value) and not isinstance(value, type) else value
    return len(msgspec.msgpack.encode(plain, enc_hook=str))
