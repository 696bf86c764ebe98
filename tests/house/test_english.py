"""The commonest slips of our English; spelling is checked by codespell in `make test`."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# Written from the papers, and from their words: another style holds there.
APART = {"algorithms", "reproduce"}
QUOTING = {"algorithms.md", "checked.md", "mutants.md", "reproduced.md"}

PAGES = [p for p in (*ROOT.glob("*.md"), *ROOT.glob("docs/*.md")) if p.name not in QUOTING]
SOURCES = [
    p
    for folder in ("src", "handbook")
    for p in sorted((ROOT / folder).rglob("*.py"))
    if not APART & set(p.parts)
]

SLIPS = {
    r"(?i)\bsomebody\b": "name it: the process, the holder, another member",
    r"(?i)\bwhoever\b": "name it: a process that, a caller that",
    r"(?i)\banybody\b": "name it: any member, another user",
    r"\b(he|him)\b": "a process is it",
    r"(?:^|[.;] |\"\"\"|# )Who (?!am)[a-z]": "begin with the subject: A member that …",
    r"\bto be had\b": "can be acquired, is available",
    r"\bmakes? no sense\b": "invalid",
    r"(?<!there )\bis no (?:load|latency|crash|request|address|certificate)\b": "invalid",
    r"\b(\w+) \1 (?!\1)": "a word twice",
}


@pytest.mark.parametrize("path", [*PAGES, *SOURCES], ids=lambda p: str(p.relative_to(ROOT)))
def test_english_is_plain(path: Path) -> None:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for slip, better in SLIPS.items():
            found = re.search(slip, line)
            assert found is None, f"{path.name}:{number}: {line.strip()!r}: {better}"
