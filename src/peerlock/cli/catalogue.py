"""`peerlock list` and `peerlock show`: the catalogue."""

from __future__ import annotations

import click
from rich.markup import escape
from rich.padding import Padding

from peerlock.algorithms.card import Card, card
from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.settings import listed
from peerlock.cli import listing
from peerlock.cli.names import AlgorithmName
from peerlock.cli.output import console, json_option, nobody_reads, plain_table, print_json
from peerlock.cli.settings import described


@click.command("list")
@click.option("--museum", is_flag=True, help="Only algorithms that are known to be wrong.")
@json_option
def list_command(museum: bool, as_json: bool) -> None:
    """List the algorithms with their costs and needs."""
    try:
        listing.print_list(museum, as_json)
    except BrokenPipeError:
        nobody_reads()


@click.command()
@click.argument("name", type=AlgorithmName())
@json_option
def show(name: str, as_json: bool) -> None:
    """Show one algorithm: its idea, its card, and where the code departs from the paper."""
    entry = algorithm(name)
    shown = card(entry)
    if as_json:
        print_json(
            listing.as_keys(listed(entry))
            | {
                "title": shown.title,
                "citation": shown.citation,
                "idea": shown.idea,
                "card": shown.facts,
                "departures": list(shown.departures),
                "note": shown.note,
            }
        )
    elif entry.peer.__module__.endswith(".museum"):
        tell_of_museum(entry, shown)
    else:
        tell(entry, shown)


def tell_of_museum(entry: Algorithm, shown: Card) -> None:
    """An exhibit that shares its file, and so its card, with others."""
    out = console()
    out.print(f"[bold cyan]{entry.name}[/]  {escape(entry.headline)}\n")
    out.print(Padding(f"[dim]{escape(entry.source)}, {entry.year}[/]", (0, 4)))
    out.print(f"\n[bold red]In the museum:[/] {escape(shown.note)}")
    varied = algorithm(entry.peer.__mro__[1]).name
    out.print(
        f"\nIt can end in {entry.verdict}: peerlock check {entry.name} shows how."
        f"\nIt varies {varied}: peerlock show {varied}."
    )


def tell(entry: Algorithm, shown: Card) -> None:
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
