"""`peerlock compare`: several algorithms, sizes and loads, side by side."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from math import isnan
from pathlib import Path
from typing import Any

import click
from rich.console import Console
from rich.markup import escape

from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.settings import used
from peerlock.cli.figures import NO_SAMPLES, rounded
from peerlock.cli.names import AlgorithmName
from peerlock.cli.output import (
    console,
    exit_with,
    hold_option,
    json_option,
    must_be_writable,
    plain_table,
    print_json,
    progress,
)
from peerlock.cli.places import place_options
from peerlock.cli.settings import in_words, settings_options, shared_option
from peerlock.core.errors import UsageError
from peerlock.lab.compare import compare as run
from peerlock.lab.executor import Place
from peerlock.simulator.experiment import Experiment, Result, RunFailed, Spread

FIGURES = (".pdf", ".svg", ".png")
LATENCY = "constant:1, uniform:0.5,1.5, exponential:1, or between sites matrix:1,80/80,1."


@click.command()
@click.argument("names", nargs=-1, required=True, type=AlgorithmName())
@click.option(
    "-n", "--nodes", default="3,7,13,21", show_default=True, help="Numbers of nodes."
)
@click.option(
    "--load",
    default="light,heavy",
    show_default=True,
    help="Loads: light, heavy, or a probability in (0, 1].",
)
@click.option(
    "--runs",
    default=5,
    show_default=True,
    help="Runs of each combination, with different seeds.",
)
@click.option("--entries", default=500, show_default=True, help="Entries per run.")
@click.option(
    "--latency", default="uniform:0.5,1.5", show_default=True, metavar="SPEC", help=LATENCY
)
@hold_option
@settings_options
@shared_option
@click.option("--seed", default=1, show_default=True, help="Seed of the first run.")
@place_options
@click.option(
    "--plot",
    "figure",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw a figure: .pdf, .svg or .png.",
)
@json_option
def compare(
    names: tuple[str, ...],
    nodes: str,
    load: str,
    runs: int,
    entries: int,
    latency: str,
    hold: float,
    shared: float,
    seed: int,
    place: Place,
    figure: Path | None,
    as_json: bool,
    **settings: Any,
) -> None:
    """Compare algorithms NAMES: messages, waiting and fairness, over several runs.

    Quorums, a topology, permits, votes and the like apply to the algorithms that take them;
    see peerlock show NAME.
    """
    experiment = Experiment(
        algorithms=tuple(dict.fromkeys(names)),
        sizes=parse_sizes(nodes),
        loads=tuple(load.split(",")),
        runs=runs,
        entries=entries,
        latency=latency,
        hold=hold,
        shared=shared,
        seed=seed,
        **settings,
    )
    if figure is not None:
        if figure.suffix not in FIGURES:
            raise UsageError(f"invalid figure {figure.name!r}: use {', '.join(FIGURES)}")
        must_be_writable(figure)
    total = len(names) * len(experiment.sizes) * len(experiment.loads) * runs
    with explaining(as_json), progress("runs", total) as bar:
        results = run(
            experiment, place, lambda done: bar.update(bar.task_ids[0], completed=done)
        )
    if figure is not None:
        from peerlock.lab.plot import plot  # matplotlib is slow to load, and optional

        plot(results, figure)
    if as_json:
        print_json([as_keys(experiment, r) for r in results])
    else:
        tell(experiment, results, figure)


def as_keys(experiment: Experiment, result: Result) -> dict[str, Any]:
    chosen = used(algorithm(result.algorithm), result.nodes, **experiment.chosen)
    return result.as_dict() | {"settings": chosen, "shared": experiment.shared}


@contextmanager
def explaining(as_json: bool) -> Iterator[None]:
    """If a run violates a property, one line says which."""
    try:
        yield
    except RunFailed as failure:
        with exit_with(1):
            if as_json:
                print_json(failure.as_dict())
            else:
                print(f"violation: {failure}", file=sys.stderr)


def parse_sizes(text: str) -> tuple[int, ...]:
    try:
        return tuple(int(part) for part in text.split(","))
    except ValueError:
        raise UsageError(f"invalid sizes {text!r}: use 3,7,13,21") from None


def tell(experiment: Experiment, results: list[Result], figure: Path | None) -> None:
    table = plain_table(
        "load",
        "algorithm",
        "nodes",
        "messages per entry",
        "response time",
        "synchronisation delay",
        "fairness",
        "overtaken",
        numbers=frozenset(range(2, 8)),
    )
    for result in results:
        table.add_row(
            result.load,
            f"[bold cyan]{result.algorithm}[/]",
            str(result.nodes),
            shown(result.messages_per_entry, result.runs),
            shown(result.response_time, result.runs),
            shown(result.synchronisation_delay, result.runs),
            rounded(result.fairness.mean, 3),
            str(result.max_overtaken),
        )
    out = console()
    out.print(table)
    out.print(f"\n[dim]{averaged(results[0].runs)}; times in the unit of the latency[/]")
    say_settings(out, experiment)
    if figure is not None:
        out.print(f"[green]wrote {figure}[/]")


def say_settings(out: Console, experiment: Experiment) -> None:
    """The settings that were chosen, if any."""
    readers = {"readers": f"{experiment.shared:g}"} if experiment.shared else {}
    told = in_words(experiment.chosen | readers)
    if told:
        out.print(f"[dim]with {escape(told)}[/]")


def averaged(runs: int) -> str:
    return "one run" if runs == 1 else f"mean ± standard deviation over {runs} runs"


def shown(spread: Spread, runs: int) -> str:
    if isnan(spread.mean):
        return NO_SAMPLES
    return f"{spread.mean:.2f}" + (f" ± {spread.stdev:.2f}" if runs > 1 else "")
