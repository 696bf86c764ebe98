"""Mutants of ricart-agrawala-broadcast."""

from tests.support.mutants import THREE, breaks, harmless

MUTANTS = (
    breaks("remote error", "if self.me in message.recipients:", "if True:", THREE),
    breaks("deadlock", "if self.me in message.recipients:", "if False:"),
    breaks("remote error", "self.reply_deferred = 0  #", "pass  #"),
    breaks("deadlock", "if recipients:", "if len(recipients) > 1:"),
    breaks("deadlock", "BroadcastReply(recipients)", "BroadcastReply(())"),
    breaks(
        "deadlock",
        "BroadcastReply(recipients)",
        "BroadcastReply(recipients[:1])",
        THREE,
    ),
    breaks(
        "remote error",
        "tuple(nodes_in(self.reply_deferred))",
        "tuple(self.others())",
        THREE,
    ),
    breaks("invariant", "        super().release()\n", ""),
    harmless("what names nobody tells nobody", "if recipients:", "if True:"),
)
