"""The availability of quorum systems as a figure."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlock.lab.plot import COLOURS, STYLES, import_pyplot
from peerlock.quorums.availability import Availability
from peerlock.quorums.constructions import QuorumSystem

if TYPE_CHECKING:
    from matplotlib.axes import Axes

POINTS = 101
ORDERED_AT = 70  # the names beside the curves are in the order of the curves at p = 0.7
STEPS = [k / (POINTS - 1) for k in range(POINTS)]

Measured = Sequence[tuple[QuorumSystem, Availability]]


def plot_availability(measured: Measured, path: Path) -> None:
    """Against the probability that a node is up, beside that of one node alone."""
    pyplot = import_pyplot()
    figure = drawn(pyplot, measured)
    figure.savefig(path, dpi=200)
    pyplot.close(figure)


def drawn(pyplot: Any, measured: Measured) -> Any:
    figure, axes = pyplot.subplots(figsize=(6.2, 3.6), layout="constrained")
    for i, (system, found) in enumerate(measured):
        curve(axes, f"{system.kind}, {system.nodes} nodes", found, i)
    axes.plot(STEPS, STEPS, color="#888888", linewidth=0.9, label="one node")
    axes.set_xlabel("probability that a node is up")
    axes.set_ylabel("probability that a quorum is left")
    axes.set_xlim(0, 1)
    axes.set_ylim(0, 1.02)
    handles, names = axes.get_legend_handles_labels()
    order = sorted(range(len(names)), key=lambda i: -handles[i].get_ydata()[ORDERED_AT])
    figure.legend(
        [handles[i] for i in order],
        [names[i] for i in order],
        loc="outside right center",
        frameon=False,
    )
    return figure


def curve(axes: Axes, name: str, found: Availability, i: int) -> None:
    """With a band of two standard errors where the values are estimates."""
    values = [found.at(p) for p in STEPS]
    colour = COLOURS[i % len(COLOURS)]
    style = STYLES[i % len(STYLES)]  # curves that coincide show both
    axes.plot(STEPS, values, color=colour, linestyle=style, label=name)
    if not found.exact:
        errors = [2 * found.standard_error(p) for p in STEPS]
        below = [max(v - e, 0) for v, e in zip(values, errors, strict=True)]
        above = [min(v + e, 1) for v, e in zip(values, errors, strict=True)]
        axes.fill_between(STEPS, below, above, color=colour, alpha=0.2, linewidth=0)
