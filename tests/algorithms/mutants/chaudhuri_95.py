"""Mutants of chaudhuri-95."""

from tests.support.mutants import THREE, Cluster, breaks, harmless

MUTANTS = (
    breaks(
        "deadlock",
        "            if row != self.row:\n",
        "            if row == 0 != self.row:\n",
        Cluster(4, 1),
    ),
    breaks(
        "starvation",
        "            self.asked = max(self.asked, message.round)\n",
        "",
        Cluster(9, (0, 1, 2, 0, 0, 0, 0, 1, 0)),
    ),
    breaks(
        "starvation",
        "        if right != origin:\n",
        "        if False:\n",
        Cluster(9, (0, 1, 2, 0, 0, 0, 0, 1, 0)),
    ),
    breaks("deadlock", "        super().leave(privilege)\n", "", THREE),
    breaks("starvation", "        super().note(call)\n", "", THREE),
    breaks("starvation", "if self.home or self.gate >= 0:", "if self.gate >= 0:"),
    breaks("deadlock", "if self.home or self.gate >= 0:", "if self.home:", Cluster(4, 1)),
    breaks(
        "starvation",
        "self.mesh.at(*privilege.queue[0])",
        "self.mesh.at(privilege.queue[0][0], 0)",
        Cluster(9, (1, 0, 1, 0, 0, 0, 0, 1, 0)),
    ),
    harmless(
        "a REQUEST that does not find the gate looks for it along the row",
        "        self.front = self.mesh.at(self.row, column)\n",
        "        pass\n",
        Cluster(9, (1, 0, 1, 0, 0, 0, 0, 1, 0)),
    ),
)
