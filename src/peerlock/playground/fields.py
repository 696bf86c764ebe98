"""A peer's state in words: its fields by their names in the paper, and what has changed."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from peerlock.core.bits import nodes_in
from peerlock.core.peer import Peer, label, state_fields


def shown(peer: Peer, before: tuple[Any, ...] | None) -> list[dict[str, Any]]:
    """Each field with its value, and its value before the last step if that differs."""
    kinds = {f.name: f.type for f in fields(peer)}
    names = state_fields(type(peer))
    now = peer.snapshot()
    old = now if before is None or len(before) != len(now) else before
    return [
        {
            "name": name,
            "value": in_words(value, kinds[name]),
            "before": in_words(was, kinds[name]) if was != value else None,
        }
        for name, value, was in zip(names, now, old, strict=True)
    ]


def in_words(value: Any, kind: Any = "") -> str:
    """As the papers print it; a set of nodes, which is an integer here, as a set."""
    if str(kind) == "Nodes":
        return f"{{{' '.join(map(str, nodes_in(value)))}}}"
    if value is None:
        return "–"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, Enum):
        return in_words(value.value)
    if isinstance(value, tuple | frozenset):
        items = sorted(value) if isinstance(value, frozenset) else value
        return f"[{' '.join(map(in_words, items))}]"
    if is_dataclass(value) and not isinstance(value, type):
        return label(value)
    return str(value)
