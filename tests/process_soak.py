"""Many grants, and processes in trouble for as long as you like.

First, eight processes count together in a file, so many times, by each algorithm that
serves locks.  Then come rounds of trouble: each has a seed of its own and fresh processes;
a round that fails tells its seed.  The members are kept by files, by one etcd or by one
PostgreSQL (`--engine`); counting needs files.

Ctrl-C and SIGTERM end it: it kills its processes, judges what they have written, and prints
what it has so far.
"""

import argparse
import os
import signal
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from pathlib import Path

from bench.soak import ENDING, Interrupted

from peerlock.algorithms.catalogue import CATALOGUE
from tests.support.etcd_servers import servers
from tests.support.postgresql_servers import data_directory, family, server, why_not
from tests.support.processes import (
    Crowd,
    Trouble,
    count_together,
    judge_store,
    must_have_counted,
)

ROUND = 30.0


@contextmanager
def files(folder: Path) -> Iterator[str]:
    yield f"sqlite://{folder}/c.db"


@contextmanager
def etcd(folder: Path) -> Iterator[str]:
    with servers(folder) as (one,):
        yield f"etcd://{one.address}/soak"


@contextmanager
def postgresql(_: Path) -> Iterator[str]:
    if reason := why_not():
        raise SystemExit(reason)
    with data_directory() as template, server(template) as one:
        yield f"{one.conninfo()}?cluster=soak"


# Its cluster, and the lease of a member in it: etcd's are at least a second long.
ENGINES: dict[str, tuple[Callable[[Path], AbstractContextManager[str]], float]] = {
    "files": (files, 0.5),
    "etcd": (etcd, 2.0),
    "postgresql": (postgresql, 1.0),
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=300)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--engine", choices=ENGINES, default="files")
    parser.add_argument("--processes", type=int, default=6)
    parser.add_argument("--grants", type=int, default=20_000, help="by each algorithm")
    options = parser.parse_args()
    total = Counter[str]()
    interruptible()
    try:
        if options.engine == "files":
            count(options.grants // 8, total)
        trouble(options, total)
    except Interrupted as signalled:
        end_children()
        say(f"interrupted; so far: {told(total)}")
        raise SystemExit(signalled.code) from None


say = partial(print, flush=True)


def interruptible() -> None:
    """The first signal ends the run.  A thread waits for it, as signals are blocked here:
    our processes inherit that, and Ctrl-C, which goes to all of a terminal's, is for us."""
    signal.pthread_sigmask(signal.SIG_BLOCK, ENDING)
    interrupted: list[int] = []

    def wait(main: int) -> None:
        interrupted.append(signal.sigwait(ENDING))
        signal.pthread_kill(main, signal.SIGUSR1)

    def interrupt(*_: object) -> None:
        raise Interrupted(interrupted[0])

    signal.signal(signal.SIGUSR1, interrupt)
    threading.Thread(target=wait, args=(threading.get_ident(),), daemon=True).start()


def end_children() -> None:
    """Those that were about to be started, or to leave, when the signal came."""
    for pid in family(os.getpid())[1:]:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)


def told(total: Counter[str]) -> str:
    return ", ".join(f"{name} {number:,}" for name, number in total.items()) or "nothing"


def count(rounds: int, total: Counter[str]) -> None:
    entries = [a for a in CATALOGUE if "lock" in a.serves] if rounds else []
    for entry in entries:
        with (
            tempfile.TemporaryDirectory(prefix="pl", dir="/tmp") as path,
            Crowd(f"sqlite://{path}/c.db", 8) as crowd,
        ):
            began = time.monotonic()
            found = count_together(crowd, Path(path), entry, rounds)
            took = time.monotonic() - began
        must_have_counted(*found, 8 * rounds)
        total["counted"] += 8 * rounds
        say(f"{entry.name}: {8 * rounds:,} grants in {took:.1f} s, nothing lost")


def trouble(options: argparse.Namespace, total: Counter[str]) -> None:
    engine, lease = ENGINES[options.engine]
    ends, seed = time.monotonic() + options.seconds, options.seed
    while (left := ends - time.monotonic()) > 0:
        with (
            tempfile.TemporaryDirectory(prefix="pl", dir="/tmp") as path,
            engine(Path(path)) as cluster,
        ):
            store = Path(path, "store.db")
            say(f"seed {seed}")
            processes = Trouble(cluster, store, seed, options.processes, lease)
            try:
                processes.run(min(ROUND, left))
            except Interrupted:
                total.update(processes.counts, written=judge_store(store))
                raise
            total.update(processes.counts, written=judge_store(store))
        say(f"so far: {told(total)}")
        seed += 1


if __name__ == "__main__":
    main()
