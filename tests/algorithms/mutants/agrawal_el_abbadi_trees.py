"""Mutants of agrawal-el-abbadi-trees."""

from tests.support.mutants import THREE, Cluster, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "if self.permitted_by == self.asked and not self.inside",
        "if self.permitted_by and not self.inside",
    ),
    breaks("deadlock", "            self.tell(self.permitted[1], Inquire())\n", ""),
    breaks(
        "exclusion",
        "down, cast(Tree, self.topology))",
        "down, cast(Tree, self.topology))[1:]",
        THREE,
    ),
    breaks(
        "deadlock",
        "            self.tell(member, Relinquish())\n",
        "            pass\n",
    ),
    breaks(
        "exclusion",
        "len(self.members), down, cast(Tree, self.topology))",
        "len(self.members), down, cast(Tree, self.topology)) and (self.me,)",
    ),
    breaks(
        "exclusion",
        "            self.asked ^= 1 << node\n            self.ask_a_quorum()\n",
        "            self.asked ^= 1 << node\n",
        Cluster(3, 1, crashes=1),
    ),
)
