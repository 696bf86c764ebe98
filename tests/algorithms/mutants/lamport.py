"""Mutants of lamport."""

from tests.support.mutants import breaks

MUTANTS = (
    breaks("exclusion", "if self.request_queue[0] == ours:", "if True:"),
    breaks(
        "exclusion",
        "tuple(sorted((*self.request_queue, request)))",
        "(*self.request_queue, request)",
    ),
    breaks(
        "exclusion",
        "tuple(sorted((*self.request_queue, request)))",
        "tuple(sorted((*self.request_queue, request), reverse=True))",
    ),
    breaks("remote error", "self.broadcast(RELEASE)", "pass"),
    breaks("deadlock", "self.send(sender, REPLY)", "pass"),
    breaks(
        "deadlock",
        "        self.dequeue(request)\n        self.enter_if_first()\n",
        "        self.dequeue(request)\n",
    ),
    breaks(
        "exclusion",
        "        self.clock = max(self.clock, message.time)\n",
        "",
    ),
    breaks("deadlock", "        self.dequeue(self.our_request)\n", ""),
    breaks(
        "exclusion",
        "if ours is None or self.inside or self.outstanding:",
        "if ours is None or self.inside:",
    ),
)
