"""The papers' texts, where they are at hand, and whether words stand in them.

They are not part of this project.  Where a folder `shared/papers` lies beside that of the
project, quotations are looked up in it.
"""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path

import pytest

from peerlock.algorithms.entry import PAPERS, Quotation

FOLDER = Path(__file__).parents[3] / "shared" / "papers"

at_hand = pytest.mark.skipif(
    not all((FOLDER / f"{paper}.txt").exists() for paper in PAPERS),
    reason="the papers are not at hand",
)


SIGNS = {
    "sqrt": "√",
    "infty": "∞",
    "dots": "...",
    "text": "",
    "ge": "≥",
    "leq": "≤",
    "vartheta": "ϑ",
    "lfloor": "⌊",
    "rfloor": "⌋",
}


@lru_cache
def text_of(paper: str) -> str:
    return plain((FOLDER / f"{paper}.txt").read_text())


def plain(text: str) -> str:
    """Without what sets formulas and headings, and with single spaces."""
    for command, sign in SIGNS.items():
        text = re.sub(rf"\\{command}(?![a-z])", sign, text)
    words = re.sub(r"`{3}|[$*\\{}_^]", "", text)
    return " ".join(words.split())


def stands(quotation: Quotation) -> bool:
    """All its parts, in their order."""
    text, at = text_of(quotation.paper), 0
    for part in quotation.words.split("…"):
        found = text.find(plain(part), at)
        if found < 0:
            return False
        at = found + len(plain(part))
    return True
