"""`peerlock advise`: which algorithm, for this network and this load?"""

from __future__ import annotations

from math import inf
from typing import Any

import click

from peerlock.algorithms.card import card
from peerlock.algorithms.index import INDEX
from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.settings import used
from peerlock.cli.compare import explaining, say_settings
from peerlock.cli.figures import NO_SAMPLES, rounded
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
from peerlock.cli.places import place_options
from peerlock.core.demands import RULES
from peerlock.core.errors import UsageError
from peerlock.lab.compare import compare
from peerlock.lab.executor import Place
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
    help="light: one request at a time. heavy: every node asks again at once. "
    "P: each idle node asks with this probability per time unit.",
)
@hold_option
@click.option(
    "--use",
    type=click.Choice(USES),
    default="lock",
    show_default=True,
    help="What the algorithm must serve.",
)
@permits_option
@click.option(
    "--shared",
    type=Finite(0, 1),
    help="Probability that a request is a reader's.  [default: 0.5 for a shared lock]",
)
@click.option(
    "--all", "everything", is_flag=True, help="Include simulation-only algorithms."
)
@click.option("--entries", default=500, show_default=True, help="Entries per run.")
@click.option("--runs", default=3, show_default=True, help="Runs of each algorithm.")
@click.option("--seed", default=1, show_default=True, help="Seed of the first run.")
@place_options
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
    place: Place,
    as_json: bool,
) -> None:
    """Simulate all algorithms on your network and load, and rank them.

    NAMES are algorithms of your own, which are ranked with the others.  One rank is by
    messages, which cost bandwidth and work, the other by response time, which is how long
    users wait.  Times are in the unit of the latency.  Equal figures share a rank.
    """
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
            experiment, place, lambda done: bar.update(bar.task_ids[0], completed=done)
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
    serving = [a for a in INDEX.values() if use in a.serves]
    return [a.name for a in serving if is_alike(use, a.takes)]


def is_alike(use: str, takes: str) -> bool:
    """Its simulated requests are those of this use, not for groups or for several units."""
    return takes == "permits" if use == "semaphore" else takes not in RULES


def must_fit(use: str, permits: int | None, shared: float | None) -> None:
    if permits is not None and use != "semaphore":
        raise UsageError("--permits needs --use semaphore")
    if shared is not None and use != "shared lock":
        raise UsageError("--shared needs --use 'shared lock'")


def rank(experiment: Experiment, results: list[Result]) -> list[dict[str, Any]]:
    """Best by messages first, with the ranks by both measures."""
    messages = [rounded(r.messages_per_entry.mean) for r in results]
    waiting = [rounded(r.response_time.mean) for r in results]
    by_messages = sorted(results, key=lambda r: r.messages_per_entry.mean)
    return [
        without_nan(
            {
                "algorithm": r.algorithm,
                "messages_per_entry": r.messages_per_entry.mean,
                "response_time": r.response_time.mean,
                "synchronisation_delay": r.synchronisation_delay.mean,
                "fairness": r.fairness.mean,
                "rank_by_messages": place(rounded(r.messages_per_entry.mean), messages),
                "rank_by_response_time": place(rounded(r.response_time.mean), waiting),
                "needs": algorithm(r.algorithm).needs,
                "failures": card(algorithm(r.algorithm)).facts["failures"],
                "settings": used(algorithm(r.algorithm), r.nodes, **experiment.chosen),
                "shared": experiment.shared,
            }
        )
        for r in by_messages
    ]


def place(figure: str, all_figures: list[str]) -> int:
    """1 more than are better; figures that look equal in the table share a place."""
    return 1 + sum(worth(other) < worth(figure) for other in all_figures)


def worth(figure: str) -> float:
    return inf if figure == NO_SAMPLES else float(figure)


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
        f"Shortest response time: [bold]{quickest['algorithm']}[/]. "
        f"Best sum of both ranks: [bold]{both['algorithm']}[/]."
    )
    out.print("[dim]`peerlock show NAME` prints what each assumes and survives.[/]")
