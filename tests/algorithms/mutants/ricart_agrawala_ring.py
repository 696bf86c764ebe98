"""Mutants of ricart-agrawala-ring."""

from tests.support.mutants import THREE, THREE_TWICE, breaks, harmless

MUTANTS = (
    breaks("exclusion", "self.our_request < message", "self.our_request > message"),
    breaks("deadlock", "self.our_request < message", "True"),
    breaks(
        "exclusion",
        "self.our_request < message",
        "self.our_request.sequence_number < message.sequence_number",
    ),
    breaks("remote error", "held, self.held = self.held, ()", "held = self.held"),
    breaks(
        "deadlock",
        "        for request in held:\n            self.pass_on(request)\n",
        "",
    ),
    breaks("exclusion", "        self.highest_sequence_number += 1\n", ""),
    breaks(
        "exclusion",
        "            self.highest_sequence_number = message.sequence_number\n",
        "            pass\n",
    ),
    breaks("deadlock", "sorted((*self.held, message))", "(message,)", THREE),
    harmless(
        "the order in which held requests are passed on matters only for how soon",
        "sorted((*self.held, message))",
        "(*self.held, message)",
        THREE_TWICE,
    ),
)
