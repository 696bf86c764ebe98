"""Mutants of majority-spare."""

from tests.support.mutants import THREE, Cluster, breaks, harmless

TWO_OF_THREE = Cluster(3, (2, 1, 0))

MUTANTS = (
    breaks("exclusion", "        if self.inside:\n            return\n", "", TWO_OF_THREE),
    breaks(
        "remote error",
        "available = everybody & ~self.unavailable",
        "available = everybody",
        TWO_OF_THREE,
    ),
    breaks("deadlock", "self.ask(enough & ~self.asked)", "pass", THREE),
    breaks(
        "exclusion",
        "quorum = self.quorum_within(self.locked_members)",
        "quorum = self.locked_members",
        TWO_OF_THREE,
    ),
    breaks(
        "exclusion",
        "need = sum(self.votes) // 2 + 1",
        "need = sum(self.votes) // 2",
        TWO_OF_THREE,
    ),
    breaks(
        "deadlock",
        "            self.tell(member, Withdraw())\n",
        "            pass\n",
        TWO_OF_THREE,
    ),
    breaks("remote error", "        self.late |= waiting\n", "", TWO_OF_THREE),
    breaks("remote error", "        self.forget(sender)\n", "", TWO_OF_THREE),
    harmless(
        "one that is asked though enough are is one more that may answer first",
        "if not self.quorum_within(available & self.asked, spare):",
        "if True:",
        TWO_OF_THREE,
    ),
)
