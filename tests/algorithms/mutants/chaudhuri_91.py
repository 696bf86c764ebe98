"""Mutants of chaudhuri-91."""

from tests.support.mutants import THREE, THREE_TWICE, Cluster, breaks, harmless

MUTANTS = (
    breaks(
        "deadlock",
        "(1, *(0,) * (self.mesh.rows - 1))",
        "(0,) * self.mesh.rows",
        THREE_TWICE,
    ),
    breaks("starvation", "            self.passed = 1\n", "", THREE_TWICE),
    breaks(
        "starvation",
        "            self.look_again()\n        elif self.gate",
        "            pass\n        elif self.gate",
    ),
    breaks(
        "deadlock",
        "        if self.asked >= self.passed:\n            self.call()\n",
        "",
        Cluster(4, 2),
    ),
    breaks(
        "starvation",
        "        self.asked = max(self.asked, privilege.wanted)\n",
        "",
        Cluster(9, (1, 0, 1, 0, 0, 0, 0, 1, 0)),
    ),
    breaks("starvation", "if self.passed > self.left:", "if False:", THREE),
    breaks(
        "starvation",
        "            self.pass_down(call)\n        else:",
        "            pass\n        else:",
        Cluster(9, (1, 0, 0, 1, 1, 0, 1, 0, 0)),
    ),
    breaks(
        "starvation",
        "            self.pass_down(message)\n",
        "            pass\n",
        Cluster(9, (1, 0, 0, 1, 1, 0, 1, 0, 0)),
    ),
    breaks(
        "deadlock",
        "return queued(privilege, [Call(row, seen, q) for (seen, row), q in calls])",
        "return privilege",
        Cluster(4, 2),
    ),
    breaks("starvation", "queued(privilege, self.notes)", "privilege", THREE),
    breaks(
        "deadlock",
        "self.home, self.left = False, self.passed",
        "self.left = self.passed",
        THREE,
    ),
    breaks(
        "exclusion",
        "        self.privilege = None\n        self.send(self.mesh.right",
        "        self.send(self.mesh.right",
    ),
    breaks(
        "deadlock",
        "        elif self.asked >= self.passed:\n"
        "            self.begin_round(self.privilege)\n",
        "",
    ),
    harmless(
        "each note is held against the rounds again, and has been answered",
        "        self.notes = ()\n",
        "",
        Cluster(4, 1),
    ),
)
