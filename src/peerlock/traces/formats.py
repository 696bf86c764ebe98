"""Which format a trace is written in: the ending of the file's name says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from peerlock.traces import chrome, html, jsonl, shiviz, svg, text
from peerlock.traces.trace import Trace

FORMATS: dict[str, Callable[[Trace], str]] = {
    ".txt": text.render,
    ".jsonl": jsonl.render,
    ".svg": svg.render,
    ".html": html.render,
    ".shiviz": shiviz.render,
    ".json": chrome.render,  # so .trace.json, as Perfetto's users like to call it, too
}


def write(trace: Trace, path: str | Path) -> None:
    must_know(path)
    file = Path(path)
    page = FORMATS[file.suffix.lower()](trace)
    file.write_text(page, encoding="utf-8", newline="\n")


def must_know(path: str | Path) -> None:
    """Raises ValueError for an unknown ending; to be asked before a long run."""
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise ValueError(f"{file.name}: a trace can be written to {', '.join(FORMATS)}")
