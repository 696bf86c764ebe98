"""Mutants of banerjee-chrysanthis."""

from tests.support.mutants import THREE, breaks, harmless

MUTANTS = (
    breaks("remote error", "self.groups = 1\n", "self.groups = self.me\n", THREE),
    breaks(
        "deadlock",
        "        self.local_request_collector = (number, collector)\n"
        "        self.broadcast",
        "        self.broadcast",
    ),
    breaks(
        "remote error",
        "self.broadcast(LrCollector(number, collector))",
        "self.broadcast(LrCollector(number, self.me))",
    ),
    breaks(
        "deadlock",
        "            self.send(known[1], Request(request.nodes, known[0]))\n"
        "            return\n        self.local_request",
        "            return\n        self.local_request",
        THREE,
    ),
    breaks("deadlock", "        self.lrq += request.nodes\n", ""),
    breaks("deadlock", "self.enter(rest)", "self.enter(Token((), rest.number))", THREE),
    breaks(
        "deadlock",
        "        self.local_request_collector = known\n        if known[1]",
        "        self.local_request_collector = (number, node)\n        if known[1]",
    ),
    harmless(
        "without the news a REQUEST goes the way that the collector went",
        "self.broadcast(LrCollector(number, collector))",
        "pass",
        THREE,
    ),
)
