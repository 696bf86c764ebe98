"""docs/checked.md, parsed: what was searched, and what was found."""

from __future__ import annotations

import re
from functools import cache

from handbook.book import ROOT

Row = tuple[str, ...]


@cache
def text() -> str:
    return (ROOT / "docs" / "checked.md").read_text()


@cache
def searches() -> tuple[Row, tuple[Row, ...]]:
    """The headings of the large table, and its rows."""
    headings, *rows = table("The table")
    return headings, tuple(rows)


def table(heading: str) -> tuple[Row, ...]:
    """The one below a heading: its headings, and its rows."""
    lines = [line for line in section(heading).splitlines() if line[:1] == "|"]
    headings, _, *rows = (tuple(map(str.strip, line[1:-1].split("|"))) for line in lines)
    return headings, *rows


def searches_of(name: str) -> list[Row]:
    return [row for row in searches()[1] if row[0] == name]


def section(heading: str) -> str:
    """What stands below a heading; nothing, if there is none such."""
    _, found, rest = text().partition(f"\n## {heading}\n")
    return rest.partition("\n## ")[0].strip() if found else ""


@cache
def errors() -> tuple[Row, ...]:
    """What does not hold of what the papers say: paper, sentence, what follows, known."""
    return table("Errors in the papers")[1:]


def findings() -> list[str]:
    """The list of what was found, an item each."""
    _, *items = re.split(r"^- ", section("Other things found"), flags=re.MULTILINE)
    return [" ".join(item.split()) for item in items]


def findings_about(names: set[str], authors: str = "") -> list[str]:
    """Those that name one of them, or the authors."""
    return [
        item
        for item in findings()
        if names & set(re.findall(r"`([^`]+)`", item)) or (authors and authors in item)
    ]
