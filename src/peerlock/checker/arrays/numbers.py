"""Keys are numbered in the order in which they come: an exact open-addressing table.

A key is one or more 64-bit words.  A slot of the table holds the number of a key, plus
one; 0 is an empty slot.  Each probe compares the whole key, so two keys never share a
number, whatever their hashes are.  All keys of a call are looked up together: in each
round those at an empty slot claim it, one of them gets it, and each key is compared with
the key that the slot then has.  A key that differs goes to the next slot.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerlock.checker.arrays.columns import Grown, Index

Words = tuple[NDArray[np.uint64], ...]

SPREAD = (np.uint64(0x9E3779B97F4A7C15), np.uint64(0xC2B2AE3D27D4EB4F))
FULL = 0.6  # share of the slots in use at which the table grows
FIRST_BITS = 12
BLOCK = 1 << 20  # keys that are moved together when the table grows


class Interned:
    """The same for fewer keys of one word, which come in small lots: a dictionary."""

    def __init__(self) -> None:
        self._numbers: dict[int, int] = {}
        self._keys = Grown(np.uint64)

    def __len__(self) -> int:
        return len(self._numbers)

    @property
    def keys(self) -> NDArray[np.uint64]:
        return self._keys.values

    def number(self, keys: NDArray[np.uint64]) -> NDArray[np.int32]:
        known, number = self._numbers, self._numbers.setdefault
        found = np.array([number(key, len(known)) for key in keys.tolist()], np.int32)
        if len(known) > self._keys.size:
            self._keys.reach(len(known))
            self._keys.values[found] = keys
        return found


class Numbers:
    def __init__(self, words: int = 1) -> None:
        self._keys = [Grown(np.uint64) for _ in range(words)]
        self._resize(FIRST_BITS)

    @classmethod
    def of(cls, words: Words) -> Numbers:
        """Keys that are known to differ, numbered in this order."""
        numbers = cls(len(words))
        for ours, word in zip(numbers._keys, words, strict=True):
            ours.adopt(word)
        numbers._resize(numbers._bits_for(len(numbers)))
        return numbers

    def __len__(self) -> int:
        return self._keys[0].size

    @property
    def keys(self) -> Words:
        return tuple(word.values for word in self._keys)

    @property
    def table_size(self) -> int:
        """In bytes."""
        return self._slots.nbytes

    def grows_by(self, more: int) -> int:
        """How many bytes more the table takes if this many keys are added."""
        grown = self._bits_for(len(self) + more) > self._bits
        return self.table_size * 2 if grown else 0

    def close(self) -> None:
        """Drop the table: no key is looked up any more."""
        self._slots = np.empty(0, np.uint32)

    def number(self, words: Words) -> tuple[NDArray[np.uint32], Index]:
        """The number of each key, and where those stand that were not known, in order."""
        count = len(words[0])
        if self._bits_for(len(self) + count) > self._bits:
            self._resize(self._bits_for(len(self) + count))
        found, slots = np.empty(0, np.uint32), self._slots_of(words)
        rest: Index | None = None  # where the keys that are left stood; None: all are left
        fresh: list[Index] = []
        taken: list[Index] = []  # the slots of those
        while rest is None or len(rest):
            held, first = self._round(words, slots)
            taken.append(slots.take(first))
            fresh.append(first if rest is None else rest.take(first))
            other = np.flatnonzero(self._differ(words, held))
            if rest is None:
                found, rest = held, other
            else:
                found[rest] = held
                rest = rest.take(other)
            words = tuple(word.take(other) for word in words)
            slots = slots.take(other) + 1 & self._mask
        return self._in_order(found, np.concatenate(fresh), np.concatenate(taken))

    def _in_order(
        self, found: NDArray[np.uint32], fresh: Index, taken: Index
    ) -> tuple[NDArray[np.uint32], Index]:
        """Number the new keys as they came; in `fresh` those that met others are late."""
        order = np.argsort(fresh, kind="stable")
        begin = len(self) - len(fresh)
        number = np.empty(len(fresh), np.uint32)
        number[order] = np.arange(begin, len(self), dtype=np.uint32)
        self._slots[taken] = number + 1
        for word in self._keys:
            word.values[begin:] = word.values[begin:].take(order)
        new = np.flatnonzero(found >= begin)
        found[new] = number.take(found.take(new) - np.uint32(begin))
        return found, fresh.take(order)

    def _round(self, words: Words, slots: Index) -> tuple[NDArray[np.uint32], Index]:
        """The number that each slot has when all have claimed those that are empty."""
        held = self._slots.take(slots)
        first = empty = np.flatnonzero(held == 0)
        if len(empty):
            first = self._claim(words, empty, slots.take(empty))
            held[empty] = self._slots.take(slots.take(empty))
        held -= 1
        return held, first

    def _claim(self, words: Words, empty: Index, slots: Index) -> Index:
        """Of those that want one slot the first gets it, with the next number."""
        self._slots[slots[::-1]] = empty[::-1]
        won = np.flatnonzero(self._slots.take(slots) == empty)
        begin, first = len(self), empty.take(won)
        for ours, word in zip(self._keys, words, strict=True):
            ours.extend(word.take(first))
        numbers = np.arange(begin + 1, len(self) + 1, dtype=np.uint32)
        self._slots[slots.take(won)] = numbers
        return first

    def _differ(self, words: Words, found: NDArray[np.uint32]) -> NDArray[Any]:
        differ: NDArray[Any] = self._keys[0].values.take(found) != words[0]
        for ours, word in zip(self._keys[1:], words[1:], strict=True):
            differ |= ours.values.take(found) != word
        return differ

    def _slots_of(self, words: Words) -> Index:
        mixed = words[0] ^ words[0] >> np.uint64(31)
        mixed = mixed * SPREAD[0]
        for word in words[1:]:
            mixed ^= word ^ mixed >> np.uint64(29)
            mixed *= SPREAD[1]
        return (mixed >> np.uint64(64 - self._bits)).astype(np.intp)

    def _bits_for(self, count: int) -> int:
        return max(int(count / FULL).bit_length(), FIRST_BITS)

    def _resize(self, bits: int) -> None:
        self._bits, self._mask = bits, (1 << bits) - 1
        self._slots = np.zeros(1 << bits, np.uint32)
        for begin in range(0, len(self), BLOCK):
            part = tuple(word[begin : begin + BLOCK] for word in self.keys)
            self._place(np.arange(begin, begin + len(part[0])), self._slots_of(part))

    def _place(self, numbers: Index, slots: Index) -> None:
        """Keys that are known to differ: each takes the next slot that is empty."""
        while len(numbers):
            empty = np.flatnonzero(self._slots[slots] == 0)
            self._slots[slots[empty]] = numbers[empty] + 1
            other = np.flatnonzero(self._slots[slots] != numbers + 1)
            numbers, slots = numbers[other], slots[other] + 1 & self._mask
