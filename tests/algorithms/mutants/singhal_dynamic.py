"""Mutants of singhal-dynamic."""

from tests.support.mutants import THREE, breaks, harmless

MUTANTS = (
    breaks("exclusion", "range(self.me + 1, ", "range(1, "),
    breaks(
        "exclusion",
        "if self.inside or (self.waiting and we_came_first):",
        "if self.waiting and we_came_first:",
        THREE,
    ),
    breaks("exclusion", "        self.authorized &= ~self.reply_deferred\n", ""),
    breaks(
        "deadlock",
        "            if self.waiting:\n"
        "                self.send(j, Request(self.our_sequence_number))\n",
        "",
        THREE,
    ),
    breaks("exclusion", "            self.authorized ^= 1 << j\n", "            pass\n"),
    breaks("deadlock", "(self.our_sequence_number, self.me) < (k, j)", "True", THREE),
    breaks("remote error", "        self.reply_deferred = 0\n", ""),
    harmless(
        "the first entries cost more, as in Carvalho and Roucairol's",
        "range(self.me + 1, ",
        "range(self.me + 2, ",
    ),
)
