"""Mutants of mishra-srimani."""

from tests.algorithms.mutants.mishra_srimani_checks import CHECKS
from tests.support.mutants import THREE, Cluster, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "        self.checks |= 1 << j\n        if self.checking:\n",
        "        if self.checking:\n",
        THREE,
    ),
    breaks(
        "exclusion",
        "            self.send(j, RepCritical())\n        self.checks = 0\n",
        "            pass\n        self.checks = 0\n",
        THREE,
    ),
    *CHECKS,
    breaks(
        "deadlock",
        "            self.put_off = True\n"
        '            self.set_timer("token", self.time_out)\n',
        "            self.put_off = True\n",
        Cluster(3, 1, crashes=1),
    ),
    breaks(
        "deadlock",
        '        self.set_timer("answers", self.time_for_answers)\n'
        "        if not self.expected:\n",
        "        if not self.expected:\n",
        Cluster(3, 1, crashes=1),
    ),
    breaks(
        "deadlock",
        '            self.set_timer("token", self.time_out)\n\n    def hand_over',
        "            pass\n\n    def hand_over",
        Cluster(2, 1, crashes=1),
    ),
)
