"""Mutants of nishio-li-manning-apart."""

from tests.support.mutants import BACK, Cluster, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "        self.token_data = None\n        self.unheard",
        "        self.unheard",
        BACK,
    ),
    breaks(
        "starvation",
        "        if self.requesting:\n            self.ask_again()\n\n    # Removal",
        "\n    # Removal",
        BACK,
    ),
    breaks(
        "remote error",
        "        if message.age <= self.age:  # otherwise what",
        "        if True:  # otherwise what",
        BACK,
    ),
    breaks(
        "remote error",
        "        if self.unanswered:\n            super().receive_nack",
        "        if True:\n            super().receive_nack",
        BACK,
    ),
    breaks(
        "remote error",
        "        if self.requesting or message.age < self.age:\n",
        "        if True:\n",
        BACK,
    ),
    breaks(
        "exclusion",
        "        if not (self.unheard or self.away):\n"
        "            super().receive_token_missing",
        "        if True:\n            super().receive_token_missing",
        BACK,
    ),
    breaks(
        "deadlock",
        '        self.set_timer("recover", self.time_for_answers)\n',
        "",
        Cluster(2, 1, crashes=1, losses=1),
    ),
)
