"""Mutants of kakugawa."""

from tests.support.mutants import FIRST_AND_THIRD, THREE, breaks, harmless

MUTANTS = (
    breaks(
        "exclusion",
        "k_coterie(len(self.members), self.permits)",
        "k_coterie(len(self.members), self.permits + 1)",
        THREE,
    ),
    breaks(
        "exclusion",
        "quorum = self.quorum_within(self.locked_members)",
        "quorum = self.locked_members",
        THREE,
    ),
    breaks(
        "remote error",
        "sorted((*self.waiting_queue, self.locking))",
        "self.waiting_queue",
        FIRST_AND_THIRD,
    ),
    breaks(
        "remote error",
        "        self.locked_members ^= 1 << member\n",
        "",
        FIRST_AND_THIRD,
    ),
    breaks(
        "deadlock",
        "            self.tell(member, Withdraw())\n",
        "            pass\n",
        FIRST_AND_THIRD,
    ),
    breaks("remote error", "        self.forget(sender)\n", "", FIRST_AND_THIRD),
    harmless(
        "with fewer groups fewer are inside, and nobody waits for ever",
        "k_coterie(len(self.members), self.permits)",
        "k_coterie(len(self.members), 1)",
        THREE,
    ),
    breaks("deadlock", "        self.tell(sender, Failed())\n", "", FIRST_AND_THIRD),
)
