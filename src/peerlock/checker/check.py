"""One check from beginning to end: search, measure, and report.

A search begins as a plain loop.  If the space turns out to be large, and NumPy is
installed, it starts again on arrays, which take a while to set up and are faster then.
With reductions it searches a part of the space that is enough, on arrays too.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from fractions import Fraction
from importlib.util import find_spec
from typing import TYPE_CHECKING

from peerlock.checker import measures
from peerlock.checker.model import Model
from peerlock.checker.reductions import COMMUTING, must_suit, reduced, used_by
from peerlock.checker.replay import replay
from peerlock.checker.report import Verdict, Violation
from peerlock.checker.search import Exploration, Limits, Search
from peerlock.checker.sites import Breach
from peerlock.checker.starvation import Lasso, starving

if TYPE_CHECKING:
    from peerlock.checker.arrays.reduced import ReducedSearch

FIRST_LOOK = 1000  # states, before the first search for a loop
LARGE = 2000  # states of a layer from which arrays are faster
MEASURING = 20  # bytes that measuring takes for each state, and one for each node


class Stopped(Exception):
    """The time for measuring is over."""


def check(
    model: Model,
    limits: Limits | None = None,
    phase: Callable[[str], None] = lambda _: None,
    large: int | None = LARGE,
    reductions: Collection[str] = (),
) -> Verdict:
    """Search every schedule, or a part of them that is enough.

    `phase` is called with the current phase whenever it changes.  Arrays are used from the
    first layer with more than `large` states; None: never, 0: from the start.
    `reductions` are those of `checker.reductions` that may be used.
    """
    limits = limits or Limits()
    if reductions:
        must_suit(model)
        phase("searching")
        return _reduced(model, limits, phase, reductions)
    phase("searching")
    search, lasso = _searched(model, limits, large)
    if search.breach is not None:
        return _report(search, _violation(search, search.breach))
    if lasso is not None:
        return _report(search, _starvation(search, lasso))
    if not search.exhausted or model.requests is None or not model.measured:
        return _report(search, None)
    phase("measuring")
    return _measured(search, limits)


def _reduced(
    model: Model,
    limits: Limits,
    phase: Callable[[str], None],
    wanted: Collection[str],
) -> Verdict:
    search = reduced(model, limits, wanted)
    if search.breach is not None:
        return _shortest(search, limits)
    report = replace(_report(search, None), reductions=used_by(search))
    if not search.exhausted or not model.measured:
        return report
    if not report.reductions:
        phase("measuring")
        return _measured(search, limits)
    if COMMUTING in report.reductions:
        return replace(report, unmeasured="not every order was searched")
    phase("measuring")
    return _messages_only(search, report, limits)


def _shortest(search: ReducedSearch, limits: Limits) -> Verdict:
    """Where deliveries were put first, a shorter way to a violation may be left out."""
    if COMMUTING in used_by(search):
        kept = [name for name in used_by(search) if name != COMMUTING]
        again = reduced(search.model, limits, kept)
        search = search if again.breach is None else again
    schedule, breach = search.violation()
    trace = replay(search.model, schedule, breach)
    violation = Violation(breach.property, breach.text, len(schedule), trace)
    return replace(_report(search, violation), reductions=used_by(search))


def _messages_only(search: ReducedSearch, report: Verdict, limits: Limits) -> Verdict:
    """A renaming changes which node is overtaken, and no number of messages."""
    from peerlock.checker.arrays import measures as on_arrays
    from peerlock.checker.arrays.graph import ArrowGraph

    if search.arrows is None:
        return replace(report, unmeasured="there was no memory left for it")
    try:
        messages = on_arrays.max_messages_per_entry(
            ArrowGraph(search, _poll(search, limits))
        )
    except KeyboardInterrupt:
        return replace(report, unmeasured="it was interrupted")
    except Stopped as stopped:
        return replace(report, unmeasured=str(stopped))
    return replace(report, max_messages_per_entry=messages)


def _searched(
    model: Model, limits: Limits, large: int | None
) -> tuple[Exploration, Lasso | None]:
    if large is None or find_spec("numpy") is None:
        return _explore(Search(model), limits)
    if large:
        search, lasso = _explore(Search(model), limits, large)
        if not _outgrown(search, large):
            return search, lasso
    from peerlock.checker.arrays.search import ArraySearch

    return _explore(ArraySearch(model), limits)


def _explore(
    search: Exploration, limits: Limits, large: int | None = None
) -> tuple[Exploration, Lasso | None]:
    """With requests without end, search for a loop whenever the states have doubled: their
    number may have no bound."""
    looked_at = FIRST_LOOK
    while search.deepen(limits):
        if _outgrown(search, large):
            return search, None
        if search.model.requests is None and search.size >= looked_at:
            if (lasso := _starving(search, limits)) is not None:
                return search, lasso
            looked_at = 2 * search.size
    if search.model.requests is not None or search.breach is not None:
        return search, None
    return search, _starving(search, limits)


def _outgrown(search: Exploration, large: int | None) -> bool:
    """Whether the next layer is large enough for arrays to be faster."""
    done = search.exhausted or search.cut or search.breach is not None
    return large is not None and not done and search.size - search.layers[-1] > large


def _starving(search: Exploration, limits: Limits) -> Lasso | None:
    try:
        if isinstance(search, Search):
            return starving(search)
        from peerlock.checker.arrays.graph import ArrowGraph
        from peerlock.checker.arrays.search import ArraySearch
        from peerlock.checker.arrays.starvation import starving as starving_on_arrays

        assert isinstance(search, ArraySearch)
        return starving_on_arrays(ArrowGraph(search, _poll(search, limits)))
    except Stopped as stopped:
        search.exhausted, search.cut = False, str(stopped)
        return None


def _poll(search: Exploration, limits: Limits) -> Callable[[], None]:
    def poll() -> None:
        if (reason := limits.stop(search.coverage)) is not None:
            raise Stopped(reason)

    return poll


def _measured(search: Exploration, limits: Limits) -> Verdict:
    report = _report(search, None)
    if search.model.network.faults:
        return report
    try:
        messages, worst = _measures(search, limits)
    except KeyboardInterrupt:
        return replace(report, unmeasured="it was interrupted")
    except Stopped as stopped:
        return replace(report, unmeasured=str(stopped))
    if worst is None:
        return replace(report, unmeasured="there was no memory left for it")
    return replace(
        report,
        max_messages_per_entry=messages,
        max_overtaken=worst.entries,
        overtaking=replay(search.model, search.schedule(worst.steps)),
    )


def _measures(
    search: Exploration, limits: Limits
) -> tuple[Fraction | None, measures.Overtaking | None]:
    poll = _poll(search, limits)
    if isinstance(search, Search):
        messages = measures.max_messages_per_entry(search, poll)
        return messages, measures.worst_overtaking(search, poll)
    from peerlock.checker.arrays import measures as on_arrays
    from peerlock.checker.arrays.graph import ArrowGraph
    from peerlock.checker.arrays.search import ArraySearch

    assert isinstance(search, ArraySearch)
    search.seen.close()
    each = MEASURING + search.model.nodes
    if search.arrows is None or limits.room(each * search.size):
        return None, None
    graph = ArrowGraph(search, poll)
    return on_arrays.max_messages_per_entry(graph), on_arrays.worst_overtaking(graph)


def _report(search: Exploration, violation: Violation | None) -> Verdict:
    return Verdict(
        model=search.model,
        coverage=search.coverage,
        complete=search.exhausted,
        cut=search.cut,
        violation=violation,
        everyone_entered=measures.everyone_entered(search),
    )


def _violation(search: Exploration, breach: Breach) -> Violation:
    steps = search.path(search.broken_at)
    if search.broken_by is not None:
        steps.append((search.broken_at, search.broken_by))
    schedule = search.schedule(steps)
    trace = replay(search.model, schedule, breach)
    return Violation(
        breach.property, breach.text, len(steps), trace, schedule=tuple(schedule)
    )


def _starvation(search: Exploration, lasso: Lasso) -> Violation:
    stem, loop = len(lasso.stem), len(lasso.loop)
    text = (
        f"starvation: {lasso.node} waits for ever while steps {stem + 1} "
        f"to {stem + loop} repeat"
    )
    breach = Breach("starvation", lasso.node, text)
    schedule = search.schedule([*lasso.stem, *lasso.loop])
    trace = replay(search.model, schedule, breach)
    return Violation(breach.property, text, len(schedule), trace, stem, tuple(schedule))
