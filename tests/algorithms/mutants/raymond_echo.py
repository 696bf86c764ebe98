"""Mutants of raymond-echo."""

from tests.support.mutants import LINE, THREE, breaks

MUTANTS = (
    breaks(
        "remote error",
        "if message.wave > self.wave:\n            self.join(message.wave, j)",
        "if message.wave < self.wave:\n            self.join(message.wave, j)",
        LINE,
    ),
    breaks(
        "remote error",
        "        elif message.wave == self.wave:\n            self.answered(j)",
        "        else:\n            self.answered(j)",
        THREE,
    ),
    breaks("exclusion", "        if self.awaited:\n            return\n", "", LINE),
    breaks("deadlock", "self.send(self.holder, Echo(self.wave))", "pass", LINE),
    breaks(
        "exclusion",
        "        if self.initialized:\n            super().assign",
        "        if True:\n            super().assign",
        LINE,
    ),
    breaks("deadlock", "            self.children |= 1 << j\n", "", LINE),
    breaks("deadlock", "self.send(j, Initialize())", "pass", LINE),
    breaks(
        "deadlock",
        "self.wave, self.holder, self.children = wave, came_from, 0",
        "self.wave, self.children = wave, 0",
        LINE,
    ),
)
