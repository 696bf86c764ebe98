"""One run: hosts, a nemesis for a while, calm, and the judge."""

import signal
import time
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

from peerlock.node.terms import LOCK
from tests.chaos.history import History, read
from tests.chaos.hosts import Hosts
from tests.chaos.judge import Verdict, judge
from tests.chaos.nemesis import Nemesis
from tests.chaos.worker import Use

# The default, and one of each family: a token passed on along pointers, everybody's
# permission, quorums, a token in a tree, a token that is broadcast for.
ALGORITHMS = (
    LOCK,
    "naimi-trehel",
    "ricart-agrawala",
    "maekawa",
    "raymond",
    "suzuki-kasami",
)
PERMITS = 3
START = 60.0  # seconds at most until all have been let in once
CALM = 20.0  # seconds in which nothing happens any more
END = 120.0  # seconds at most for those that still wait


@dataclass(frozen=True)
class Play:
    seconds: float = 600.0
    seed: int = 1
    lease: float = 3.0
    algorithms: tuple[str, ...] = ALGORITHMS
    each: int = 2  # workers on a host
    kinds: tuple[str, ...] = ()  # of faults, in this order; otherwise all
    calm: float = CALM
    engine: str = "etcd"  # or postgresql

    def uses(self) -> list[Use]:
        locks = [Use(f"lock {name}", algorithm=name) for name in self.algorithms]
        shared = Use("shared", readers=0.7)
        return [*locks, shared, Use("semaphore", permits=PERMITS, hold=0.05)]


def play(wanted: Play, folder: Path) -> tuple[History, Verdict]:
    """However it ends, nothing of it is left but what is in the folder."""
    hosts = Hosts(
        folder,
        wanted.uses(),
        wanted.lease,
        wanted.seed,
        each=wanted.each,
        engine=wanted.engine,
    )
    before = signal.signal(signal.SIGTERM, interrupted)
    try:
        with hosts:
            wait_for_all(hosts)
            nemesis = Nemesis(hosts, wanted.seed, folder / "nemesis.jsonl")
            try:
                nemesis.run(wanted.seconds, list(wanted.kinds))
                nemesis.calm_down()
            finally:
                nemesis.close()
            time.sleep(wanted.calm)
            hosts.let_leave(END)
    finally:
        signal.signal(signal.SIGTERM, before)
    history = read(folder)
    return history, judge(history, hosts.failed)


def wait_for_all(hosts: Hosts) -> None:
    """Until everybody has been let in."""
    ends = time.monotonic() + START
    waiting = {worker.who for worker in hosts.workers.values()}
    while waiting:
        hosts.mind_the_failed()
        assert not hosts.failed, hosts.failed
        assert time.monotonic() < ends, f"not let in: {sorted(waiting)}"
        waiting = {who for who in waiting if not has_been_in(hosts.folder, who)}
        time.sleep(0.1)


def has_been_in(folder: Path, who: str) -> bool:
    path = folder / f"{who}.jsonl"
    return path.exists() and '"grant"' in path.read_text()


def interrupted(number: int, frame: FrameType | None) -> None:
    raise KeyboardInterrupt
