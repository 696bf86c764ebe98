"""An algorithm's card: the docstring at the top of its file, taken apart.

A card has these paragraphs: a title; the citation; the idea, of one paragraph or more;
the facts, a line for each of FACTS; and, as a list, where the file departs from its source.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from inspect import cleandoc

from peerlock.algorithms.entry import Algorithm

FACTS = ("messages", "delay", "network", "failures", "fairness")


@dataclass(frozen=True)
class Card:
    title: str
    citation: str
    idea: str
    facts: dict[str, str]
    departures: tuple[str, ...]
    note: str  # for what is in the museum: what is wrong with it


def card(entry: Algorithm) -> Card:
    title, citation, *middle, departures = docstring(entry).split("\n\n")
    facts = middle.pop()
    return Card(
        title=title,
        citation=_flow(citation),
        idea="\n\n".join(map(_flow, middle)),
        facts=dict(_facts(facts)),
        departures=tuple(map(_flow, departures.split("\n  * ")[1:])),
        note=_flow(entry.peer.__doc__ or "") if entry.family == "museum" else "",
    )


def docstring(entry: Algorithm) -> str:
    """Of its file; of its class where there is no file, as in a notebook."""
    return cleandoc(sys.modules[entry.peer.__module__].__doc__ or entry.peer.__doc__ or "")


def _facts(block: str) -> Iterator[tuple[str, str]]:
    """Lines of a word, then what it says, which may continue in deeper indented lines."""
    entries = cleandoc(block).replace("\n ", " ").splitlines()
    for entry in entries:
        name, _, text = entry.partition(" ")
        yield name, _flow(text)


def _flow(text: str) -> str:
    return " ".join(text.split())
