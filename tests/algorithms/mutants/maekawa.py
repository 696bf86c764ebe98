"""Mutants of maekawa."""

from tests.support.mutants import GRID, THREE, THREE_TWICE, breaks

MUTANTS = (
    breaks("deadlock", "if first < request:", "if first > request:", THREE),
    breaks("deadlock", "self.overtaken(node)", "pass", GRID),
    breaks("deadlock", "self.tell(locking[1], Inquire())", "pass", THREE),
    breaks(
        "deadlock",
        "        for member in nodes_in(self.inquiring_members):\n"
        "            self.relinquish(member)\n",
        "",
        GRID,
    ),
    breaks(
        "deadlock",
        "self.locking, self.inquired = None, False",
        "self.locking = None",
        THREE_TWICE,
    ),
    breaks(
        "deadlock",
        "sorted((*self.waiting_queue, self.locking))",
        "self.waiting_queue",
        THREE,
    ),
    breaks("remote error", "        self.locked_members ^= 1 << member\n", "", THREE),
    breaks(
        "remote error",
        "if self.inside or not self.locked_members >> sender & 1:",
        "if not self.locked_members >> sender & 1:",
        THREE_TWICE,
    ),
)
