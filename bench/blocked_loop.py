"""How long others wait for a lock that nobody holds, when a loop that used it is blocked.

    python -m bench.blocked_loop [--json FILE]

A process takes a name and gives it back; then its event loop does something else for four
seconds: it sleeps (a blocking call), or it computes (a coroutine that does not await).
Another process asks for the name meanwhile.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import multiprocessing
import tempfile
import time
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median

import peerlock
from peerlock.cli.ending import end_with

BLOCKED = 4.0  # seconds
SETTLED = 0.2  # after this many seconds of it another process asks

HOW = {"a blocking call": False, "a computation": True}


async def use_and_block(
    cluster: str, computes: bool, thread: bool, seconds: float, pipe: Connection
) -> None:
    async with peerlock.join(cluster, thread=thread) as node:
        async with node.lock("used before"):
            pass
        pipe.send("blocked")
        ends = time.monotonic() + seconds
        if not computes:
            time.sleep(seconds)
        while time.monotonic() < ends:
            pass


def block(*arguments: object) -> None:
    asyncio.run(use_and_block(*arguments))  # type: ignore[arg-type]


async def waited(cluster: str, *arguments: object) -> float:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    async with peerlock.join(cluster) as node:
        process = context.Process(
            target=block, args=(cluster, *arguments, theirs), daemon=True
        )
        process.start()
        try:
            await asyncio.to_thread(ours.recv)
            await asyncio.sleep(SETTLED)
            began = time.monotonic()
            async with node.lock("used before"):
                return time.monotonic() - began
        finally:
            process.kill()
            process.join()


def measure(computes: bool = False, thread: bool = True, blocked: float = BLOCKED) -> float:
    """Seconds that another process waits for the name, from asking to its grant."""
    with tempfile.TemporaryDirectory(prefix="bench-") as folder:
        cluster = f"sqlite:///{folder}/cluster.db"
        return asyncio.run(waited(cluster, computes, thread, blocked))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    found = {}
    for how, computes in HOW.items():
        for thread in (True, False):
            took = [measure(computes, thread) for _ in range(options.repeats)]
            what = f"{how}, {'a thread of its own' if thread else 'thread=False'}"
            found[what] = median(took)
            print(f"{what:40}{1e3 * median(took):12,.1f} ms", flush=True)
    if options.json:
        options.json.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    end_with(main)
