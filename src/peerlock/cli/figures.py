"""Numbers for people: a figure without samples is a dash, never 0."""

from __future__ import annotations

from math import isnan

NO_SAMPLES = "–"


def rounded(value: float | None, places: int = 2) -> str:
    return NO_SAMPLES if value is None or isnan(value) else f"{value:.{places}f}"


def counted(number: int, thing: str) -> str:
    """1 node, 2 nodes, 1 entry, 1,000 entries."""
    if number == 1:
        return f"1 {thing}"
    several = f"{thing[:-1]}ies" if thing.endswith("ry") else f"{thing}s"
    return f"{number:,} {several}"
