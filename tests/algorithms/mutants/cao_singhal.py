"""Mutants of cao-singhal."""

from tests.support.mutants import THREE, THREE_TWICE, Cluster, breaks, harmless

MUTANTS = (
    breaks(
        "remote error",
        "            if term != self.terms[member - 1]:\n                heir = 0\n",
        "",
        THREE_TWICE,
    ),
    breaks(
        "remote error",
        "if next_term and not message.heir",
        "if False and not message.heir",
        Cluster(3, 1, "grid"),
    ),
    breaks("remote error", "Locked(member, term + 1)", "Locked(member, term)", THREE),
    breaks(
        "deadlock",
        "            for number, node in before[:1]:\n"
        "                self.tell(node, Failed(number))\n",
        "            pass\n",
        Cluster(4, (0, 1, 1, 1), "grid"),
    ),
    breaks("invariant", "self.requesting = self.inside = False", "self.inside = False"),
    breaks("remote error", "        self.locked_members ^= 1 << member\n", "", THREE),
    breaks(
        "deadlock",
        "            self.receive_locked(self.me, Locked(self.me, self.term))\n",
        "            pass\n",
        THREE,
    ),
    harmless(
        "without an heir the member locks itself for the next",
        "if message.term >= known:",
        "if False:",
        THREE,
    ),
)
