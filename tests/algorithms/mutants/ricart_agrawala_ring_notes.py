"""Mutants of ricart-agrawala-ring-notes."""

from tests.support.mutants import THREE, breaks

MUTANTS = (
    breaks("exclusion", "self.requesting_critical_section and", "False and"),
    breaks("deadlock", "ours < (message.sequence_number, message.origin)", "True"),
    breaks(
        "exclusion",
        "deferred_by=(*message.deferred_by, self.me)",
        "deferred_by=(self.me,)",
        THREE,
    ),
    breaks("deadlock", "self.reply_deferred |= 1 << message.origin", "pass"),
    breaks(
        "deadlock",
        "        self.outstanding_reply_count -= self.without_note(message)\n",
        "",
    ),
    breaks(
        "deadlock",
        "self.outstanding_reply_count -= self.without_note(message)",
        "self.outstanding_reply_count = len(message.deferred_by)",
    ),
    breaks("remote error", "self.outstanding_reply_count += 1  #", "pass  #"),
    breaks(
        "exclusion",
        "            self.highest_sequence_number = message.sequence_number\n",
        "            pass\n",
    ),
)
