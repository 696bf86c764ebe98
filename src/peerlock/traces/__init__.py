"""The steps of a run, and the formats in which they can be viewed.

`draw` renders a `Trace` as a drawing (.svg), an interactive page (.html), text (.txt) or
data (.jsonl, .json for Perfetto, .shiviz); `write` writes it to a file; `read` reads the
lines of a .jsonl file back.
"""

from peerlock.traces.formats import FORMATS, draw, must_know, write
from peerlock.traces.jsonl import read
from peerlock.traces.text import line, lines
from peerlock.traces.trace import Kind, Step, Trace

__all__ = [
    "FORMATS",
    "Kind",
    "Step",
    "Trace",
    "draw",
    "line",
    "lines",
    "must_know",
    "read",
    "write",
]
