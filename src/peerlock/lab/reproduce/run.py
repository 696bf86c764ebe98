"""All that the papers say, computed many at a time and compared with them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any

from peerlock.core.errors import UsageError
from peerlock.lab.executor import HERE, Place, in_order
from peerlock.lab.reproduce import (
    chaudhuri_edward,
    claims,
    lecture,
    maekawa,
    sets,
    survey,
    survey_text,
    table_3,
    tr869,
)
from peerlock.lab.reproduce.item import Finding, Item, judged
from peerlock.simulator.violation import Violation

SOURCES = (maekawa, tr869, chaudhuri_edward, survey, lecture)

Task = tuple[int, Callable[[], Any]]


def all_items() -> list[Item]:
    """Those of one title together, in the order in which the sources have them."""
    found = [
        item
        for module in (*SOURCES, claims, sets, survey_text, table_3)
        for item in module.items()
    ]
    sources = [module.SOURCE for module in SOURCES]
    titles = list(dict.fromkeys(item.item for item in found))
    return sorted(found, key=lambda i: (sources.index(i.source), titles.index(i.item)))


def chosen(quick: bool = False, only: str | None = None) -> list[Item]:
    """`only`: with this word in the source or the item."""
    word = (only or "").casefold()
    found = [
        item for item in all_items() if word in f"{item.source} {item.item}".casefold()
    ]
    if not found:
        raise UsageError(
            f"nothing to reproduce has {only!r} in it; try table, fig, maekawa"
        )
    kept = [item for item in found if not (quick and item.slow)]
    if not kept:
        raise UsageError(f"all that has {only!r} in it takes long; leave out --quick")
    return kept


def reproduce(
    items: Sequence[Item],
    place: Place = HERE,
    progress: Callable[[int], None] = lambda done: None,
) -> list[Finding]:
    """In the order of the items; the longest begin."""
    tasks: list[Task] = [(number, item.measure) for number, item in enumerate(items)]
    tasks.sort(key=lambda task: not items[task[0]].slow)
    measured: dict[int, Any] = {}
    with closing(in_order(perform, tasks, place)) as results:
        for done, (number, value) in enumerate(results, start=1):
            measured[number] = value
            progress(done)
    return [judged(item, measured[number]) for number, item in enumerate(items)]


def perform(task: Task) -> tuple[int, Any]:
    number, measure = task
    try:
        return number, measure()
    except Violation as violation:
        return number, f"went wrong: {violation.text}"
