"""The pages that are written by hand: docs/, the README and the architecture."""

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

# A section of the README that is a page of its own, and one that is on no page.
COMPARED, MORE = "## When to use it, and when not\n", "## More\n"
BESIDE = "Compared with flock, Redis, etcd and PostgreSQL"
ELSEWHERE = {"when-to-use-it-and-when-not": "alternatives.md", "the-lab": "compare.md"}

# In this order; a page of docs/ that is not named here is listed after the first ones.
USE = ("tutorial", "which-lock", "promises", "knobs", "recipes")
ALGORITHMS = ("algorithms", "browser", "own-algorithm", "speed")
FOUND = ("literature", "checked", "reproduced")
BEHIND = ("chaos", "mutants", "releasing", "glossary")

RECIPES = sorted((ROOT / "docs" / "recipes").glob("*.md"))

NEXT = """\
## Where to go from here

- *A job must not run twice at the same time*: [from zero to a safe cron job](tutorial.md),
  in a quarter of an hour.
- *I have a problem with concurrency*: [which lock do I need?](which-lock.md)
- *Should I use Redis, etcd or PostgreSQL instead?* [A comparison](alternatives.md).
- *What exactly can I rely on?* [What is promised, and what is not](promises.md), and when
  you need the fence.
- *My program is not in Python.* [Locks for other languages](other-languages.md), over HTTP.
- *I want to see it live*: [a page of a real cluster](serve.md#the-cluster-alive).
- *How do I configure it?* [Settings](knobs.md), [the command line](commands.md),
  [the Python API](api.md), [many machines](cluster.md), [recipes](recipes.md) for gunicorn,
  Celery, Django, pytest, tooz and others.
- *Which algorithm suits my network and load?* [All algorithms compared](compare.md), by
  measurement; `peerlock advise` does it for your own numbers.
- *How does the algorithm in my textbook work?* A page for each, with a drawn run:
  [permission](permission.md), [token](token.md), [several at a time](several.md).
- *Is what the papers say true?* Mostly. [What we found wrong](literature.md), each with a
  shortest counterexample, and [what was checked](checked.md).
- *I want to play with it.* [The lab in the browser](browser.md): play, watch and break
  every algorithm.
- *Which nodes must a node ask?* [Quorum systems](quorums.md), drawn and measured.
- *I have an algorithm of my own.* [Check, draw, compare and run it](own-algorithm.md);
  [the lab in Python](lab.md). *An engine, or an integration?* [Their modules](modules.md).
- *How is it built?* [The architecture](architecture.md). *What does that word mean?*
  [The glossary](glossary.md).
"""


def write(book: Book) -> None:
    documents = sorted((ROOT / "docs").glob("*.md"))
    for path in documents:
        book.pages[path.name] = rehoused(path.read_text(), f"docs/{path.name}", book)
    for path in RECIPES:  # which have no links
        book.pages[f"recipes/{path.name}"] = path.read_text()
    built = (ROOT / "ARCHITECTURE.md").read_text()
    book.pages["architecture.md"] = rehoused(built, "ARCHITECTURE.md", book)
    start, compared = parted((ROOT / "README.md").read_text())
    book.pages["alternatives.md"] = rehoused(compared, "README.md", book)
    names = {path.stem for path in documents}
    book.pages["index.md"] = (
        "\n\n".join([rehoused(start, "README.md", book), NEXT, *contents(names)]) + "\n"
    )


def parted(readme: str) -> tuple[str, str]:
    """The start page, and the comparison, which is a page of its own."""
    first, *sections = re.split(r"^(?=## )", readme, flags=re.MULTILINE)
    compared = next(s for s in sections if s.startswith(COMPARED))
    apart = (COMPARED, MORE)
    start = [first, *(s for s in sections if not s.startswith(apart))]
    return "".join(start), compared.replace(COMPARED, f"# {BESIDE}\n", 1)


def contents(documents: set[str]) -> Iterator[str]:
    """The table of contents, for the margin."""
    others = sorted(documents - {*USE, *ALGORITHMS, *FOUND, *BEHIND})
    yield listed([*USE, "alternatives", *others, "commands", "api", "modules"], "Use it")
    yield listed([f"recipes/{path.stem}" for path in RECIPES], "Recipes")
    kinds = ["compare", "permission", "token", "several", "quorums"]
    yield listed([*kinds, *ALGORITHMS, "lab"], "The algorithms")
    yield listed([*FOUND, "architecture", *BEHIND], "Behind it")


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
        if place.startswith("docs/") and not place.endswith(".md"):
            return beside(place.removeprefix("docs/"), words, book)
        new = at_home(place, anchor)
        return words if new is None else f"[{words}]({new})"

    return LINK.sub(moved, MISSING.sub(kept, text))


def at_home(place: str, anchor: str) -> str | None:
    """Where a file of the project is in the site; None, if it is not."""
    if place == "README.md" and anchor in ELSEWHERE:
        return ELSEWHERE[anchor]
    new = MOVED.get(place) or (place[5:] if place.startswith("docs/") else None)
    return new and f"{new}{'#' + anchor if anchor else ''}"


def beside(place: str, words: str, book: Book) -> str:
    """A file that a page offers as it is."""
    book.files[place] = (ROOT / "docs" / place).read_bytes()
    return f'<a href="{place}">{words}</a>'


def shown(path: Path, words: str, book: Book) -> str:
    """A picture, which the page takes as it is."""
    book.files[f"pictures/{path.name}"] = path.read_bytes()
    return f'<img class="wide" src="pictures/{path.name}" alt="{words}">'
