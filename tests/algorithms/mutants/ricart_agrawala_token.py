"""Mutants of ricart-agrawala-token."""

from tests.support.mutants import THREE_TWICE, breaks

MUTANTS = (
    breaks(
        "remote error",
        "self.hand_over(replaced(self.token_data, self.me, ours))",
        "self.hand_over(self.token_data)",
    ),
    breaks(
        "starvation",
        "if message.sequence_number <= self.request_data[j - 1]:",
        "if False:",
        THREE_TWICE,
    ),
    breaks(
        "deadlock",
        "if message.sequence_number <= self.request_data[j - 1]:",
        "if message.sequence_number <= self.request_data[j - 1] + 1:",
    ),
    breaks(
        "invariant",
        "if self.token_data is not None and not self.requesting:",
        "if self.token_data is not None:",
    ),
    breaks("remote error", "> token_data[j - 1]:", ">= token_data[j - 1]:"),
    breaks("deadlock", "> token_data[j - 1]:", "> token_data[j - 1] + 1:"),
    breaks("exclusion", "                self.token_data = None\n", ""),
    breaks("deadlock", ", *self.members[: self.me - 1])", ",)"),
    breaks("remote error", "        self.token_data = token_data\n", ""),
)
