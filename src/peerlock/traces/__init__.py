"""What happened in a run, and the files in which one can look at it.

`draw` makes a drawing (.svg), a page to walk through (.html), a story (.txt) or data
(.jsonl, .json for Perfetto, .shiviz) of a `Trace`; `write` puts it into a file; `read` is
the way back from the lines of a .jsonl file.
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
