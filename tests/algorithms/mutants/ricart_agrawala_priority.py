"""Mutants of ricart-agrawala-priority."""

from tests.support.mutants import THREE, breaks, harmless

MUTANTS = (
    breaks("exclusion", "self.step() - 1", "-1"),
    breaks("exclusion", "self.step() - 1", "self.step() - 2"),
    breaks(
        "exclusion",
        "self.highest_sequence_number += ",
        "self.highest_sequence_number = ",
    ),
    breaks(
        "exclusion",
        "self.highest_sequence_number += ",
        "self.highest_sequence_number -= ",
        THREE,
    ),
    breaks(
        "exclusion",
        "self.highest_sequence_number += ",
        "self.highest_sequence_number = self.our_sequence_number + ",
    ),
    breaks("deadlock", "        super().acquire()  # adds the last 1\n", ""),
    harmless(
        "with steps of one for all it is the algorithm without priority",
        "self.highest_sequence_number += self.step() - 1",
        "pass",
    ),
)
