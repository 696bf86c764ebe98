"""Mutants of lodha-kshemkalyani."""

from tests.support.mutants import THREE, THREE_TWICE, breaks

MUTANTS = (
    breaks(
        "deadlock",
        "            self.finish((message.finished, j))\n            if",
        "            if",
        THREE_TWICE,
    ),
    breaks("deadlock", "if (number, j) > self.finished:", "if True:", THREE),
    breaks("deadlock", "for _, node in self.queue[1:2]:", "for _, node in ():"),
    breaks("exclusion", "and self.queue[0] == self.ours", "and True"),
    breaks("exclusion", "if self.heard == everybody and", "if"),
    breaks("starvation", "            self.deferred |= 1 << j\n", "            pass\n"),
    breaks(
        "remote error",
        "self.queue, self.heard, self.deferred = (), 0, 0",
        "self.queue, self.heard = (), 0",
    ),
    breaks("invariant", "self.waiting, self.inside = False, True", "self.inside = True"),
)
