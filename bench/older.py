"""The rows of bench.locks with the library of this checkout, and with an older one's.

    git worktree add ../older REVISION
    python -m bench.older ../older [--only a,b,c] [--rounds 5]

Both take turns, each measurement in a fresh process; medians.  The benchmark itself is this
checkout's for both.  *Slower* is how many times worse this one is, in whatever is measured:
more than 1 is worse.  The aim is 1; the hand-over of tasks may cost up to a third more, as
the node lives in a thread of its own.  An aim that is missed says in how many of the turns.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from math import nan
from pathlib import Path
from statistics import median
from typing import NamedTuple

import click
from bench.locks import MEASURES, Aim, Values, letters, progress
from bench.rivals import IN_TURN, RIVALS, TASKS, THREADS, UVLOOP
from bench.servers import directory

from peerlock.cli.ending import end_with
from peerlock.core.errors import UsageError

HERE = Path(__file__).parents[1]
OURS = (TASKS, UVLOOP, THREADS, IN_TURN)
OF_TASKS = (TASKS, UVLOOP, IN_TURN)
HAND_OVER, THREAD_COSTS = "c", 4 / 3
MORE_IS_BETTER = "grants/s"  # of all other columns, less is
ONE = "import sys; from bench.older import measure_one; measure_one(*sys.argv[1:])"


def measure_one(letter: str, who: str, seconds: str) -> None:
    """In a process of its own, with whichever library it was given."""
    rival = next(rival for rival in RIVALS if rival.name == who)
    measure = MEASURES[letter]
    with directory() as folder:
        found = measure.run(rival, folder, float(seconds) * measure.longer)
    print(json.dumps(found))


def measured(library: Path, letter: str, who: str, seconds: float) -> Values:
    paths = os.pathsep.join((str(library / "src"), str(HERE)))
    command = [sys.executable, "-c", ONE, letter, who, str(seconds)]
    environment = {**os.environ, "PYTHONPATH": paths}
    done = subprocess.run(
        command, env=environment, stdout=subprocess.PIPE, text=True, check=True
    )
    values: Values = json.loads(done.stdout)
    return values


class Compared(NamedTuple):
    """One column of what one rival does, turn by turn."""

    letter: str
    who: str
    column: str
    this: list[float]
    older: list[float]

    @property
    def what(self) -> str:
        return f"{self.letter}  {self.who}, {self.column}"

    @property
    def limit(self) -> float:
        is_hand_over = self.letter == HAND_OVER and self.who in OF_TASKS
        return THREAD_COSTS if is_hand_over else 1.0

    @property
    def slower(self) -> float:
        return self._worse(median(self.this), median(self.older))

    def _worse(self, this: float, older: float) -> float:
        worse, better = (older, this) if self.column == MORE_IS_BETTER else (this, older)
        return worse / better if better else nan

    def __str__(self) -> str:
        this, older = median(self.this), median(self.older)
        return f"{self.what:42}{this:12,.2f}{older:12,.2f}{self.slower:10.2f}"

    def aim(self) -> str:
        aim = Aim(self.what, self.slower, round(self.limit, 2), at_least=False)
        turns = list(map(self._worse, self.this, self.older))
        missed = sum(turn > aim.limit for turn in turns)
        return str(aim) if aim.met else f"{aim}, in {missed} of {len(turns)} turns"


def compared(
    older: Path, only: list[str], rounds: int, seconds: float
) -> Iterator[Compared]:
    for letter in only:
        for who in OURS:
            runs: dict[Path, list[Values]] = {HERE: [], older: []}
            for turn in range(rounds):
                progress(f"{letter}, {who}, {turn + 1} of {rounds}")
                for library in sorted(runs, reverse=bool(turn % 2)):
                    runs[library].append(measured(library, letter, who, seconds))
            progress("")
            for column in MEASURES[letter].columns:
                this, that = ([run[column] for run in of] for of in runs.values())
                yield Compared(letter, who, column, this, that)


@click.command(help=__doc__)
@click.argument("older", type=click.Path(exists=True, file_okay=False, path_type=Path))
@click.option("--only", default=",".join(MEASURES), metavar="a,b,c", show_default=True)
@click.option("--rounds", default=5, show_default=True)
@click.option("--seconds", default=0.7, show_default=True, help="of a short measurement")
def main(older: Path, only: str, rounds: int, seconds: float) -> None:
    chosen = letters(only)
    if older.resolve() == HERE:
        raise UsageError(f"{older} is this checkout: name the older one")
    print(f"{'':42}{'this':>12}{'older':>12}{'slower':>10}")
    rows = []
    for row in compared(older.resolve(), chosen, rounds, seconds):
        print(row, flush=True)
        rows.append(row)
    print("\nAims", *(row.aim() for row in rows), sep="\n")


if __name__ == "__main__":
    end_with(main)
