"""Mutants of ricart-agrawala-failures."""

from tests.support.mutants import Cluster, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "if self.requesting and not self.holding and current:",
        "if self.requesting and not self.holding:",
    ),
    breaks(
        "exclusion",
        "(self.our_sequence_number, self.me) < (k, j)",
        "self.our_sequence_number < k",
    ),
    breaks(
        "deadlock",
        "        elif waited_for:\n            self.wait_on()\n",
        "",
        Cluster(2, 1, crashes=1, for_good=True),
    ),
    breaks(
        "exclusion",
        "if (j, k) in self.reply_deferred or (",
        "if (",
    ),
    breaks(
        "deadlock",
        '                self.set_timer("probe", self.time_for_answers)\n',
        "",
        Cluster(2, 1, crashes=1, for_good=True),
    ),
    breaks(
        "deadlock",
        '            self.set_timer("reply", self.time_out)\n',
        "",
        Cluster(2, 1, crashes=1, for_good=True),
    ),
    breaks(
        "deadlock",
        '        self.set_timer("restart", self.restart_interval)\n',
        "",
        Cluster(2, 1, crashes=1),
    ),
    breaks(
        "exclusion",
        "            self.ask(self.the_others, AskHighest())\n",
        "            self.settle()\n",
        Cluster(3, 1, crashes=1),
    ),
    breaks(
        "deadlock",
        "            self.join()\n        elif self.standing is Standing.SETTLING:\n",
        "            pass\n        elif self.standing is Standing.SETTLING:\n",
        Cluster(3, (0, 0, 1), crashes=2),
    ),
)
