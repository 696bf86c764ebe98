"""Every schedule of the algorithm as it stands in the editor, searched by the checker.

What is found is a schedule of moves, so that the page plays it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

from peerlock.checker.check import check
from peerlock.checker.model import Model, Network, card_network, model
from peerlock.checker.report import Verdict
from peerlock.checker.search import Coverage, Limits
from peerlock.core.errors import UsageError
from peerlock.playground.edits import EditError, line_of, name_of, told
from peerlock.playground.moves import actions_in, of_actions
from peerlock.playground.run import Run
from peerlock.playground.setup import Setup, number, setup

STATES = 400_000
Progress = Callable[[dict[str, Any]], None]


def checked(found: Any, progress: Progress) -> dict[str, Any]:
    made = setup(found)
    searched = model_of(made, found)
    now = {"phase": "searching", **Coverage(0, 0, 0)._asdict()}

    def tell(**changed: Any) -> None:
        now.update(changed)
        progress(now)

    def report(coverage: Coverage) -> None:
        tell(**coverage._asdict())

    limits = Limits(number(found, "states", STATES), stop=report)
    try:
        verdict = check(searched, limits, phase=lambda name: tell(phase=name), large=None)
    except (UsageError, MemoryError):
        raise
    except Exception as error:
        if line_of(error) is None:
            raise
        raise EditError(told(error), line_of(error)) from None
    return {"run": made.as_json(), **in_words(verdict), "moves": moves_of(made, verdict)}


def model_of(made: Setup, found: Any) -> Model:
    """The settings are those of the run; the faults, unless given, those of the card."""
    entry, card = made.entry, card_network(made.entry)
    network = Network(
        entry.fifo,
        number(found, "losses", card.losses),
        number(found, "duplications", 0),
        number(found, "crashes", card.crashes),
        card.returns,
    )
    name = made.algorithm if made.source is None else name_of(made.algorithm)
    settings = made.arguments()
    members = tuple(range(1, made.nodes + 1))
    searched = model(name, made.nodes, _requests(found.get("requests", "1")), network)
    rule = entry.rule(made.chosen)
    return replace(
        searched,
        make=lambda node: entry.peer(node, members, **settings),
        rule=rule,
        fences=searched.fences and rule == searched.rule,
    )


def _requests(text: Any) -> int | tuple[int, ...] | None:
    """`2`, `1,2,0` for each node its own, or `endless`."""
    if text in (None, "endless"):
        return None
    try:
        counts = tuple(map(int, str(text).split(",")))
    except ValueError:
        raise UsageError(f"invalid requests {text!r}: use 1, 1,2,0 or endless") from None
    return counts[0] if len(counts) == 1 else counts


def in_words(verdict: Verdict) -> dict[str, Any]:
    states = f"{verdict.coverage.states:,} states"
    common = {"assumptions": verdict.model.assumptions, **verdict.coverage._asdict()}
    if verdict.violation is not None:
        found = verdict.violation
        return common | {
            "verdict": found.property,
            "text": f"{found.text}: {found.depth} steps, {states}",
            "loop_from": found.loop_from,
        }
    if not verdict.complete:
        return common | {"verdict": "cut", "text": f"no proof: {verdict.cut} ({states})"}
    text = f"holds, {states}"
    if verdict.max_messages_per_entry is not None:
        text += f"; at most {verdict.max_messages_per_entry} messages per entry"
    if verdict.max_overtaken is not None:
        text += f"; at most {verdict.max_overtaken} entries overtake a waiter"
    return common | {"verdict": "holds", "text": text}


def moves_of(made: Setup, verdict: Verdict) -> list[str] | None:
    """To the fault; where the algorithm holds, the schedule with the most overtaking."""
    cluster = Run(made).cluster
    if verdict.violation is not None:
        return of_actions(cluster, verdict.violation.schedule)
    if verdict.overtaking is None or cluster.algorithm.medium:
        return None
    return of_actions(cluster, actions_in(verdict.overtaking, cluster))
