"""How fast the checker is, against others that search the same systems in the same run.

    python -m bench.checker [WHAT…]

WHAT is the beginning of a line, such as Lamport or largest; without one, all is measured.
The rivals: an exhaustive search in plain Python that interns and remembers too, if the
yardsticks lie beside this checkout, and SPIN on the same systems, if it is installed
with a C compiler.  On the yardsticks' models SPIN has some more states than ours, because
to enter is a step of its own there.  bench/lamport.pml enters as ours does: SPIN has two
states more, before its processes have started.

Seconds are those of the processor, so that what else runs on the machine counts less.  It
ends with exit code 1 if our counts are not the known ones, or if the plain search was
faster than ours.
"""

from __future__ import annotations

import json
import re
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import replace
from math import inf
from pathlib import Path
from statistics import median

from bench.lamport_clock import DISTINCT, GENERATED, lamport_clock

from peerlock.checker.arrays.search import ArraySearch
from peerlock.checker.model import Model, Network, model
from peerlock.checker.search import Limits
from peerlock.cli.ending import end_with
from peerlock.core.errors import UsageError, unknown

YARDSTICKS = Path(__file__).parents[2] / "shared" / "yardsticks"
LAMPORT = Path(__file__).with_name("lamport.pml")
SPIN_SEARCH = ("-DSAFETY", "-DNOREDUCE", "-DMEMLIM=8000")  # megabytes
REPEATS = 3
LARGEST = 35_418_697  # states
MAX_STATES = 100_000_000


Timed = Callable[[], tuple[int, float] | None]  # states and seconds, or None: not there

# What is searched, by whom.  The first of each is ours.
RIVALS: dict[str, dict[str, Timed]] = {
    "Lamport's clocks, N=3": {
        "peerlock": lambda: lamport_clocks(),
        "plain Python": lambda: plain_python(),
        "SPIN": lambda: spin(YARDSTICKS / "lamport.pml"),
    },
    "Ricart-Agrawala, N=3 R=3": {
        "peerlock": lambda: without_fences("ricart-agrawala", 3, 3),
        "SPIN": lambda: spin(YARDSTICKS / "ra.pml", N=3, R=3),
    },
    "Ricart-Agrawala, N=4 R=1": {
        "peerlock": lambda: without_fences("ricart-agrawala", 4, 1),
        "SPIN": lambda: spin(YARDSTICKS / "ra.pml", N=4, R=1),
    },
    "Lamport, N=3 R=2": {
        "peerlock": lambda: without_fences("lamport", 3, 2),
        "SPIN": lambda: spin(LAMPORT, N=3, R=2),
    },
    "Lamport, N=4 R=1": {
        "peerlock": lambda: without_fences("lamport", 4, 1),
        "SPIN": lambda: spin(LAMPORT, N=4, R=1),
        "SPIN COLLAPSE": lambda: spin(LAMPORT, "-DCOLLAPSE", N=4, R=1),
    },
}


def main() -> None:
    beginnings = tuple(sys.argv[1:]) or ("",)
    names = [*RIVALS, "largest"]
    for beginning in beginnings:
        if not any(name.startswith(beginning) for name in names):
            raise UsageError(unknown("check", beginning, names, listed=True))
    print(f"{'':26}{'':14}{'states':>10}{'median s':>10}{'lowest':>8}{'highest':>8}")
    for what, rivals in RIVALS.items():
        if not what.startswith(beginnings):
            continue
        middle = compare(what, rivals)
        if middle.get("plain Python", inf) < middle["peerlock"]:
            sys.exit("the plain search was faster than ours")
    if "largest".startswith(beginnings):
        print(largest())


def largest() -> str:
    """One check from beginning to end, with its measures: seconds and memory."""
    command = "check lamport -n 4 -r 1 --max-memory 4 --json"
    began = time.perf_counter()
    found = json.loads(run(".", sys.executable, "-m", "peerlock", *command.split()))
    seconds = time.perf_counter() - began
    if found["states"] != LARGEST or found["max_overtaken"] != 3:
        sys.exit(f"{found['states']:,} states of lamport N=4 R=1, not {LARGEST:,}")
    memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1e6
    return f"{command}: {LARGEST:,} states, {seconds:.1f} s, {memory:.2f} GB"


def compare(what: str, rivals: dict[str, Timed]) -> dict[str, float]:
    """All of them in turn, again and again; the medians of their seconds."""
    found: dict[str, list[tuple[int, float]]] = {who: [] for who in rivals}
    for _ in range(REPEATS):
        for who, timed in rivals.items():
            if (result := timed()) is not None:
                found[who].append(result)
    medians = {who: median(s for _, s in runs) for who, runs in found.items() if runs}
    for who, runs in found.items():
        if not runs:
            print(f"{what:26}{who:14}left out: it, or its system, is not there")
            continue
        seconds = [s for _, s in runs]
        ratio = medians["peerlock"] / medians[who]
        times = "" if who == "peerlock" else f"  ours takes {ratio:.2f} times that"
        print(
            f"{what:26}{who:14}{runs[0][0]:10,}{medians[who]:10.2f}"
            f"{min(seconds):8.2f}{max(seconds):8.2f}{times}",
            flush=True,
        )
    return medians


def search(chosen: Model) -> tuple[ArraySearch, float]:
    began = time.process_time()
    done = ArraySearch(chosen)
    done.run(Limits(states=MAX_STATES))
    seconds = time.process_time() - began
    assert done.exhausted
    return done, seconds


def lamport_clocks() -> tuple[int, float]:
    done, seconds = search(lamport_clock())
    found = (done.coverage.states, done.coverage.transitions + 1)
    if found != (DISTINCT, GENERATED):
        sys.exit(f"{found} distinct and generated states, not {(DISTINCT, GENERATED)}")
    return done.coverage.states, seconds


def without_fences(name: str, nodes: int, requests: int) -> tuple[int, float]:
    """SPIN's models know no fences, so ours are left out too."""
    chosen = model(name, nodes, requests, Network(fifo=True))
    done, seconds = search(replace(chosen, fences=False))
    return done.coverage.states, seconds


def plain_python() -> tuple[int, float] | None:
    script = YARDSTICKS / "lamport_memo.py"
    if not script.exists():
        return None
    began = seconds_of_children()
    out = run(".", sys.executable, str(script))
    seconds = seconds_of_children() - began
    states = re.search(r"seen (\d+)", out)
    assert states is not None
    return int(states[1]), seconds


def spin(path: Path, *more: str, **numbers: int) -> tuple[int, float] | None:
    """Only the search is timed."""
    if not (path.exists() and shutil.which("spin") and shutil.which("gcc")):
        return None
    with tempfile.TemporaryDirectory() as folder:
        defines = [f"-D{name}={n}" for name, n in numbers.items()]
        run(folder, "spin", *defines, "-a", str(path))
        run(folder, "gcc", "-O2", *SPIN_SEARCH, *more, "-o", "pan", "pan.c")
        began = seconds_of_children()
        out = run(folder, "./pan", "-E", "-m1000000", "-w24")
        seconds = seconds_of_children() - began
    states = re.search(r"(\d+) states, stored", out)
    assert states is not None and "errors: 0" in out, out
    assert "Search not completed" not in out, out  # there was not enough memory
    return int(states[1]), seconds


def seconds_of_children() -> float:
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run(folder: str, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


if __name__ == "__main__":
    end_with(main)
