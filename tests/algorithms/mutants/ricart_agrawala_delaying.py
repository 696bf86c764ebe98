"""Mutants of ricart-agrawala-delaying."""

from tests.support.mutants import THREE, Cluster, breaks, harmless

MUTANTS = (
    breaks(
        "deadlock",
        "        super().receive_request(j, Request(k))\n",
        "        pass\n",
    ),
    breaks("deadlock", 'self.set_timer("act", self.patience)', "pass"),
    breaks(
        "invariant",
        "        self.delayed = tuple(sorted((*self.delayed, (k, j))))\n",
        "",
    ),
    breaks("remote error", "if any(sender == j for", "if any(sender != j for", THREE),
    breaks(
        "invariant",
        '        if not rest:\n            self.cancel_timer("act")\n',
        "",
        Cluster(2, (3, 1)),
    ),
    breaks(
        "deadlock",
        "        while self.delayed:\n            self.act_on_first()\n",
        "        self.act_on_first()\n",
        THREE,
    ),
    harmless(
        "it acts late on that request, as on a network that is slow for it",
        "while self.delayed and not self.still_first(*self.delayed[0]):",
        "while False:",
        Cluster(2, (3, 1)),
    ),
)
