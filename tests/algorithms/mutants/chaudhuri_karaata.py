"""Mutants of chaudhuri-karaata."""

from tests.support.mutants import FOR_EVER, Cluster, breaks

MUTANTS = (
    breaks("exclusion", "        self.permitted = node\n", ""),
    breaks("deadlock", "        self.permitted = 0\n", ""),
    breaks(
        "starvation",
        "        self.permitted = 0\n        self.serve_next()\n",
        "        self.permitted = 0\n",
    ),
    breaks("exclusion", "not self.permitted and self.queue:", "self.queue:"),
    breaks("exclusion", "            self.queue = tuple(rest)\n", ""),
    breaks(
        "starvation",
        "self.me, False\n        self.serve_next()\n",
        "self.me, False\n",
        Cluster(5, 1),
    ),
    breaks(
        "deadlock",
        "self.holder, self.asked = self.me, False",
        "self.holder = self.me",
        Cluster(5, 2),
    ),
    breaks("exclusion", "            self.holder = node\n", "", Cluster(5, 1)),
    breaks(
        "remote error",
        "if self.holder != self.me and self.queue and not self.asked:",
        "if self.holder != self.me and self.queue:",
        Cluster(6, 1),
    ),
    breaks(
        "starvation",
        "self.queue += (node,)",
        "self.queue = (node, *self.queue)",
        FOR_EVER,
    ),
    breaks(
        "remote error",
        "self.towards(message.to, message)",
        "self.towards(self.corner, message)",
        Cluster(4, 1),
    ),
)
