"""The errors that every layer may raise, and the message for an unknown name."""

from __future__ import annotations

from collections.abc import Iterable


class Error(Exception):
    """The base of all errors that peerlock raises for its users."""


class UsageError(Error, ValueError):
    """An argument is invalid; the message says what to use instead, in one line."""


class NotHeld(Error, RuntimeError):
    """The lock is not held: it never was, was released before, or is lost."""


class Deadlock(Error, RuntimeError):
    """A task or a thread would wait for itself: for a lock that it holds already, or, in a
    signal handler, for the call that the signal has interrupted."""


def unknown(what: str, name: str, known: Iterable[str], listed: bool = False) -> str:
    """With the nearest name; all names, if none is near or `listed` is set."""
    from difflib import get_close_matches  # most programs never need it

    known = list(known)
    near = get_close_matches(name, known, n=1, cutoff=0.4)
    hints = [f"did you mean {near[0]}?"] if near else []
    if listed or not near:
        hints.append(f"use {', '.join(known)}")
    return f"unknown {what} {name!r}: {' '.join(hints)}"
