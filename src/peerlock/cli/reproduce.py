"""`peerlock reproduce`: the papers' tables, figures and bounds beside what is measured."""

from __future__ import annotations

import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

import click
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table

from peerlock.cli.output import (
    console,
    exit_with,
    json_option,
    must_be_writable,
    plain_table,
    print_json,
    progress,
)
from peerlock.cli.places import place_options
from peerlock.core.errors import UsageError
from peerlock.lab.executor import Place
from peerlock.lab.reproduce.item import Finding
from peerlock.lab.reproduce.page import page
from peerlock.lab.reproduce.rows import Row, by_reason, rows
from peerlock.lab.reproduce.run import chosen
from peerlock.lab.reproduce.run import reproduce as run

UNEXPLAINED = 1


@click.command()
@click.option(
    "--only", metavar="WORD", help="Only items with this word: maekawa, table, fig. 4, …"
)
@click.option("--quick", is_flag=True, help="Leave out large sizes, which take long.")
@place_options
@click.option(
    "--plot",
    "folder",
    type=click.Path(path_type=Path, file_okay=False),
    metavar="DIR",
    help="Draw the papers' figures into this directory, as SVG and PNG.",
)
@click.option(
    "--markdown",
    type=click.Path(path_type=Path, dir_okay=False),
    metavar="FILE",
    help="Write everything to a Markdown page.",
)
@json_option
def reproduce(
    only: str | None,
    quick: bool,
    place: Place,
    folder: Path | None,
    markdown: Path | None,
    as_json: bool,
) -> None:
    """Recompute the tables, figures and bounds of the papers, and compare.

    Exit codes: 0 every item agrees, or disagrees for a known and confirmed reason; 1 an
    item disagrees for no known reason; 2 wrong usage.
    """
    if markdown is not None:
        must_be_writable(markdown)
    if folder is not None:
        must_be_a_folder(folder)
    items = chosen(quick, only)
    with progress("items", len(items)) as bar:
        findings = run(
            items, place, lambda done: bar.update(bar.task_ids[0], completed=done)
        )
    written = draw(findings, folder) if folder is not None else []
    if markdown is not None:
        beside = relative(folder, markdown) if written else None
        markdown.write_text(page(findings, beside), encoding="utf-8")
        written.append(markdown)
    unexplained = any(not finding.explained for finding in findings)
    with exit_with(UNEXPLAINED if unexplained else 0):
        if as_json:
            print_json([finding.as_dict() for finding in findings])
        else:
            tell(findings, written)


def must_be_a_folder(folder: Path) -> None:
    """Fails before the work, also if matplotlib is missing."""
    from peerlock.lab.plot import import_pyplot  # matplotlib is slow to load, and optional

    import_pyplot()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise UsageError(f"cannot write into {folder}: {error.strerror}") from None
    if not os.access(folder, os.W_OK):
        raise UsageError(f"cannot write into {folder}: Permission denied")


def draw(findings: Sequence[Finding], folder: Path) -> list[Path]:
    from peerlock.lab.reproduce.figures import draw_all

    return draw_all(findings, folder)


def relative(folder: Path | None, page_path: Path) -> str:
    assert folder is not None
    return Path(os.path.relpath(folder, page_path.parent)).as_posix()


# For people


def tell(findings: Sequence[Finding], written: Sequence[Path]) -> None:
    out = console()
    told = rows(findings)
    agreeing = [row for row in told if row.agrees]
    for source, group in groupby(agreeing, key=lambda row: row.source):
        out.print(f"\n[bold cyan]{escape(source)}[/]")
        out.print(table(list(group), "[green]✓[/]"))
    differing = [row for row in told if not row.agrees]
    if differing:
        out.print("\n[bold yellow]Where they disagree[/]")
    for reason in by_reason(differing):
        note = reason[0].note
        out.print(f"\n[bold cyan]{escape(reason[0].source)}[/]")
        sign = "[yellow]≠[/]" if note else "[bold red]✗[/]"
        out.print(table(reason, sign, predicted=bool(note)))
        why = escape(note) if note else "[bold red]The reason is not known.[/]"
        out.print(Padding(why, (0, 0, 0, 3)))
    out.print(f"\n{summary(findings)}")
    for path in written:
        out.print(f"[green]wrote {escape(str(path))}[/]")


def table(shown: Sequence[Row], sign: str, predicted: bool = False) -> Table:
    """`predicted`: with what the reason for a disagreement predicts."""
    more = ("predicted",) if predicted else ()
    found = plain_table("", "item", "where", "paper", "measured", *more)
    for row in shown:
        cells = (row.item, row.where, row.paper, row.measured, row.predicted)
        found.add_row(sign, *map(escape, cells[: 4 + predicted]))
    return found


def summary(findings: Sequence[Finding]) -> str:
    agreeing = sum(finding.agrees for finding in findings)
    unexplained = sum(not finding.explained for finding in findings)
    explained = len(findings) - agreeing - unexplained
    found = f"{len(findings)} items: [green]{agreeing} agree[/]"
    if explained:
        found += f", [yellow]{explained} disagree for a known reason[/]"
    if unexplained:
        found += f", [bold red]{unexplained} for no known reason[/]"
    return found
