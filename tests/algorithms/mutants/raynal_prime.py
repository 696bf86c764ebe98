"""Mutants of raynal-prime."""

from tests.support.mutants import THREE, Cluster, breaks

MUTANTS = (
    breaks(
        "starvation",
        "        else:\n            self.pass_on()\n\n    def pass_on",
        "\n    def pass_on",
    ),
    breaks(
        "deadlock",
        "        self.requesting = False\n        self.pass_on()\n",
        "        self.requesting = False\n",
    ),
    breaks("remote error", "        self.product *= change\n", ""),
    breaks("deadlock", "self.product *= message.change", "self.product = message.change"),
    breaks("exclusion", "product_at(self.first_holder, len(self.members))", "self.ours"),
    breaks(
        "invariant",
        "        if self.product != self.ours:\n            return\n",
        "",
        THREE,
    ),
    breaks(
        "starvation",
        "primes[node % nodes])",
        "primes[(node + 1) % nodes])",
        Cluster(4, None),
    ),
)
