"""Mutants of suzuki-kasami-bounded."""

from tests.support.mutants import Cluster, breaks

MUTANTS = (
    breaks(
        "remote error",
        "return (number + 1) % self.modulus",
        "return (number + 1) % (self.limit + 1)",
        Cluster(3, (1, 2, 1)),
    ),
    breaks(
        "remote error",
        "        elif self.unanswered:\n            self.held_back = True\n",
        "",
        Cluster(3, (2, 3, 0)),
    ),
    breaks(
        "remote error",
        "if self.held_back and not self.unanswered:",
        "if self.held_back:",
        Cluster(3, (2, 3, 0)),
    ),
    breaks(
        "remote error",
        "        if arrived:\n",
        "        if self.place(j, number) < self.limit:\n",
        Cluster(3, (1, 2, 1)),
    ),
    breaks("deadlock", "self.send(j, ACK)", "pass", Cluster(2, 3)),
    breaks(
        "deadlock",
        "            self.held_back = False\n            self.ask()\n",
        "            self.held_back = False\n",
        Cluster(2, 3),
    ),
    breaks(
        "starvation",
        "if self.place(j, number) > self.place(j, self.requested[j - 1]):",
        "if True:",
        Cluster(3, (1, 2, 1)),
    ),
    breaks(
        "deadlock",
        "if self.place(j, number) > self.place(j, self.requested[j - 1]):",
        "if number > self.requested[j - 1]:",
        Cluster(2, 4),
    ),
    breaks(
        "deadlock",
        "== self.after(granted[j - 1])",
        "== granted[j - 1] + 1",
        Cluster(2, 5),
    ),
    breaks(
        "remote error",
        "== self.after(granted[j - 1])",
        "!= granted[j - 1]",
        Cluster(3, (1, 2, 1)),
    ),
    breaks(
        "remote error",
        "self.round_after = replaced(self.round_after, j, self.requested[j - 1])",
        "pass",
        Cluster(2, 3),
    ),
    breaks(
        "exclusion",
        "self.privilege)\n            self.privilege = None\n",
        "self.privilege)\n",
    ),
    breaks(
        "starvation",
        "        if self.privilege is not None and not self.requesting:\n",
        "        if False:\n",
    ),
)
