"""Mutants of ricart-agrawala-implicit."""

from tests.support.mutants import breaks

MUTANTS = (
    breaks("exclusion", "            self.send(j, DEFERRED)\n", ""),
    breaks(
        "exclusion",
        "        self.outstanding_reply_count = self.unsettled.bit_count()\n",
        "        self.outstanding_reply_count = 0\n",
    ),
    breaks(
        "deadlock",
        "        self.outstanding_reply_count = self.unsettled.bit_count()\n",
        "",
    ),
    breaks(
        "exclusion",
        "        self.highest_sequence_number = max(self.highest_sequence_number, k)\n",
        "",
    ),
    breaks(
        "deadlock",
        "        self.unsettled ^= 1 << j\n        if not self.listening:\n",
        "        if not self.listening:\n",
    ),
    breaks("deadlock", "            self.reply_deferred |= 1 << j\n", ""),
)
