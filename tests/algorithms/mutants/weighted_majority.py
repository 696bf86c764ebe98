"""Mutants of weighted-majority."""

from tests.support.mutants import THREE, breaks, harmless

MUTANTS = (
    breaks(
        "exclusion",
        "need = sum(self.votes) // 2 + 1",
        "need = sum(self.votes) // 2",
        THREE,
    ),
    breaks(
        "exclusion",
        "votes += self.votes[j - 1]",
        "votes += 3 if j == self.me else 1",
        THREE,
    ),
    breaks("deadlock", "if first < request:", "if first > request:", THREE),
    breaks("deadlock", "self.tell(locking[1], Inquire())", "pass", THREE),
    breaks("remote error", "        self.locked_members ^= 1 << member\n", "", THREE),
    harmless(
        "with an even number of votes a majority is larger, but any two still meet",
        "untied(len(self.members))",
        "(1,) * len(self.members)",
    ),
)
