"""Mutants of naimi-trehel-failures."""

from tests.support.mutants import Cluster, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "            self.be_root()\n        else:\n            self.queried = True\n",
        "            pass\n        else:\n            self.queried = True\n",
        Cluster(3, 1, crashes=1),
    ),
    breaks(
        "remote error",
        "if message.epoch == self.epoch:",
        "if True:",
        Cluster(3, 2, crashes=1),
    ),
    breaks(
        "deadlock",
        "            self.stop()\n            self.ask()\n",
        "            self.stop()\n",
        Cluster(3, 1, crashes=1),
    ),
    breaks(
        "invariant",
        "self.last, self.next, self.queried = epoch[1], 0, False",
        "self.next, self.queried = 0, False",
        Cluster(3, 2, crashes=1),
    ),
    breaks(
        "invariant",
        "self.last, self.next, self.queried = self.me, 0, False",
        "self.last, self.queried = self.me, False",
        Cluster(3, 2, crashes=1),
    ),
    breaks(
        "deadlock",
        '        self.last = self.me\n        self.set_timer("wait", self.t_wait)\n',
        "        self.last = self.me\n",
        Cluster(2, 1, crashes=1),
    ),
    breaks(
        "starvation",
        '        self.stop()\n        self.set_timer("wait", self.t_wait)\n',
        "        self.stop()\n",
        Cluster(3, 1, crashes=1),
    ),
    breaks(
        "deadlock",
        '        self.set_timer("elec", self.t_elec)\n',
        "",
        Cluster(2, 1, crashes=1),
    ),
    breaks(
        "exclusion",
        "        self.stop()\n        super().receive_token(sender, message)\n",
        "        super().receive_token(sender, message)\n",
    ),
    breaks(
        "exclusion",
        "self.inquire(State.CONSULTING, Consult())",
        "self.inquire(State.CANDIDATE, Election())",
    ),
    breaks(
        "exclusion",
        "            self.queried = True\n",
        "            pass\n",
        Cluster(4, 1, crashes=1),
    ),
)
