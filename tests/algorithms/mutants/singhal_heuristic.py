"""Mutants of singhal-heuristic."""

from tests.support.mutants import THREE, THREE_TWICE, breaks, harmless

MUTANTS = (
    breaks(
        "starvation",
        "            if stranger:\n                self.ask(i)  # so that it comes",
        "            if False:\n                self.ask(i)  # so that it comes",
        THREE_TWICE,
    ),
    breaks(
        "starvation",
        'is None:\n            if self.state == "R" and stranger:',
        "is None:\n            if False:",
        THREE,
    ),
    breaks(
        "starvation",
        'self.state == "H":\n            self.hand_over()\n\n    def',
        "False:\n            self.hand_over()\n\n    def",
    ),
    breaks(
        "invariant",
        'elif self.state == "H":\n            self.hand_over()\n\n    def',
        "else:\n            self.hand_over()\n\n    def",
    ),
    breaks("invariant", "        newer[self.me - 1] = True\n", ""),
    breaks("remote error", "[ours > theirs for", "[ours >= theirs for", THREE_TWICE),
    breaks(
        "starvation",
        "self.token)\n            self.token = None\n",
        "self.token)\n",
        THREE_TWICE,
    ),
    breaks(
        "remote error",
        "self.sv, self.sn = self.token.tsv, self.token.tsn",
        "self.sn = self.token.tsn",
    ),
    breaks("deadlock", "% n < step", "% n > step"),
    harmless(
        "to be asked twice, or without need, does nobody harm",
        'is None:\n            if self.state == "R" and stranger:',
        'is None:\n            if self.state == "R":',
    ),
)
