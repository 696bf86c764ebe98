"""What is wrong in the literature: a page with all of it, and a page for each piece."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from handbook import checked, lab, runs
from handbook.algorithms import HOW_TO_READ, linked, original, path_of
from handbook.book import ROOT, Book, inline, up
from handbook.markdown import console, listed, prose
from handbook.runs import Wrong
from peerlock.algorithms import museum
from peerlock.algorithms.card import card
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.checker.model import exhibit

INTRODUCTION = """\
# What we found wrong

The algorithms in this collection were written from their papers, and every schedule of a
small cluster of each was tried. Most hold. Some do not: as they were published, as a survey
retells them, or if a sentence, which is quoted, is taken literally. Each of these is in the
*museum* of the catalogue, with its verdict and a shortest counterexample, found by
`peerlock check`. None of them can be used as a lock.

The verdicts: *exclusion*, two nodes are inside together; *deadlock*, a node waits and
nothing more can happen; *starvation*, a node waits while others enter, or until another
node happens to request; *overtaking*, every node enters, but without a bound on how often
others enter before it.
"""

SURVEY = "As Velazquez's survey of 1993 describes them"
ON_PURPOSE = "Broken on purpose"
WORDS = {
    SURVEY: """\
Several algorithms were written from M. G. Velazquez's survey, a technical report of 1993,
and not from their own papers. What was tried is what the survey says in a sentence or two;
the papers themselves may well be right.""",
    ON_PURPOSE: """\
One line was changed, or one assumption dropped. These show what that line is for, and that
the checker notices.""",
}


def write(book: Book, search: Callable[[str], Wrong] = runs.wrong) -> None:
    shown = [a for a in CATALOGUE if a.family == "museum"]
    groups: dict[str, list[str]] = {}
    for entry in sorted(shown, key=lambda a: (a.year, a.source)):
        found = search(entry.name)
        book.pages[path_of(entry.name)] = piece_page(book, entry, found)
        groups.setdefault(group_of(entry), []).append(piece(book, entry, found))
    last = [SURVEY, ON_PURPOSE]
    order = [g for g in groups if g not in last] + [g for g in last if g in groups]
    parts = [INTRODUCTION, HOW_TO_READ]
    for group in order:
        parts.append(f"## {group}")
        parts += [WORDS[group]] if group in WORDS else []
        parts += groups[group]
    parts += findings()
    parts.append(listed(path_of(entry.name) for entry in shown))
    book.pages["literature.md"] = "\n\n".join(parts) + "\n"


def group_of(entry: Algorithm) -> str:
    """The source of the error."""
    if "Velazquez" in entry.source:
        return SURVEY
    if entry.source.startswith("made from"):
        return ON_PURPOSE
    names = entry.source.removesuffix(", TR-869")
    report = ", technical report 869" if names != entry.source else ""
    return f"From {names.replace(', ', ' and ')}{report}, {entry.year}"


def piece(book: Book, entry: Algorithm, found: Wrong) -> str:
    """Its part of the page of all."""
    page = "literature.md"
    parts = [
        f"### {entry.name}",
        prose(card(entry).note),
        *quoted(entry),
        f"**{prose(found.verdict)}.** {way(entry, found)} "
        f"[Its page]({path_of(entry.name)})",
        picture(book, page, entry, found),
    ]
    return "\n\n".join(parts)


def piece_page(book: Book, entry: Algorithm, found: Wrong) -> str:
    shown, page, right = card(entry), path_of(entry.name), original(entry)
    parts = [
        f"# {entry.name}",
        f"**In the museum: this algorithm is wrong.** {prose(shown.note)}",
        *quoted(entry),
        f"{way(entry, found)} The verdict: **{prose(found.verdict)}.**",
        picture(book, page, entry, found),
        *[lab.button(page, entry, found.trace)] * book.lab,
        HOW_TO_READ,
        console(f"peerlock check {entry.name} --trace counterexample.svg"),
        *([f"It varies [{right.name}]({right.name}.md)."] if right else []),
        *(f"> {linked(item, page)}" for item in checked.findings_about({entry.name})),
        f"## Source\n\n{source(entry, right)}",
        "[Everything that we found wrong](../literature.md)",
    ]
    return "\n\n".join(parts) + "\n"


def source(entry: Algorithm, right: Algorithm | None) -> str:
    """The source of the error, and the paper that it concerns."""
    of_one_file = entry.peer.__module__ != museum.__name__
    cited = card(entry if of_one_file or right is None else right).citation
    return prose(f"{entry.source[0].upper()}{entry.source[1:]}, {entry.year}. {cited}")


def quoted(entry: Algorithm) -> Iterator[str]:
    """Quotations from the paper, with their places."""
    return (f"> {prose(str(quotation))}" for quotation in entry.quotes)


def way(entry: Algorithm, found: Wrong) -> str:
    chosen = exhibit(entry.name)
    asked = chosen.requests
    each = "requests without end"
    if asked is not None:
        each = f"{asked[0]} each" if len(set(asked)) == 1 else ", ".join(map(str, asked))
        each = f"requests: {each}"
    length = f"A shortest counterexample takes {found.depth} steps"
    if entry.verdict == "overtaking":
        length = f"All {found.states:,} states were tried, and the worst schedule is drawn"
    network = chosen.assumptions.replace("fifo", "in order").replace("any", "in any")
    quorums = f", asking {entry.exhibit.quorums} quorums" if entry.exhibit.quorums else ""
    return f"{length}, with {chosen.nodes} nodes{quorums} ({each}; messages {network})."


def picture(book: Book, page: str, entry: Algorithm, found: Wrong) -> str:
    if found.trace is not None:
        return book.draw(page, entry.name, found.trace)
    name = f"{entry.name}.svg"
    drawn = (ROOT / "docs" / "museum" / name).read_text()
    book.files[f"pictures/{name}"] = drawn
    shown = book.show(page, f"pictures/run-{entry.name}.html", inline(drawn))
    return (
        f"{shown}\n\n<p class='walk'><a href=\"{up(page)}pictures/{name}\">On its own</a>; "
        "drawn in advance, because this search takes longer than all others together.</p>"
    )


def findings() -> Iterator[str]:
    """The other findings of docs/checked.md."""
    yield "## The bounds of technical report 869"
    yield checked.section("TR-869, the appendix and section 6.4")
    yield "## Errors in the papers"
    yield linked(checked.section("Errors in the papers"), "literature.md")
    yield "## All findings of the searches"
    yield "Everything else that the searches showed. [What was checked](checked.md)"
    yield "\n".join(f"- {linked(item, 'literature.md')}" for item in checked.findings())
