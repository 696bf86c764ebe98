"""What happened in a run, and the files in which one can look at it."""

from peerlock.traces.formats import FORMATS, must_know, write
from peerlock.traces.text import line, lines
from peerlock.traces.trace import Kind, Step, Trace

__all__ = ["FORMATS", "Kind", "Step", "Trace", "line", "lines", "must_know", "write"]
