"""Mutants of bouabdallah-laforest."""

from tests.support.mutants import Cluster, breaks

MUTANTS = (
    breaks("deadlock", "and message.number == self.number", "", Cluster(3, (2, 1, 0))),
    breaks("deadlock", "self.send(node, Inquire(resource, number))", "pass"),
    breaks("deadlock", "self.pass_on(resource, heir)", "pass"),
    breaks("exclusion", "        if self.got == self.wanted:\n", "        if True:\n"),
    breaks("exclusion", "asked[resource - 1] = (self.me, self.number)", "pass"),
    breaks("remote error", "                self.tokens ^= 1 << resource\n", ""),
    breaks("invariant", "        self.wanted = self.got = 0\n", "        self.got = 0\n"),
    breaks("invariant", "                        self.control.release()\n", ""),
)
