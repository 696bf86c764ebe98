"""Mutants of ricart-agrawala."""

from tests.support.mutants import THREE, breaks, harmless

MUTANTS = (
    breaks(
        "exclusion",
        "if self.requesting_critical_section and we_came_first:",
        "if False:",
    ),
    breaks("exclusion", "k > ours or (k == ours and j > self.me)", "k > ours"),
    breaks("deadlock", "k > ours or (k == ours and j > self.me)", "k >= ours"),
    breaks(
        "exclusion",
        "            self.highest_sequence_number = k\n",
        "            pass\n",
    ),
    breaks(
        "deadlock",
        "            self.send(j, REPLY)\n        self.reply_deferred = 0\n",
        "            pass\n        self.reply_deferred = 0\n",
    ),
    breaks("remote error", "        self.reply_deferred = 0\n", ""),
    breaks("remote error", "len(self.members) - 1", "len(self.members) - 2", THREE),
    harmless(
        "TR-869's listing: its proofs need no number to be used once only; what it "
        "does to fairness is shown in the museum",
        "        self.highest_sequence_number = self.our_sequence_number\n",
        "",
    ),
)
