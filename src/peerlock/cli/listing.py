"""What `peerlock list` prints.

It uses the index alone, and neither click nor rich, whose import would take longer than
all the rest.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from peerlock.algorithms.index import INDEX
from peerlock.algorithms.listed import FAMILIES, Listed

BOLD, NAME, DIM, PLAIN = "\033[1m", "\033[1;36m", "\033[2m", "\033[0m"
GAP = "  "
GROUP = "peerlock.algorithms"  # of entry points


def print_list(museum: bool = False, as_json: bool = False) -> None:
    known = [*INDEX.values(), *registered()]
    shown = [a for a in known if not museum or a.family == "museum"]
    if as_json:
        import json

        facts = [as_keys(entry) for entry in shown]
        text = json.dumps(facts, indent=2, ensure_ascii=False)
    else:
        text = "\n".join(lines(shown, width(), sys.stdout.isatty()))
    print(text, flush=True)


def registered() -> Iterator[Listed]:
    """What installed packages have registered; a warning for each that cannot be used."""
    if not any(registers(folder or ".") for folder in sys.path):
        return
    from importlib.metadata import entry_points

    from peerlock.algorithms.lookup import algorithm
    from peerlock.algorithms.settings import listed
    from peerlock.core.errors import UsageError

    for name in sorted(entry_points(group=GROUP).names):
        try:
            yield listed(algorithm(name))._replace(name=name)
        except UsageError as error:
            print(f"peerlock: left out {name}: {error}", file=sys.stderr)


def registers(folder: str) -> bool:
    """Whether a package in this folder may do so: asking importlib takes much longer."""
    try:
        found = [f"{folder}/{item}" for item in os.listdir(folder) if "-info" in item]
    except OSError:
        return False
    return any(GROUP in contents(f"{path}/entry_points.txt") for path in found)


def contents(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def as_keys(entry: Listed) -> dict[str, object]:
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


def width() -> int:
    """Of the terminal; in a pipe, wide enough for every table."""
    if not sys.stdout.isatty():
        return 160
    wanted = os.environ.get("COLUMNS", "")
    return int(wanted) if wanted.isdecimal() else os.get_terminal_size(1).columns


def lines(shown: list[Listed], columns: int, styled: bool) -> Iterator[str]:
    for family, title in FAMILIES.items():
        entries = [a for a in shown if a.family == family]
        if entries:
            rows = museum_rows(entries) if family == "museum" else rows_of(entries, columns)
            yield from ("", style(title, BOLD, styled), "")
            yield from table(rows, columns, styled)
    yield ""
    yield style("peerlock show NAME prints the details of an algorithm.", DIM, styled)


def rows_of(entries: list[Listed], columns: int) -> list[tuple[str, ...]]:
    """Headings first; on a narrow terminal without the publication."""
    headings = ("name", "messages per entry", "needs", "published by", "year")
    found = ((a.name, a.messages, a.needs or "–", a.source, str(a.year)) for a in entries)
    rows: list[tuple[str, ...]] = [headings, *found]
    return rows if columns >= 110 else [row[:3] for row in rows]


def museum_rows(entries: list[Listed]) -> list[tuple[str, ...]]:
    rows = ((a.name, a.verdict, a.headline) for a in entries)
    return [("name", "ends in", "what is wrong"), *rows]


def table(rows: list[tuple[str, ...]], columns: int, styled: bool) -> Iterator[str]:
    """Columns as wide as needed; cells that do not fit are wrapped."""
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    while sum(widths) + len(GAP) * (len(widths) - 1) > columns and max(widths[1:]) > 12:
        widest = max(range(1, len(widths)), key=widths.__getitem__)
        widths[widest] -= 1
    for i, row in enumerate(rows):
        cells = [wrapped(cell, room) for cell, room in zip(row, widths, strict=True)]
        for j in range(max(map(len, cells))):
            parts = [
                (cell[j] if j < len(cell) else "").ljust(room)
                for cell, room in zip(cells, widths, strict=True)
            ]
            if i == 0:
                yield style(GAP.join(parts).rstrip(), BOLD, styled)
            else:
                parts[0] = style(parts[0], NAME, styled)
                yield GAP.join(parts).rstrip()


def wrapped(text: str, room: int) -> list[str]:
    found = [""]
    for word in text.split():
        longer = f"{found[-1]} {word}".lstrip()
        if len(longer) <= room:
            found[-1] = longer
        else:
            found.append(word)
    return found if found[0] or len(found) == 1 else found[1:]


def style(text: str, code: str, styled: bool) -> str:
    return f"{code}{text}{PLAIN}" if styled else text
