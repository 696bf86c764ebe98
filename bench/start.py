"""How long it takes to start, as ratios to bare Python, all in one run.

    python -m bench.start [--rounds 15] [--json FILE]

Every command is run once per round, in turn, so that a noisy machine is noisy for all of
them; the medians are compared.  `peerlock lock` runs alone, on a cluster whose files exist.
Python finds bytecode for all of them, as it does for what pip has installed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from statistics import median, quantiles
from typing import NamedTuple

from peerlock.cli.ending import end_with

PEERLOCK = str(Path(sys.executable).with_name("peerlock"))
BARE, PARTS, IMPORT = "python -c pass", "import asyncio, msgspec", "import peerlock"
VERSION, LIST, LOCK = "peerlock --version", "peerlock list", "peerlock lock x -- true"
FLOCK = "flock f true"


class Aim(NamedTuple):
    what: str
    beside: str
    at_most: float


AIMS = (
    Aim(IMPORT, PARTS, 1.25),
    Aim(LOCK, PARTS, 2.0),
    Aim(VERSION, BARE, 4.0),
    Aim(LIST, BARE, 4.0),
)


def commands(folder: Path) -> dict[str, list[str]]:
    found = {
        BARE: [sys.executable, "-c", "pass"],
        PARTS: [sys.executable, "-c", PARTS],
        IMPORT: [sys.executable, "-c", IMPORT],
        VERSION: [PEERLOCK, "--version"],
        LIST: [PEERLOCK, "list"],
        LOCK: [PEERLOCK, "lock", "x", "--", "true"],
    }
    if shutil.which("flock"):
        found[FLOCK] = ["flock", str(folder / "f"), "true"]
    return found


def seconds(command: Sequence[str], environment: Mapping[str, str]) -> float:
    began = time.perf_counter()
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    return time.perf_counter() - began


def as_installed(folder: Path) -> dict[str, str]:
    """The environment: Python writes bytecode, and finds it; a cluster of our own."""
    environment = {
        **os.environ,
        "PEERLOCK_CLUSTER": f"sqlite://{folder}/cluster.db",
        "PYTHONPYCACHEPREFIX": f"{folder}/bytecode",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)
    return environment


def measure(rounds: int) -> dict[str, list[float]]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        environment = as_installed(folder)
        all_of_them = commands(folder)
        for command in all_of_them.values():  # bytecode is written, the cluster is there
            seconds(command, environment)
        taken: dict[str, list[float]] = {what: [] for what in all_of_them}
        for _ in range(rounds):
            for what, command in all_of_them.items():
                taken[what].append(seconds(command, environment))
    return taken


def report(taken: Mapping[str, Sequence[float]]) -> bool:
    print(f"{'':26} {'median':>9} {'quartiles':>17}")
    for what, times in taken.items():
        low, middle, high = (1000 * t for t in quantiles(times, n=4))
        print(f"{what:26} {middle:6.1f} ms {low:7.1f} … {high:5.1f} ms")
    print()
    all_met = True
    for aim in AIMS:
        ratio = median(taken[aim.what]) / median(taken[aim.beside])
        met = ratio <= aim.at_most
        all_met = all_met and met
        verdict = "met" if met else "MISSED"
        print(
            f"{aim.what:26} {ratio:5.2f} × {aim.beside} (aim: {aim.at_most} ×): {verdict}"
        )
    return all_met


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rounds", type=int, default=15, help="runs of each command")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the seconds here")
    options = parser.parse_args()
    taken = measure(options.rounds)
    all_met = report(taken)
    if options.json:
        options.json.write_text(json.dumps(taken, indent=1))
    sys.exit(not all_met)


if __name__ == "__main__":
    end_with(main)
