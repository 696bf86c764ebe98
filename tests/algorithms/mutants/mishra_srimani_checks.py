"""Mutants of Mishra and Srimani's checks, whatever the numbers of requests are."""

from tests.support.mutants import breaks

CHECKS = (
    breaks("exclusion", "        if self.found:\n", "        if False:\n"),
    breaks(
        "exclusion",
        "if self.privilege is not None or self.expected:",
        "if self.expected:",
    ),
    breaks(
        "exclusion",
        '        self.put_off = False\n        self.cancel_timer("token")\n',
        "        self.put_off = False\n",
    ),
    breaks(
        "exclusion",
        "            self.stop_checking()\n            self.broadcast(FalseAlarm())\n",
        "            pass\n",
    ),
    breaks("exclusion", "        self.broadcast(PrivilegeCheck())\n", ""),
)
