"""A page for each algorithm of the catalogue, and one for each family of them."""

from __future__ import annotations

import re
from collections.abc import Iterator

from handbook import checked, lab, runs
from handbook.book import Book, up
from handbook.markdown import code, console, details, listed, prose, table
from handbook.measures import SIZES, Measured, right_ones
from peerlock.algorithms.card import Card, card
from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.listed import FAMILIES

FAMILY_WORDS = {
    "permission": """\
A node that wants to enter asks other nodes, and enters when all of them have agreed. The
algorithms differ in which nodes must be asked: all, a majority, or a *quorum*, a set chosen
so that any two of them have a node in common. There is no token that could be lost, but
nodes that do not want to enter must answer, too.""",
    "token": """\
There is one token, and the node that has it may enter. The algorithms differ in how a node
finds the token: by asking all nodes, by following pointers through a tree or a mesh, or by
waiting until it comes round. A node that already has the token needs no message. If the
token is lost, no node can enter; some algorithms can make a new one.""",
    "several": """\
More than one node may be inside together. With some algorithms up to *k* nodes may: a
semaphore for a whole cluster. With others a request names a group, a number of units or a
set of resources, which decides which requests may be inside together: those of one group,
those whose units are available, those whose resources are disjoint. All of them are
variations of the ideas on the other pages.""",
}

HOW_TO_READ = """\
Time runs to the right, and each node has a line. Hatched: the node waits. Solid: it is
inside, with its *fence*, a number that grows from entry to entry. Arrows are messages;
hover over one to see its content."""

FACTS = {
    "messages": "messages per entry",
    "delay": "synchronisation delay",
    "network": "network",
    "failures": "failures",
    "fairness": "fairness",
}


def write(book: Book, measured: Measured) -> None:
    told = runs.stories()
    for entry in right_ones():
        mine = [story for story in told if story.algorithm == entry.name]
        parts = algorithm_page(book, entry, mine, measured)
        book.pages[path_of(entry.name)] = "\n\n".join(parts) + "\n"
    for family in FAMILY_WORDS:
        book.pages[f"{family}.md"] = family_page(family)


def linked(text: str, page: str) -> str:
    """An algorithm that is named in code, or its class, becomes a link to its page.

    "Below" is where the class stands in the file, and not on the page.
    """
    names = {a.peer.__name__: a.name for a in CATALOGUE} | {
        a.name: a.name for a in CATALOGUE
    }

    def link(code: re.Match[str]) -> str:
        name = names.get(code[1])
        if name is None:
            return code[0]
        if path_of(name) == page:
            return f"`{code[1]}`"
        return f"[{name}]({up(page)}{path_of(name)})"

    return re.sub(r"`([^`]+)`(?: below)?", link, text)


def path_of(name: str) -> str:
    return f"algorithms/{name}.md"


def family_page(family: str) -> str:
    members = [entry for entry in right_ones() if entry.family == family]
    headings = ["", "published by", "messages per entry", "needs", "serves"]
    rows = [
        (
            f"[{entry.name}]({path_of(entry.name)})",
            f"{entry.source}, {entry.year}",
            prose(entry.messages),
            entry.needs or "–",
            ", ".join(entry.serves) or "the lab only",
        )
        for entry in members
    ]
    explained = """\
N is the number of nodes, K the size of a quorum, D the diameter of a tree, k the number
of permits. *FIFO*: messages between two nodes must arrive in the order in which they were
sent; all other algorithms also hold if messages are reordered. *Lab only*: the algorithm
can be simulated, drawn and checked, but not used as a lock, because it needs something
that processes on a network lack, or gives up something that a lock must guarantee."""
    parts = [
        f"---\nhide-toc: true\n---\n\n# {FAMILIES[family]}",
        FAMILY_WORDS[family],
        table(headings, rows),
        explained,
        listed(path_of(entry.name) for entry in members),
    ]
    return "\n\n".join(parts) + "\n"


def algorithm_page(
    book: Book, entry: Algorithm, told: list[runs.Story], measured: Measured
) -> Iterator[str]:
    shown, page = card(entry), path_of(entry.name)
    yield f"# {entry.name}\n\n**{prose(shown.title)}**"
    yield linked(prose(shown.idea), page)
    yield at_a_glance(entry, shown)
    yield f"## A run\n\n{HOW_TO_READ}"
    yield book.draw(page, entry.name, runs.run_of(entry))
    yield from [lab.button(page, entry)] * book.lab
    yield console(f"{runs.command_of(entry)} --trace run.svg")
    yield "## What it costs\n\n" + costs(entry, measured)
    yield from verdicts(entry)
    yield "## Try it\n\n" + commands(entry)
    yield from stories(book, page, told)
    yield "## Where our code departs from its source, and why"
    yield "\n".join(f"- {linked(prose(text), page)}" for text in shown.departures)
    yield f"## Source\n\n{prose(shown.citation)}"


def at_a_glance(entry: Algorithm, shown: Card) -> str:
    rows = [(FACTS[fact], prose(text)) for fact, text in shown.facts.items()]
    rows.append(("needs", prose(entry.needs or "nothing more")))
    rows.append(
        ("serves", ", ".join(entry.serves) or "the lab only: it cannot be used as a lock")
    )
    return "## At a glance\n\n" + table(["", ""], rows)


def costs(entry: Algorithm, measured: Measured) -> str:
    words = f"""\
Messages per entry, counted in simulated runs when this page was built. *No contention*: one
request at a time, from a random node. *Full contention*: every node requests again as soon
as it has left. According to the source: {prose(entry.messages)}."""
    headings = ["nodes", *map(str, SIZES)]
    rows = [
        (
            label,
            *(
                number(measured.of(entry.name, load, n).messages_per_entry.mean)
                for n in SIZES
            ),
        )
        for label, load in (("no contention", "light"), ("full contention", "heavy"))
    ]
    link = "[All algorithms side by side](../compare.md)"
    return f"{words}\n\n{table(headings, rows, '-' + 'r' * len(SIZES))}\n\n{link}"


def number(value: float) -> str:
    return f"{value:,.0f}" if value >= 1000 else f"{value:.2f}"


def verdicts(entry: Algorithm) -> Iterator[str]:
    """The results of the checker, and the wrong variations of the museum."""
    yield "## Every schedule"
    found = checked.searches_of(entry.name)
    if found:
        headings, _ = checked.searches()
        shown = [headings.index(h) for h in headings if h not in ("algorithm", "seconds")]
        yield """\
`peerlock check` tries every order in which requests, messages and releases of a small
cluster can happen, with the same code that serves real locks. A *state* is a situation of
the cluster; the last columns are maxima over all schedules. [What is
checked](../checked.md)"""
        right = "rr--rrrrr"
        yield table(
            [headings[i] for i in shown], ([r[i] for i in shown] for r in found), right
        )
    else:
        yield "The tests check it at the default size of `peerlock check`."
    relatives = [a for a in CATALOGUE if a.family == "museum" and is_kin(a, entry)]
    if relatives:
        links = ", ".join(f"[{a.name}]({a.name}.md) ({a.verdict})" for a in relatives)
        yield f"Variations that are wrong, and what goes wrong: {links}."
    names = {entry.name, *(a.name for a in relatives)}
    items = checked.findings_about(names, sole_authors(entry))
    if items:
        yield "What the searches have found about it:"
        yield "\n".join(f"- {linked(item, path_of(entry.name))}" for item in items)


def sole_authors(entry: Algorithm) -> str:
    """The authors, if they have no other algorithm in the catalogue."""
    by = [a for a in right_ones() if authors(a) == authors(entry)]
    return authors(entry) if len(by) == 1 else ""


def authors(entry: Algorithm) -> str:
    return card(entry).title.partition(",")[0]


def is_kin(wrong: Algorithm, right: Algorithm) -> bool:
    """Made of it, or from the same file."""
    return right is original(wrong)


def original(wrong: Algorithm) -> Algorithm | None:
    """The algorithm that an exhibit of the museum varies: the nearest by class."""
    for kind in wrong.peer.__mro__:
        for entry in right_ones():
            if entry.peer is kind:
                return entry
    same_file = (a for a in right_ones() if a.peer.__module__ == wrong.peer.__module__)
    return next(same_file, None)


def commands(entry: Algorithm) -> str:
    name = entry.name
    study = [
        f"peerlock show {name}",
        f"peerlock simulate {name} -n 13 --load light",
        f"peerlock check {name}",
    ]
    parts = [console(*study)]
    use = list(uses(entry))
    if use:
        parts.append("As a real lock between your processes:")
        parts.append(console(*use))
        method = (
            f'node.semaphore("gpu", 4, algorithm="{name}")'
            if "semaphore" in entry.serves
            else f'node.lock("invoices", algorithm="{name}")'
        )
        parts.append(code(f"async with {method}:\n    ...", "python"))
    return "\n\n".join(parts)


def uses(entry: Algorithm) -> Iterator[str]:
    by = f"--algorithm {entry.name}"
    if "lock" in entry.serves:
        yield f"peerlock demo {by}"
        yield f"peerlock lock {by} invoices -- ./send-invoices"
    if "shared lock" in entry.serves:
        yield f"peerlock lock -s {by} catalogue -- ./report"
    if "semaphore" in entry.serves:
        yield f"peerlock lock --permits 4 {by} gpu -- ./train"


def stories(book: Book, page: str, told: list[runs.Story]) -> Iterator[str]:
    """Examples from the source, with what our code does at each step."""
    if not told:
        return
    yield "## Step by step"
    yield """\
An example from the source, or one that shows what is special, as a transcript that the
tests verify: lines at the margin are steps, indented lines are what our code does then."""
    for story in told:
        picture = book.draw(page, f"story-{story.name}", story.trace)
        yield details(story.title, f"{picture}\n{code(story.text)}")
