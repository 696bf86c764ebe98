"""Mutants of majority."""

from tests.support.mutants import THREE, Cluster, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "self.votes = (1,) * len(self.members)\n",
        "self.votes = tuple(int(j == self.me) for j in self.members)\n",
    ),
    breaks("deadlock", "if first < request:", "if first > request:", THREE),
    breaks("deadlock", "self.overtaken(node)", "pass", Cluster(4, 1)),
    breaks("deadlock", "self.tell(locking[1], Inquire())", "pass", THREE),
    breaks(
        "deadlock",
        "sorted((*self.waiting_queue, self.locking))",
        "self.waiting_queue",
        THREE,
    ),
    breaks("remote error", "        self.locked_members ^= 1 << member\n", "", THREE),
)
