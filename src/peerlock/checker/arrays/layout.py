"""How a state is packed into words of 64 bits: a field per site, and one per kind of fault.

Fields grow with the number of sites: when one is outgrown, all states are packed anew,
into as many words as it takes.
"""

from __future__ import annotations

import numpy as np

from peerlock.checker.arrays.columns import Index, Ints
from peerlock.checker.arrays.numbers import Words

BITS = 64


class Layout:
    def __init__(self, sizes: list[int], fixed: list[int]) -> None:
        """Room for as many values of each field; the first fields may have more later."""
        bits = [max(size - 1, 0).bit_length() for size in (*sizes, *fixed)]
        self._place(roomy(bits, len(sizes)))

    def _place(self, widths: list[int]) -> None:
        self.widths = widths
        self.at: list[tuple[int, int]] = []  # of each field: in which word, and where
        word, shift = 0, 0
        for width in widths:
            if shift + width > BITS:
                word, shift = word + 1, 0
            self.at.append((word, shift))
            shift += width
        self.words = word + 1

    def fits(self, sizes: list[int]) -> bool:
        widths = self.widths[: len(sizes)]
        return all(size <= 1 << w for size, w in zip(sizes, widths, strict=True))

    def field(self, words: Words, number: int) -> Index:
        word, shift = self.at[number]
        mask = np.uint64((1 << self.widths[number]) - 1)
        return (words[word] >> np.uint64(shift) & mask).astype(np.intp)

    def change(self, words: list[Ints], number: int, by: Ints) -> None:
        """Add differences to a field, in place."""
        word, shift = self.at[number]
        words[word] += (by.astype(np.int64) << shift).view(np.uint64)

    def pack(self, fields: list[Ints]) -> Words:
        words: list[Ints] = [np.zeros(len(fields[0]), np.uint64) for _ in range(self.words)]
        for number, values in enumerate(fields):
            self.change(words, number, values)
        return tuple(words)


def roomy(needed: list[int], growing: int) -> list[int]:
    """Widths for these: in one word if they fit, and the first share what is left over."""
    spare = BITS - sum(needed)
    if spare < 0:  # several words
        wider = [min(bits + 4, BITS) for bits in needed[:growing]]
        return wider + needed[growing:]
    each, more = divmod(spare, growing)
    return [
        bits + (each + (number < more) if number < growing else 0)
        for number, bits in enumerate(needed)
    ]
