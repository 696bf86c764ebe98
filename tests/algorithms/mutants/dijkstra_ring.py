"""Mutants of dijkstra-ring."""

from tests.support.mutants import FOR_EVER, THREE, breaks, harmless

MUTANTS = (
    breaks("exclusion", "is not self.is_first:", "is self.is_first:", FOR_EVER),
    breaks("starvation", "self.value = (self.value + 1) % self.values", "pass", FOR_EVER),
    breaks(
        "starvation",
        "self.requesting = self.inside = False\n"
        "        if len(self.members) > 1:\n            self.pass_on()\n",
        "self.requesting = self.inside = False\n",
        FOR_EVER,
    ),
    breaks("exclusion", "        if not self.inside:\n", "        if True:\n"),
    breaks("invariant", "        self.inside = True\n", ""),
    breaks("invariant", "self.requesting = self.inside = False", "self.inside = False"),
    breaks(
        "starvation",
        "            self.value = message.value\n",
        "            pass\n",
        FOR_EVER,
    ),
    harmless(
        "one STATE more at the beginning, from each node: it finds back",
        "            if self.is_first:\n                self.pass_on()\n",
        "            self.pass_on()\n",
        THREE,
    ),
    harmless(
        "nothing is lost here, and a node that has the privilege passes it on",
        "        if not self.inside:\n            self.tell_successor()\n",
        "",
    ),
)
