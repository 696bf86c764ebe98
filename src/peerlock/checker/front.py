"""The checker for programs and notebooks: one call, an algorithm in, a verdict out."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

from peerlock.algorithms.lookup import algorithm, reference
from peerlock.checker.check import check as check_model
from peerlock.checker.model import Network, model
from peerlock.checker.report import Verdict
from peerlock.checker.search import Limits
from peerlock.core.errors import UsageError
from peerlock.core.peer import Peer
from peerlock.traces.trace import Trace


def check(
    wanted: str | type[Peer],
    nodes: int | None = None,
    requests: int | tuple[int, ...] | None = None,
    forever: bool = False,
    network: Network | None = None,
    limits: Limits | None = None,
    reductions: Collection[str] = (),
    **settings: Any,
) -> Verdict:
    """Check every schedule of a small cluster.

    wanted: a name from the catalogue, a file such as `./mine.py`, `package.module:Class`,
      or a class
    nodes: their number; None is that of the algorithm's exhibit
    requests: of each node, or a number for each node; None is that of the exhibit
    forever: requests have no end, and the search looks for starvation
    network: the order of messages and the faults; None is what the algorithm requires
    limits: when to stop; a search that was cut short proves nothing
    reductions: `symmetry`, `commuting`: of the schedules, search a part that is enough
    settings: what the algorithm takes, such as `quorums` or `permits`
    """
    if forever and requests is not None:
        raise UsageError("forever makes requests without end: omit requests")
    entry = algorithm(wanted)
    shown = entry.exhibit
    if nodes is None:
        nodes = shown.nodes
        settings.setdefault("quorums", shown.quorums)
    asked = None if forever else shown.requests if requests is None else requests
    chosen = model(reference(wanted), nodes, asked, network, **settings)
    return check_model(chosen, limits, reductions=reductions)


def counterexample(verdict: Verdict) -> Trace | None:
    """A shortest schedule that violates a property; None if no violation was found."""
    return None if verdict.violation is None else verdict.violation.trace
