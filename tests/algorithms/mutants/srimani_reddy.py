"""Mutants of srimani-reddy."""

from tests.support.mutants import THREE, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "            self.idle -= 1\n            self.queue = ()\n",
        "            self.queue = ()\n",
        THREE,
    ),
    breaks(
        "exclusion",
        "                self.idle -= 1\n                self.pass_on(())\n",
        "                self.pass_on(())\n",
        THREE,
    ),
    breaks("deadlock", "            self.idle += 1\n", "            pass\n", THREE),
    breaks(
        "starvation",
        "            if self.idle and self.waits(sender):",
        "            if False:",
        THREE,
    ),
    breaks(
        "invariant",
        "return self.requested[node - 1] > self.granted[node - 1]",
        "return self.requested[node - 1] > 0",
        THREE,
    ),
    breaks(
        "deadlock",
        "return self.requested[node - 1] > self.granted[node - 1]",
        "return False",
        THREE,
    ),
    breaks("exclusion", "per_node + (self.me <= more)", "per_node + 1", THREE),
)
