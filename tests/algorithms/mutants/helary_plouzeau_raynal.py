"""Mutants of helary-plouzeau-raynal."""

from tests.support.mutants import LINE, THREE, THREE_TWICE, breaks, harmless

MUTANTS = (
    breaks(
        "starvation",
        "if message.time <= self.requested[k - 1]:",
        "if False:",
        THREE_TWICE,
    ),
    breaks(
        "remote error",
        "self.way_back = replaced(self.way_back, k, sender)",
        "self.way_back = replaced(self.way_back, k, k)",
        LINE,
    ),
    breaks("starvation", "        self.propagate(message)\n", "", LINE),
    breaks(
        "invariant",
        "if self.granted is not None and not self.requesting:",
        "if self.granted is not None:",
    ),
    breaks(
        "deadlock",
        "if self.requested[j - 1] > granted[j - 1]",
        "if self.requested[j - 1] > granted[j - 1] + 1",
    ),
    breaks("exclusion", "        self.granted = None\n", ""),
    breaks("remote error", "replaced(granted, oldest, time)", "granted"),
    breaks("deadlock", "return max(self.requested) + 1", "return 1"),
    breaks(
        "starvation",
        "if j not in request.sent_to]",
        "if j not in request.sent_to][:1]",
        LINE,
    ),
    harmless(
        "who is sent a request again knows it; only the messages are more",
        "        sent_to = tuple(sorted((*request.sent_to, *onward)))\n",
        "        sent_to = tuple(sorted((*request.sent_to, self.me)))\n",
        THREE,
    ),
)
