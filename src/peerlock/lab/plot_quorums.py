"""The availability of a quorum system as a figure."""

from __future__ import annotations

from pathlib import Path

from peerlock.lab.plot import COLOURS, import_pyplot
from peerlock.quorums.availability import Availability
from peerlock.quorums.constructions import QuorumSystem

POINTS = 101


def plot_availability(system: QuorumSystem, found: Availability, path: Path) -> None:
    """Against the probability that a node is up, beside that of one node alone."""
    pyplot = import_pyplot()
    steps = [k / (POINTS - 1) for k in range(POINTS)]
    figure, axes = pyplot.subplots(figsize=(4.8, 3.6), layout="constrained")
    values = [found.at(p) for p in steps]
    axes.plot(steps, values, color=COLOURS[0], label=f"{system.kind}, {system.nodes} nodes")
    if not found.exact:
        errors = [2 * found.standard_error(p) for p in steps]
        below = [max(v - e, 0) for v, e in zip(values, errors, strict=True)]
        above = [min(v + e, 1) for v, e in zip(values, errors, strict=True)]
        axes.fill_between(steps, below, above, color=COLOURS[0], alpha=0.2, linewidth=0)
    axes.plot(steps, steps, color="#888888", linestyle="--", label="one node")
    axes.set_xlabel("probability that a node is up")
    axes.set_ylabel("probability that a quorum is left")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    axes.legend(frameon=False)
    figure.savefig(path, dpi=200)
    pyplot.close(figure)
