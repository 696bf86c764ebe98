"""Decisions, made of bytes: whatever the bytes are, they mean something."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar, get_args, get_origin, get_type_hints

Choice = TypeVar("Choice")

# Numbers at which something might break.
EDGES = (
    -(2**63),
    -(2**31),
    -1_000,
    100,
    1_000,
    1_001,
    65_536,
    2**31 - 1,
    2**31,
    2**32 - 1,
    2**32,
    2**40,
    2**63 - 1,
    2**64 - 1,
)


class Source:
    def __init__(self, data: bytes) -> None:
        self._data = data
        self._at = 0

    @property
    def empty(self) -> bool:
        return self._at >= len(self._data)

    def byte(self) -> int:
        """0 when there is nothing more."""
        self._at += 1
        return self._data[self._at - 1] if self._at <= len(self._data) else 0

    def bytes(self) -> bytes:
        """With their length in front."""
        number = self.byte()
        self._at += number
        return self._data[self._at - number : self._at]

    def choice(self, of: Sequence[Choice]) -> Choice:
        return of[self.byte() % len(of)]

    def integer(self) -> int:
        """Mostly a small one."""
        byte = self.byte()
        return byte % 16 - 2 if byte < 224 else EDGES[byte % len(EDGES)]

    def some(self, hint: Any) -> Any:
        """A value of a type; text is up to the caller."""
        if hint is bool:
            return bool(self.byte() & 1)
        if hint is int:
            return self.integer()
        if hint is str:
            return self.choice("RNEH")
        if get_origin(hint) is tuple:
            parts = get_args(hint)
            if parts[-1] is Ellipsis:
                parts = parts[:1] * (self.byte() % 6)
            return tuple(map(self.some, parts))
        return hint(*(self.some(field) for field in get_type_hints(hint).values()))
