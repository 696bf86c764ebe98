"""What the index knows of an algorithm without importing it."""

from __future__ import annotations

from typing import NamedTuple

FAMILIES = {
    "permission": "Ask for permission",
    "token": "Wait for the token",
    "several": "Several at a time",
    "museum": "The museum: known to be wrong, and kept to show how",
}


class Listed(NamedTuple):
    name: str
    module: str  # of peerlock.algorithms
    source: str
    year: int
    family: str
    messages: str
    fifo: bool
    needs: str
    takes: str
    choices: tuple[str, ...]
    serves: tuple[str, ...]
    verdict: str
    headline: str  # of a piece of the museum: what is wrong with it
