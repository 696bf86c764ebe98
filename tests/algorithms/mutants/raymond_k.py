"""Mutants of raymond-k."""

from tests.support.mutants import THREE, breaks, harmless

MUTANTS = (
    breaks("exclusion", "len(self.members) - self.permits", "len(self.members) - 3", THREE),
    harmless(
        "one at a time is safe, and nobody waits for ever; it wastes permits",
        "len(self.members) - self.permits",
        "len(self.members) - 1",
        THREE,
    ),
    breaks(
        "exclusion",
        "if self.inside or (self.waiting and we_came_first):",
        "if self.waiting and we_came_first:",
        THREE,
    ),
    breaks(
        "exclusion",
        "if self.inside or (self.waiting",
        "if False and (self.waiting",
        THREE,
    ),
    breaks("remote error", "self.send(j, Reply(count))", "self.send(j, Reply(count + 1))"),
    breaks("deadlock", "            if count:\n", "            if False:\n", THREE),
    breaks("exclusion", "k > ours or (k == ours and j > self.me)", "k > ours", THREE),
)
