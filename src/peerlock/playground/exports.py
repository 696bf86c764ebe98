"""A run by hand as a file: a drawing, a page, data, or a test in Python that replays it."""

from __future__ import annotations

from peerlock.core.errors import UsageError, unknown
from peerlock.playground.run import Run
from peerlock.traces import formats
from peerlock.traces.text import lines

TEST = '''\
"""A run of {algorithm} by hand, replayed step by step.{note}"""

from peerlock.playground import replay
from peerlock.traces import lines

MOVES = """
{moves}
"""

STEPS = """\\
{steps}
"""


def test_the_run_is_the_same() -> None:
    trace = replay({algorithm!r}, {nodes}, MOVES{settings})
    assert "\\n".join(lines(trace)) + "\\n" == STEPS
'''
EDITED = (
    "\n\nIt was played with an edit of the algorithm, which this file does not contain."
)


def exported(run: Run, form: str) -> tuple[str, str]:
    """The name of the file, and its text."""
    name = f"{run.setup.algorithm}-{len(run.moves)}-steps"
    if form == ".py":
        module = name.replace("-", "_")
        return f"test_{module}.py", as_test(run)
    if form not in formats.FORMATS:
        raise UsageError(unknown("format", form, [*formats.FORMATS, ".py"]))
    return f"{name}{form}", formats.draw(run.trace, form)


def as_test(run: Run) -> str:
    moves = run.moves
    rows = [" ".join(moves[i : i + 12]) for i in range(0, len(moves), 12)]
    settings = "".join(f", {k}={v!r}" for k, v in run.setup.settings.items())
    return TEST.format(
        algorithm=run.setup.algorithm,
        note="" if run.setup.source is None else EDITED,
        moves="\n".join(rows),
        steps="\n".join(lines(run.trace)),
        nodes=run.setup.nodes,
        settings=settings,
    )
