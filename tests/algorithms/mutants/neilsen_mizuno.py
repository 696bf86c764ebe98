"""Mutants of neilsen-mizuno."""

from tests.support.mutants import THREE, breaks

MUTANTS = (
    breaks("remote error", "        self.last = sender\n", "", THREE),
    breaks("remote error", "            self.last = 0\n", ""),
    breaks("deadlock", "self.next = message.origin", "pass"),
    breaks("invariant", "        elif self.requesting:\n", "        elif False:\n"),
    breaks("remote error", "            self.next = 0\n", ""),
    breaks("deadlock", "        if self.next:\n", "        if False:\n"),
    breaks("exclusion", "        self.holding = False\n", ""),
    breaks(
        "remote error",
        "            self.send(self.last, message)\n",
        "            self.send(self.last, Request(self.me))\n",
        THREE,
    ),
    breaks("exclusion", "        if self.last:\n", "        if False:\n", THREE),
)
