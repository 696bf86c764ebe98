"""The page that compares all algorithms, by measurement."""

from __future__ import annotations

from handbook.algorithms import number, path_of
from handbook.book import Book, inline
from handbook.figures import COLOURS, MARKS, figure, finished, legend
from handbook.markdown import console, prose, table
from handbook.measures import ENTRIES, RUNS, SIZE, SIZES, Measured, right_ones
from peerlock.algorithms.card import card
from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.listed import FAMILIES
from peerlock.cli.figures import rounded

CHOSEN = (
    "central",
    "ricart-agrawala",
    "maekawa",
    "raymond",
    "naimi-trehel",
    "neilsen-mizuno",
)

INTRODUCTION = f"""\
---
hide-toc: true
---

# All algorithms compared

All figures on this page were measured when it was built: {RUNS} seeded runs of {ENTRIES}
entries for each algorithm, load and size, in virtual time. A message takes 1 time unit on
average (between 0.5 and 1.5), and a node stays inside for 1.

*No contention* means one request at a time, from a random node. *Full contention* means
that every node requests again as soon as it has left. Most real locks are in between, and
nearer to the first. `peerlock advise` measures your own network and load.

In short: [central](algorithms/central.md) is hard to beat if one node may be the
coordinator of all. Among the algorithms without such a node and without special
requirements, [neilsen-mizuno](algorithms/neilsen-mizuno.md) on a star needs the fewest
messages; so it is the default of `peerlock lock`.
[naimi-trehel](algorithms/naimi-trehel.md) needs few, and no node takes part in all of
them.
[maekawa](algorithms/maekawa.md) spreads the work evenly, with about √N messages, and
[agrawal-el-abbadi](algorithms/agrawal-el-abbadi.md) tolerates failed nodes.
"""

WAITING = f"""\
## Waiting times

{SIZE} nodes, in time units. *Response*: from a request to its entry. *Hand-over*: from a
node's leaving to the next entry, if a node waits (the literature's synchronisation
delay); 1 is a single message. *Overtaken*: the maximum number of entries by other nodes
between a request and its entry; {SIZE - 1} is once by every other node. *Evenness*: 1 if
all nodes entered equally often, less if some were preferred (Jain's index)."""

NEEDS = f"""\
## Requirements

*State* and *largest message* are packed bytes, the maximum with {SIZE} nodes under full
contention. *Needs*: what the algorithm requires of the network besides delivering every
message once. The last column is what its card says about failures. As a real lock, each of
them survives a failed process, because a lock node then starts the algorithm anew."""


def write(book: Book, measured: Measured) -> None:
    parts = [
        INTRODUCTION,
        f"## Messages per entry\n\n{SIZE} nodes; the axis is logarithmic.",
        overview(book, measured),
        growth(book, measured),
        messages_table(measured),
        WAITING,
        waiting_table(measured),
        NEEDS,
        needs_table(measured),
        "## Measure your own network",
        console(
            f"peerlock compare {' '.join(CHOSEN)} -n 4,16,64 --plot figure.pdf",
            "peerlock advise -n 9 --latency exponential:2 --load 0.1",
        ),
    ]
    book.pages["compare.md"] = "\n\n".join(parts) + "\n"


def by_family() -> list[Algorithm]:
    return sorted(right_ones(), key=lambda a: list(FAMILIES).index(a.family))


def link(entry: Algorithm) -> str:
    return f"[{entry.name}]({path_of(entry.name)})"


def messages_table(measured: Measured) -> str:
    sizes = (4, SIZE, SIZES[-1])
    assert set(sizes) <= set(SIZES)
    headings = ["", *(f"alone, {n}" for n in sizes), *(f"all, {n}" for n in sizes)]
    rows = [
        (
            link(entry),
            *(
                number(measured.of(entry.name, load, n).messages_per_entry.mean)
                for load in ("light", "heavy")
                for n in sizes
            ),
            prose(entry.messages),
        )
        for entry in by_family()
    ]
    told = table([*headings, "according to its source"], rows, "-rrrrrr-")
    words = (
        "*Alone*: no contention. *All*: full contention. The numbers are those of nodes."
    )
    return f"{words}\n\n{told}"


def waiting_table(measured: Measured) -> str:
    headings = [
        "",
        "response, alone",
        "response, all",
        "hand-over",
        "overtaken",
        "evenness",
    ]
    rows = []
    for entry in by_family():
        light, heavy = measured.of(entry.name, "light"), measured.of(entry.name, "heavy")
        rows.append(
            (
                link(entry),
                rounded(light.response_time.mean, 1),
                rounded(heavy.response_time.mean, 1),
                rounded(heavy.synchronisation_delay.mean),
                heavy.max_overtaken,
                f"{heavy.fairness.mean:.3f}",
            )
        )
    return table(headings, rows, "-rrrrr")


def needs_table(measured: Measured) -> str:
    headings = ["", "state", "largest message", "needs", "serves", "failures"]
    rows = []
    for entry in by_family():
        room = measured.rooms[entry.name]
        serves = ", ".join(entry.serves) or "–"
        failures = prose(card(entry).facts["failures"])
        rows.append(
            (link(entry), room.state, room.message, entry.needs or "–", serves, failures)
        )
    return table(headings, rows, "-rr---")


# Figures


def overview(book: Book, measured: Measured) -> str:
    """Two marks for each algorithm, joined: alone and all."""
    entries = by_family()
    plot, (axes,) = figure(8.6, 0.21 * len(entries) + 1.0)
    light = [measured.of(e.name, "light").messages_per_entry.mean for e in entries]
    heavy = [measured.of(e.name, "heavy").messages_per_entry.mean for e in entries]
    places = list(range(len(entries), 0, -1))
    axes.hlines(places, light, heavy, color="#999999", linewidth=1.2)
    ring = {"facecolors": "none", "edgecolors": COLOURS[5], "linewidths": 1.6, "s": 62}
    axes.scatter(light, places, label="no contention", zorder=3, **ring)
    axes.scatter(heavy, places, color=COLOURS[1], label="full contention", zorder=3, s=20)
    axes.set_yticks(places, [entry.name for entry in entries])
    axes.set_ylim(0.2, len(entries) + 0.8)
    logarithmic(axes.xaxis, axes.set_xscale)
    axes.set_xlabel(f"messages per entry, {SIZE} nodes")
    legend(axes, "lower right")
    return book.show("compare.md", "pictures/messages.html", inline(finished(plot)))


def growth(book: Book, measured: Measured) -> str:
    plot, panels = figure(9.2, 3.6, columns=2, sharey=True)
    for axes, (load, title) in zip(
        panels, (("light", "no contention"), ("heavy", "full contention")), strict=True
    ):
        for i, name in enumerate(CHOSEN):
            line = [measured.of(name, load, n).messages_per_entry.mean for n in SIZES]
            style = {"color": COLOURS[i], "marker": MARKS[i], "markersize": 4}
            axes.plot(SIZES, line, label=name, linewidth=1.3, **style)
        axes.set_title(title)
        axes.set_xlabel("nodes")
        axes.set_xscale("log")
        axes.set_xticks(SIZES, list(map(str, SIZES)))
        axes.minorticks_off()
    logarithmic(panels[0].yaxis, panels[0].set_yscale)
    panels[0].set_ylabel("messages per entry")
    legend(panels[1], "upper left", 8)
    shown = book.show("compare.md", "pictures/growth.html", inline(finished(plot)))
    words = "Growth with the number of nodes, for six typical algorithms."
    return f"{shown}\n\n{words}"


def logarithmic(axis: object, set_scale: object) -> None:
    """With numbers that one can read."""
    from matplotlib.axis import Axis
    from matplotlib.ticker import FuncFormatter, LogLocator, NullLocator

    assert isinstance(axis, Axis)
    assert callable(set_scale)
    set_scale("log")
    axis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
