"""Mutants of ricart-agrawala-insertion."""

from tests.support.mutants import BACK, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "        self.awaiting = self.the_others & ~self.included\n",
        "        self.awaiting = 0\n",
        BACK,
    ),
    breaks(
        "exclusion",
        "        self.awaiting = self.the_others & ~self.included\n",
        "        self.awaiting = self.the_others\n",
        BACK,
    ),
    breaks(
        "exclusion",
        "            self.highest_sequence_number, message.sequence_number\n        )\n"
        "        if self.standing is Standing.SETTLING and message.count",
        "            self.highest_sequence_number, 0\n        )\n"
        "        if self.standing is Standing.SETTLING and message.count",
        BACK,
    ),
    breaks(
        "exclusion",
        "        self.names |= bits(message.names)\n        self.insertions",
        "        self.insertions",
        BACK,
    ),
    breaks(
        "exclusion",
        "(self.our_sequence_number, self.me) < (k, j)",
        "self.our_sequence_number < k",
    ),
    breaks(
        "exclusion",
        "if self.requesting and not self.holding and current:",
        "if self.requesting and not self.holding:",
    ),
)
