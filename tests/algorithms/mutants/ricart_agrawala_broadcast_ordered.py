"""Mutants of ricart-agrawala-broadcast-ordered."""

from tests.support.mutants import THREE, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "if self.queue[:1] == (self.me,) and",
        "if self.me in self.queue and",
    ),
    breaks("exclusion", "self.queue = (*self.queue, j)", "self.queue = (j, *self.queue)"),
    breaks("remote error", "        self.broadcast(REPLY)\n", ""),
    breaks(
        "exclusion",
        "self.queue = self.queue[1:]  #",
        "#",
    ),
    breaks(
        "deadlock",
        "        self.queue = (*self.queue, j)\n        self.enter_if_first()\n",
        "        self.queue = (*self.queue, j)\n",
    ),
    breaks(
        "starvation",
        "if other != j)\n        self.enter_if_first()\n",
        "if other != j)\n",
    ),
    breaks(
        "remote error",
        "        if j == self.me:\n            return  # the medium has carried it\n",
        "",
    ),
    breaks("exclusion", " and not self.inside:", ":", THREE),
)
