"""Mutants of raynal-k-of-l."""

from tests.support.mutants import breaks

MUTANTS = (
    breaks(
        "exclusion",
        "self.wanted <= self.units:",
        "self.wanted <= self.units + 1:",
    ),
    breaks(
        "exclusion",
        "if self.inside or (self.waiting and we_came_first) else 0",
        "if self.inside else 0",
    ),
    breaks(
        "exclusion",
        "if self.inside or (self.waiting and we_came_first) else 0",
        "if self.waiting and we_came_first else 0",
    ),
    breaks("deadlock", "self.send(j, Free(units))", "pass"),
    breaks("deadlock", "        self.owed = plus(self.owed, j, more)\n", ""),
    breaks(
        "remote error",
        "        self.owed = (0,) * len(self.members)\n\n    def receive_request",
        "\n    def receive_request",
    ),
    breaks("invariant", "self.waiting, self.inside = False, True", "self.inside = True"),
)
