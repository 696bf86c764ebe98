"""Mutants of naimi-trehel."""

from tests.support.mutants import breaks

MUTANTS = (
    breaks("invariant", "        self.last = origin\n", ""),
    breaks("exclusion", "self.token_here, self.next = False, 0", "self.next = 0"),
    breaks("remote error", "            self.last = self.me\n", ""),
    breaks("invariant", "        elif self.requesting:\n", "        elif False:\n"),
    breaks("deadlock", "        if self.next:\n", "        if False:\n"),
    breaks(
        "exclusion",
        "            self.token_here = False\n            self.send(origin, TOKEN)\n",
        "            self.send(origin, TOKEN)\n",
    ),
    breaks("deadlock", "            self.next = origin\n", "            pass\n"),
)
