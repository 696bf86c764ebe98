"""`peerlock advise`: which algorithm, for this network and this load?"""

from __future__ import annotations

from typing import Any

import click

from peerlock.algorithms.card import card
from peerlock.algorithms.index import INDEX
from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.settings import used
from peerlock.cli.compare import explaining, say_settings
from peerlock.cli.figures import rounded
from peerlock.cli.names import AlgorithmName
from peerlock.cli.output import (
    Finite,
    console,
    hold_option,
    json_option,
    nodes_option,
    permits_option,
    plain_table,
    print_json,
    progress,
)
from peerlock.core.errors import UsageError
from peerlock.lab.compare import compare
from peerlock.simulator.experiment import Experiment, Result
from peerlock.simulator.report import without_nan

USES = ("lock", "shared lock", "semaphore")


@click.command()
@click.argument("names", nargs=-1, type=AlgorithmName())
@nodes_option
@click.option(
    "--latency",
    default="uniform:0.5,1.5",
    show_default=True,
    metavar="SPEC",
    help="Your network: constant:1, uniform:0.5,1.5, exponential:1, "
    "or between sites matrix:1,80/80,1.",
)
@click.option(
    "--load",
    default="0.05",
    show_default=True,
    metavar="light|heavy|P",
    help="light: one request at a time. heavy: everybody asks again at once. "
    "P: each idle node asks with this probability per time unit.",
)
@hold_option
@click.option(
    "--use",
    type=click.Choice(USES),
    default="lock",
    show_default=True,
    help="What it shall serve.",
)
@permits_option
@click.option(
    "--shared",
    type=Finite(0, 1),
    help="How likely a request is a reader's.  [default: 0.5 for a shared lock]",
)
@click.option("--all", "everything", is_flag=True, help="Those of the lab, too.")
@click.option("--entries", default=500, show_default=True, help="Entries per run.")
@click.option("--runs", default=3, show_default=True, help="Runs of each.")
@click.option("--seed", default=1, show_default=True, help="The first run's.")
@click.option("--jobs", type=int, help="Processes.  [default: one per core]")
@json_option
def advise(
    names: tuple[str, ...],
    nodes: int,
    latency: str,
    load: str,
    hold: float,
    use: str,
    permits: int | None,
    shared: float | None,
    everything: bool,
    entries: int,
    runs: int,
    seed: int,
    jobs: int | None,
    as_json: bool,
) -> None:
    """Simulate all algorithms on your network and load, and rank them; NAMES, too.

    By messages, which cost bandwidth and work; and by response time, which is what users
    wait.  Both in the units that you give the latency in.
    """
    if jobs is not None and jobs < 1:
        raise UsageError(f"at least 1 process is needed, not {jobs}")
    must_fit(use, permits, shared)
    names = tuple(dict.fromkeys((*candidates(use, everything), *names)))
    experiment = Experiment(
        algorithms=names,
        sizes=(nodes,),
        loads=(load,),
        runs=runs,
        entries=entries,
        latency=latency,
        hold=hold,
        permits=permits,
        shared=(0.5 if shared is None else shared) if use == "shared lock" else 0.0,
        seed=seed,
    )
    with explaining(as_json), progress("runs", len(names) * runs) as bar:
        results = compare(
            experiment, jobs, lambda done: bar.update(bar.task_ids[0], completed=done)
        )
    ranked = rank(experiment, results)
    if as_json:
        print_json(ranked)
    else:
        tell(ranked)
        say_settings(console(), experiment)


def candidates(use: str, everything: bool) -> list[str]:
    if everything:
        if use == "semaphore":
            return [a.name for a in INDEX.values() if a.takes == "permits"]
        return [a.name for a in INDEX.values() if a.family in ("permission", "token")]
    return [a.name for a in INDEX.values() if use in a.serves]


def must_fit(use: str, permits: int | None, shared: float | None) -> None:
    if permits is not None and use != "semaphore":
        raise UsageError("--permits are for --use semaphore")
    if shared is not None and use != "shared lock":
        raise UsageError("--shared is for --use 'shared lock'")


def rank(experiment: Experiment, results: list[Result]) -> list[dict[str, Any]]:
    """Best by messages first, with the places by both measures."""
    by_messages = sorted(results, key=lambda r: r.messages_per_entry.mean)
    by_response = sorted(results, key=lambda r: r.response_time.mean)
    return [
        without_nan(
            {
                "algorithm": r.algorithm,
                "messages_per_entry": r.messages_per_entry.mean,
                "response_time": r.response_time.mean,
                "synchronisation_delay": r.synchronisation_delay.mean,
                "fairness": r.fairness.mean,
                "rank_by_messages": place,
                "rank_by_response_time": by_response.index(r) + 1,
                "needs": algorithm(r.algorithm).needs,
                "failures": card(algorithm(r.algorithm)).facts["failures"],
                "settings": used(algorithm(r.algorithm), r.nodes, **experiment.chosen),
                "shared": experiment.shared,
            }
        )
        for place, r in enumerate(by_messages, start=1)
    ]


def tell(ranked: list[dict[str, Any]]) -> None:
    table = plain_table(
        "by messages",
        "algorithm",
        "messages per entry",
        "response time",
        "by response",
        "needs",
        numbers=frozenset({0, 2, 3, 4}),
    )
    for row in ranked:
        table.add_row(
            str(row["rank_by_messages"]),
            f"[bold cyan]{row['algorithm']}[/]",
            rounded(row["messages_per_entry"]),
            rounded(row["response_time"]),
            str(row["rank_by_response_time"]),
            row["needs"] or "–",
        )
    out = console()
    out.print(table)
    fewest = ranked[0]
    quickest = min(ranked, key=lambda row: row["rank_by_response_time"])
    both = min(
        ranked, key=lambda row: row["rank_by_messages"] + row["rank_by_response_time"]
    )
    out.print(
        f"\nFewest messages: [bold]{fewest['algorithm']}[/]. "
        f"Quickest: [bold]{quickest['algorithm']}[/]. "
        f"Best places in both together: [bold]{both['algorithm']}[/]."
    )
    out.print("[dim]`peerlock show NAME` tells what each assumes and survives.[/]")
