"""Many seeds of whole nodes under faults, on all cores or on a cluster.

    python -m bench.soak --seeds 10000 [--first 1] [--on tcp://HOST:8786]
    python -m bench.soak --seed 4711 --log

It says every now and then what it has so far, and what it has when it is interrupted, by
Ctrl-C or SIGTERM.  It ends with exit code 1 if a seed fails, and says how to replay it.  If
a worker process is killed, another one runs its seeds.
"""

from __future__ import annotations

import gc
import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass, field

import click

from peerlock.cli.ending import end_with
from peerlock.cli.places import place_options
from peerlock.lab.executor import Place, WorkerDied, as_done
from peerlock.simulator.cluster import Cluster, ClusterStory, StoryOutcome

CHUNK = 5  # seeds that a worker process takes at one go
EVERY = 30.0  # seconds between two words on how it goes

Results = list[tuple[int, StoryOutcome | str]]


@dataclass
class Totals:
    """What was done so far."""

    seeds: int = 0
    grants: int = 0
    lost: int = 0
    views: int = 0
    messages: int = 0
    faults: int = 0
    happened: Counter[str] = field(default_factory=Counter)
    failures: list[tuple[int, str]] = field(default_factory=list)

    def add(self, seed: int, result: StoryOutcome | str) -> None:
        self.seeds += 1
        if isinstance(result, str):
            self.failures.append((seed, result))
            return
        self.grants += result.grants
        self.lost += result.lost
        self.views += result.views
        self.messages += result.messages
        self.faults += result.faults
        self.happened.update(result.happened)

    def lines(self, seconds: float) -> Iterator[str]:
        rate = self.seeds / seconds
        failed = f"{len(self.failures)} failed" if self.failures else "none failed"
        yield f"{self.seeds:,} seeds in {seconds:.1f} s, {rate:.0f} per second, {failed}"
        yield f"{self.grants:,} grants, {self.lost:,} lost, {self.messages:,} messages"
        yield f"{self.views:,} views, {self.faults:,} faults; among what happened:"
        for what, times in sorted(self.happened.items()):
            yield f"{times:>12,}  {what}"


def attempt(seed: int) -> tuple[int, StoryOutcome | str]:
    """One run; a text if it failed, whatever the failure is."""
    try:
        return seed, Cluster(ClusterStory(seed)).run()
    except Exception as error:
        return seed, f"{type(error).__name__}: {error}"


def attempt_all(seeds: range) -> Results:
    gc.set_threshold(100_000)  # a run ends before it leaves much: a quarter faster
    return [attempt(seed) for seed in seeds]


def replay(seed: int) -> str:
    return f"python -m bench.soak --seed {seed} --log"


def soak(first: int, seeds: int, totals: Totals, place: Place) -> None:
    last = first + seeds
    chunks = (range(i, min(i + CHUNK, last)) for i in range(first, last, CHUNK))
    started = told = time.perf_counter()
    with closing(as_done(attempt_all, chunks, place)) as done:
        for _, results in done:
            take(results, totals)
            if (now := time.perf_counter()) - told > EVERY:
                told = now
                click.echo(f"so far: {next(totals.lines(now - started))}")


ENDING = (signal.SIGINT, signal.SIGTERM)


class Interrupted(KeyboardInterrupt):
    """By a signal: the exit code is the one that shells give for it."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.code = 128 + number


def interrupt_once(number: int, _: object) -> None:
    """timeout(1) sends two signals, and an impatient user may, too."""
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    raise Interrupted(number)


def interruptible() -> None:
    for each in ENDING:
        signal.signal(each, interrupt_once)


def take(results: Results, totals: Totals) -> None:
    for seed, result in results:
        totals.add(seed, result)
        if isinstance(result, str):
            click.echo(f"seed {seed}: {result}\nreplay it with: {replay(seed)}")


@click.command()
@click.option("--seeds", type=click.IntRange(1), default=10_000, show_default=True)
@click.option("--first", type=int, default=1, show_default=True, help="The first seed.")
@click.option(
    "--seed", type=int, help="Only this one, here; a failure shows its traceback."
)
@click.option("--log", is_flag=True, help="With --seed: print what happens.")
@place_options
def main(seeds: int, first: int, seed: int | None, log: bool, place: Place) -> None:
    """Run whole nodes under faults, a run for each seed."""
    if log and seed is None:
        raise click.UsageError("--log goes with --seed, as in: --seed 4711 --log")
    totals, started, code = Totals(), time.perf_counter(), 0
    try:
        interruptible()
        if seed is None:
            soak(first, seeds, totals, place)
        else:
            totals.add(seed, Cluster(ClusterStory(seed), click.echo if log else None).run())
    except Interrupted as signalled:
        code = signalled.code
        click.echo("interrupted; so far:", err=True)
    except WorkerDied as died:
        totals.failures.append((0, str(died)))
        click.echo(f"{died}; so far:", err=True)
    for line in totals.lines(time.perf_counter() - started):
        click.echo(line)
    raise SystemExit(code or (1 if totals.failures else 0))


if __name__ == "__main__":
    end_with(main)
