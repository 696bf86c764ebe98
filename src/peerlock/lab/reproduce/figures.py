"""Figures 3 to 6 of Chaudhuri and Edward, drawn from what was measured."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import sqrt
from pathlib import Path
from typing import Any

from peerlock.lab.plot import COLOURS, MARKS, import_pyplot
from peerlock.lab.reproduce.chaudhuri_edward import SOURCE
from peerlock.lab.reproduce.item import Finding

LABELS = {
    "A": "A  Chaudhuri and Karaata",
    "B": "B  Raymond, tree",
    "C": "C  Raymond, line",
    "D": "D  Banerjee and Chrysanthis",
    "E": "E  Chaudhuri and Edward",
}
FORMATS = ("svg", "png")

Curves = dict[str, dict[int, float]]


def drawable(findings: Sequence[Finding]) -> dict[str, tuple[str, Curves]]:
    """By figure: its title, and its curves."""
    found: dict[str, tuple[str, Curves]] = {}
    for finding in findings:
        figure, colon, _ = finding.item.partition(":")
        if finding.source != SOURCE or not colon or figure not in FIGURES:
            continue
        if not isinstance(finding.measured, Mapping):
            continue
        load = f"{100 * finding.parameters['load']:g} %"
        if figure == "Fig. 3":
            curve = {int(n): value for n, value in finding.measured.items()}
            _, curves = found.setdefault(figure, ("Chaudhuri and Edward at each load", {}))
            curves[f"{load} load"] = curve
        else:
            _, curves = found.setdefault(figure, (f"{load} load", {}))
            for key, value in finding.measured.items():
                curves.setdefault(LABELS[key], {})[finding.parameters["n"]] = value
    return found


FIGURES = ("Fig. 3", "Fig. 4", "Fig. 5", "Fig. 6")


def file_name(figure: str) -> str:
    return figure.lower().replace("fig. ", "figure-")


def draw_all(findings: Sequence[Finding], folder: Path) -> list[Path]:
    """Each figure as SVG and as PNG."""
    folder.mkdir(parents=True, exist_ok=True)
    written = []
    for figure, (title, curves) in drawable(findings).items():
        for suffix in FORMATS:
            path = folder / f"{file_name(figure)}.{suffix}"
            draw(f"Figure {figure[-1]}: {title}", curves, path, figure == "Fig. 3")
            written.append(path)
    return written


def draw(title: str, curves: Curves, path: Path, best_case: bool) -> None:
    pyplot = import_pyplot()
    pyplot.rcParams["svg.hashsalt"] = "peerlock"  # the same curves, the same file
    figure, axes = pyplot.subplots(figsize=(6.4, 4.6), layout="constrained")
    for i, (label, curve) in enumerate(curves.items()):
        ours = label == LABELS["E"]
        axes.plot(
            list(curve),
            list(curve.values()),
            label=label,
            color="#000000" if ours else COLOURS[i % len(COLOURS)],
            marker=MARKS[i % len(MARKS)],
            markersize=4.5,
            linewidth=2.0 if ours else 1.3,
            # B lies on C: its marks are rings round those of C.
            markerfacecolor="none" if label == LABELS["B"] else None,
            zorder=3 if label == LABELS["B"] else 2,
        )
    if best_case:
        sizes = sorted({n for curve in curves.values() for n in curve})
        formula = [2 * (1 + 1 / sqrt(n) - 1 / n) for n in sizes]
        style: dict[str, Any] = {"color": "#666666", "linestyle": "--", "linewidth": 1.2}
        axes.plot(sizes, formula, label="heavy load, by the formula", **style)
        axes.set_ylim(bottom=1.9)
    else:
        readable(axes, max(v for curve in curves.values() for v in curve.values()))
    axes.set_xlabel("nodes")
    axes.set_ylabel("messages per entry")
    axes.set_title(title, loc="left")
    axes.set_xlim(left=0)
    # Below the axes, where no curve is.
    figure.legend(frameon=False, loc="outside lower center", ncols=2)
    metadata = {"Date": None} if path.suffix == ".svg" else None
    figure.savefig(path, dpi=160, metadata=metadata)
    pyplot.close(figure)


def readable(axes: Any, highest: float) -> None:
    """A logarithmic axis, as one curve is far above the others, with plain numbers."""
    from matplotlib.ticker import NullLocator

    ticks = [y for y in (2, 3, 4, 6, 10, 15, 20, 30, 50) if y <= 1.35 * highest]
    axes.set_yscale("log")
    axes.set_ylim(1.8, 1.35 * highest)
    axes.set_yticks(ticks, [str(y) for y in ticks])
    axes.yaxis.set_minor_locator(NullLocator())
