"""Mutants of srimani-reddy-bounded."""

from tests.support.mutants import A_ROUND, THREE, breaks, harmless

MUTANTS = (
    breaks(
        "deadlock",
        "            self.spare = tuple(sorted((*self.spare, recorded)))\n",
        "            pass\n",
        THREE,
    ),
    breaks(
        "deadlock",
        "        return 1 <= ahead <= self.limit + 1\n\n\nENTRIES",
        "        return False\n\n\nENTRIES",
        THREE,
    ),
    breaks(
        "exclusion",
        "            self.spare = tuple(rest)\n            self.queue = ()",
        "            self.queue = ()",
        THREE,
    ),
    breaks(
        "exclusion",
        "            self.spare = tuple(rest)\n            self.hand_on((), recorded)",
        "            self.hand_on((), recorded)",
        THREE,
    ),
    breaks("invariant", "2 * self.limit + 3", "self.limit + 1", A_ROUND),
    harmless(
        "a token is a whole round behind, or none: the next begins when all have this one",
        "(self.round_after[j - 1] - recorded[j - 1]) % self.modulus\n"
        "        return 1 <= ahead <= self.limit + 1",
        "(self.round_after[j - 1] - recorded[j - 1]) % self.modulus\n"
        "        return ahead == self.limit",
        THREE,
    ),
)
