"""Findings as lines for people: those that differ in their size only, together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peerlock.lab.reproduce.item import Finding

# What goes with n, so that it need not be distinguished.
BY_SIZE = ("n", "K", "M", "compared", "algorithm", "entries", "hold", "curves")


@dataclass(frozen=True)
class Row:
    source: str
    item: str
    sentence: str
    where: str
    paper: str
    measured: str
    compared: str
    agrees: bool
    explained: bool
    note: str
    predicted: str  # by the reason in the note


def rows(findings: Sequence[Finding]) -> list[Row]:
    groups: dict[Any, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_alike(finding), []).append(finding)
    return [_row(group) for group in groups.values()]


def by_reason(shown: Sequence[Row]) -> list[list[Row]]:
    """Those of one source that have the same note, together."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for row in shown:
        groups.setdefault((row.source, row.note), []).append(row)
    return list(groups.values())


def _alike(finding: Finding) -> tuple[object, ...]:
    others = [(k, str(v)) for k, v in finding.parameters.items() if k not in BY_SIZE]
    return finding.source, finding.item, finding.agrees, finding.note, *others


def _row(group: Sequence[Finding]) -> Row:
    first = group[0]
    measured = [_measured(finding) for finding in group]
    papers = [text(finding.paper) for finding in group]
    apart = "; " if isinstance(first.measured, dict) else ", "
    return Row(
        source=first.source,
        item=f"{first.item} (rebuilt)" if first.rebuilt else first.item,
        sentence=f"“{first.sentence.words}”",
        where=_where(group),
        paper=_joined(papers, apart),
        measured=_joined(measured, apart),
        compared=", ".join(dict.fromkeys(f.parameters["compared"] for f in group)),
        agrees=first.agrees,
        explained=first.explained,
        note=first.note,
        predicted=_predicted(group),
    )


def _predicted(group: Sequence[Finding]) -> str:
    found = [finding.predicted for finding in group if finding.predicted]
    values = _joined([text(expected.paper) for expected in found], ", ") if found else ""
    ways = list(dict.fromkeys(expected.compared for expected in found))
    told = [way for way in ways if way not in ("exactly", "not more", "within this range")]
    return f"{values} ({', '.join(told)})" if told else values


def _joined(texts: Sequence[str], apart: str) -> str:
    """One for all where they are the same and not numbers; of long ones, the ends."""
    if len(set(texts)) == 1 and not _is_number(texts[0]):
        return texts[0]
    if apart == "; " and len(texts) > 2:
        texts = [texts[0], "…", texts[-1]]
    return apart.join(texts)


def _is_number(shown: str) -> bool:
    return shown.replace(".", "", 1).isdecimal()


def _measured(finding: Finding) -> str:
    long = isinstance(finding.paper, dict) or _is_story(finding.paper)
    return "the same" if long and finding.agrees else text(finding.measured)


def _is_story(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(entry, str) for entry in value)


def _where(group: Sequence[Finding]) -> str:
    sizes = [text(finding.parameters.get("n", "")) for finding in group]
    more = {
        key: value
        for key, value in group[0].parameters.items()
        if key not in (*BY_SIZE, "load", "order")
    }
    load = str(group[0].parameters.get("load", ""))
    if load[:1].isdigit():
        load = f"load {load}"
    order = str(group[0].parameters.get("order", ""))
    parts = [f"n = {', '.join(sizes)}", load, order]
    for key, value in more.items():
        each = value if isinstance(value, list) else [value]
        parts.append(f"{key} {', '.join(map(text, each))}")
    return "; ".join(part for part in parts if part)


def text(value: Any) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}" if abs(value) < 1000 else f"{value:.0f}"
    if isinstance(value, dict):
        return ", ".join(f"{key} {text(entry)}" for key, entry in value.items())
    if isinstance(value, list):
        if _is_story(value):
            return " / ".join(value)
        if len(value) == 2:
            return f"{text(value[0])} … {text(value[1])}"
        return ", ".join(map(text, value))
    return str(value)
