"""An algorithm whose source was edited: executed as a module of its own, then looked up.

An error of the edit carries the line at which it happened.  The edit is named
`NAME, edited`, and every layer finds it under that name, as it finds an algorithm from a
file.  Only the latest edit is kept.
"""

from __future__ import annotations

import inspect
import sys
from traceback import extract_tb
from types import ModuleType

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.lookup import OUTSIDE, algorithm
from peerlock.algorithms.rules import validate
from peerlock.core.errors import UsageError

FILE = "<edit>"
MODULE = "edited_algorithm"

_latest: dict[tuple[str, str], Algorithm] = {}


class EditError(UsageError):
    """What is wrong with the edit, and at which line, if that is known."""

    def __init__(self, text: str, line: int | None = None) -> None:
        super().__init__(text)
        self.line = line


def name_of(name: str) -> str:
    return f"{name}, edited"


def source_of(name: str) -> str:
    """The file in which an algorithm stands."""
    return inspect.getsource(sys.modules[algorithm(name).peer.__module__])


def edited(name: str, source: str) -> Algorithm:
    if (name, source) not in _latest:
        entry = _entry(name, _executed(source))._replace(name=name_of(name))
        _complete(entry)
        _latest.clear()
        _latest[name, source] = entry
        OUTSIDE[name_of(name)] = entry
    return _latest[name, source]


def _executed(source: str) -> ModuleType:
    module = ModuleType(MODULE)
    sys.modules[MODULE] = module  # where dataclasses and cards look for it
    try:
        exec(compile(source, FILE, "exec"), module.__dict__)
    except SyntaxError as error:
        raise EditError(error.msg, error.lineno) from None
    except (Exception, SystemExit) as error:
        raise EditError(told(error), line_of(error)) from None
    return module


def _entry(name: str, module: ModuleType) -> Algorithm:
    entries = getattr(module, "ENTRIES", ())
    for entry in entries if isinstance(entries, tuple) else ():
        if isinstance(entry, Algorithm) and entry.name == name:
            return entry
    raise EditError(f"the edit has no entry {name}: keep its ENTRIES")


def _complete(entry: Algorithm) -> None:
    try:
        validate(entry)
    except UsageError as error:
        raise EditError(str(error)) from None


def line_of(error: BaseException) -> int | None:
    """The last line of the edit that was under way."""
    lines = [t.lineno for t in extract_tb(error.__traceback__) if t.filename == FILE]
    return lines[-1] if lines else None


def told(error: BaseException) -> str:
    words = f"{type(error).__name__}: {error}".removesuffix(": ")
    return words.replace("\n", " ")
