"""The findings as a page for the documentation."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from peerlock.lab.reproduce.figures import drawable, file_name
from peerlock.lab.reproduce.item import Finding
from peerlock.lab.reproduce.rows import Row, by_reason, rows

OPENING = """\
# What was reproduced

Every table, figure and bound that the papers give, recomputed by `peerlock reproduce`:
runs are simulated, stories replayed message by message, bounds searched in all schedules.
This page is what `make reproduce` writes; the same seeds give the same numbers.

In the column *paper* is what the paper prints, with the numbers put in, or its words where
it has words. Whether a measurement agrees is decided by the comparison that stands beside
it: exactly where the paper is exact, otherwise within a tolerance, which is for chance and
for the beginning of a run. What differs for a reason differs: that some papers count what a
node sends to itself, which is not a message here, is not a matter of tolerance.
A disagreement counts as explained only if the explanation predicts a value, or a bound of
its own, and what was measured meets it; the prediction stands beside it. The tables of the
survey and of the lecture have no delays, so none are compared.

Each item names the words that it tests; what no paper says is left out."""

NOT_REPRODUCED = """\
## What is not reproduced, and why

- Chaudhuri and Edward's Figure 1 shows the groups of 16 nodes, and no figures. The groups
  are compared under §3.1, and the same network plays in Figure 2.
- The survey's Fig. 1 is a listing. `suzuki-kasami` follows it, and is checked in all
  schedules.
- How nodes join, leave, fail and come back (TR-869's section 7, the survey's recoveries):
  no paper gives a figure. All schedules of small sizes are in
  [what was checked](checked.md).
- Delays in seconds, and speeds of machines: no paper measured any.
- Proofs. What they prove is checked in all schedules of small sizes: see
  [what was checked](checked.md).
- Chaudhuri and Edward's section 2 and the lecture's slides repeat counts of Lamport's,
  Ricart and Agrawala's, Carvalho and Roucairol's, Suzuki and Kasami's and Maekawa's
  algorithms. They are compared where the survey's tables have them.
- The space that Chaudhuri and Edward's section 5.2 gives for other algorithms: what runs
  here of Banerjee and Chrysanthis' and of Chaudhuri and Karaata's is our reconstruction.
- What the papers say about algorithms that they only cite, without a figure or a bound."""


def page(findings: Sequence[Finding], figures: str | None = None) -> str:
    """In Markdown; `figures` is the folder of the drawings, seen from the page."""
    told = rows(findings)
    parts = [OPENING, _sum(findings)]
    for source, group in groupby(told, key=lambda row: row.source):
        own = list(group)
        parts.append(f"## {source}")
        parts.append("\n".join(_table([row for row in own if row.agrees])))
        if figures is not None:
            shown = [f for f in findings if f.source == source]
            parts += [
                f"![Figure {figure[-1]}, redrawn]({figures}/{file_name(figure)}.svg)"
                for figure in drawable(shown)
            ]
    differing = [row for row in told if not row.agrees]
    if differing:
        parts.append("## Where they disagree, and why")
        parts += list(_reasons(differing))
    parts.append(NOT_REPRODUCED)
    return "\n\n".join(parts) + "\n"


def _sum(findings: Sequence[Finding]) -> str:
    agreeing = sum(finding.agrees for finding in findings)
    unexplained = sum(not finding.explained for finding in findings)
    return (
        f"{len(findings)} items: {agreeing} agree, "
        f"{len(findings) - agreeing - unexplained} disagree for a reason that is given, "
        f"{unexplained} without. {sum(f.rebuilt for f in findings)} of them, marked as "
        "rebuilt, are about algorithms that a paper only sketches: what runs is our "
        "reconstruction."
    )


HEADINGS = ("item", "the paper's words", "where", "paper", "measured", "compared")


def _table(shown: Sequence[Row]) -> Iterator[str]:
    yield _line(HEADINGS)
    yield _line(["---"] * len(HEADINGS))
    for row in shown:
        yield _line(_texts(row))


def _texts(row: Row) -> tuple[str, ...]:
    return row.item, row.sentence, row.where, row.paper, row.measured, row.compared


def _reasons(differing: Sequence[Row]) -> Iterator[str]:
    for group in by_reason(differing):
        yield f"**{group[0].source}.** {group[0].note or 'Not explained.'}"
        yield "\n".join(_explained(group))


def _explained(group: Sequence[Row]) -> Iterator[str]:
    headings = (*HEADINGS, "predicted by the reason")
    yield _line(headings)
    yield _line(["---"] * len(headings))
    for row in group:
        yield _line((*_texts(row), row.predicted))


def _line(cells: Iterable[str]) -> str:
    return f"| {' | '.join(map(_cell, cells))} |"


def _cell(text: str) -> str:
    return text.replace("|", r"\|")
