"""Which algorithm serves a lock best when nobody names one: all that can, side by side.

    python -m bench.choice [--quick] [--repeats 3] [--nodes 8] [--json FILE] [NAME…]

All processes of the cluster have joined.  Measured are grants per second
  alone    of one process that takes one lock again and again,
  crowd    of all on one lock, as it is used by default,
  many     of all on 64 locks, each chosen at random,
  in turn  of all on one lock, without handing it on within a process,
and for this last one the messages per grant; and the microseconds of a hand-off, from a
release to the grant of another process that waits.  Semaphores have 3 permits.
"""

from __future__ import annotations

import argparse
import asyncio
import time
from collections.abc import Iterator
from functools import partial
from math import nan
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from bench.crew import (
    Crew,
    Member,
    Task,
    alone,
    alternate,
    contend,
    crew,
    hand_on,
    roam,
)
from bench.locks import progress, write
from bench.options import must_know
from bench.rivals import peerlock_tasks
from bench.servers import directory

import peerlock
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.cli.ending import end_with
from peerlock.node.terms import LOCK, SEMAPHORE

PERMITS = 3
COLUMNS = {
    "alone": ",.0f",
    "crowd": ",.0f",
    "many": ",.0f",
    "in turn": ",.0f",
    "messages": ".2f",
    "hand-off": ",.0f",
}


class Chosen(NamedTuple):
    """A node whose locks, whatever their names, are served by one algorithm."""

    node: peerlock.LockNode
    algorithm: str
    permits: int = 0

    def lock(self, name: str, /) -> peerlock.Lock:
        name = f"{name}, by {self.algorithm}"
        if self.permits:
            return self.node.semaphore(name, self.permits, algorithm=self.algorithm)
        return self.node.lock(name, algorithm=self.algorithm)

    @property
    def messages(self) -> int:
        return sum(self.node.statistics().messages.values())


class Order(NamedTuple):
    algorithm: str
    permits: int
    task: Task


async def carry_out(member: Member) -> None:
    """One order after the other: to start a crew takes longer than to measure."""
    node: Any = member.client
    while (order := await member.told()) is not None:
        client = Chosen(node, order.algorithm, order.permits)
        member.pipe.send(await order.task(member._replace(client=client)))
        await member.told()


async def first_one_alone(member: Member) -> float:
    if member.number == 0:
        return await alone(member)
    _, end = await member.ready()
    await asyncio.sleep(end - time.monotonic())
    return 0.0


async def contend_and_count(member: Member) -> tuple[int, int]:
    """Grants and messages, with the few of before the start."""
    assert isinstance(member.client, Chosen)
    before = member.client.messages
    grants = await contend(member)
    return grants, member.client.messages - before


Found = dict[str, float]


def by_default(all_: Crew, algorithm: str, permits: int, seconds: float) -> Found:
    all_.tell_all(Order(algorithm, permits, first_one_alone))
    found = {"alone": sum(all_.run(seconds))}
    all_.tell_all(Order(algorithm, permits, contend))
    found["crowd"] = sum(all_.run(seconds)) / seconds
    all_.tell_all(Order(algorithm, permits, roam))
    found["many"] = sum(all_.run(seconds)) / seconds
    if not permits:
        all_.tell_all(Order(algorithm, permits, hand_on))
        found["hand-off"] = 1e6 * median(alternate(all_, seconds) or [nan])
    return found


def in_turn(all_: Crew, algorithm: str, permits: int, seconds: float) -> Found:
    all_.tell_all(Order(algorithm, permits, contend_and_count))
    counted = all_.run(seconds)
    grants = sum(each for each, _ in counted)
    messages = sum(sent for _, sent in counted)
    return {"in turn": grants / seconds, "messages": messages / grants if grants else nan}


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
    must_know("algorithm", options.names, [a.name for a in CATALOGUE if a.serves])
    repeats = options.repeats or (1 if options.quick else 3)
    seconds = 0.3 if options.quick else 2.0
    report = {}
    for kind, usual, permits in (("lock", LOCK, 0), ("semaphore", SEMAPHORE, PERMITS)):
        names = [a.name for a in CATALOGUE if kind in a.serves]
        names = [name for name in names if name in (options.names or names)]
        runs: Runs = {name: [] for name in names}
        for turn in range(repeats):
            progress(f"{kind}, {turn + 1} of {repeats}")
            for name, found in measured(names, permits, options.nodes, seconds).items():
                runs[name].append(found)
        progress("")
        report[kind] = runs
        print(*table(kind, usual, runs), sep="\n", flush=True)
    if options.json:
        write(options.json, report)


Runs = dict[str, list[Found]]


def measured(
    names: list[str], permits: int, nodes: int, seconds: float
) -> dict[str, Found]:
    """One run of each, by two crews: knobs are set when a process joins."""
    found: dict[str, Found] = {name: {"hand-off": nan} for name in names}
    strictly = partial(peerlock_tasks, hand_overs=1)
    for connect, measure in ((peerlock_tasks, by_default), (strictly, in_turn)):
        with (
            directory() as folder,
            crew(connect, folder, nodes, carry_out, "asyncio") as all_,
        ):
            for name in names:
                found[name] |= measure(all_, name, permits, seconds)
            all_.tell_all(None)
            all_.finish()
    return found


def table(kind: str, usual: str, runs: Runs) -> Iterator[str]:
    """Medians, the fastest in turn first."""
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
    end_with(main)
