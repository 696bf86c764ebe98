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
    ("response_time", "response time (time units)"),
)
STYLES = ("-", "--", "-.", ":")
NAME = 11.0  # points from one name of a curve to the next
APART = 0.02  # of the axis, between the marks of two curves: those that coincide are seen


def plot(results: Sequence[Result], path: Path) -> None:
    """A column per load, a row per measure; whiskers show one standard deviation.

    Results of one size are bars; those of several sizes are curves against the size.
    """
    pyplot = import_pyplot()
    if len({r.nodes for r in results}) == 1:
        figure = bars(pyplot, results)
    else:
        figure = curves(pyplot, results)
    figure.savefig(path, dpi=200)
    pyplot.close(figure)


def bars(pyplot: Any, results: Sequence[Result]) -> Any:
    loads = list(dict.fromkeys(r.load for r in results))
    names = list(dict.fromkeys(r.algorithm for r in results))
    figure, axes = pyplot.subplots(
        len(MEASURES),
        len(loads),
        figsize=(2.2 + 3.4 * len(loads), 1.6 + 0.6 * len(names)),
        sharey=True,
        sharex="row",
        squeeze=False,
        layout="constrained",
    )
    for column, load in enumerate(loads):
        shown = [r for r in results if r.load == load]
        for row, (measure, title) in enumerate(MEASURES):
            spreads = [getattr(r, measure) for r in shown]
            axes[row][column].barh(
                [r.algorithm for r in shown],
                [s.mean for s in spreads],
                xerr=whiskers(shown, spreads),
                color=COLOURS[0],
                height=0.6,
                capsize=2.5,
            )
            axes[row][column].set_xlabel(title)
        axes[0][column].set_title(f"{named(load)}, {results[0].nodes} nodes")
    axes[0][0].invert_yaxis()
    return figure


def whiskers(results: Sequence[Result], spreads: Sequence[Spread]) -> list[float] | None:
    """One standard deviation; a single run has none."""
    return [s.stdev for s in spreads] if all(r.runs > 1 for r in results) else None


def curves(pyplot: Any, results: Sequence[Result]) -> Any:
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
        axes[-1][column].set_xlabel("number of nodes")
    figure.draw_without_rendering()  # or the places of the ends are not known yet
    for right in axes[:, -1]:
        name_ends(right, [(c.lines[0], c.get_label()) for c in right.containers])
    return figure


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
    names = list(dict.fromkeys(r.algorithm for r in results))
    sizes = sorted({r.nodes for r in results})
    reach = (sizes[-1] / sizes[0]) ** APART
    for i, name in enumerate(names):
        line = sorted((r for r in results if r.algorithm == name), key=lambda r: r.nodes)
        spreads = [getattr(r, measure) for r in line]
        axes.errorbar(
            [r.nodes * reach ** (i - (len(names) - 1) / 2) for r in line],
            [s.mean for s in spreads],
            yerr=whiskers(line, spreads),
            label=name,
            color=COLOURS[i % len(COLOURS)],
            linestyle=STYLES[i % len(STYLES)],
            marker=MARKS[i % len(MARKS)],
            markersize=4,
            linewidth=1.3,
            capsize=2.5,
        )
    axes.set_xscale("log")
    axes.set_xticks(sizes, [str(n) for n in sizes])
    axes.minorticks_off()


def name_ends(axes: Axes, curves: Sequence[tuple[Any, str]]) -> None:
    """Each curve's name at the right, as high as its end, moved where names overlap."""
    points = 72 / axes.figure.dpi
    ends = sorted((_end(axes, line) * points, i) for i, (line, _) in enumerate(curves))
    places = apart([y for y, _ in ends], NAME)
    for (y, i), place in zip(ends, places, strict=True):
        line, name = curves[i]
        axes.annotate(
            name,
            (1.0, line.get_ydata()[-1]),
            xycoords=axes.get_yaxis_transform(),
            xytext=(6, place - y),
            textcoords="offset points",
            va="center",
            color=line.get_color(),
            annotation_clip=False,
        )


def _end(axes: Axes, line: Any) -> float:
    """The height of a curve's last point, in pixels."""
    last = line.get_xdata()[-1], line.get_ydata()[-1]
    return float(axes.transData.transform(last)[1])


def apart(places: Sequence[float], least: float) -> list[float]:
    """Ascending places with at least this much between any two, moved as a group."""
    groups: list[list[float]] = []
    for place in places:
        groups.append([place])
        while (
            len(groups) > 1 and _low(groups[-1], least) < _high(groups[-2], least) + least
        ):
            last = groups.pop()
            groups[-1] += last
    return [_low(group, least) + k * least for group in groups for k in range(len(group))]


def _low(group: list[float], least: float) -> float:
    return sum(group) / len(group) - (len(group) - 1) * least / 2


def _high(group: list[float], least: float) -> float:
    return _low(group, least) + (len(group) - 1) * least


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
