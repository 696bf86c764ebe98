"""`peerlock check --everywhere`: from every state that a fault may leave behind."""

from __future__ import annotations

from typing import Any

from rich.markup import escape

from peerlock.checker.model import Model
from peerlock.checker.stabilisation import Convergence
from peerlock.cli.output import console


def as_keys(chosen: Model, found: Convergence, seconds: float) -> dict[str, Any]:
    return {
        "algorithm": chosen.name,
        "nodes": chosen.nodes,
        "settings": dict(chosen.settings),
        "network": chosen.assumptions,
        "beginnings": found.beginnings,
        "states": found.states,
        "unsafe": found.unsafe,
        "complete": not found.cut,
        "converges": found.holds,
        "failure": found.failure or None,
        "seconds": seconds,
    }


def tell(chosen: Model, found: Convergence, seconds: float) -> None:
    console().print(verdict(chosen.name, found), soft_wrap=True)
    console().print(
        f"begun in {found.beginnings:,} states, {found.states:,} with those that follow, "
        f"of which {found.unsafe:,} can still lead to too many inside; {seconds:.2f} s",
        soft_wrap=True,
    )


def verdict(name: str, found: Convergence) -> str:
    shown = f"[bold cyan]{name}[/]"
    if found.cut:
        cut = escape(found.cut)
        return f"{shown} [bold yellow]CUT SHORT[/]  {cut}, which proves nothing"
    if found.failure:
        return f"{shown} [bold red]DOES NOT CONVERGE[/]  {escape(found.failure)}"
    return f"{shown} [bold green]CONVERGES[/]  from every state, in every fair schedule"
