"""Mutants of suzuki-kasami."""

from tests.support.mutants import THREE_TWICE, breaks, harmless

MUTANTS = (
    breaks("starvation", "if n <= self.requested[j - 1]:", "if False:", THREE_TWICE),
    breaks(
        "invariant",
        "granted = replaced(self.privilege.granted, self.me, number)",
        "granted = self.privilege.granted",
    ),
    breaks("starvation", "elif n == self.privilege.granted[j - 1] + 1:", "elif False:"),
    breaks(
        "deadlock",
        "self.requested[j - 1] == self.after(granted[j - 1]) and",
        "self.requested[j - 1] > self.after(granted[j - 1]) and",
    ),
    breaks(
        "exclusion",
        "self.privilege)\n            self.privilege = None\n",
        "self.privilege)\n",
    ),
    breaks(
        "invariant",
        "queue = tuple(j for j in message.queue if j != self.me)",
        "queue = message.queue",
    ),
    harmless(
        "hand_over looks at all numbers itself, and does nothing if nobody waits",
        "elif n == self.privilege.granted[j - 1] + 1:",
        "else:",
    ),
)
