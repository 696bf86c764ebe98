"""Mutants of chaudhuri-edward."""

from tests.support.mutants import THREE, THREE_TWICE, Cluster, breaks, harmless

MUTANTS = (
    breaks(
        "starvation",
        "        if known[1] != self.me != self.link and self.lrq:",
        "        if False:",
        Cluster(7, (0, 1, 0, 2, 0, 0, 1)),
    ),
    breaks(
        "starvation",
        "        self.lrq += request.nodes\n        self.call_token()\n",
        "        self.lrq += request.nodes\n",
        THREE,
    ),
    breaks(
        "deadlock",
        "            self.call_token()\n        else:\n            self.ask_locally()",
        "        else:\n            self.ask_locally()",
    ),
    breaks(
        "starvation",
        "        elif self.token is not None and not self.requesting:\n"
        "            self.grant_token(self.token)\n",
        "",
        THREE,
    ),
    breaks(
        "starvation",
        "            self.ask_locally()\n        elif",
        "            pass\n        elif",
        THREE,
    ),
    breaks(
        "deadlock",
        "        if MARKER not in self.lrq:\n            self.lrq += (MARKER,)\n",
        "",
        THREE,
    ),
    breaks(
        "deadlock",
        "            self.lrq += (MARKER,)\n            self.grq",
        "            self.grq",
        Cluster(5, (2, 1, 1, 0, 0)),
    ),
    breaks(
        "starvation",
        "            self.called = False\n            if self.lrq:\n"
        "                self.call_token()\n",
        "            self.called = False\n",
        Cluster(5, (1, 1, 1, 0, 1)),
    ),
    breaks(
        "starvation",
        "        elif self.lrq:\n            queue += (self.me,)\n",
        "",
        THREE,
    ),
    breaks(
        "exclusion",
        "        self.token = None\n        self.send(token.queue[0], token)",
        "        self.send(token.queue[0], token)",
    ),
    breaks(
        "starvation",
        "        if self.grq:\n            self.announce_locally",
        "        if False:\n            self.announce_locally",
        Cluster(7, (0, 1, 0, 2, 0, 0, 1)),
    ),
    breaks(
        "exclusion",
        "self.queued and self.requesting, False",
        "self.requesting, False",
        Cluster(4, 1),
    ),
    breaks(
        "remote error",
        "            number += 1\n            self.announce_locally",
        "            self.announce_locally",
        Cluster(3, (1, 0, 2)),
    ),
    harmless(
        "a node that asks the global collector tells it that it is, and so do the news",
        "max(self.global_request_collector, known)",
        "self.global_request_collector",
        THREE_TWICE,
    ),
)
