"""Mutants of the algorithms beyond the papers: see `mutants`."""

from __future__ import annotations

from tests.mutants import FOR_EVER, THREE, THREE_TWICE, Cluster, breaks, harmless, of

FOUR = Cluster(4, 1)  # in two sites

SINCE = (
    *of(
        "dijkstra-ring",
        breaks("exclusion", "is not self.is_first:", "is self.is_first:", FOR_EVER),
        breaks(
            "starvation", "self.value = (self.value + 1) % self.values", "pass", FOR_EVER
        ),
        breaks(
            "starvation",
            "self.requesting = self.inside = False\n"
            "        if len(self.members) > 1:\n            self.pass_on()\n",
            "self.requesting = self.inside = False\n",
            FOR_EVER,
        ),
        breaks("exclusion", "        if not self.inside:\n", "        if True:\n"),
        breaks("invariant", "        self.inside = True\n", ""),
        breaks("invariant", "self.requesting = self.inside = False", "self.inside = False"),
        breaks(
            "starvation",
            "            self.value = message.value\n",
            "            pass\n",
            FOR_EVER,
        ),
        harmless(
            "one STATE more at the beginning, from each node: it finds back",
            "            if self.is_first:\n                self.pass_on()\n",
            "            self.pass_on()\n",
            THREE,
        ),
        harmless(
            "nothing is lost here, and a node that has the privilege passes it on",
            "        if not self.inside:\n            self.tell_successor()\n",
            "",
        ),
    ),
    *of(
        "cao-singhal",
        breaks(
            "remote error",
            "            if term != self.terms[member - 1]:\n                heir = 0\n",
            "",
            THREE_TWICE,
        ),
        breaks(
            "remote error",
            "if next_term and not message.heir",
            "if False and not message.heir",
            THREE,
        ),
        breaks("remote error", "Locked(member, term + 1)", "Locked(member, term)", THREE),
        breaks(
            "deadlock",
            "            for number, node in before[:1]:\n"
            "                self.tell(node, Failed(number))\n",
            "            pass\n",
            Cluster(4, (0, 1, 1, 1), "grid"),
        ),
        breaks("invariant", "self.requesting = self.inside = False", "self.inside = False"),
        breaks("remote error", "        self.locked_members ^= 1 << member\n", "", THREE),
        harmless(
            "without an heir the member locks itself for the next",
            "if message.term >= known:",
            "if False:",
            THREE,
        ),
    ),
    *of(
        "lodha-kshemkalyani",
        breaks(
            "deadlock",
            "            self.finish((message.finished, j))\n            if",
            "            if",
            THREE_TWICE,
        ),
        breaks("deadlock", "if (number, j) > self.finished:", "if True:", THREE),
        breaks("deadlock", "for _, node in self.queue[1:2]:", "for _, node in ():"),
        breaks("exclusion", "and self.queue[0] == self.ours", "and True"),
        breaks("exclusion", "if self.heard == everybody and", "if"),
        breaks("starvation", "            self.deferred |= 1 << j\n", "            pass\n"),
        breaks(
            "remote error",
            "self.queue, self.heard, self.deferred = (), 0, 0",
            "self.queue, self.heard = (), 0",
        ),
        breaks(
            "invariant", "self.waiting, self.inside = False, True", "self.inside = True"
        ),
    ),
    *of(
        "mueller-priority",
        breaks("deadlock", "        self.merge(kept)\n", "", THREE),
        breaks(
            "deadlock",
            "            self.keep(node)\n        elif self.waiting:",
            "            pass\n        elif self.waiting:",
        ),
        breaks("exclusion", "        self.has_token = False\n", "", THREE),
        breaks("invariant", "        self.owner = queue[-1]\n", ""),
        breaks(
            "exclusion",
            "if not self.has_token or self.inside or not self.queue:",
            "if not self.has_token or not self.queue:",
        ),
        breaks(
            "invariant", "self.waiting, self.inside = False, True", "self.inside = True"
        ),
    ),
    *of(
        "joung",
        breaks("exclusion", "if message.group != self.group:", "if False:"),
        breaks("exclusion", "        self.group = group\n", ""),
        breaks("remote error", "        self.reply_deferred = 0\n", ""),
        breaks("exclusion", "k > ours or (k == ours and j > self.me)", "k > ours"),
        breaks("deadlock", "k > ours or (k == ours and j > self.me)", "k >= ours"),
        breaks(
            "deadlock",
            "        self.send(j, REPLY)\n        seen = max",
            "        seen = max",
        ),
        breaks("exclusion", "        self.highest_sequence_number = seen\n", ""),
        harmless(
            "an idle node defers nobody, whatever group it was in last",
            "        self.group = 0\n",
            "",
        ),
    ),
    *of(
        "raynal-k-of-l",
        breaks(
            "exclusion",
            "self.wanted <= self.units:",
            "self.wanted <= self.units + 1:",
        ),
        breaks(
            "exclusion",
            "if self.inside or (self.waiting and we_came_first) else 0",
            "if self.inside else 0",
        ),
        breaks(
            "exclusion",
            "if self.inside or (self.waiting and we_came_first) else 0",
            "if self.waiting and we_came_first else 0",
        ),
        breaks("deadlock", "self.send(j, Free(units))", "pass"),
        breaks("deadlock", "        self.owed = plus(self.owed, j, ours)\n", ""),
        breaks(
            "remote error",
            "        self.owed = (0,) * len(self.members)\n\n    def receive_request",
            "\n    def receive_request",
        ),
        breaks(
            "invariant", "self.waiting, self.inside = False, True", "self.inside = True"
        ),
    ),
    *of(
        "sopena-arantes-sens",
        breaks("deadlock", "            self.desk.release()\n", "", FOUR),
        breaks("deadlock", "            self.between.release()\n", "", FOUR),
        breaks(
            "exclusion",
            "            self.desk.acquire()\n            self.desk.drain()",
            "            pass",
            FOUR,
        ),
        breaks("deadlock", "            self.turn = OUT\n", "", FOUR),
        breaks("deadlock", "if self.turn == OUT and self.desk.next:", "if False:", FOUR),
        breaks("deadlock", "if self.turn == IN and self.between.next:", "if False:", FOUR),
        breaks("invariant", "            self.turn = ASKING\n", "", FOUR),
    ),
    *of(
        "chandy-misra",
        breaks("exclusion", "kept = -1 if self.drinking else self.forks", "kept = 0"),
        breaks(
            "starvation",
            "kept = -1 if self.drinking else self.forks",
            "kept = -1 if self.drinking else 0",
            Cluster(2, None),
        ),
        breaks(
            "deadlock", "kept = -1 if self.drinking else self.forks", "kept = -1", THREE
        ),
        breaks("deadlock", "self.send(j, Ask(resource))", "pass"),
        breaks("exclusion", "all(self.bottles[r - 1] == everybody", "any(True"),
        breaks(
            "exclusion",
            "            self.bottles = self.flipped(self.bottles, resource, j)\n",
            "",
        ),
    ),
    *of(
        "bouabdallah-laforest",
        breaks("deadlock", "and message.number == self.number", "", Cluster(3, (2, 1, 0))),
        breaks("deadlock", "self.send(node, Inquire(resource, number))", "pass"),
        breaks("deadlock", "self.pass_on(resource, heir)", "pass"),
        breaks("exclusion", "        if self.got == self.wanted:\n", "        if True:\n"),
        breaks("exclusion", "asked[resource - 1] = (self.me, self.number)", "pass"),
        breaks("remote error", "                self.tokens ^= 1 << resource\n", ""),
        breaks(
            "invariant", "        self.wanted = self.got = 0\n", "        self.got = 0\n"
        ),
        breaks("invariant", "                        self.control.release()\n", ""),
    ),
)
