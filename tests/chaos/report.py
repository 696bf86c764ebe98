"""How a run went, as one page that needs nothing else: figures, timeline, close-ups."""

from html import escape
from math import inf
from pathlib import Path

from tests.chaos.drawing import close_up, overview
from tests.chaos.history import History
from tests.chaos.judge import Around, Verdict, by_kind, typical
from tests.chaos.play import Play

STYLE = Path(__file__).with_name("report.css")


def page(wanted: Play, history: History, verdict: Verdict) -> str:
    title = "Locks under faults"
    return (
        '<!doctype html><html lang="en"><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{title}</title><style>{STYLE.read_text()}</style>"
        f"<h1>{title}</h1>{opening(wanted, history, verdict)}"
        f"{figures(wanted, history, verdict)}{violations(verdict)}"
        f"<h2>The whole run</h2>{explained()}{legend()}"
        f'<div class="scroll">{overview(history)}</div>'
        f"<h2>What each kind of fault did</h2>{kinds(verdict)}"
        f"<h2>Close up</h2>{close_ups(history, verdict)}"
        f"<h2>Every fault</h2>{every_fault(history, verdict)}</html>\n"
    )


def opening(wanted: Play, history: History, verdict: Verdict) -> str:
    found = len(verdict.violations)
    words = "No violation." if not found else f"{found} violations."
    return (
        f'<p><span class="verdict {"bad" if found else "good"}">{words}</span> '
        f"Five hosts with mutual TLS and the servers of {wanted.engine}, each in a network "
        f"namespace of its own; {wanted.each} workers on each host take locks by "
        f"{', '.join(wanted.algorithms)}, a lock with readers and a semaphore. "
        f"Lease {wanted.lease:g} s, seed {wanted.seed}.</p>"
    )


def figures(wanted: Play, history: History, verdict: Verdict) -> str:
    minutes = (history.ends - history.begins) / 60
    shown = [
        (f"{minutes:.1f} min", "of real time"),
        (f"{len(history.faults):,}", f"faults of {len(by_kind(verdict.around))} kinds"),
        (f"{verdict.grants:,}", "grants"),
        (f"{len(verdict.overlaps)}", "overlaps of valid grants"),
        (f"{len(verdict.fences)}", "fences that did not grow"),
        (f"{len(verdict.stale)}", f"stale writes accepted, of {verdict.accepted:,}"),
        (f"{verdict.refused:,}", "stale writes refused by their fence"),
        (f"{verdict.lost:,}", "grants lost, and their holders notified"),
        (f"{len(verdict.told_late)}", "notified after their lease had ended"),
        (
            seconds(verdict.least_warning),
            "least time from the notification to the lease's end",
        ),
        (seconds(verdict.closest), "least time from a loss to the next grant"),
        (f"{len(verdict.unserved)}", "waiters not served in the end"),
        (
            most(verdict.served_after),
            "from the end of the faults until the last waiter acquired its lock",
        ),
    ]
    tiles = "".join(f"<div><b>{b}</b><span>{text}</span></div>" for b, text in shown)
    return f'<div class="figures">{tiles}</div>'


def most(times: list[float]) -> str:
    return seconds(max(times, default=inf))


def seconds(value: float) -> str:
    return "–" if value == inf else f"{value:.2f} s"


def violations(verdict: Verdict) -> str:
    if verdict.good:
        return ""
    return f"<pre>{escape(chr(10).join(verdict.violations[:50]))}</pre>"


def explained() -> str:
    return (
        "<p>Above, what was done to whom. Then the grants of each lock, by the host that "
        "got them. The kept names are held for seconds on purpose: a bar is a valid grant, "
        "a red mark its loss. Below, the fences: the view's number, with a red mark for "
        "each stale write that was refused, and the counter within the view.</p>"
    )


def legend() -> str:
    shown = [("killed", "killed"), ("stopped", "stopped"), ("cut", "cut off")]
    shown += [("poor", "lossy or slow")]
    shown += [(f"h{i}", f"host {i}") for i in range(1, 6)]
    keys = "".join(
        f'<span><i style="background:var(--{colour})"></i>{text}</span>'
        for colour, text in shown
    )
    return f'<div class="legend">{keys}</div>'


def kinds(verdict: Verdict) -> str:
    head = "<tr><th>fault</th><th>times</th><th>seconds, in all</th>"
    head += "<th>grants per second<br>before / during</th><th>grants lost</th>"
    head += "<th>longest time without a grant<br>median / worst</th>"
    head += "<th>waiter served after<br>median / worst</th></tr>"
    return f'<div class="scroll"><table>{head}{"".join(kind_rows(verdict))}</table></div>'


def kind_rows(verdict: Verdict) -> list[str]:
    return [
        f"<tr><td>{escape(row[0])}</td>"
        + "".join(f"<td>{escape(cell)}</td>" for cell in row[1:])
        + "</tr>"
        for row in kind_cells(verdict)
    ]


def kind_cells(verdict: Verdict) -> list[list[str]]:
    rows = []
    for kind, ones in by_kind(verdict.around).items():
        lasted = sum(lasting(one) for one in ones)
        before = sum(one.rate_before for one in ones) / len(ones)
        during = f"{sum(one.grants for one in ones) / lasted:.0f}" if lasted > 1 else "–"
        recovered = [one.recovered for one in ones if one.recovered is not None]
        rows.append(
            [
                kind,
                f"{len(ones)}",
                f"{lasted:.0f}",
                f"{before:.0f} / {during}",
                f"{sum(one.lost for one in ones)}",
                typical([one.longest_gap for one in ones]),
                typical(recovered),
            ]
        )
    return rows


def lasting(one: Around) -> float:
    return min(one.fault.ends - one.fault.begins, 600.0)


def close_ups(history: History, verdict: Verdict) -> str:
    """Of each kind, the one that cost the most grants."""
    said = [
        "<p>One of each kind: the one by which the most grants were lost. Seconds count "
        "from its beginning; a bar is a valid grant, coloured by its holder's host; a red "
        "mark says that the holder was told that it has lost it.</p>",
        legend(),
    ]
    for kind, ones in by_kind(verdict.around).items():
        worst = worst_of(ones)
        drawn = close_up(history, worst.fault)
        caption = f"{escape(kind)}<small>{escape(worst.fault.whom)}, {told(worst)}</small>"
        said.append(f"<figure><figcaption>{caption}</figcaption>{drawn}</figure>")
    return "".join(said)


def figure(history: History, verdict: Verdict, kind: str) -> str:
    """A close-up of one kind as a file of its own; nothing if there was none."""
    ones = by_kind(verdict.around).get(kind)
    if not ones:
        return ""
    drawn = close_up(history, worst_of(ones).fault)
    head, _, rest = drawn.partition(">")
    name = ' xmlns="http://www.w3.org/2000/svg"'
    return f"{head}{name}><style>{STYLE.read_text()}</style>{rest}\n"


def worst_of(ones: list[Around]) -> Around:
    return max(ones, key=lambda one: (one.lost, one.longest_gap))


def told(one: Around) -> str:
    more = ", ".join(f"{k} {v}" for k, v in one.fault.more.items() if v and k != "who")
    text = f"{lasting(one):.1f} s, {one.lost} grants lost"
    text += f", no grant for {one.longest_gap:.2f} s"
    if one.recovered is not None:
        text += f", waiter served after {one.recovered:.2f} s"
    return f"{text} ({more})" if more else text


def every_fault(history: History, verdict: Verdict) -> str:
    rows = [
        f"<tr><td>{one.fault.begins - history.begins:.1f} s</td>"
        f'<td class="text">{escape(one.fault.kind)}</td>'
        f'<td class="text">{escape(one.fault.whom)}</td><td>{lasting(one):.1f} s</td>'
        f"<td>{one.grants}</td><td>{one.lost}</td><td>{one.longest_gap:.2f} s</td>"
        f"<td>{'–' if one.recovered is None else f'{one.recovered:.2f} s'}</td></tr>"
        for one in verdict.around
    ]
    head = '<tr><th>at</th><th class="text">fault</th><th class="text">whom</th>'
    head += "<th>lasted</th><th>grants</th><th>lost</th><th>no grant for</th>"
    head += "<th>waiter served after</th></tr>"
    table = f'<div class="scroll"><table>{head}{"".join(rows)}</table></div>'
    return f"<details><summary>{len(rows)} of them</summary>{table}</details>"
