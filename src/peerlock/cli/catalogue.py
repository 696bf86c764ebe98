"""`peerlock list` and `peerlock show`: the catalogue."""

from __future__ import annotations

from typing import Any

import click
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from peerlock.algorithms.catalogue import CATALOGUE, Algorithm, algorithm, card
from peerlock.cli.output import console, json_option, plain_table, print_json
from peerlock.cli.settings import described


@click.command("list")
@click.option("--museum", is_flag=True, help="Only those that are known to be wrong.")
@json_option
def list_command(museum: bool, as_json: bool) -> None:
    """List the algorithms: what each costs and needs."""
    shown = [a for a in by_family() if not museum or a.family == "museum"]
    if as_json:
        print_json([facts(entry) for entry in shown])
        return
    out = console()
    for family, title in FAMILIES.items():
        entries = [a for a in shown if a.family == family]
        if entries:
            out.print(f"\n[bold]{title}[/]\n")
            make = museum_table if family == "museum" else catalogue_table
            out.print(make(entries, out.width))
    out.print("\n[dim]peerlock show NAME tells more about one of them.[/]")


FAMILIES = {
    "permission": "Ask for permission",
    "token": "Wait for the token",
    "several": "Several at a time",
    "museum": "The museum: known to be wrong, and kept to show how",
}


def by_family() -> list[Algorithm]:
    return sorted(CATALOGUE, key=lambda a: list(FAMILIES).index(a.family))


def catalogue_table(entries: list[Algorithm], width: int) -> Table:
    """On a narrow terminal without who published it."""
    headings = ["name", "messages per entry", "needs"]
    wide = width >= 110
    table = plain_table(*headings, *(["published by", "year"] if wide else []))
    for entry in entries:
        cells = [f"[bold cyan]{entry.name}[/]", escape(entry.messages), needs(entry) or "–"]
        table.add_row(*cells, *([escape(entry.source), str(entry.year)] if wide else []))
    return table


def museum_table(entries: list[Algorithm], width: int) -> Table:
    table = plain_table("name", "ends in", "what is wrong")
    for entry in entries:
        table.add_row(f"[bold cyan]{entry.name}[/]", entry.verdict, escape(headline(entry)))
    return table


def headline(entry: Algorithm) -> str:
    """What is wrong with it, in a sentence: the first of its class."""
    return (entry.peer.__doc__ or "").splitlines()[0]


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
    if entry.takes:
        table.add_row("[bold]settings[/]", escape(described(entry)))
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
        "choices": list(entry.choices),
        "serves": list(entry.serves),
        "verdict": entry.verdict,
    }


def needs(entry: Algorithm) -> str:
    wanted = ["FIFO"] if entry.fifo else []
    if entry.medium:
        wanted.append("a medium that orders")
    if entry.broadcast:
        wanted.append("a broadcast medium")
    if entry.timely or entry.outlasting:
        wanted.append("a bound on delay")
    if entry.takes == "quorums":
        wanted.append("quorums")
    elif entry.takes == "topology" and "complete" not in entry.topologies:
        wanted.append("a tree")
    return ", ".join(wanted)
