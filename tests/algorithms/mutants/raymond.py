"""Mutants of raymond."""

from tests.support.mutants import THREE, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "if self.holder == self.me and not self.using and self.request_q:",
        "if self.holder == self.me and self.request_q:",
    ),
    breaks("remote error", "self.request_q and not self.asked:", "self.request_q:", THREE),
    breaks("deadlock", "self.send(self.holder, REQUEST)", "pass"),
    breaks(
        "starvation",
        "self.using = False\n        self.assign_privilege_and_make_request()\n",
        "self.using = False\n",
    ),
    breaks(
        "deadlock",
        "self.holder, self.asked = self.me, False",
        "self.holder = self.me",
    ),
    breaks("deadlock", "self.send(self.holder, PRIVILEGE)", "pass"),
)
