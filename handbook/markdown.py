"""Small pieces of Markdown."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from html import escape

PLAIN = re.compile(r"(`+[^`]+`+)")
SPECIAL = re.compile(r"([*\[\]<>{}]|(?<!\w)_|_(?!\w))")


def prose(text: str) -> str:
    """Plain text as Markdown; what stands in backquotes stays code."""
    parts = PLAIN.split(text)
    return "".join(
        part if i % 2 else SPECIAL.sub(r"\\\1", part) for i, part in enumerate(parts)
    )


def cell(text: object) -> str:
    return str(text).replace("|", r"\|").replace("\n", " ")


def table(
    headings: Sequence[str], rows: Iterable[Sequence[object]], numbers: str = ""
) -> str:
    """`numbers` has an r for each column that is set flush right, and - for others."""
    right = numbers.ljust(len(headings), "-")
    rules = ("---:" if align == "r" else "---" for align in right)
    lines = [
        f"| {' | '.join(headings)} |",
        f"| {' | '.join(rules)} |",
        *(f"| {' | '.join(map(cell, row))} |" for row in rows),
    ]
    return "\n".join(lines)


def code(text: str, language: str = "text") -> str:
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{language}\n{text.rstrip()}\n{fence}"


def console(*commands: str) -> str:
    return code("\n".join(f"$ {command}" for command in commands), "console")


def listed(pages: Iterable[str], caption: str = "", hidden: bool = True) -> str:
    """A part of the table of contents."""
    options = [":maxdepth: 1", *([":hidden:"] if hidden else [])]
    options += [f":caption: {caption}"] if caption else []
    return "\n".join(["```{toctree}", *options, "", *pages, "```"])


def details(summary: str, content: str) -> str:
    """Folded until it is opened."""
    return f"<details>\n<summary>{escape(summary)}</summary>\n\n{content}\n\n</details>"
