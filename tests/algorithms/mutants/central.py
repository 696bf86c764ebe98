"""Mutants of central."""

from tests.support.mutants import FOR_EVER, breaks

MUTANTS = (
    breaks(
        "deadlock",
        "        self.queue += (sender,)\n        self.permit_next()\n",
        "        self.queue += (sender,)\n",
    ),
    breaks(
        "starvation",
        "        self.holder = None\n        self.permit_next()\n",
        "        self.holder = None\n",
    ),
    breaks(
        "remote error",
        "if self.holder is not None or not self.queue:",
        "if not self.queue:",
    ),
    breaks("remote error", "        self.queue = tuple(rest)\n", ""),
    breaks(
        "invariant",
        "self.requesting = self.inside = False\n",
        "self.inside = False\n",
    ),
    breaks("deadlock", "self.send(self.coordinator, Release())", "pass"),
    breaks(
        "starvation",
        "self.holder, *rest = self.queue",
        "*rest, self.holder = self.queue",
        FOR_EVER,
    ),
)
