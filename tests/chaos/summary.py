"""How a run went, as a few lines of Markdown."""

from tests.chaos.history import History
from tests.chaos.judge import Verdict, by_kind, short_outages, typical
from tests.chaos.play import Play
from tests.chaos.report import kind_cells, most, seconds


def summary(wanted: Play, history: History, verdict: Verdict) -> str:
    minutes = (history.ends - history.begins) / 60
    facts = [
        ("members kept by", wanted.engine),
        ("seed, lease", f"{wanted.seed}, {wanted.lease:g} s"),
        ("algorithms", ", ".join(wanted.algorithms)),
        ("minutes", f"{minutes:.1f}"),
        ("faults", f"{len(history.faults):,} of {len(by_kind(verdict.around))} kinds"),
        ("grants", f"{verdict.grants:,}"),
        ("overlaps of valid grants", f"{len(verdict.overlaps)}"),
        ("fences that did not grow", f"{len(verdict.fences)}"),
        ("writes accepted", f"{verdict.accepted:,}"),
        ("stale writes accepted", f"{len(verdict.stale)}"),
        ("stale writes refused", f"{verdict.refused:,}"),
        ("grants lost, and their holders notified", f"{verdict.lost:,}"),
        ("notified after their lease had ended", f"{len(verdict.told_late)}"),
        ("the same, while the process was stopped", f"{verdict.late}"),
        (
            "least time from the notification to the lease's end",
            seconds(verdict.least_warning),
        ),
        ("least time from a loss to the next grant", seconds(verdict.closest)),
        ("waiters not served in the end", f"{len(verdict.unserved)}"),
        (
            "from the end of the faults until the last waiter acquired its lock",
            most(verdict.served_after),
        ),
        ("processes that ended by themselves", f"{len(verdict.failed)}"),
    ]
    calm = f"{wanted.engine} stopped, shortly, and nothing else wrong"
    facts.append((calm, short(wanted, verdict)))
    said = ["| figure | value |", "| --- | --- |"]
    said += [f"| {name} | {value} |" for name, value in facts]
    said += ["", *kinds(verdict)]
    said += ["", *(f"- {violation[:1000]}" for violation in verdict.violations[:20])]
    return "\n".join(said).strip() + "\n"


def short(wanted: Play, verdict: Verdict) -> str:
    ones = short_outages(verdict.around, wanted.lease)
    if not ones:
        return "–"
    lost, gaps = sum(one.lost for one in ones), [one.longest_gap for one in ones]
    return f"{len(ones)} times: {lost} grants lost, no grant for {typical(gaps)}"


def kinds(verdict: Verdict) -> list[str]:
    head = ["fault", "times", "seconds", "grants/s before / during", "lost"]
    head += ["no grant for", "waiter served after"]
    said = [f"| {' | '.join(head)} |", f"| --- {'| ---: ' * (len(head) - 1)}|"]
    return said + [f"| {' | '.join(row)} |" for row in kind_cells(verdict)]
