"""`peerlock simulate`: one run, measured and optionally drawn."""

from __future__ import annotations

import re
import time
from math import isnan
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.settings import arguments, used
from peerlock.cli.figures import NO_SAMPLES, counted, rounded
from peerlock.cli.names import AlgorithmName
from peerlock.cli.output import (
    Finite,
    console,
    exit_with,
    hold_option,
    json_option,
    must_be_drawable,
    nodes_option,
    plain_table,
    print_json,
    progress,
    trace_option,
    write_trace,
)
from peerlock.cli.settings import in_words, settings_options, shared_option
from peerlock.core.errors import UsageError
from peerlock.simulator.latency import parse_latency
from peerlock.simulator.load import Load, Schedule, parse_load
from peerlock.simulator.network import (
    TIME,
    Network,
    must_be_times,
    parse_crash,
    parse_partition,
)
from peerlock.simulator.report import Report, Summary
from peerlock.simulator.scenario import Scenario
from peerlock.simulator.simulation import empty_trace
from peerlock.simulator.simulation import simulate as run
from peerlock.simulator.violation import Violation
from peerlock.traces import lines

STORY = 30  # the last steps of a failed run that are shown on the terminal


@click.command()
@click.argument("name", type=AlgorithmName())
@nodes_option
@click.option("--entries", default=1000, show_default=True, help="Number of entries.")
@click.option(
    "--load",
    default="heavy",
    show_default=True,
    metavar="light|heavy|P",
    help="light: one request at a time. heavy: every node asks again at once. "
    "P: each idle node asks with this probability per time unit.",
)
@click.option(
    "--schedule", metavar="NODE@TIME,…", help="Requests at these times, instead of a load."
)
@hold_option
@settings_options
@shared_option
@click.option(
    "--latency",
    default="uniform:0.5,1.5",
    show_default=True,
    metavar="SPEC",
    help="constant:1, uniform:0.5,1.5, exponential:1, or between sites matrix:1,80/80,1.",
)
@click.option(
    "--fifo/--reorder",
    default=None,
    help="Whether messages between two nodes stay in order.  [default: as its card says]",
)
@click.option(
    "--loss", type=Finite(0, 1), default=0.0, help="Probability that a message is lost."
)
@click.option(
    "--duplicate",
    type=Finite(0, 1),
    default=0.0,
    help="Probability that a message arrives twice.",
)
@click.option(
    "--crash",
    "crashes",
    multiple=True,
    metavar="NODE@TIME[-BACK]",
    help="Crash a node, and restart it at BACK.",
)
@click.option(
    "--partition",
    "partitions",
    multiple=True,
    metavar="FROM-TO:1,2/3,4",
    help="Drop messages between the groups for a while.",
)
@click.option(
    "--seed", default=1, show_default=True, help="The same seed gives the same run."
)
@trace_option("Write the run to a file")
@json_option
def simulate(paths: tuple[Path, ...], as_json: bool, **options: Any) -> None:
    """Run algorithm NAME once in virtual time, and report its costs."""
    scenario = scenario_from(**options)
    for path in paths:
        must_be_drawable(path)
    trace = empty_trace(scenario) if paths else None
    began = time.perf_counter()
    try:
        with progress(scenario.name, scenario.entries) as bar:
            report = run(
                scenario, trace, lambda done: bar.update(bar.task_ids[0], completed=done)
            )
    except Violation as violation:
        with exit_with(1):
            explain(scenario, violation, paths, as_json)
    seconds = time.perf_counter() - began
    if trace is not None:
        for path in paths:
            write_trace(trace, path)
    if as_json:
        print_json(as_keys(scenario, report, seconds))
    else:
        tell(scenario, report, seconds, paths)


def scenario_from(
    name: str,
    nodes: int,
    entries: int,
    load: str,
    schedule: str | None,
    hold: float,
    shared: float,
    latency: str,
    fifo: bool | None,
    loss: float,
    duplicate: float,
    crashes: tuple[str, ...],
    partitions: tuple[str, ...],
    seed: int,
    **settings: Any,
) -> Scenario:
    entry = algorithm(name)
    arguments(entry, nodes, **settings)  # fails before anything is done
    if shared and not entry.shares:
        raise UsageError(f"{name} has no readers: omit --shared")
    network = Network(
        latency=parse_latency(latency),
        fifo=entry.fifo if fifo is None else fifo,
        loss=loss,
        duplication=duplicate,
        partitions=tuple(map(parse_partition, partitions)),
        crashes=tuple(map(parse_crash, crashes)),
    )
    asked: Load = parse_schedule(schedule, nodes) if schedule else parse_load(load)
    return Scenario(
        algorithm=name,
        nodes=nodes,
        entries=entries,
        load=asked,
        network=network,
        hold=hold,
        shared=shared,
        seed=seed,
        **settings,
    )


def parse_schedule(text: str, nodes: int) -> Schedule:
    wishes = []
    for part in text.split(","):
        match = re.fullmatch(rf"(\d+)@{TIME}", part.strip())
        if match is None or not 1 <= int(match[1]) <= nodes:
            raise UsageError(
                f"invalid request {part!r}: use NODE@TIME with nodes 1 to {nodes}, like 3@0"
            )
        must_be_times(float(match[2]))
        wishes.append((float(match[2]), int(match[1])))
    return Schedule(tuple(wishes))


def as_keys(scenario: Scenario, report: Report, seconds: float) -> dict[str, Any]:
    keys = report.as_dict()
    seed = keys.pop("seed")
    verdict = algorithm(scenario.algorithm).verdict
    told = {"settings": settings_of(scenario), "verdict": verdict, "seconds": seconds}
    return keys | told | {"seed": seed}


def settings_of(scenario: Scenario) -> dict[str, Any]:
    return used(algorithm(scenario.algorithm), scenario.nodes, **scenario.chosen)


def tell(
    scenario: Scenario, report: Report, seconds: float, paths: tuple[Path, ...]
) -> None:
    table = plain_table("", "")
    table.show_header = False
    for fact, value in rows(scenario, report, seconds):
        table.add_row(f"[bold]{fact}[/]", value)
    out = console()
    parts = (counted(report.nodes, "node"), in_words(settings_of(scenario)))
    out.print(f"[bold cyan]{report.algorithm}[/], {', '.join(filter(None, parts))}")
    out.print(table)
    if warning := known_to_be_wrong(scenario):
        out.print(f"[bold red]known to be wrong:[/] {escape(warning)}")
    for path in paths:
        out.print(f"[green]wrote {escape(str(path))}[/]")


def known_to_be_wrong(scenario: Scenario) -> str:
    """For an algorithm of the museum, most of whose runs look correct."""
    entry = algorithm(scenario.algorithm)
    if entry.verdict == "holds":
        return ""
    return (
        f"it can end in {entry.verdict}; "
        f"peerlock check {scenario.name} prints a shortest counterexample"
    )


def rows(scenario: Scenario, report: Report, seconds: float) -> list[tuple[str, str]]:
    paper = algorithm(report.algorithm).messages
    by_type = ", ".join(f"{n:,} {name}" for name, n in report.messages_by_type.items())
    found = [
        ("entries", f"{report.entries:,}"),
        ("messages", f"{report.messages:,}: {by_type}"),
        (
            "messages per entry",
            f"{rounded(report.messages_per_entry, 3)}  [dim]paper: {paper}[/]",
        ),
        ("most inside at once", str(report.max_inside)),
        ("response time", spread(report.response_time)),
        ("synchronisation delay", spread(report.synchronisation_delay)),
        ("throughput", f"{rounded(report.throughput, 3)} entries per time unit"),
        ("queue length", f"{rounded(report.queue_length)} on average"),
        (
            "overtaken",
            f"by at most {counted(report.max_overtaken, 'entry')} of other nodes",
        ),
        ("fairness", f"{rounded(report.fairness, 4)}  [dim]1 is even[/]"),
        (
            "speed",
            f"{report.events:,} events in {seconds:.2f} s, "
            f"{report.events / seconds:,.0f} a second",
        ),
        ("seed", str(scenario.seed)),
    ]
    if report.remote_errors:
        refused = f"{counted(report.remote_errors, 'message')}, as invalid"
        found.insert(4, ("refused", refused))
    return found


def spread(times: Summary) -> str:
    if isnan(times.mean):
        return NO_SAMPLES
    return (
        f"mean {times.mean:.2f}, median {times.p50:.2f}, 99 % {times.p99:.2f}, "
        f"longest {times.max:.2f}"
    )


def explain(
    scenario: Scenario, violation: Violation, paths: tuple[Path, ...], as_json: bool
) -> None:
    """The schedule that led to it: all of it in the files, its end on the terminal."""
    assert violation.trace is not None
    for path in paths:
        write_trace(violation.trace, path)
    story = list(lines(violation.trace))
    if as_json:
        print_json(
            {
                "algorithm": violation.trace.algorithm,
                "nodes": violation.trace.nodes,
                "settings": settings_of(scenario),
                "verdict": algorithm(scenario.algorithm).verdict,
                "seed": violation.trace.seed,
                "violation": violation.text,
                "trace": story,
            }
        )
        return
    err = Console(stderr=True, highlight=False)
    if len(story) > STORY:
        err.print(
            f"[dim]… {len(story) - STORY:,} earlier steps; --trace writes all of them[/]"
        )
    for line in story[-STORY:]:
        err.print(escape(line), soft_wrap=True)
    err.print(f"[bold red]violation:[/] {escape(violation.text)}")
    if warning := known_to_be_wrong(scenario):
        err.print(f"[bold red]known to be wrong:[/] {escape(warning)}", soft_wrap=True)
