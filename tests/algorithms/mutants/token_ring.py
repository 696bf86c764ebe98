"""Mutants of token-ring."""

from tests.support.mutants import breaks

MUTANTS = (
    breaks(
        "invariant",
        "        if self.requesting:\n            self.token_here = True\n",
        "        if self.requesting:\n",
    ),
    breaks(
        "deadlock",
        "        self.requesting = False\n        self.pass_on()\n",
        "        self.requesting = False\n",
    ),
    breaks("deadlock", "        else:\n            self.pass_on()\n", ""),
    breaks("exclusion", "if self.me == self.first_holder:", "if True:"),
    breaks("deadlock", "        self.token_here = successor == self.me\n", ""),
    breaks(
        "deadlock",
        "        if not self.token_here:\n            self.send(successor, TOKEN)\n",
        "",
    ),
)
