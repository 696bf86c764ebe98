"""`peerlock quorums`: the constructions, and what they are worth."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from peerlock.algorithms.catalogue import (
    DEFAULT_PERMITS,
    UsageError,
    quorum_system,
    unknown,
)
from peerlock.cli.compare import FIGURES
from peerlock.cli.output import (
    Finite,
    console,
    json_option,
    must_be_writable,
    nodes_option,
    permits_option,
    plain_table,
    print_json,
)
from peerlock.core.availability import Availability, availability
from peerlock.core.coterie import k_coterie, most_disjoint
from peerlock.core.quorums import QuorumSystem
from peerlock.core.systems import SYSTEMS
from peerlock.core.weighted import weighted
from peerlock.lab.load import Optimum, optimal_load
from peerlock.lab.plot_quorums import plot_availability

SHOWN = 60  # rows; more are for programs
KINDS = (*SYSTEMS, "k-coterie")


@click.command()
@click.argument("kind")
@nodes_option
@permits_option
@click.option("--votes", metavar="V1,V2,…", help="Of each node, for weighted.")
@click.option(
    "--p",
    "up",
    type=Finite(0, 1),
    default=0.9,
    show_default=True,
    help="The probability that a node is up.",
)
@click.option(
    "--plot",
    "path",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Draw the availability for every p: svg, pdf, png.",
)
@json_option
def quorums(
    kind: str,
    nodes: int,
    permits: int | None,
    votes: str | None,
    up: float,
    path: Path | None,
    as_json: bool,
) -> None:
    """Show who asks whom, and what that is worth.

    \b
    KIND is one of
      plane             the projective plane, or Maekawa's Method 1 where there is none
      grid              a row and a column: Maekawa's Method 2
      majority          more than half of the nodes
      triangle          about √(2N); -columns and -rows are its two schemes, unbalanced
      tree              a path from the root to a leaf (Agrawal, El Abbadi)
      weighted          more than half of the votes; --votes 3,1,1
      k-coterie         quorums of which k do not meet; --permits K
    """
    system = chosen(kind, nodes, permits, votes)
    if path is not None:
        must_be_a_figure(path)
    found = availability(system)
    if path is not None:
        plot_availability(system, found, path)
    if as_json:
        print_json(described(system, found, up))
    else:
        show(system, found, up)


def chosen(kind: str, nodes: int, permits: int | None, votes: str | None) -> QuorumSystem:
    if kind not in KINDS:
        raise UsageError(unknown("kind of quorums", kind, list(KINDS)))
    if votes is not None and kind != "weighted":
        raise UsageError("--votes are for the kind weighted")
    if permits is not None and kind != "k-coterie":
        raise UsageError("--permits are for the kind k-coterie")
    try:
        if kind == "k-coterie":
            return k_coterie(nodes, DEFAULT_PERMITS if permits is None else permits)
        return (
            quorum_system(kind, nodes) if votes is None else weighted(parsed(votes, nodes))
        )
    except UsageError:
        raise
    except ValueError as error:
        raise UsageError(str(error)) from None


def must_be_a_figure(path: Path) -> None:
    if path.suffix not in FIGURES:
        raise UsageError(f"{path.name}: a figure can be {', '.join(FIGURES)}")
    must_be_writable(path)


def parsed(votes: str, nodes: int) -> tuple[int, ...]:
    parts = votes.split(",")
    if not all(part.strip().isdecimal() for part in parts):
        raise UsageError(f"{votes!r} are no votes; write numbers, like 3,1,1")
    if len(parts) != nodes:
        raise UsageError(
            f"{len(parts)} numbers of votes, and {nodes} nodes: -n {len(parts)}"
        )
    return tuple(map(int, parts))


def show(system: QuorumSystem, found: Availability, up: float) -> None:
    table = plain_table("node", "asks", numbers=frozenset({0}))
    for node in range(1, min(system.nodes, SHOWN) + 1):
        table.add_row(str(node), " ".join(map(str, system.of(node))))
    out = console()
    out.print(table)
    if system.nodes > SHOWN:
        out.print(f"[dim]… and {system.nodes - SHOWN} more: --json has them all[/]")
    sizes = system.sizes
    out.print(
        f"\n{meeting(system)}, "
        f"{said(system.minimal, 'none contains another', 'some contain another')}, "
        f"{said(system.symmetric, 'all nodes alike', 'nodes not all alike')}\n"
        f"sizes {sizes.min} to {sizes.max}, mean {sizes.mean:.2f}\n"
        f"the busiest node takes part in {system.load:.1%} of all requests"
        f"{at_best(system)}\n"
        f"a quorum is left whichever {system.resilience} nodes fail"
        f"{said(system.resilience_exact, '', ', or more: the search was cut short')}\n"
        f"if each node is up with probability {up:g}, a quorum is left with "
        f"{found.at(up):.6g}{by_trial(found, up)}"
    )


def meeting(system: QuorumSystem) -> str:
    if system.intersecting:
        return "any two meet"
    if system.kind != "k-coterie":
        return "NOT ANY TWO MEET"
    k = most_disjoint(system)
    return f"{k} that do not meet can be found, of any {k + 1} two meet"


def at_best(system: QuorumSystem) -> str:
    best = optimum(system)
    if best is None:
        return "\n[dim]the least that this could be needs scipy: peerlock\\[lab][/]"
    exactly = f", {best.exact}" if best.exact is not None else ""
    return f", and in {best.load:.1%} if quorums are chosen as well as can be{exactly}"


def optimum(system: QuorumSystem) -> Optimum | None:
    try:
        return optimal_load(system)
    except UsageError:
        return None


def by_trial(found: Availability, up: float) -> str:
    if found.exact:
        return ""
    return f" ± {found.standard_error(up):.1g}, by {len(found.thresholds):,} trials"


def said(holds: bool, yes: str, no: str) -> str:
    return yes if holds else no


def described(system: QuorumSystem, found: Availability, up: float) -> dict[str, Any]:
    sizes, best = system.sizes, optimum(system)
    return {
        "kind": system.kind,
        "nodes": system.nodes,
        "quorums": {str(i): list(system.of(i)) for i in range(1, system.nodes + 1)},
        "intersecting": system.intersecting,
        "disjoint": most_disjoint(system),
        "minimal": system.minimal,
        "symmetric": system.symmetric,
        "sizes": {"min": sizes.min, "mean": sizes.mean, "max": sizes.max},
        "load": system.load,
        "optimal_load": None if best is None else best.load,
        "optimal_load_exact": str(best.exact) if best and best.exact is not None else None,
        "resilience": system.resilience,
        "resilience_exact": system.resilience_exact,
        "p": up,
        "availability": found.at(up),
        "availability_exact": found.exact,
        "availability_error": found.standard_error(up),
    }
