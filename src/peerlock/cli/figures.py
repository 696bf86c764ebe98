"""Numbers for people: a figure that has no samples is a dash, never 0."""

from __future__ import annotations

from math import isnan

NO_SAMPLES = "–"


def rounded(value: float | None, places: int = 2) -> str:
    return NO_SAMPLES if value is None or isnan(value) else f"{value:.{places}f}"
