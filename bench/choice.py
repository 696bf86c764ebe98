"""Which algorithm serves a lock best when nobody names one: all that can, side by side.

    python -m bench.choice [--quick] [--repeats 3] [--nodes 8] [--json FILE] [NAME…]

All processes of the cluster have joined.  Measured are grants per second
  alone    of one process that takes one lock again and again,
  crowd    of all on one lock, as it is used by default,
  in turn  of all on one lock, without handing it on within a process,
and for this last one the messages per grant; and the microseconds of a hand-off, from a
release to the grant of another process that waits.  Semaphores have 3 permits.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from functools import partial
from math import nan
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.crew import Member, Task, alone, alternate, contend, crew, hand_on
from bench.locks import progress
from bench.rivals import Connect, peerlock_tasks
from bench.servers import directory

import peerlock
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.node.node import Knobs
from peerlock.node.terms import LOCK, SEMAPHORE

PERMITS = 3
COLUMNS = {
    "alone": ",.0f",
    "crowd": ",.0f",
    "in turn": ",.0f",
    "messages": ".2f",
    "hand-off": ",.0f",
}


class Chosen(NamedTuple):
    """A node whose locks, whatever their names, are served by one algorithm."""

    node: peerlock.LockNode
    algorithm: str
    permits: int

    def lock(self, name: str, /) -> peerlock.Lock:
        if self.permits:
            return self.node.semaphore(name, self.permits, algorithm=self.algorithm)
        return self.node.lock(name, algorithm=self.algorithm)

    @property
    def messages(self) -> int:
        return sum(self.node.statistics().messages.values())


@asynccontextmanager
async def chosen(
    address: str, ttl: float, algorithm: str, permits: int, hand_overs: int
) -> AsyncIterator[Chosen]:
    async with peerlock_tasks(address, ttl, hand_overs=hand_overs) as node:
        yield Chosen(node, algorithm, permits)


async def first_one_alone(member: Member) -> float:
    if member.number == 0:
        return await alone(member)
    _, end = await member.ready()
    await asyncio.sleep(end - time.monotonic())
    return 0.0


async def contend_and_count(member: Member) -> tuple[int, int]:
    """Grants and messages, the few before the start included."""
    assert isinstance(member.client, Chosen)
    grants = await contend(member)
    return grants, member.client.messages


class Setup(NamedTuple):
    address: str
    nodes: int
    seconds: float


def measured(algorithm: str, permits: int, setup: Setup) -> dict[str, float]:
    def run(task: Task, hand_overs: int = Knobs.hand_overs) -> list[Any]:
        with crew(connect(hand_overs), setup.address, setup.nodes, task, "asyncio") as all_:
            return all_.run(setup.seconds)

    def connect(hand_overs: int) -> Connect:
        return partial(chosen, algorithm=algorithm, permits=permits, hand_overs=hand_overs)

    counted = run(contend_and_count, hand_overs=1)
    grants = sum(each for each, _ in counted)
    found = {
        "alone": sum(run(first_one_alone)),
        "crowd": sum(run(contend)) / setup.seconds,
        "in turn": grants / setup.seconds,
        "messages": sum(sent for _, sent in counted) / grants if grants else nan,
        "hand-off": nan,
    }
    if not permits:
        address, nodes = setup.address, setup.nodes
        with crew(connect(Knobs.hand_overs), address, nodes, hand_on, "asyncio") as all_:
            found["hand-off"] = 1e6 * median(alternate(all_, setup.seconds) or [nan])
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--quick", action="store_true", help="short, and less sure")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--nodes", type=int, default=8)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    repeats = options.repeats or (1 if options.quick else 3)
    report = {}
    with directory() as folder:
        setup = Setup(folder, options.nodes, 0.3 if options.quick else 2.0)
        for kind, usual, permits in (("lock", LOCK, 0), ("semaphore", SEMAPHORE, PERMITS)):
            names = [a.name for a in CATALOGUE if kind in a.serves]
            names = [name for name in names if name in (options.names or names)]
            report[kind] = compare(names, permits, setup, repeats)
            for line in table(kind, usual, report[kind]):
                print(line, flush=True)
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")


Runs = dict[str, list[dict[str, float]]]


def compare(names: list[str], permits: int, setup: Setup, repeats: int) -> Runs:
    """All in turn, again and again."""
    runs: Runs = {name: [] for name in names}
    for turn in range(repeats):
        for name in names:
            progress(f"{turn + 1} of {repeats}: {name}")
            runs[name].append(measured(name, permits, setup))
    progress("")
    return runs


def table(kind: str, usual: str, runs: Runs) -> Iterator[str]:
    """Medians, the best crowd first."""
    yield f"\n{kind:36}" + "".join(f"{column:>12}" for column in COLUMNS)
    middles = {
        name: {column: median(run[column] for run in of_one) for column in COLUMNS}
        for name, of_one in runs.items()
    }
    for name in sorted(middles, key=lambda name: -middles[name]["in turn"]):
        mark = " (default)" if name == usual else ""
        cells = (f"{middles[name][c]:12{form}}" for c, form in COLUMNS.items())
        yield f"{name + mark:36}{''.join(cells)}"


if __name__ == "__main__":
    main()
