"""Mutants of maekawa-relinquish."""

from tests.support.mutants import MESH, TRIANGLE, breaks, harmless

MUTANTS = (
    breaks(
        "remote error",
        "if not self.inside and self.locked_members",
        "if self.locked_members",
        TRIANGLE,
    ),
    breaks("deadlock", "if request < locking and not self.inquired:", "if False:", MESH),
    breaks(
        "starvation",
        "if request < locking and not self.inquired:",
        "if request > locking and not self.inquired:",
        MESH,
    ),
    breaks(
        "deadlock",
        "        self.waiting_queue = tuple(sorted((*self.waiting_queue, request)))\n"
        "        if",
        "        if",
        MESH,
    ),
    breaks("remote error", "            self.inquired = True\n", "", TRIANGLE),
    breaks("remote error", "        self.locked_members ^= 1 << member\n", "", MESH),
    breaks(
        "deadlock",
        "            self.relinquish(sender)\n\n    def let_wait",
        "            pass\n\n    def let_wait",
        MESH,
    ),
    harmless(
        "the second question reaches a node that has relinquished, and is ignored",
        "if request < locking and not self.inquired:",
        "if request < locking:",
        TRIANGLE,
    ),
)
