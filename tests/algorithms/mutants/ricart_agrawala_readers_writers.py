"""Mutants of ricart-agrawala-readers-writers."""

from tests.support.mutants import Cluster, breaks

MUTANTS = (
    breaks(
        "exclusion",
        "if not (self.reading and message.reader):",
        "if not self.reading:",
    ),
    breaks(
        "exclusion",
        "if not (self.reading and message.reader):",
        "if not message.reader:",
    ),
    breaks("exclusion", "        self.reading = False\n", "", Cluster(2, 2)),
    breaks("deadlock", "        self.send(j, REPLY)\n", "        pass\n"),
    breaks(
        "exclusion",
        "        self.highest_sequence_number = seen\n",
        "        self.highest_sequence_number = 0\n",
        Cluster(2, 3),
    ),
    breaks(
        "exclusion",
        "Request(self.our_sequence_number, self.reading)",
        "Request(self.our_sequence_number, True)",
    ),
)
