"""Mutants of raymond-recovery."""

from tests.support.mutants import Cluster, breaks

MUTANTS = (
    breaks(
        "remote error",
        "        if not self.unadvised >> sender & 1:\n"
        "            super().receive_request(sender, message)\n",
        "        super().receive_request(sender, message)\n",
        Cluster(2, 2, crashes=1),
    ),
    breaks(
        "deadlock",
        "            self.request_q += (j,)\n",
        "            pass\n",
        Cluster(2, 1, crashes=1),
    ),
    breaks(
        "remote error",
        "self.found, self.holder, self.asked = True, j, queued",
        "self.found, self.holder = True, j",
        Cluster(2, 2, crashes=1),
    ),
    breaks(
        "exclusion",
        "        if not self.unadvised:\n            super().assign",
        "        if True:\n            super().assign",
        Cluster(2, 2, crashes=1),
    ),
    breaks(
        "exclusion",
        "if not message.yours or (both_point and j < self.me):",
        "if not message.yours:",
        Cluster(2, 1, crashes=2),
    ),
    breaks(
        "deadlock",
        "(both_point and j < self.me)",
        "both_point",
        Cluster(2, 1, crashes=2),
    ),
    breaks(
        "deadlock",
        "self.holder, self.resting = self.me, True",
        "self.resting = True",
        Cluster(2, 2, crashes=1),
    ),
    breaks(
        "deadlock",
        "            self.send(j, Restart(True))\n",
        "",
        Cluster(3, (0, 1, 1), crashes=3),
    ),
    breaks(
        "deadlock",
        "        for j in nodes_in(recovering):\n            self.advise(j)\n",
        "",
        Cluster(3, 1, crashes=2),
    ),
)
