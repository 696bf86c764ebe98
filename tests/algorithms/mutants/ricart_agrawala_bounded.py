"""Mutants of ricart-agrawala-bounded."""

from tests.support.mutants import Cluster, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "if self.requesting_critical_section and we_came_first:",
        "if False:",
    ),
    breaks("exclusion", "(k == ours and j > self.me)", "False"),
    breaks("exclusion", "return (k > other) != wrapped", "return k > other"),
    breaks("exclusion", ">= len(self.members)", "> len(self.members)"),
    breaks("exclusion", ">= len(self.members)", ">= len(self.members) - 1"),
    breaks("exclusion", "2 * len(self.members) - 1", "2 * len(self.members) - 2"),
    breaks("remote error", "self.highest_sequence_number = -1", "pass"),
    breaks(
        "exclusion",
        "            self.highest_sequence_number = k\n",
        "            pass\n",
    ),
    breaks(
        "exclusion",
        "if self.later(k, self.highest_sequence_number):",
        "if k > self.highest_sequence_number:",
        Cluster(2, 3),
    ),
)
