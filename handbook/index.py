"""`make index`: what is derived from the algorithms' files and kept in the repository.

That is the index of the algorithms, a module, and the tables of docs/algorithms.md.  A test
compares both with the files and fails with "run: make index".
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path

from handbook.markdown import table
from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.listed import FAMILIES
from peerlock.algorithms.settings import listed

ROOT = Path(__file__).parents[1]
ALGORITHMS = ROOT / "src" / "peerlock" / "algorithms"
INDEX, TABLES = ALGORITHMS / "index.py", ROOT / "docs" / "algorithms.md"

HEAD = '''\
"""The index: what there is to know of each algorithm without importing its file.

Written by `make index` from the entries at the ends of the files; not to be edited.
"""

# fmt: off
# ruff: noqa: E501

from __future__ import annotations

from peerlock.algorithms.listed import Listed

INDEX: dict[str, Listed] = {
'''


def write() -> None:
    entries = list(found())
    INDEX.write_text(index(entries))
    TABLES.write_text(with_tables(TABLES.read_text(), entries))


def found() -> Iterator[Algorithm]:
    """The entries of all files: by family, the oldest first."""
    modules = (f"peerlock.algorithms.{path.stem}" for path in ALGORITHMS.glob("[a-z]*.py"))
    entries = (e for m in modules for e in getattr(import_module(m), "ENTRIES", ()))
    order = list(FAMILIES)
    yield from sorted(entries, key=lambda a: (order.index(a.family), a.year, a.name))


def index(entries: Iterable[Algorithm]) -> str:
    return f"{HEAD}{''.join(map(line, entries))}}}\n"


def line(entry: Algorithm) -> str:
    values = ", ".join(map(quoted, listed(entry)))
    return f"    {quoted(entry.name)}: Listed({values}),\n"


def quoted(value: object) -> str:
    """As the rest of the code has it: in double quotes."""
    if isinstance(value, tuple):
        inside = ", ".join(map(quoted, value))
        return f"({inside},)" if len(value) == 1 else f"({inside})"
    if not isinstance(value, str):
        return repr(value)
    return '"{}"'.format(value.replace("\\", r"\\").replace('"', r"\""))


def with_tables(text: str, entries: list[Algorithm]) -> str:
    """The page with both tables replaced: each from its headings to an empty line."""
    wrong = [a for a in entries if a.family == "museum"]
    right = [a for a in entries if a.family != "museum"]
    for lines in (right_table(right), museum_table(wrong)):
        head = lines.partition("\n")[0]
        before, _, after = text.partition(head)
        rest = after.partition("\n\n")[2]
        text = f"{before}{lines}\n\n{rest}"
    return f"{text.rstrip()}\n"


def right_table(entries: Iterable[Algorithm]) -> str:
    headings = ("name", "published by", "family", "messages per entry", "needs", "serves")
    return table(
        headings,
        (
            (
                f"`{a.name}`",
                f"{a.source}, {a.year}",
                a.family,
                a.messages,
                a.needs or "–",
                ", ".join(a.serves) or "–",
            )
            for a in entries
        ),
    )


def museum_table(entries: Iterable[Algorithm]) -> str:
    rows = ((f"`{a.name}`", a.verdict, a.headline) for a in entries)
    return table(("name", "ends in", "what is wrong"), rows)


if __name__ == "__main__":
    write()
