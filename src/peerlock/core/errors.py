"""The errors that every layer may raise, and how a name that is not known is told."""

from __future__ import annotations

from collections.abc import Iterable


class UsageError(ValueError):
    """An argument is invalid; the message says what to use instead, in one line."""


class Deadlock(RuntimeError):
    """A task or a thread would wait for itself: for a lock that it holds already, or, in a
    signal handler, for the call that the signal has interrupted."""


def unknown(what: str, name: str, known: Iterable[str], listed: bool = False) -> str:
    """What is near it, or else, or if `listed` as well, all that there are."""
    from difflib import get_close_matches  # which most programs never need

    known = list(known)
    near = get_close_matches(name, known, n=1, cutoff=0.4)
    hints = [f"did you mean {near[0]}?"] if near else []
    if listed or not near:
        hints.append(f"there are {', '.join(known)}")
    return f"there is no {what} {name!r}; {' '.join(hints)}"
