"""A great many names, each used once: what a cluster remembers of them must not grow.

    python -m bench.names [--names 1000000] [--algorithm NAME]… [--json FILE]

A cluster of three processes, of which one uses the names; the other two are home to two
thirds of them.  The memory is the resident set of each process, in megabytes.  Exit code 1
if one of them is in the end a tenth larger than after the first half, and the names were
more than a node remembers.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import resource
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from bench.choice import Chosen
from bench.crew import Member, crew
from bench.rivals import peerlock_tasks
from bench.servers import directory

from peerlock.cli.ending import end_with
from peerlock.node.knobs import Knobs
from peerlock.node.terms import LOCK

ALGORITHMS = (LOCK, "ricart-agrawala")  # by a token, and by permissions
NODES = 3
TASKS = 50  # of the one process, so that it does not wait for one answer after the other
SAMPLES = 20
MOST_GROWTH = 1.1


class Sample(NamedTuple):
    names: int
    seconds: float
    megabytes: list[float]


async def first_one_uses(member: Member) -> None:
    """As many names as we are told, a report after each twentieth; others stand by."""
    await member.ready()
    algorithm, names = await member.told()
    if member.number == 0:
        node: Any = member.client
        chosen = Chosen(node, algorithm)
        for sample in range(SAMPLES):
            part = range(sample * names // SAMPLES, (sample + 1) * names // SAMPLES)
            await use_once(chosen, iter(part))
            member.pipe.send(part.stop)
    await member.told()


async def use_once(chosen: Chosen, numbers: Iterator[int]) -> None:
    async def user() -> None:
        for number in numbers:
            async with chosen.lock(f"name {number}"):
                pass

    await asyncio.gather(*(user() for _ in range(TASKS)))


def used(algorithm: str, names: int) -> Iterator[Sample]:
    with (
        directory() as folder,
        crew(peerlock_tasks, folder, NODES, first_one_uses, "asyncio") as three,
    ):
        three.start()
        three.tell_all((algorithm, names))
        began = time.monotonic()
        for _ in range(SAMPLES):
            done = three.hear(0)
            memory = [megabytes(process.pid) for process in three.processes]
            yield Sample(done, time.monotonic() - began, memory)
        three.tell_all("that is all")
        three.finish()


def megabytes(process: int | None) -> float:
    pages = int(Path(f"/proc/{process}/statm").read_text().split()[1])
    return pages * resource.getpagesize() / 2**20


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--names", type=int, default=1_000_000)
    parser.add_argument("--algorithm", action="append", metavar="NAME")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    report: dict[str, list[Sample]] = {}
    for algorithm in options.algorithm or ALGORITHMS:
        print(f"\n{algorithm:20}{'names/s':>10}{'user, MB':>12}{'others, MB':>20}")
        report[algorithm] = []
        for sample in used(algorithm, options.names):
            report[algorithm].append(sample)
            user, *others = sample.megabytes
            print(
                f"{sample.names:20,}{sample.names / sample.seconds:10,.0f}{user:12.1f}"
                + "".join(f"{other:10.1f}" for other in others),
                flush=True,
            )
    if options.json:
        options.json.write_text(json.dumps(report, indent=1) + "\n")
    if options.names < 4 * Knobs.remembered:
        return
    if grown := [name for name, samples in report.items() if growth(samples) > MOST_GROWTH]:
        sys.exit(f"memory has grown with {' and with '.join(grown)}")


def growth(samples: list[Sample]) -> float:
    """The largest of the three, the end against the first half."""
    early, late = samples[SAMPLES // 2], samples[-1]
    pairs = zip(early.megabytes, late.megabytes, strict=True)
    return max(after / before for before, after in pairs)


if __name__ == "__main__":
    end_with(main)
