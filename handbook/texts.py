"""The pages that are written by hand: those of docs/, the README's beginning, the house."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path, PurePosixPath
from posixpath import normpath

from handbook.book import ROOT, Book
from handbook.markdown import listed

LINK = re.compile(r"(!?)\[([^\]]*)\]\(([^)\s]+)\)")
MISSING = re.compile(r"!\[[^\]]*\]\(([^)\s]+)\)\n(?:\n\*[^*]+\*\n)?")  # and its caption
MOVED = {"README.md": "index.md", "ARCHITECTURE.md": "architecture.md"}

# Sections of the README that are on the start page, and where others have gone.
ON_START_PAGE = ("try-it", "use-it")
ELSEWHERE = {"what-is-in-it": "compare.md", "the-algorithms": "compare.md"}

# In this order; a page of docs/ that is not named here is listed after the first ones.
USE = ("tutorial", "promises", "knobs")
FOUND = ("literature", "checked", "reproduced")

NEXT = """\
## Where to go from here

- *A job must not run twice at the same time*: [from zero to a safe cron job](tutorial.md),
  in a quarter of an hour.
- *What exactly can I rely on?* [What is promised, and what is not](promises.md), and when
  you need the fence.
- *How do I set …?* [Every knob](knobs.md), [the command line](commands.md),
  [the Python API](api.md).
- *Which algorithm, for my network and load?* [All of them compared](compare.md), by
  measurement; `peerlock advise` does it for your own numbers.
- *How does the one in my textbook work?* A page for each, with a run to look at:
  [ask for permission](permission.md), [wait for the token](token.md),
  [several at a time](several.md).
- *Is what the papers say true?* Mostly. [What we found wrong](literature.md), each with the
  picture of the shortest way to go wrong, and [what was checked](checked.md).
- *Whom must a node ask?* [Quorum systems](quorums.md), drawn and measured.
- *I have an algorithm of my own.* [Check, draw, compare and run it](own-algorithm.md);
  [the lab in Python](lab.md).
- *How is it built?* [The house](architecture.md).
"""


def write(book: Book) -> None:
    documents = sorted((ROOT / "docs").glob("*.md"))
    for path in documents:
        book.pages[path.name] = rehoused(path.read_text(), f"docs/{path.name}", book)
    house = (ROOT / "ARCHITECTURE.md").read_text()
    book.pages["architecture.md"] = rehoused(house, "ARCHITECTURE.md", book)
    start = rehoused(beginning((ROOT / "README.md").read_text()), "README.md", book)
    names = {path.stem for path in documents}
    book.pages["index.md"] = "\n\n".join([start, NEXT, *contents(names)]) + "\n"


def beginning(readme: str) -> str:
    """What it is, how to try it, how to use it; without what reads on."""
    sections = re.split(r"^(?=## )", readme, flags=re.MULTILINE)
    wanted = [s for s in sections if s.startswith(("# ", "## Try it", "## Use it"))]
    text, _, _ = "".join(wanted).partition("\nRead on:")
    return text


def contents(documents: set[str]) -> Iterator[str]:
    """The table of contents, for the margin."""
    others = sorted(documents - set(USE) - set(FOUND))
    use = [name for name in USE if name in documents]
    yield listed([*use, *others, "commands", "api", "lab"], "Use it")
    yield listed(["compare", "permission", "token", "several", "quorums"], "The algorithms")
    found = [name for name in FOUND if name in documents or name == "literature"]
    yield listed([*found, "architecture"], "Behind it")


def rehoused(text: str, origin: str, book: Book) -> str:
    """The same page at its place in the site, with links to match."""

    def kept(picture: re.Match[str]) -> str:
        there = (ROOT / PurePosixPath(origin).parent / picture[1]).exists()
        return picture[0] if there else ""

    def moved(link: re.Match[str]) -> str:
        picture, words, target = link.groups()
        if "://" in target or target.startswith("#"):
            return link[0]
        path, _, anchor = target.partition("#")
        place = normpath(PurePosixPath(origin).parent / path)
        if picture:
            return shown(ROOT / place, words, book)
        new = at_home(place, anchor)
        return words if new is None else f"[{words}]({new})"

    return LINK.sub(moved, MISSING.sub(kept, text))


def at_home(place: str, anchor: str) -> str | None:
    """Where a file of the project is in the site; None, if it is not."""
    if place == "README.md" and anchor not in ("", *ON_START_PAGE):
        return ELSEWHERE.get(anchor, "index.md")
    new = MOVED.get(place) or (place[5:] if place.startswith("docs/") else None)
    return new and f"{new}{'#' + anchor if anchor else ''}"


def shown(path: Path, words: str, book: Book) -> str:
    """A picture, which the page takes as it is."""
    book.files[f"pictures/{path.name}"] = path.read_bytes()
    return f'<img class="wide" src="pictures/{path.name}" alt="{words}">'
