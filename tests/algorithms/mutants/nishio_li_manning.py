"""Mutants of nishio-li-manning."""

from tests.support.mutants import THREE, Cluster, breaks, harmless

MUTANTS = (
    breaks(
        "exclusion",
        "        self.age = max(self.age, message.proposed_age)\n"
        "        if below and self.token_data is None:\n"
        "            self.consent(j)\n",
        "        if below and self.token_data is None:\n"
        "            self.send(j, Ack(message.proposed_age, 0))\n",
    ),
    breaks("exclusion", "if below and self.token_data is None:", "if below:"),
    breaks(
        "remote error",
        "if below and self.token_data is None:",
        "if self.token_data is None:",
        THREE,
    ),
    breaks(
        "remote error",
        "        if message.age < self.age:\n"
        "            self.discard()\n            return\n",
        "",
    ),
    breaks(
        "exclusion",
        "        if not self.unanswered:\n            self.enter(self.granted)\n",
        "        self.enter(self.granted)\n",
        THREE,
    ),
    breaks(
        "exclusion",
        '        self.stop_proposing()\n        self.cancel_timer("token")\n',
        "        self.stop_proposing()\n",
    ),
    breaks(
        "deadlock",
        '            self.set_timer("token", self.time_out)\n\n    def hand_over',
        "            pass\n\n    def hand_over",
        Cluster(2, 1, losses=1),
    ),
    breaks(
        "deadlock",
        '        self.set_timer("answers", self.time_for_answers)\n',
        "",
        Cluster(2, 1, losses=1),
    ),
    harmless(
        "who has answered ACK discards the token, and it is made anew",
        "        self.age = max(self.age, message.proposed_age)\n",
        "        if self.token_data is None:\n"
        "            self.age = max(self.age, message.proposed_age)\n",
    ),
    harmless(
        "an ACK of another age does not count anyway",
        "            self.stop_proposing()\n            self.set_timer",
        "            self.set_timer",
    ),
)
