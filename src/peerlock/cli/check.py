"""`peerlock check`: every schedule of a small cluster, and a shortest counterexample."""

from __future__ import annotations

import json
import re
import resource
import signal
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, replace
from pathlib import Path
from types import FrameType
from typing import Any

import click
from rich.console import Console
from rich.live import Live
from rich.markup import escape
from rich.text import Text

from peerlock import traces
from peerlock.algorithms.lookup import algorithm
from peerlock.checker.check import check as check_model
from peerlock.checker.model import Model, Network, card_network, model
from peerlock.checker.reductions import REDUCTIONS
from peerlock.checker.report import Verdict, Violation
from peerlock.checker.search import Coverage, Limits
from peerlock.checker.stabilisation import convergence
from peerlock.cli import everywhere as from_everywhere
from peerlock.cli import start
from peerlock.cli.ending import INTERRUPTED, VIOLATED
from peerlock.cli.figures import counted
from peerlock.cli.names import AlgorithmName
from peerlock.cli.output import (
    Finite,
    console,
    exit_with,
    json_option,
    must_be_drawable,
    plain_table,
    print_json,
    trace_option,
    write_trace,
)
from peerlock.cli.settings import in_words, settings_options
from peerlock.core.errors import UsageError
from peerlock.traces import jsonl, text

HOLDS, CUT_SHORT = 0, 3


@click.command()
@click.argument("name", type=AlgorithmName())
@click.option(
    "-n",
    "--nodes",
    type=int,
    help="Number of nodes.  [default: 3, or the size that shows the verdict]",
)
@click.option(
    "-r",
    "--requests",
    metavar="R|R1,R2,…",
    help="Requests of each node, or a number for each node.  "
    "[default: 1, or the number that shows the verdict]",
)
@click.option(
    "--forever", is_flag=True, help="Requests without end: checks for starvation."
)
@click.option(
    "--fifo/--reorder",
    default=None,
    help="Whether messages between two nodes stay in order.  [default: as its card says]",
)
@settings_options
@click.option(
    "--losses", type=click.IntRange(0, 99), help="Number of messages that may be lost."
)
@click.option(
    "--duplicates",
    type=click.IntRange(0, 99),
    help="Number of messages that may arrive twice.",
)
@click.option(
    "--crashes", type=click.IntRange(0, 99), help="Number of nodes that may crash."
)
@click.option(
    "--everywhere",
    is_flag=True,
    help="Start in every state that a fault may leave behind, with requests without end, "
    "and check convergence.",
)
@click.option(
    "--reduce",
    "reductions",
    type=click.Choice(REDUCTIONS),
    multiple=True,
    help="Search a part of the schedules that is enough: states up to renamings of nodes, "
    "or deliveries that commute with all else in one order.  May be repeated.",
)
@click.option("--no-fences", is_flag=True, help="Do not check fences, which saves states.")
@click.option(
    "--max-states",
    type=click.IntRange(0),
    default=100_000_000,
    show_default=True,
    help="Stop after this many states.",
)
@click.option("--max-seconds", type=Finite(0), help="Stop after this many seconds.")
@click.option(
    "--max-memory",
    type=Finite(0),
    metavar="GB",
    help="Stop before using more memory.  [default: half of the free memory]",
)
@trace_option(
    "Write the counterexample, or if there is none the schedule with most overtaking"
)
@json_option
def check(
    paths: tuple[Path, ...],
    as_json: bool,
    everywhere: bool,
    reductions: tuple[str, ...],
    **options: Any,
) -> None:
    """Check algorithm NAME in every schedule of a small cluster.

    Exit codes: 0 all properties hold in every schedule; 1 a property is violated; 2 wrong
    usage; 3 a limit was reached and 130 interrupted, without a violation so far, which
    proves nothing.
    """
    watch = Watch(options.pop("max_seconds"), options.pop("max_memory"))
    limits = Limits(options.pop("max_states"), watch.stop, watch.room)
    chosen = model_from(**options)
    if everywhere:
        if reductions:
            raise UsageError("--everywhere searches all states: omit --reduce")
        converge(chosen, limits, watch, as_json)
        return
    for path in paths:
        must_be_drawable(path)
    report = watch.over(chosen, limits, reductions)
    shown = report.violation.trace if report.violation else report.overtaking
    written = paths if shown is not None else ()
    for path in written:
        assert shown is not None
        write_trace(shown, path)
    with exit_with(exit_code(report, watch.interrupted)):
        if as_json:
            print_json(as_keys(report, watch.seconds))
        else:
            tell(report, watch.seconds)
            for path in written:
                console().print(f"[green]wrote {escape(str(path))}[/]")


def converge(chosen: Model, limits: Limits, watch: Watch, as_json: bool) -> None:
    found = convergence(chosen, limits)
    code = CUT_SHORT if found.cut else HOLDS if found.holds else VIOLATED
    with exit_with(code):
        if as_json:
            print_json(from_everywhere.as_keys(chosen, found, watch.seconds))
        else:
            from_everywhere.tell(chosen, found, watch.seconds)


def model_from(
    name: str,
    nodes: int | None,
    requests: str | None,
    forever: bool,
    fifo: bool | None,
    losses: int | None,
    duplicates: int | None,
    crashes: int | None,
    no_fences: bool,
    **settings: Any,
) -> Model:
    entry = algorithm(name)
    shown, network = entry.exhibit, card_network(entry)
    network = Network(
        fifo=network.fifo if fifo is None else fifo,
        losses=network.losses if losses is None else losses,
        duplications=network.duplications if duplicates is None else duplicates,
        crashes=network.crashes if crashes is None else crashes,
        returns=network.returns,
    )
    if forever and requests:
        raise UsageError("--forever makes requests without end: omit -r")
    if nodes is None:
        nodes = shown.nodes
        settings["quorums"] = settings["quorums"] or shown.quorums
    asked = None if forever else parse_requests(requests) if requests else shown.requests
    chosen = model(name, nodes, asked, network, **settings)
    return replace(chosen, fences=chosen.fences and not no_fences)


def parse_requests(text: str) -> int | tuple[int, ...]:
    try:
        counts = tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"invalid requests {text!r}: use 2, or 1,3,3") from None
    return counts[0] if len(counts) == 1 else counts


def exit_code(report: Verdict, interrupted: bool) -> int:
    if report.violation is not None:
        return VIOLATED
    if report.complete:
        return HOLDS
    return INTERRUPTED if interrupted else CUT_SHORT


GRACE = 1.02  # of the time limit, until the alarm


class OutOfTime(BaseException):
    """Not an Exception: a search takes those for bugs of the algorithm."""


class Watch:
    """Watches the time, the memory and Ctrl-C during a search, and shows its progress."""

    def __init__(self, max_seconds: float | None, max_memory: float | None) -> None:
        self.max_seconds = max_seconds
        self.max_memory = gigabytes_free() / 2 if max_memory is None else max_memory
        self.began = time.perf_counter()
        self.interrupted = False
        self.doing = ""
        self.coverage = Coverage(0, 0, 0)
        self.live: Live | None = None

    @property
    def seconds(self) -> float:
        return time.perf_counter() - self.began

    @property
    def _passed(self) -> float:
        """Since the process began."""
        return time.perf_counter() - (start.began or self.began)

    def over(
        self, chosen: Model, limits: Limits, reductions: tuple[str, ...] = ()
    ) -> Verdict:
        """The search and the measuring check the time limit themselves, now and then.

        If they do so too late, an alarm ends them wherever they are.
        """
        try:
            with self._signals(), self._display():
                return check_model(chosen, limits, self.now, reductions=reductions)
        except OutOfTime:
            cut = f"the limit of {self.max_seconds:g} seconds was reached"
            return Verdict(chosen, self.coverage, False, cut, None, False)

    @contextmanager
    def _signals(self) -> Iterator[None]:
        """Ctrl-C sets a flag, so that the search ends at a well-defined place."""
        before = signal.signal(signal.SIGINT, self._interrupt)
        alarm = signal.signal(signal.SIGALRM, self._time_is_up)
        if self.max_seconds is not None:
            left = GRACE * self.max_seconds - self._passed
            signal.setitimer(signal.ITIMER_REAL, max(left, 1e-6))
        try:
            yield
        finally:
            signal.setitimer(signal.ITIMER_REAL, 0.0)
            signal.signal(signal.SIGALRM, alarm)
            signal.signal(signal.SIGINT, before)

    @contextmanager
    def _display(self) -> Iterator[None]:
        err = Console(stderr=True)
        if err.is_terminal:
            with Live(console=err, transient=True, auto_refresh=False) as self.live:
                yield
        else:
            yield

    def _time_is_up(self, number: int, frame: FrameType | None) -> None:
        raise OutOfTime

    def _interrupt(self, number: int, frame: FrameType | None) -> None:
        if self.interrupted or self.doing != "searching":
            raise KeyboardInterrupt
        self.interrupted = True

    def now(self, doing: str) -> None:
        self.doing = doing
        self._show()

    def stop(self, coverage: Coverage) -> str | None:
        self.coverage = coverage
        self._show()
        if self.interrupted:
            return "it was interrupted"
        if self.max_seconds is not None and self._passed > self.max_seconds:
            return f"the limit of {self.max_seconds:g} seconds was reached"
        return None

    def room(self, more: int) -> str | None:
        """None if there is memory for this many bytes more; otherwise why not."""
        if gigabytes() + more / 1e9 > self.max_memory:
            return f"the limit of {self.max_memory:.3g} GB of memory was reached"
        return None

    def _show(self) -> None:
        if self.live is not None:
            c, speed = self.coverage, self.coverage.states / max(self.seconds, 1e-9)
            line = f"{self.doing}: {c.states:,} states, depth {c.depth}, {speed:,.0f}/s"
            self.live.update(Text(line), refresh=True)


def gigabytes() -> float:
    """The memory of this process; where that is not known, the most it has had."""
    with suppress(OSError):
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * resource.getpagesize() / 1e9
    most = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return most / (1e9 if sys.platform == "darwin" else 1e6)


def gigabytes_free() -> float:
    """What the system could give to a process now; where that is not known, a guess."""
    with suppress(OSError):
        table = Path("/proc/meminfo").read_text()
        if found := re.search(r"MemAvailable: +(\d+) kB", table):
            return int(found[1]) / 1e6
    return 8.0


# For programs


def as_keys(report: Verdict, seconds: float) -> dict[str, Any]:
    messages = report.max_messages_per_entry
    return {
        "algorithm": report.model.name,
        "nodes": report.model.nodes,
        "settings": dict(report.model.settings),
        "requests": requests_of(report.model),
        "network": asdict(report.model.network),
        "states": report.coverage.states,
        "transitions": report.coverage.transitions,
        "depth": report.coverage.depth,
        "complete": report.complete,
        "violation": violation_keys(report.violation),
        "everyone_entered": report.everyone_entered,
        "max_messages_per_entry": None if messages is None else float(messages),
        "max_overtaken": report.max_overtaken,
        "unmeasured": report.unmeasured or None,
        "reductions": list(report.reductions),
        "seconds": seconds,
    }


def requests_of(chosen: Model) -> int | list[int] | None:
    counts = chosen.requests
    if counts is None:
        return None
    return counts[0] if len(set(counts)) == 1 else list(counts)


def violation_keys(violation: Violation | None) -> dict[str, Any] | None:
    if violation is None:
        return None
    _, *steps = jsonl.render(violation.trace).splitlines()
    return {
        "property": violation.property,
        "depth": violation.depth,
        "trace": [json.loads(step) for step in steps],
    }


# For people


def tell(report: Verdict, seconds: float) -> None:
    out = console()
    out.print(verdict(report), soft_wrap=True)
    table = plain_table("", "")
    table.show_header = False
    for fact, value in rows(report, seconds):
        table.add_row(f"[bold]{fact}[/]", value)
    out.print(table)
    for line in story(report):
        out.print(line, soft_wrap=True)


def verdict(report: Verdict) -> str:
    name = f"[bold cyan]{report.model.name}[/]"
    if report.violation is not None:
        return f"{name} [bold red]VIOLATED[/]  {escape(report.violation.text)}"
    if not report.complete:
        return (
            f"{name} [bold yellow]CUT SHORT[/]  {escape(report.cut)}: no violation "
            f"so far, which proves nothing{hint(report)}"
        )
    if not report.everyone_entered:
        return f"{name} [bold yellow]HOLDS[/]  but not every node ever entered"
    return f"{name} [bold green]HOLDS[/]  in every schedule"


def hint(report: Verdict) -> str:
    if report.model.requests is not None:
        return ""
    return "; if its numbers grow without end, not all schedules can be tried"


def rows(report: Verdict, seconds: float) -> list[tuple[str, str]]:
    chosen, coverage = report.model, report.coverage
    asked = requests_of(chosen)
    each = "without end" if asked is None else f"{asked} each"
    if isinstance(asked, list):
        each = ", ".join(map(str, asked))
    cluster = ", ".join(
        filter(None, (counted(chosen.nodes, "node"), in_words(chosen.settings)))
    )
    found = [
        ("cluster", f"{cluster}, requests {each}, messages {chosen.assumptions}"),
        ("covered", covered(coverage)),
    ]
    if report.reductions:
        found.append(("reduced by", ", ".join(report.reductions)))
    entry = algorithm(chosen.name)
    if entry.family == "museum":
        found.append(("expected", entry.verdict))
    if report.holds and chosen.requests is not None:
        found += measured(report, entry.messages)
    speed = coverage.states / max(seconds, 1e-9)
    found.append(("time", f"{seconds:.2f} s, {speed:,.0f} states a second"))
    return found


def covered(coverage: Coverage) -> str:
    states, transitions = f"{coverage.states:,} states", f"{coverage.transitions:,}"
    return f"{states}, {transitions} transitions, depth {coverage.depth}"


def measured(report: Verdict, paper: str) -> list[tuple[str, str]]:
    if report.model.network.faults:
        return [("messages per entry", f"not measured with faults  [dim]paper: {paper}[/]")]
    if report.unmeasured:
        return [("messages per entry", f"not measured: {escape(report.unmeasured)}")]
    most = report.max_messages_per_entry
    messages = "without bound" if most is None else f"{float(most):.4g}"
    entry = algorithm(report.model.name)
    if entry.broadcast or entry.medium:
        messages += ", a broadcast counted once for each receiver"
    overtaken = "not measured: nodes were renamed"
    if report.max_overtaken is not None:
        overtaken = f"by at most {counted(report.max_overtaken, 'entry')} of other nodes"
    return [
        ("messages per entry", f"at most {messages}  [dim]paper: {paper}[/]"),
        ("overtaken", overtaken),
    ]


def story(report: Verdict) -> Iterator[str]:
    """A schedule line by line; a loop is set apart."""
    if report.violation is not None:
        trace, loop_from = report.violation.trace, report.violation.loop_from
    elif algorithm(report.model.name).verdict == "overtaking" and report.overtaking:
        trace, loop_from = report.overtaking, None
    else:
        return
    yield from schedule(trace, loop_from)


def schedule(trace: traces.Trace, loop_from: int | None) -> Iterator[str]:
    yield ""
    for step, line in zip(trace, text.lines(trace), strict=True):
        if loop_from is not None and step.time > loop_from:
            yield "[bold]from here on, these steps repeat without end:[/]"
            loop_from = None
        bad = step.kind is traces.Kind.VIOLATION
        yield f"[bold red]{escape(line)}[/]" if bad else escape(line)
