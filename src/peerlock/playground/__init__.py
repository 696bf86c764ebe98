"""The engine behind the page of the lab: runs by hand, edits, checks and simulated runs.

`answer` takes a request of the page and returns its answer: see `protocol`.  `replay` plays
a run by hand again, from its moves.
"""

from peerlock.playground.protocol import answer
from peerlock.playground.run import replay

__all__ = ["answer", "replay"]
