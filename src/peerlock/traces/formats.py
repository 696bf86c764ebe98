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


def draw(trace: Trace, form: str = ".svg") -> str:
    """A trace as text of one of FORMATS: a drawing, a page, a story or data."""
    must_know(f"trace{form}")
    return FORMATS[form.lower()](trace)


def write(trace: Trace, path: str | Path) -> None:
    """A trace into a file, in the format that the ending of its name says."""
    must_know(path)
    file = Path(path)
    page = draw(trace, file.suffix)
    file.write_text(page, encoding="utf-8", newline="\n")


def must_know(path: str | Path) -> None:
    """Raises ValueError for an unknown ending; to be asked before a long run."""
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise ValueError(f"{file.name}: a trace can be written to {', '.join(FORMATS)}")
