"""The formats of traces, each chosen by the ending of the file name."""

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
    ".json": chrome.render,  # also .trace.json, the usual name for Perfetto
}


def draw(trace: Trace, form: str = ".svg") -> str:
    """A trace in one of FORMATS: a drawing, a page, text or data."""
    must_know(f"trace{form}")
    return FORMATS[form.lower()](trace)


def write(trace: Trace, path: str | Path) -> None:
    """Write a trace to a file, in the format of the ending of its name."""
    must_know(path)
    file = Path(path)
    page = draw(trace, file.suffix)
    file.write_text(page, encoding="utf-8", newline="\n")


def must_know(path: str | Path) -> None:
    """Raises ValueError for an unknown ending; call it before a long run."""
    file = Path(path)
    if file.suffix.lower() not in FORMATS:
        raise ValueError(f"invalid trace file {file.name!r}: use {', '.join(FORMATS)}")
