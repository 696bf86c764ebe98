"""`peerlock list` and `peerlock show`: the catalogue."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape
from rich.padding import Padding

from peerlock.algorithms.catalogue import CATALOGUE, Algorithm, algorithm, card
from peerlock.cli.output import console, json_option, plain_table, print_json


@click.command("list")
@click.option("--museum", is_flag=True, help="Only those that are known to be wrong.")
@json_option
def list_command(museum: bool, as_json: bool) -> None:
    """List the algorithms: what each costs and needs."""
    entries = [a for a in CATALOGUE if not museum or a.family == "museum"]
    if as_json:
        print_json([facts(entry) for entry in entries])
        return
    table = plain_table(
        "name", "published by", "year", "family", "messages per entry", "needs"
    )
    for entry in entries:
        table.add_row(
            f"[bold cyan]{entry.name}[/]",
            escape(entry.source),
            str(entry.year),
            entry.family,
            entry.messages,
            needs(entry) or "–",
        )
    out = console()
    out.print(table)
    out.print("\n[dim]peerlock show NAME tells more about one of them.[/]")


@click.command()
@click.argument("name")
@json_option
def show(name: str, as_json: bool) -> None:
    """Show one algorithm: its idea, its card, where it departs from its paper."""
    entry = algorithm(name)
    shown = card(entry)
    if as_json:
        print_json(
            facts(entry)
            | {
                "title": shown.title,
                "citation": shown.citation,
                "idea": shown.idea,
                "card": shown.facts,
                "departures": list(shown.departures),
                "note": shown.note,
            }
        )
        return
    out = console()
    out.print(f"[bold cyan]{entry.name}[/]  {escape(shown.title)}\n")
    out.print(Padding(f"[dim]{escape(shown.citation)}[/]", (0, 4)))
    out.print(f"\n{escape(shown.idea)}\n")
    if shown.note:
        out.print(f"[bold red]In the museum:[/] {escape(shown.note)}\n")
    table = plain_table("", "")
    table.show_header = False
    for fact, text in shown.facts.items():
        table.add_row(f"[bold]{fact}[/]", escape(text))
    out.print(Padding(table, (0, 4)))
    out.print("\n[bold]Where it departs from its source, and why[/]")
    for departure in shown.departures:
        out.print(Padding(f"• {escape(departure)}", (0, 2)))


def facts(entry: Algorithm) -> dict[str, Any]:
    return {
        "name": entry.name,
        "source": entry.source,
        "year": entry.year,
        "family": entry.family,
        "messages": entry.messages,
        "fifo": entry.fifo,
        "takes": entry.takes or None,
        "serves": list(entry.serves),
        "verdict": entry.verdict,
    }


def needs(entry: Algorithm) -> str:
    wanted = ["FIFO"] if entry.fifo else []
    if entry.takes == "quorums":
        wanted.append("quorums")
    elif entry.takes == "topology" and "complete" not in entry.topologies:
        wanted.append("a tree")
    return ", ".join(wanted)
