"""Mutants of maekawa-cyclic."""

from tests.support.mutants import GRID, THREE, breaks

MUTANTS = (
    breaks(
        "deadlock",
        "return self.quorums.of(origin)",
        "return (origin, *(j for j in self.quorums.of(origin) if j != origin))",
        THREE,
    ),
    breaks(
        "remote error",
        "way[way.index(self.me) + 1 :]",
        "way[way.index(self.me) + 2 :]",
        THREE,
    ),
    breaks("remote error", "Request(node)", "Request(self.me)", THREE),
    breaks("invariant", "        self.locked_members = len(self.quorum)\n", ""),
    breaks("deadlock", "            self.tell(node, Locked())\n", "            pass\n"),
    breaks("invariant", "self.admit(message.origin)", "self.admit(sender)", GRID),
    breaks(
        "remote error",
        "self.tell(self.way(self.me)[0], Request(self.me))",
        "self.tell(self.way(self.me)[-1], Request(self.me))",
        THREE,
    ),
)
