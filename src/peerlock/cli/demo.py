"""`peerlock demo`: real processes, one lock, one of them killed while it holds the lock."""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import signal
import sys
import tempfile
import time
from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import quote

import click
from rich.console import Group, RenderableType
from rich.live import Live
from rich.text import Text

from peerlock.cli.figures import rounded
from peerlock.cli.output import Finite, console, json_option, plain_table, print_json
from peerlock.core.errors import UsageError
from peerlock.node.terms import LOCK, demand

COLOURS = ("cyan", "magenta", "yellow", "green", "blue", "bright_red", "white", "orange3")
STRIP = 64  # number of the last grants that are shown
LONGEST_START = 30.0  # seconds until all have joined
LONGEST_END = 20.0  # and until all have left


@dataclass
class DemoWorker:
    number: int
    process: asyncio.subprocess.Process
    state: str = "starting"
    grants: int = 0
    fence: int = 0
    messages: int = 0
    overlaps: int = 0
    killed: bool = False

    @property
    def colour(self) -> str:
        return COLOURS[self.number % len(COLOURS)]


@dataclass
class Show:
    """What is known so far."""

    algorithm: str
    seconds: float
    workers: list[DemoWorker] = field(default_factory=list)
    strip: deque[DemoWorker] = field(default_factory=lambda: deque(maxlen=STRIP))
    began: float = 0.0
    killed_at: float | None = None
    recovered_ms: float | None = None

    def heard(self, worker: DemoWorker, told: dict[str, Any]) -> None:
        event, at = told["event"], told["at"]
        if worker.killed:
            return
        worker.messages = told.get("messages", worker.messages)
        if event == "enter":
            worker.state, worker.fence = "holds the lock", told["fence"]
            worker.grants += 1
            self.strip.append(worker)
            if told["stays"]:
                self._kill(worker)
            elif self.killed_at is not None and self.recovered_ms is None:
                self.recovered_ms = round(1000 * (at - self.killed_at), 2)
        elif event == "leave":
            worker.state = "waits"
            worker.overlaps += not told["alone"]
        elif event == "joined":
            worker.state = "waits"

    def _kill(self, worker: DemoWorker) -> None:
        """While it holds."""
        self.killed_at = time.monotonic()
        os.kill(worker.process.pid, signal.SIGKILL)
        worker.killed = True
        worker.state = "killed while it held the lock"

    @property
    def grants(self) -> int:
        return sum(worker.grants for worker in self.workers)

    def result(self) -> dict[str, Any]:
        messages = sum(worker.messages for worker in self.workers)
        shares = [w.grants for w in self.workers if not w.killed]
        squares = len(shares) * sum(n * n for n in shares)
        return {
            "algorithm": self.algorithm,
            "nodes": len(self.workers),
            "grants": self.grants,
            "overlaps": sum(worker.overlaps for worker in self.workers),
            "messages_per_grant": ratio(messages, self.grants, 2),
            "fairness": ratio(sum(shares) ** 2, squares, 4),
            "killed": sum(worker.killed for worker in self.workers),
            "recovered_ms": self.recovered_ms,
        }


def ratio(part: float, whole: float, digits: int) -> float | None:
    """None if there are no samples."""
    return round(part / whole, digits) if whole else None


@click.command()
@click.option(
    "-n",
    "--nodes",
    type=click.IntRange(2, 64),
    default=5,
    show_default=True,
    help="Number of processes.",
)
@click.option(
    "--seconds",
    type=Finite(1, 3600),
    default=10.0,
    show_default=True,
    help="Duration.",
)
@click.option("--algorithm", default=LOCK, show_default=True, help="See peerlock list.")
@json_option
def demo(nodes: int, seconds: float, algorithm: str, as_json: bool) -> None:
    """Real processes compete for one lock, and its holder is killed.

    Each holder writes a file in two halves, which corrupts it if two processes hold the
    lock at once.  Half-way through, a holder is killed with SIGKILL, and the time is
    measured until another process acquires the lock.

    Exit codes: 0 success; 1 two held the lock at once, or none acquired it after the kill.
    """
    demand(algorithm)  # raises, if it cannot serve a lock
    show = Show(algorithm, seconds)
    quiet = as_json or not console().is_terminal
    if not as_json:
        console().print(f"{nodes} processes, one lock, by {algorithm}.")
    with tempfile.TemporaryDirectory(prefix="peerlock-demo-") as folder:
        asyncio.run(play(show, nodes, Path(folder), quiet))
    result = show.result()
    if as_json:
        print_json(result)
    else:
        console().print(closing_words(show, result))
    if result["overlaps"] or result["recovered_ms"] is None:
        sys.exit(1)


async def play(show: Show, nodes: int, folder: Path, quiet: bool) -> None:
    try:
        for number in range(nodes):
            show.workers.append(DemoWorker(number, await started(show.algorithm, folder)))
        listening = [asyncio.ensure_future(listen(show, w)) for w in show.workers]
        with displayed(show, quiet):
            await all_joined(show, listening)
            show.began = time.monotonic()
            await asyncio.sleep(show.seconds / 2)
            victim = show.workers[nodes // 2].process.stdin
            assert victim is not None
            victim.write(b"stay\n")
            await asyncio.sleep(show.seconds / 2)
            tell_to_end(show.workers)
            await asyncio.wait(listening, timeout=LONGEST_END)
    finally:
        tell_to_end(show.workers)
        for worker in show.workers:
            await ended(worker.process)


async def started(algorithm: str, folder: Path) -> asyncio.subprocess.Process:
    """Ctrl-C is for this process: the workers have it blocked, and end when their stdin
    ends."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        return await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "peerlock.cli.demo_worker",
            f"sqlite://{quote(str(folder))}/cluster.db",
            algorithm,
            str(folder / "shared"),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env={**os.environ, "PYTHONUNBUFFERED": "1"},
        )
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def tell_to_end(workers: Sequence[DemoWorker]) -> None:
    for worker in workers:
        assert worker.process.stdin is not None
        worker.process.stdin.close()


async def ended(process: asyncio.subprocess.Process) -> None:
    """Waits for it to end by itself, and kills it if it does not."""
    try:
        async with asyncio.timeout(1):
            await process.wait()
    except TimeoutError:
        os.kill(process.pid, signal.SIGKILL)
        await process.wait()


async def listen(show: Show, worker: DemoWorker) -> None:
    assert worker.process.stdout is not None
    async for line in worker.process.stdout:
        with contextlib.suppress(json.JSONDecodeError):  # the last line of the killed one
            show.heard(worker, json.loads(line))


async def all_joined(show: Show, listening: Sequence[asyncio.Future[None]]) -> None:
    deadline = time.monotonic() + LONGEST_START
    while any(worker.state == "starting" for worker in show.workers):
        if any(done.done() for done in listening) or time.monotonic() > deadline:
            raise UsageError("a process of the demo did not start: see its error above")
        await asyncio.sleep(0.02)


@contextlib.contextmanager
def displayed(show: Show, quiet: bool) -> Iterator[None]:
    if quiet:
        yield
        return
    with Live(
        get_renderable=lambda: picture(show), console=console(), refresh_per_second=15
    ):
        yield


def picture(show: Show) -> RenderableType:
    table = plain_table("", "pid", "grants", "", "fence", numbers=frozenset({1, 2}))
    for worker in show.workers:
        style = "dim strike" if worker.killed else worker.colour
        table.add_row(
            Text("■", style=worker.colour),
            Text(str(worker.process.pid), style=style),
            f"{worker.grants:,}",
            Text(worker.state, style="bold red" if worker.killed else ""),
            str(worker.fence or ""),
        )
    strip = Text("  ")
    for worker in show.strip:
        strip.append("■", style=worker.colour)
    elapsed = time.monotonic() - show.began if show.began else 0.0
    head = (
        f"{min(elapsed, show.seconds):4.1f} of {show.seconds:g} s, {show.grants:,} grants"
    )
    return Group(Text(head), table, Text(), Text("  holders, in order:"), strip)


def closing_words(show: Show, result: dict[str, Any]) -> RenderableType:
    overlaps = result["overlaps"]
    alone = "never two holders" if not overlaps else f"[red]{overlaps} overlaps[/red]"
    lines = [
        f"\n[bold]{result['grants']:,} grants[/bold] in {show.seconds:g} s, {alone}.",
        f"{rounded(result['messages_per_grant'])} messages per grant; "
        f"fairness {rounded(result['fairness'], 4)} (1 is perfectly even).",
    ]
    killed = [w.process.pid for w in show.workers if w.killed]
    if killed and result["recovered_ms"] is not None:
        lines.append(
            f"Process {killed[0]} was killed while it held the lock; "
            f"another acquired it [bold]{result['recovered_ms']} ms[/bold] later."
        )
    else:
        lines.append("[red]No process acquired the lock after its holder was killed.[/red]")
    return "\n".join(lines)
