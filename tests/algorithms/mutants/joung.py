"""Mutants of joung."""

from tests.support.mutants import breaks, harmless

MUTANTS = (
    breaks("exclusion", "if message.group != self.group:", "if False:"),
    breaks("exclusion", "        self.group = group\n", ""),
    breaks("remote error", "        self.reply_deferred = 0\n", ""),
    breaks("exclusion", "k > ours or (k == ours and j > self.me)", "k > ours"),
    breaks("deadlock", "k > ours or (k == ours and j > self.me)", "k >= ours"),
    breaks(
        "deadlock",
        "        self.send(j, REPLY)\n        seen = max",
        "        seen = max",
    ),
    breaks("exclusion", "        self.highest_sequence_number = seen\n", ""),
    harmless(
        "an idle node defers nobody, whatever group it was in last",
        "        self.group = 0\n",
        "",
    ),
)
