"""The commonest slips of our English; spelling is checked by codespell in `make test`."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

# They quote the papers, or this file.
QUOTING = {
    "checked.md",
    "reproduced.md",
    "chaudhuri_edward_listing.py",
    "sentences.py",
    "test_english.py",
}

WHERE = (
    "*.md",
    "docs/**/*.md",
    "src/**/*.py",
    "handbook/**/*.py",
    "lab/src/*.html",
    "bench/**/*.py",
    "tests/**/*.py",
)
FILES = [
    path
    for pattern in WHERE
    for path in sorted(ROOT.glob(pattern))
    if path.name not in QUOTING
]

SLIPS = {
    r"(?i)\bsomebody\b": "name it: the process, the holder, another member",
    r"(?i)\bwhoever\b": "name it: a process that, a caller that",
    r"(?i)\banybody\b": "name it: any member, another user",
    r"\b(he|him)\b(?!\")": "a process is it",
    r"(?:^|[.;]  ?|\"\"\"|# )Who (?!am)[a-z]": "begin with the subject: A member that …",
    r"\b(?:node|process|member|caller|holder|waiter|first|next) who\b": "one that",
    r"\bto be had\b": "can be acquired, is available",
    r"\bmakes? no sense\b": "invalid",
    r"(?<!there )\bis no (?:load|latency|crash|request|address|certificate)\b": "invalid",
    r"\b(?!all\b)([a-z]{2,}) \1 (?!\1)[a-z]": "a word twice",
}


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(ROOT)))
def test_english_is_plain(path: Path) -> None:
    for number, line in enumerate(path.read_text().splitlines(), 1):
        for slip, better in SLIPS.items():
            found = re.search(slip, line)
            assert found is None, f"{path.name}:{number}: {line.strip()!r}: {better}"
