"""The rows of bench.locks with the library of this checkout, and with an older one's.

    git worktree add ../older REVISION
    python -m bench.older ../older [--only a,b,c] [--rounds 5]

Both take turns, each measurement in a fresh process; medians, and this one's over that of
the older.  The benchmark itself is this checkout's for both.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from statistics import median

import click
from bench.locks import MEASURES, letters, progress
from bench.rivals import RIVALS, TASKS, THREADS, UVLOOP
from bench.servers import directory

from peerlock.cli.ending import end_with

HERE = Path(__file__).parents[1]
OURS = (TASKS, UVLOOP, THREADS)
ONE = "import sys; from bench.older import measure_one; measure_one(*sys.argv[1:])"


def measure_one(letter: str, who: str, seconds: str) -> None:
    """In a process of its own, with whichever library it was given."""
    rival = next(rival for rival in RIVALS if rival.name == who)
    measure = MEASURES[letter]
    with directory() as folder:
        found = measure.run(rival, folder, float(seconds) * measure.longer)
    print(json.dumps(found[next(iter(measure.columns))]))


def measured(library: Path, letter: str, who: str, seconds: float) -> float:
    paths = os.pathsep.join((str(library / "src"), str(HERE)))
    command = [sys.executable, "-c", ONE, letter, who, str(seconds)]
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    return float(json.loads(done.stdout))


def rows(older: Path, only: list[str], rounds: int, seconds: float) -> Iterator[str]:
    yield f"{'':34}{'this':>12}{'older':>12}{'this/older':>12}"
    for letter in only:
        for who in OURS:
            runs: dict[Path, list[float]] = {HERE: [], older: []}
            for turn in range(rounds):
                progress(f"{letter}, {who}, {turn + 1} of {rounds}")
                for library in sorted(runs, reverse=bool(turn % 2)):
                    runs[library].append(measured(library, letter, who, seconds))
            progress("")
            this, that = median(runs[HERE]), median(runs[older])
            what = f"{letter}  {who}, {next(iter(MEASURES[letter].columns))}"
            yield f"{what:34}{this:12,.1f}{that:12,.1f}{this / that:12.2f}"


@click.command(help=__doc__)
@click.argument("older", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--only", default=",".join(MEASURES), metavar="a,b,c", show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--seconds", default=0.7, show_default=True, help="of a short measurement")
def main(older: Path, only: str, rounds: int, seconds: float) -> None:
    for row in rows(older.resolve(), letters(only), rounds, seconds):
        print(row, flush=True)


if __name__ == "__main__":
    end_with(main)
