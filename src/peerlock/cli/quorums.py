"""`peerlock quorums`: the constructions, and what they are worth."""

from __future__ import annotations

from typing import Any

import click

from peerlock.algorithms.catalogue import quorum_system
from peerlock.cli.output import console, json_option, nodes_option, plain_table, print_json
from peerlock.core.quorums import QuorumSystem

SHOWN = 60  # rows; more are for programs


@click.command()
@click.argument("kind")
@nodes_option
@json_option
def quorums(kind: str, nodes: int, as_json: bool) -> None:
    """Show who asks whom: KIND is plane, grid or majority.

    plane is the projective plane where one exists for that many nodes, and Maekawa's
    Method 1, which degenerates the next larger one, for every other number.
    """
    system = quorum_system(kind, nodes)
    if as_json:
        print_json(described(system))
        return
    table = plain_table("node", "asks", numbers=frozenset({0}))
    for node in range(1, min(nodes, SHOWN) + 1):
        table.add_row(str(node), " ".join(map(str, system.of(node))))
    out = console()
    out.print(table)
    if nodes > SHOWN:
        out.print(f"[dim]… and {nodes - SHOWN} more: --json has them all[/]")
    sizes = system.sizes
    out.print(
        f"\n{said(system.intersecting, 'any two meet', 'NOT ANY TWO MEET')}, "
        f"{said(system.minimal, 'none contains another', 'some contain another')}, "
        f"{said(system.symmetric, 'all nodes alike', 'nodes not all alike')}\n"
        f"sizes {sizes.min} to {sizes.max}, mean {sizes.mean:.2f}\n"
        f"the busiest node takes part in {system.load:.1%} of all requests\n"
        f"a quorum is left whichever {system.resilience} nodes fail"
        f"{said(system.resilience_exact, '', ', or more: the search was cut short')}"
    )


def said(holds: bool, yes: str, no: str) -> str:
    return yes if holds else no


def described(system: QuorumSystem) -> dict[str, Any]:
    sizes = system.sizes
    return {
        "kind": system.kind,
        "nodes": system.nodes,
        "quorums": {str(i): list(system.of(i)) for i in range(1, system.nodes + 1)},
        "intersecting": system.intersecting,
        "minimal": system.minimal,
        "symmetric": system.symmetric,
        "sizes": {"min": sizes.min, "mean": sizes.mean, "max": sizes.max},
        "load": system.load,
        "resilience": system.resilience,
        "resilience_exact": system.resilience_exact,
    }
