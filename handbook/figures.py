"""Figures that take the colour of the page they stand in."""

from __future__ import annotations

import io
from typing import Any

from peerlock.lab.plot import COLOURS as PAPER
from peerlock.lab.plot import MARKS, import_pyplot

__all__ = ["COLOURS", "MARKS", "figure", "finished", "legend"]

# Without black, which cannot be seen in the dark.
COLOURS = tuple(colour for colour in PAPER if colour != "#000000")

INK, FAINT = "#010203", "#040506"  # as good as black; replaced when it is done


def figure(
    width: float, height: float, columns: int = 1, **options: Any
) -> tuple[Any, list[Any]]:
    """Width and height in inches, of which a page has room for ten."""
    pyplot = import_pyplot()
    style = {
        "text.color": INK,
        "axes.labelcolor": INK,
        "axes.edgecolor": INK,
        "xtick.color": INK,
        "ytick.color": INK,
        "grid.color": FAINT,
        "svg.hashsalt": "peerlock",
    }
    with pyplot.rc_context(style):
        made, axes = pyplot.subplots(
            1,
            columns,
            figsize=(width, height),
            squeeze=False,
            layout="constrained",
            **options,
        )
    made.patch.set_alpha(0)
    for at in axes[0]:
        at.patch.set_alpha(0)
    return made, list(axes[0])


def legend(axes: Any, place: str, size: int = 9) -> None:
    axes.legend(frameon=False, loc=place, labelcolor=INK, fontsize=size)


def finished(made: Any) -> str:
    pyplot = import_pyplot()
    written = io.StringIO()
    with pyplot.rc_context({"svg.hashsalt": "peerlock"}):
        made.savefig(written, format="svg", metadata={"Date": None})
    pyplot.close(made)
    drawn = written.getvalue().replace(INK, "currentColor")
    return drawn.replace(FAINT, "var(--faint-rule)")
