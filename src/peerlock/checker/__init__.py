"""A model checker: every schedule of a small cluster, and a shortest counterexample.

`check` takes an algorithm and returns a `Verdict`; `counterexample` returns the `Trace` of
a shortest schedule that violates a property, which `peerlock.traces` draws.
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
