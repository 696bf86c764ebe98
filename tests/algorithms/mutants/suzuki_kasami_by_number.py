"""Mutants of suzuki-kasami-by-number."""

from tests.support.mutants import THREE, breaks

MUTANTS = (
    breaks("starvation", "return queue + tuple(sorted(", "return tuple(sorted(", THREE),
    breaks("deadlock", "return queue + tuple(sorted(", "return queue and (sorted("),
    breaks("deadlock", "[len(queue) :]", "[len(queue) + 1 :]"),
    breaks("exclusion", "            self.privilege = None\n", ""),
    breaks(
        "invariant",
        "self.requested[j - 1] == self.after(granted[j - 1]) and j not in queue",
        "j not in queue",
    ),
    breaks(
        "invariant",
        "        granted = replaced(self.privilege.granted, self.me, number)\n",
        "        granted = self.privilege.granted\n",
    ),
)
