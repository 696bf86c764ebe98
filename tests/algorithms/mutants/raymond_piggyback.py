"""Mutants of raymond-piggyback."""

from tests.support.mutants import LINE, breaks

MUTANTS = (
    breaks("starvation", "            self.asked = bool(self.request_q)\n", "", LINE),
    breaks("deadlock", "PRIVILEGE_REQUEST if self.asked else PRIVILEGE", "PRIVILEGE", LINE),
    breaks("remote error", "PRIVILEGE_REQUEST if self.asked else", "PRIVILEGE_REQUEST or"),
    breaks(
        "deadlock",
        "        self.request_q += (sender,)\n        self.receive_privilege",
        "        self.receive_privilege",
        LINE,
    ),
    breaks(
        "remote error",
        "if self.request_q and not self.asked:",
        "if self.request_q:",
        LINE,
    ),
    breaks("exclusion", "elif self.request_q and not self.using:", "elif self.request_q:"),
    breaks("deadlock", "self.send(self.holder, REQUEST)", "pass"),
)
