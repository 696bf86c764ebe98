"""What is measured while the site is built: every algorithm, several sizes, two loads."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import astuple, dataclass, is_dataclass
from typing import Any

import msgspec

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.core.peer import NodeId
from peerlock.lab.compare import compare
from peerlock.lab.executor import HERE, Place, in_order
from peerlock.simulator.experiment import Experiment, Result
from peerlock.simulator.load import Heavy, LoadRun
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import Simulation, empty_trace
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
    names: Iterable[str] | None = None,
    sizes: tuple[int, ...] = SIZES,
    place: Place = HERE,
) -> Measured:
    chosen = tuple(names or (entry.name for entry in right_ones()))
    experiment = Experiment(chosen, sizes, LOADS, RUNS, ENTRIES)
    results = compare(experiment, place)
    cells = {(found.algorithm, found.nodes, found.load): found for found in results}
    rooms = in_order(room, chosen, place)
    return Measured(cells, dict(zip(chosen, rooms, strict=True)))


class Watching(Heavy):
    """Looks at what all nodes keep, each time that one of them has left."""

    def __init__(self) -> None:
        object.__setattr__(self, "most", 0)

    most: int

    def left(self, run: LoadRun, node: NodeId) -> None:
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
