"""Mutants of sanders."""

from tests.support.mutants import GRID, THREE, breaks, harmless

MUTANTS = (
    breaks(
        "deadlock",
        "self.information.informing_set(self.me):",
        "self.information.informing_set(self.me)[1:]:",
    ),
    breaks("remote error", "if self.status_set >> request[1] & 1:", "if False:", THREE),
    breaks(
        "remote error",
        "self.information.status_set(self.me)",
        "self.information.request_set(self.me)",
        THREE,
    ),
    breaks(
        "remote error",
        "        self.locked_members = 0\n        for member in self.information",
        "        for member in self.information",
    ),
    breaks(
        "deadlock",
        "        super().lock_next()\n        while",
        "        while",
        THREE,
    ),
    breaks("deadlock", "self.overtaken(node)", "pass", GRID),
    harmless(
        "with Maekawa's sets a node that gets our permission informs us",
        "while self.locking is None and self.waiting_queue:",
        "while False:",
        THREE,
    ),
)
