"""How long others wait for a lock that nobody holds, when a loop that used it is blocked.

    python -m bench.blocked_loop [--json FILE]

A process takes a name and gives it back; then its event loop does something else for four
seconds: it sleeps (a blocking call), or it computes (a coroutine that does not await).
Another process asks for the name meanwhile: a moment later, or at once after both have
handed the name to and fro, so that messages were frequent.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median
from typing import NamedTuple

import peerlock
from peerlock.cli.ending import end_with

NAME = "used before"
BLOCKED = 4.0  # seconds
SETTLED = 0.2  # after this many seconds of it another process asks
HAND_OVERS = 500  # before that, if messages are frequent


class Case(NamedTuple):
    """How the loop is blocked, and what came before."""

    computes: bool = False
    often: bool = False  # messages were frequent until then
    thread: bool = True  # the node lives in one of its own
    seconds: float = BLOCKED


HOW = {
    "a blocking call": Case(),
    "a computation": Case(computes=True),
    "a computation, frequent messages before": Case(computes=True, often=True),
}


async def use_and_block(cluster: str, case: Case, pipe: Connection) -> None:
    async with peerlock.join(cluster, thread=case.thread) as node:
        pipe.send("joined")
        await use(node, until=pipe.poll)
        pipe.recv()
        await use(node)
        pipe.send("blocked")
        ends = time.monotonic() + case.seconds
        if not case.computes:
            time.sleep(case.seconds)
        while time.monotonic() < ends:
            pass


async def use(node: peerlock.LockNode, until: Callable[[], bool] = lambda: True) -> None:
    """Take the name and give it back, until that; once at least."""
    while True:
        async with node.lock(NAME):
            await asyncio.sleep(0)
        if until():
            return


def block(cluster: str, case: Case, pipe: Connection) -> None:
    asyncio.run(use_and_block(cluster, case, pipe))


async def waited(cluster: str, case: Case) -> float:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    async with peerlock.join(cluster) as node:
        process = context.Process(target=block, args=(cluster, case, theirs), daemon=True)
        process.start()
        try:
            await asyncio.to_thread(ours.recv)
            for _ in range(HAND_OVERS if case.often else 0):
                await use(node)
            ours.send("the last time")
            await asyncio.to_thread(ours.recv)
            await asyncio.sleep(0.0 if case.often else SETTLED)
            began = time.monotonic()
            async with node.lock(NAME):
                return time.monotonic() - began
        finally:
            process.kill()
            process.join()


def measure(case: Case) -> float:
    """Seconds that another process waits for the name, from asking to its grant."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        return asyncio.run(waited(f"sqlite:///{folder}/cluster.db", case))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    found = {}
    for how, case in HOW.items():
        for thread in (True, False):
            case = case._replace(thread=thread)
            took = [measure(case) for _ in range(options.repeats)]
            what = f"{how}, {'a thread of its own' if thread else 'thread=False'}"
            found[what] = median(took)
            print(f"{what:62}{1e3 * median(took):12,.1f} ms", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    end_with(main)
