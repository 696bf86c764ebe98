"""Mutants of mueller-priority."""

from tests.support.mutants import THREE, breaks

MUTANTS = (
    breaks("deadlock", "        self.merge(kept)\n", "", THREE),
    breaks(
        "deadlock",
        "            self.keep(node)\n        elif self.waiting:",
        "            pass\n        elif self.waiting:",
    ),
    breaks("exclusion", "        self.has_token = False\n", "", THREE),
    breaks("invariant", "        self.owner = queue[-1]\n", ""),
    breaks(
        "exclusion",
        "if not self.has_token or self.inside or not self.queue:",
        "if not self.has_token or not self.queue:",
    ),
    breaks("invariant", "self.waiting, self.inside = False, True", "self.inside = True"),
)
