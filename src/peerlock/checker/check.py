"""One check from beginning to end: search, measure, and report."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from peerlock.checker import measures
from peerlock.checker.model import Model
from peerlock.checker.replay import replay
from peerlock.checker.report import Verdict, Violation
from peerlock.checker.search import Limits, Search
from peerlock.checker.sites import Breach
from peerlock.checker.starvation import Lasso, starving

FIRST_LOOK = 1000  # states, before the first look for a loop


def check(
    model: Model,
    limits: Limits | None = None,
    phase: Callable[[str], None] = lambda _: None,
) -> Verdict:
    """Search every schedule.  `phase` is told what is being done, as that changes."""
    search = Search(model)
    limits = limits or Limits()
    phase("searching")
    lasso = None
    if model.requests is None:
        lasso = _search_for_ever(search, limits)
    else:
        search.run(limits)
    if search.breach is not None:
        return _report(search, _violation(search, search.breach))
    if lasso is not None:
        return _report(search, _starvation(search, lasso))
    if not search.exhausted or model.requests is None:
        return _report(search, None)
    phase("measuring")
    try:
        return _measured(search)
    except KeyboardInterrupt:
        cut = "it was interrupted while measuring"
        return replace(_report(search, None), complete=False, cut=cut)


def _search_for_ever(search: Search, limits: Limits) -> Lasso | None:
    """Look for a loop each time that the states have doubled: there may be no end."""
    looked_at = FIRST_LOOK
    while search.deepen(limits):
        if len(search.states) >= looked_at:
            if (lasso := starving(search)) is not None:
                return lasso
            looked_at = 2 * len(search.states)
    return starving(search) if search.breach is None else None


def _measured(search: Search) -> Verdict:
    report = _report(search, None)
    messages = measures.max_messages_per_entry(search)
    worst = measures.worst_overtaking(search)
    if worst is None:
        return replace(report, max_messages_per_entry=messages)
    return replace(
        report,
        max_messages_per_entry=messages,
        max_overtaken=worst.entries,
        overtaking=replay(search.model, search.schedule(worst.steps)),
    )


def _report(search: Search, violation: Violation | None) -> Verdict:
    return Verdict(
        model=search.model,
        coverage=search.coverage,
        complete=search.exhausted,
        cut=search.cut,
        violation=violation,
        everyone_entered=measures.everyone_entered(search),
    )


def _violation(search: Search, breach: Breach) -> Violation:
    steps = search.path(search.broken_at)
    if search.broken_by is not None:
        steps.append((search.broken_at, search.broken_by))
    trace = replay(search.model, search.schedule(steps), breach)
    return Violation(breach.property, breach.text, len(steps), trace)


def _starvation(search: Search, lasso: Lasso) -> Violation:
    stem, loop = len(lasso.stem), len(lasso.loop)
    text = (
        f"starvation: {lasso.node} waits for ever while steps {stem + 1} "
        f"to {stem + loop} repeat"
    )
    breach = Breach("starvation", lasso.node, text)
    schedule = search.schedule([*lasso.stem, *lasso.loop])
    trace = replay(search.model, schedule, breach)
    return Violation(breach.property, text, len(schedule), trace, loop_from=stem)
