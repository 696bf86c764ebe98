"""Mutants of sopena-arantes-sens."""

from tests.support.mutants import Cluster, breaks

FOUR = Cluster(4, 1)  # in two sites

MUTANTS = (
    breaks("deadlock", "            self.desk.release()\n", "", FOUR),
    breaks("deadlock", "            self.between.release()\n", "", FOUR),
    breaks(
        "exclusion",
        "            self.desk.acquire()\n            self.desk.drain()",
        "            pass",
        FOUR,
    ),
    breaks("deadlock", "            self.turn = OUT\n", "", FOUR),
    breaks("deadlock", "if self.turn == OUT and self.desk.next:", "if False:", FOUR),
    breaks("deadlock", "if self.turn == IN and self.between.next:", "if False:", FOUR),
    breaks("invariant", "            self.turn = ASKING\n", "", FOUR),
)
