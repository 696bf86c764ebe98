"""Mutants of ricart-agrawala-implicit-broadcast."""

from tests.support.mutants import THREE, breaks

MUTANTS = (
    breaks("remote error", "if self.me in message.recipients:", "if True:", THREE),
    breaks(
        "deadlock",
        "            self.broadcast(BroadcastReply(recipients))\n",
        "            pass\n",
    ),
    breaks("exclusion", "            self.send(j, DEFERRED)\n", ""),
    breaks(
        "exclusion",
        "        self.outstanding_reply_count = self.unsettled.bit_count()\n",
        "        self.outstanding_reply_count = 0\n",
    ),
    breaks("remote error", "self.reply_deferred = 0  # so", "pass  # so"),
    breaks("deadlock", "            self.reply_deferred |= 1 << j\n", ""),
)
