"""What an algorithm from elsewhere must have, each rule with the line to say if it has not.

Ours keep these, too; tests see to it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import MISSING, Field, fields, is_dataclass
from typing import Any

from peerlock.algorithms.card import FACTS, card
from peerlock.algorithms.entry import Algorithm, Exhibit
from peerlock.algorithms.listed import FAMILIES
from peerlock.algorithms.settings import SETTINGS
from peerlock.core.errors import UsageError
from peerlock.core.peer import Peer, state_fields

USES = ("lock", "shared lock", "semaphore")
TYPES = {"name": str, "source": str, "year": int, "messages": str, "exhibit": Exhibit}
MUTABLE = re.compile(r"(\w+\.)*(list|dict|set|bytearray|deque|defaultdict)\b")


def validate(entry: Algorithm) -> None:
    """Raises UsageError, in one line that says what to add."""
    for complaint in _complaints(entry):
        raise UsageError(complaint)


def _complaints(entry: Algorithm) -> Iterator[str]:
    yield from _about_class(entry.peer)
    yield from _about_messages(entry.peer)
    yield from _about_state(entry.peer)
    yield from _about_entry(entry)
    yield from _about_card(entry)
    yield from _about_first_steps(entry)


def _about_class(peer: type[Peer]) -> Iterator[str]:
    for method in sorted(peer.__abstractmethods__):
        yield f"{peer.__name__} has no method {method}: add it, as Peer describes it"
    own = (str(kind) for kind in peer.__annotations__.values())
    if "__dataclass_fields__" not in vars(peer) and not all("ClassVar" in k for k in own):
        yield f"{peer.__name__} has fields: write @dataclass(eq=False) above its class"


def _about_messages(peer: type[Peer]) -> Iterator[str]:
    for message in peer.messages:
        frozen = is_dataclass(message) and message.__dataclass_params__.frozen  # type: ignore[attr-defined]
        if not frozen:
            yield (
                f"{message.__name__} is a message that can change: "
                "write @dataclass(frozen=True, slots=True) above its class"
            )


def _about_state(peer: type[Peer]) -> Iterator[str]:
    for field in fields(peer):
        if field.name in state_fields(peer) and _is_mutable(field):
            yield _must_not_change(peer, field.name)


def _is_mutable(field: Field[Any]) -> bool:
    kind = field.type if isinstance(field.type, str) else field.type.__name__
    if MUTABLE.match(kind.lower()):
        return True
    factory = field.default_factory
    return not _can_be_hashed(field.default if factory is MISSING else factory())


def _must_not_change(peer: type[Peer], field: str) -> str:
    return (
        f"{peer.__name__}.{field} is part of the state and holds what can change: "
        "use a tuple, a frozenset or a number"
    )


def _can_be_hashed(value: Any) -> bool:
    try:
        hash(value)
    except TypeError:
        return False
    return True


def _about_entry(entry: Algorithm) -> Iterator[str]:
    for field, kind in TYPES.items():
        if not isinstance(getattr(entry, field), kind):
            yield f"{entry.name}: {field} must be of type {kind.__name__}"
    if not entry.name.isprintable():
        yield f"{entry.name!r}: the name must be printable"
    if entry.family not in FAMILIES:
        yield f"{entry.name}: family must be one of {', '.join(FAMILIES)}"
    if entry.takes and entry.takes not in SETTINGS:
        yield f"{entry.name}: takes must be one of {', '.join(SETTINGS)}, or empty"
    if not set(entry.serves) <= set(USES):
        yield f"{entry.name}: serves must be a tuple of {', '.join(USES)}"


def _about_card(entry: Algorithm) -> Iterator[str]:
    """Its docstring, which is taken apart for `show`."""
    try:
        shown = card(entry)
        missing = [fact for fact in FACTS if fact not in shown.facts]
    except (ValueError, IndexError):
        missing = list(FACTS)
    if missing:
        yield (
            f"{entry.name} has no card, or not all of it (no {', '.join(missing)}): "
            "begin its file with a docstring as `peerlock new` writes it"
        )


def _about_first_steps(entry: Algorithm) -> Iterator[str]:
    """What a field is given later shows only in a run; errors in it are the checker's."""
    with suppress(Exception):
        peer = entry.peer(1, (1, 2, 3))
        peer.start()
        peer.acquire()
        for name in state_fields(entry.peer):
            if not _can_be_hashed(getattr(peer, name)):
                yield _must_not_change(entry.peer, name)
