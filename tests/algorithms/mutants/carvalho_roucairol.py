"""Mutants of carvalho-roucairol."""

from tests.support.mutants import THREE_TWICE, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "if self.inside or (self.waiting and we_came_first):",
        "if self.waiting and we_came_first:",
    ),
    breaks("exclusion", "        self.authorized &= ~self.reply_deferred\n", ""),
    breaks(
        "deadlock",
        "            if self.waiting:\n"
        "                self.send(j, Request(self.our_sequence_number))\n",
        "",
        THREE_TWICE,
    ),
    breaks("exclusion", "            self.authorized ^= 1 << j\n", "            pass\n"),
    breaks("deadlock", "(self.our_sequence_number, self.me) < (k, j)", "True"),
    breaks("remote error", "        self.reply_deferred = 0\n", ""),
    breaks("invariant", "self.waiting, self.inside = False, True", "self.inside = True"),
)
