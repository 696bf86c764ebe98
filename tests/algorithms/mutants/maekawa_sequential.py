"""Mutants of maekawa-sequential."""

from tests.support.mutants import THREE, Cluster, breaks

MUTANTS = (
    breaks("remote error", "        self.queue = self.queue[1:]\n", "", THREE),
    breaks(
        "deadlock",
        "        if self.queue:\n            self.locked_for(self.queue[0])\n",
        "",
    ),
    breaks("remote error", "if len(self.queue) == 1:", "if True:", THREE),
    breaks(
        "exclusion",
        "self.locked_members == len(self.quorum)",
        "self.locked_members == 1",
        THREE,
    ),
    breaks(
        "deadlock",
        "return self.quorums.of(self.me)",
        "return (self.me, *(j for j in self.quorums.of(self.me) if j != self.me))",
        THREE,
    ),
    breaks(
        "starvation",
        "self.queue = (*self.queue, node)",
        "self.queue = (*self.queue[:1], node, *self.queue[1:])",
        Cluster(3, None, "grid"),
    ),
    breaks("invariant", "self.requesting, self.locked_members = False, 0", "pass"),
)
