"""Mutants of mishra-srimani-coordinator."""

from tests.support.mutants import THREE, Cluster, breaks, harmless

MUTANTS = (
    breaks(
        "invariant",
        "            self.coordinator = queue[0]\n",
        "            pass\n",
        THREE,
    ),
    breaks(
        "starvation",
        "        if found:\n            self.ask()\n",
        "",
        Cluster(3, None, crashes=1),
    ),
    breaks(
        "deadlock",
        '        self.ask()\n        self.set_timer("token", self.time_out)\n',
        "        self.ask()\n",
        Cluster(2, 1, crashes=1),
    ),
    breaks(
        "invariant",
        "        if self.found:\n            self.broadcast(FalseAlarm())\n",
        "        if False:\n            pass\n",
    ),
    breaks(
        "exclusion",
        "        if self.privilege is not None or self.expected:\n",
        "        if self.expected:\n",
    ),
    harmless(
        "whose REQUEST is lost times out, finds the coordinator and asks it",
        "            self.send(self.coordinator, message)\n",
        "            pass\n",
        THREE,
    ),
)
