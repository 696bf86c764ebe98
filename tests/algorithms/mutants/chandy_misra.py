"""Mutants of chandy-misra."""

from tests.support.mutants import THREE, Cluster, breaks

MUTANTS = (
    breaks("exclusion", "kept = -1 if self.drinking else self.forks", "kept = 0"),
    breaks(
        "starvation",
        "kept = -1 if self.drinking else self.forks",
        "kept = -1 if self.drinking else 0",
        Cluster(2, None),
    ),
    breaks("deadlock", "kept = -1 if self.drinking else self.forks", "kept = -1", THREE),
    breaks("deadlock", "self.send(j, Ask(resource))", "pass"),
    breaks("exclusion", "all(self.bottles[r - 1] == everybody", "any(True"),
    breaks(
        "exclusion",
        "            self.bottles = self.flipped(self.bottles, resource, j)\n",
        "",
    ),
)
