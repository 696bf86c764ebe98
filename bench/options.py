"""What is asked of a measurement by name."""

from __future__ import annotations

from collections.abc import Collection, Iterable

from peerlock.core.errors import UsageError, unknown


def must_know(what: str, names: Iterable[str], known: Collection[str]) -> None:
    for name in names:
        if name not in known:
            raise UsageError(unknown(what, name, known, listed=True))
