"""How fast the checker is, against others that search the same systems in the same run.

    python -m bench.checker

The rivals: an exhaustive search in plain Python that interns and remembers too, if the
yardsticks lie beside this checkout, and SPIN on the same systems, if it is installed
with a C compiler.  It ends with exit code 1 if our counts are not the known ones, or if
the plain search was faster than ours.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

from bench.lamport_clock import DISTINCT, GENERATED, lamport_clock

from peerlock.checker.model import Model, Network, model
from peerlock.checker.search import Limits, Search

YARDSTICKS = Path(__file__).parents[2] / "shared" / "yardsticks"


def main() -> None:
    ours = lamport()
    plain = plain_python()
    spin("lamport.pml", {}, ours)
    for nodes, requests in ((3, 3), (4, 1)):
        spin("ra.pml", {"N": nodes, "R": requests}, ricart_agrawala(nodes, requests))
    if plain is not None and ours > plain:
        sys.exit(f"ours took {ours:.2f} s, the plain search {plain:.2f} s")


def search(chosen: Model, what: str) -> tuple[Search, float]:
    began = time.perf_counter()
    done = Search(chosen)
    done.run(Limits())
    seconds = time.perf_counter() - began
    assert done.exhausted
    tell("peerlock", what, done.coverage.states, seconds)
    return done, seconds


def lamport() -> float:
    done, seconds = search(lamport_clock(), "Lamport's clocks")
    found = (done.coverage.states, done.coverage.transitions + 1)
    if found != (DISTINCT, GENERATED):
        sys.exit(f"{found} distinct and generated states, not {(DISTINCT, GENERATED)}")
    return seconds


def ricart_agrawala(nodes: int, requests: int) -> float:
    chosen = model("ricart-agrawala", nodes, requests, Network(fifo=True))
    what = f"Ricart-Agrawala, N={nodes} R={requests}"
    return search(replace(chosen, fences=False), what)[1]


def plain_python() -> float | None:
    script = YARDSTICKS / "lamport_memo.py"
    if not script.exists():
        print("plain Python: left out, its script is not there")
        return None
    began = time.perf_counter()
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=True
    )
    seconds = time.perf_counter() - began
    states = re.search(r"seen (\d+)", done.stdout)
    assert states is not None
    tell("plain Python", "Lamport's clocks", int(states[1]), seconds)
    return seconds


def spin(source: str, numbers: dict[str, int], ours: float) -> None:
    """Its models know no fences, so ours are left out too; and to enter is a step there."""
    what = " ".join([source, *(f"{name}={n}" for name, n in numbers.items())])
    path = YARDSTICKS / source
    if not (path.exists() and shutil.which("spin") and shutil.which("gcc")):
        print(f"SPIN, {what}: left out, it or its model is not there")
        return
    with tempfile.TemporaryDirectory() as folder:
        defines = [f"-D{name}={n}" for name, n in numbers.items()]
        run(folder, "spin", *defines, "-a", str(path))
        run(folder, "gcc", "-O2", "-DSAFETY", "-DNOREDUCE", "-o", "pan", "pan.c")
        began = time.perf_counter()
        out = run(folder, "./pan", "-E", "-m1000000", "-w24")
        seconds = time.perf_counter() - began
    states = re.search(r"(\d+) states, stored", out)
    assert states is not None
    tell(
        "SPIN", what, int(states[1]), seconds, f"ours takes {ours / seconds:.1f} times that"
    )


def run(folder: str, *command: str) -> str:
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout


def tell(who: str, what: str, states: int, seconds: float, more: str = "") -> None:
    print(f"{who:12}  {what:28}  {states:>9,} states  {seconds:6.2f} s  {more}", flush=True)


if __name__ == "__main__":
    main()
