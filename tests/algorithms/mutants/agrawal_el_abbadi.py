"""Mutants of agrawal-el-abbadi."""

from tests.support.mutants import THREE_TWICE, Cluster, breaks, harmless

MUTANTS = (
    breaks(
        "exclusion",
        "if self.permitted_by == self.asked and not self.inside",
        "if self.permitted_by and not self.inside",
    ),
    breaks("deadlock", "            self.tell(self.permitted[1], Inquire())\n", ""),
    breaks(
        "deadlock",
        "        self.queue = tuple(sorted((*self.queue, self.permitted)))\n",
        "",
    ),
    breaks(
        "exclusion",
        "if self.inside or not self.permitted_by >> sender & 1:",
        "if not self.permitted_by >> sender & 1:",
        Cluster(4, 1),
    ),
    breaks(
        "deadlock",
        "        self.permitted, self.inquired = None, False\n",
        "        self.permitted = None\n",
        THREE_TWICE,
    ),
    breaks(
        "deadlock",
        "            self.tell(member, Relinquish())\n",
        "            pass\n",
    ),
    breaks(
        "deadlock",
        "            self.ask_a_quorum()\n            self.enter_if_all_permit()\n",
        "            self.ask_a_quorum()\n",
        Cluster(2, 1, crashes=1),
    ),
    breaks(
        "deadlock",
        "        self.forget_requests_of(node)\n",
        "",
        Cluster(3, 1, crashes=1),
    ),
    breaks(
        "exclusion",
        "            self.asked ^= 1 << node\n            self.ask_a_quorum()\n",
        "            self.asked ^= 1 << node\n",
        Cluster(3, 1, crashes=1),
    ),
    harmless(
        "an earlier request is asked about in any case, and a second INQUIRE about the "
        "same PERMISSION is ignored",
        "elif request < self.permitted and not self.inquired:",
        "elif request < self.permitted:",
        Cluster(4, 1),
    ),
)
