"""A comparison as a figure for a paper: messages and waiting against the size."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from peerlock.core.errors import UsageError
from peerlock.simulator.experiment import Result, Spread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Okabe and Ito's colours, told apart by everyone, and a mark each for print in black.
COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9", "#000000")
MARKS = "osD^vPX*<>"

MEASURES = (
    ("messages_per_entry", "messages per entry"),
    ("response_time", "response time"),
)


def plot(results: Sequence[Result], path: Path) -> None:
    """A column per load, a row per measure; bars show one standard deviation."""
    pyplot = import_pyplot()
    loads = list(dict.fromkeys(r.load for r in results))
    figure, axes = pyplot.subplots(
        len(MEASURES),
        len(loads),
        figsize=(1.4 + 3.4 * len(loads), 5.6),
        sharex=True,
        sharey="row",
        squeeze=False,
        layout="constrained",
    )
    for column, load in enumerate(loads):
        shown = [r for r in results if r.load == load]
        for row, (measure, title) in enumerate(MEASURES):
            draw(axes[row][column], shown, measure)
            if column == 0:
                axes[row][column].set_ylabel(title)
                scale(axes[row][column], [getattr(r, measure) for r in results])
        axes[0][column].set_title(named(load))
        axes[-1][column].set_xlabel("nodes")
    handles, labels = axes[0][0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside right upper", frameon=False)
    figure.savefig(path, dpi=200)
    pyplot.close(figure)


def import_pyplot() -> Any:
    try:
        import matplotlib
    except ImportError:
        raise UsageError("drawing needs matplotlib: pip install 'peerlock[lab]'") from None
    matplotlib.use("Agg")
    from matplotlib import pyplot

    pyplot.rcParams.update(
        {
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.grid": True,
            "grid.color": "#e6e6e6",
            "grid.linewidth": 0.6,
            "axes.axisbelow": True,
            "axes.titlesize": 10,
            "font.size": 9,
            "svg.fonttype": "none",
            "pdf.fonttype": 42,
        }
    )
    return pyplot


def draw(axes: Axes, results: Sequence[Result], measure: str) -> None:
    for i, name in enumerate(dict.fromkeys(r.algorithm for r in results)):
        line = sorted((r for r in results if r.algorithm == name), key=lambda r: r.nodes)
        spreads = [getattr(r, measure) for r in line]
        axes.errorbar(
            [r.nodes for r in line],
            [s.mean for s in spreads],
            yerr=[s.stdev for s in spreads],
            label=name,
            color=COLOURS[i % len(COLOURS)],
            marker=MARKS[i % len(MARKS)],
            markersize=4,
            linewidth=1.3,
            capsize=2.5,
        )
    sizes = sorted({r.nodes for r in results})
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.minorticks_off()


def scale(axes: Axes, values: Sequence[Spread]) -> None:
    """Logarithmic, with numbers one can read; linear near zero if zero occurs."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    if min(v.mean - v.stdev for v in values) > 0:
        axes.set_yscale("log")
        axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    else:
        axes.set_yscale("symlog", linthresh=1.0)
    axes.yaxis.set_minor_locator(NullLocator())
    axes.yaxis.set_major_formatter(FuncFormatter(lambda y, _: f"{y:g}"))


def named(load: str) -> str:
    return f"{load} load" if load in ("light", "heavy") else f"load {load} per node"
