"""Findings as lines for people: those that differ in their size only, together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peerlock.lab.reproduce.item import Finding

# What goes with n, so that it need not be told apart.
BY_SIZE = ("n", "K", "M", "compared", "algorithm", "entries", "hold", "curves")


@dataclass(frozen=True)
class Row:
    source: str
    item: str
    where: str
    paper: str
    measured: str
    agrees: bool
    explained: bool
    note: str


def rows(findings: Sequence[Finding]) -> list[Row]:
    groups: dict[Any, list[Finding]] = {}
    for finding in findings:
        groups.setdefault(_alike(finding), []).append(finding)
    return [_row(group) for group in groups.values()]


def _alike(finding: Finding) -> tuple[object, ...]:
    others = [(k, str(v)) for k, v in finding.parameters.items() if k not in BY_SIZE]
    return finding.source, finding.item, finding.agrees, finding.note, *others


def _row(group: Sequence[Finding]) -> Row:
    first = group[0]
    if len(group) > 2 and isinstance(first.measured, dict):
        papers = [first.paper]
        measured = [text(first.measured), "…", text(group[-1].measured)]
    else:
        papers = [finding.paper for finding in group]
        measured = [_measured(finding) for finding in group]
    told = list(dict.fromkeys(map(text, papers)))
    return Row(
        source=first.source,
        item=first.item,
        where=_where(group),
        paper=told[0] if len(told) == 1 else ", ".join(map(text, papers)),
        measured=("; " if isinstance(first.measured, dict) else ", ").join(measured),
        agrees=first.agrees,
        explained=first.explained,
        note=first.note,
    )


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
        if key not in (*BY_SIZE, "L", "load", "order")
    }
    load = str(group[0].parameters.get("load", ""))
    order = str(group[0].parameters.get("order", ""))
    parts = [f"n = {', '.join(sizes)}", load, order]
    parts += [f"{key} {text(value)}" for key, value in more.items()]
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
