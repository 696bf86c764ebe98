"""Every schedule of a small cluster of peers, and the shortest way to what goes wrong.

`check` takes an algorithm and gives a `Verdict`; `counterexample` gives the `Trace` of a
shortest schedule that goes wrong, to be drawn by `peerlock.traces`.
"""

from peerlock.checker.front import check, counterexample
from peerlock.checker.model import Model, Network, exhibit, model
from peerlock.checker.report import Verdict, Violation
from peerlock.checker.search import Coverage, Limits

__all__ = [
    "Coverage",
    "Limits",
    "Model",
    "Network",
    "Verdict",
    "Violation",
    "check",
    "counterexample",
    "exhibit",
    "model",
]
