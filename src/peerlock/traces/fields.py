"""A peer's state in words: its fields by their names in the paper, and what has changed."""

from __future__ import annotations

from dataclasses import fields, is_dataclass
from enum import Enum
from typing import Any

from peerlock.core.bits import nodes_in
from peerlock.core.peer import Peer, label

Values = dict[str, tuple[Any, str]]  # by name: the value, and its type as it is declared


def values(peer: Peer, prefix: str = "") -> Values:
    """The state of a peer, and that of a peer within it."""
    found: Values = {}
    for field in fields(peer):
        value = getattr(peer, field.name, None)
        if "fixed" not in field.metadata:
            found[prefix + field.name] = value, str(field.type)
        elif isinstance(value, Peer):
            found |= values(value, f"{prefix}{field.name}.")
    return found


def shown(now: Values, before: Values | None) -> list[dict[str, Any]]:
    """Each field with its value, and its value before the last step if that differs."""
    old = now if before is None else before
    return [
        {
            "name": name,
            "value": in_words(value, kind),
            "before": in_words(*old[name])
            if name in old and old[name] != now[name]
            else None,
        }
        for name, (value, kind) in now.items()
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
