"""Mutants of srimani-reddy-bounded."""

from tests.support.mutants import A_ROUND, THREE, breaks

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
)
