"""Small errors, put into the algorithms on purpose; the checker must notice each one.

A mutant is its algorithm's file with one passage replaced.  `cluster` is a small cluster
in which it is caught.  Where a change can do no harm, `harmless` says why.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, replace
from types import ModuleType
from unittest.mock import patch

from peerlock.algorithms.entry import Algorithm
from peerlock.algorithms.lookup import algorithm
from peerlock.algorithms.settings import arguments
from peerlock.checker.model import Model, card_network, model
from peerlock.core.peer import Peer


@dataclass(frozen=True)
class Cluster:
    nodes: int
    requests: int | tuple[int, ...] | None  # by each node; None is without end
    quorums: str | None = None
    topology: str | None = None
    crashes: int = 0
    losses: int = 0
    for_good: bool = False  # who crashes does not come back, though it might


PAIR = Cluster(2, 2)
FIRST_AND_THIRD = Cluster(3, (2, 0, 1))
THREE = Cluster(3, 1)
THREE_TWICE = Cluster(3, 2)
GRID = Cluster(4, 1, "grid")
LINE = Cluster(3, 1, topology="line")
FOR_EVER = Cluster(3, None)
BACK = Cluster(2, 2, crashes=1)
A_ROUND = Cluster(3, (1, 1, 3))
MESH = Cluster(4, (1, 1, 1, 0), "grid")
TRIANGLE = Cluster(4, (0, 1, 1, 1), "triangle-columns")


@dataclass(frozen=True)
class Mutant:
    algorithm: str
    old: str
    new: str
    verdict: str = ""  # the property that breaks
    cluster: Cluster = PAIR
    harmless: str = ""

    def __str__(self) -> str:
        words = " ".join(self.new.split()) or "nothing"
        return f"{self.algorithm}: {words}"

    def model(self) -> Model:
        entry = algorithm(self.algorithm)
        peer = mutated(entry, self.old, self.new)
        cluster = self.cluster
        members = tuple(range(1, cluster.nodes + 1))
        settings = arguments(
            entry, cluster.nodes, quorums=cluster.quorums, topology=cluster.topology
        )
        card = card_network(entry)
        network = replace(
            card,
            crashes=cluster.crashes,
            losses=cluster.losses,
            returns=card.returns and not cluster.for_good,
        )
        right = model(
            entry.name, cluster.nodes, cluster.requests, network, quorums=cluster.quorums
        )
        return replace(
            right, name=str(self), make=lambda node: peer(node, members, **settings)
        )


def mutated(entry: Algorithm, old: str, new: str) -> type[Peer]:
    """The algorithm's class, from its file with `old` replaced by `new`.

    A passage that is not in it may be in the file of an algorithm that it builds on.
    """
    ours = [c.__module__ for c in entry.peer.__mro__ if ".algorithms." in c.__module__]
    files = {name: inspect.getsource(sys.modules[name]) for name in ours}
    changed = next((name for name in files if old in files[name]), ours[0])
    times = files[changed].count(old)
    assert times == 1, f"{old!r} occurs {times} times"
    files[changed] = files[changed].replace(old, new)
    between = list(files)[: list(files).index(changed) + 1]
    with patch.dict(sys.modules):  # so that one file imports the other as it is made here
        for name in reversed(between):
            module = sys.modules[name] = ModuleType(name)
            exec(compile(files[name], f"mutant of {name}", "exec"), module.__dict__)
    peer: type[Peer] = getattr(module, entry.peer.__name__)
    return peer


def of(name: str, *mutants: Mutant) -> tuple[Mutant, ...]:
    return tuple(replace(mutant, algorithm=name) for mutant in mutants)


def breaks(verdict: str, old: str, new: str, cluster: Cluster = PAIR) -> Mutant:
    return Mutant("", old, new, verdict, cluster)


def harmless(reason: str, old: str, new: str, cluster: Cluster = PAIR) -> Mutant:
    return Mutant("", old, new, cluster=cluster, harmless=reason)


# Of Mishra and Srimani's checks, whatever the numbers of requests are.
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

MUTANTS = (
    *of(
        "central",
        breaks(
            "deadlock",
            "        self.queue += (sender,)\n        self.permit_next()\n",
            "        self.queue += (sender,)\n",
        ),
        breaks(
            "starvation",
            "        self.holder = None\n        self.permit_next()\n",
            "        self.holder = None\n",
        ),
        breaks(
            "remote error",
            "if self.holder is not None or not self.queue:",
            "if not self.queue:",
        ),
        breaks("remote error", "        self.queue = tuple(rest)\n", ""),
        breaks(
            "invariant",
            "self.requesting = self.inside = False\n",
            "self.inside = False\n",
        ),
        breaks("deadlock", "self.send(self.coordinator, Release())", "pass"),
        breaks(
            "starvation",
            "self.holder, *rest = self.queue",
            "*rest, self.holder = self.queue",
            FOR_EVER,
        ),
    ),
    *of(
        "lamport",
        breaks("exclusion", "if self.request_queue[0] == ours:", "if True:"),
        breaks(
            "exclusion",
            "tuple(sorted((*self.request_queue, request)))",
            "(*self.request_queue, request)",
        ),
        breaks(
            "exclusion",
            "tuple(sorted((*self.request_queue, request)))",
            "tuple(sorted((*self.request_queue, request), reverse=True))",
        ),
        breaks("remote error", "self.broadcast(RELEASE)", "pass"),
        breaks("deadlock", "self.send(sender, REPLY)", "pass"),
        breaks(
            "deadlock",
            "        self.dequeue(request)\n        self.enter_if_first()\n",
            "        self.dequeue(request)\n",
        ),
        breaks(
            "exclusion",
            "        self.clock = max(self.clock, message.time)\n",
            "",
        ),
        breaks("deadlock", "        self.dequeue(self.our_request)\n", ""),
        breaks(
            "exclusion",
            "if ours is None or self.inside or self.outstanding:",
            "if ours is None or self.inside:",
        ),
    ),
    *of(
        "ricart-agrawala",
        breaks(
            "exclusion",
            "if self.requesting_critical_section and we_came_first:",
            "if False:",
        ),
        breaks("exclusion", "k > ours or (k == ours and j > self.me)", "k > ours"),
        breaks("deadlock", "k > ours or (k == ours and j > self.me)", "k >= ours"),
        breaks(
            "exclusion",
            "            self.highest_sequence_number = k\n",
            "            pass\n",
        ),
        breaks(
            "deadlock",
            "            self.send(j, REPLY)\n        self.reply_deferred = 0\n",
            "            pass\n        self.reply_deferred = 0\n",
        ),
        breaks("remote error", "        self.reply_deferred = 0\n", ""),
        breaks("remote error", "len(self.members) - 1", "len(self.members) - 2", THREE),
        harmless(
            "TR-869's listing: its proofs need no number to be used once only; what it "
            "does to fairness is shown in the museum",
            "        self.highest_sequence_number = self.our_sequence_number\n",
            "",
        ),
    ),
    *of(
        "carvalho-roucairol",
        breaks(
            "exclusion",
            "if self.inside or (self.waiting and we_came_first):",
            "if self.waiting and we_came_first:",
        ),
        breaks("exclusion", "        self.authorized &= ~self.reply_deferred\n", ""),
        breaks(
            "deadlock",
            "            if self.waiting:\n"
            "                self.send(j, Request(self.our_sequence_number))\n",
            "",
            THREE_TWICE,
        ),
        breaks(
            "exclusion", "            self.authorized ^= 1 << j\n", "            pass\n"
        ),
        breaks("deadlock", "(self.our_sequence_number, self.me) < (k, j)", "True"),
        breaks("remote error", "        self.reply_deferred = 0\n", ""),
        breaks(
            "invariant", "self.waiting, self.inside = False, True", "self.inside = True"
        ),
    ),
    *of(
        "maekawa",
        breaks("deadlock", "if first < request:", "if first > request:", THREE),
        breaks("deadlock", "self.overtaken(node)", "pass", GRID),
        breaks("deadlock", "self.tell(locking[1], Inquire())", "pass", THREE),
        breaks(
            "deadlock",
            "        for member in nodes_in(self.inquiring_members):\n"
            "            self.relinquish(member)\n",
            "",
            GRID,
        ),
        breaks(
            "deadlock",
            "self.locking, self.inquired = None, False",
            "self.locking = None",
            THREE_TWICE,
        ),
        breaks(
            "deadlock",
            "sorted((*self.waiting_queue, self.locking))",
            "self.waiting_queue",
            THREE,
        ),
        breaks("remote error", "        self.locked_members ^= 1 << member\n", "", THREE),
        breaks(
            "remote error",
            "if self.inside or not self.locked_members >> sender & 1:",
            "if not self.locked_members >> sender & 1:",
            THREE_TWICE,
        ),
    ),
    *of(
        "suzuki-kasami",
        breaks("starvation", "if n <= self.requested[j - 1]:", "if False:", THREE_TWICE),
        breaks(
            "invariant",
            "granted = replaced(self.privilege.granted, self.me, number)",
            "granted = self.privilege.granted",
        ),
        breaks("starvation", "elif n == self.privilege.granted[j - 1] + 1:", "elif False:"),
        breaks(
            "deadlock",
            "self.requested[j - 1] == self.after(granted[j - 1]) and",
            "self.requested[j - 1] > self.after(granted[j - 1]) and",
        ),
        breaks(
            "exclusion",
            "self.privilege)\n            self.privilege = None\n",
            "self.privilege)\n",
        ),
        breaks(
            "invariant",
            "queue = tuple(j for j in message.queue if j != self.me)",
            "queue = message.queue",
        ),
        harmless(
            "hand_over looks at all numbers itself, and does nothing if nobody waits",
            "elif n == self.privilege.granted[j - 1] + 1:",
            "else:",
        ),
    ),
    *of(
        "raymond",
        breaks(
            "exclusion",
            "if self.holder == self.me and not self.using and self.request_q:",
            "if self.holder == self.me and self.request_q:",
        ),
        breaks(
            "remote error", "self.request_q and not self.asked:", "self.request_q:", THREE
        ),
        breaks("deadlock", "self.send(self.holder, REQUEST)", "pass"),
        breaks(
            "starvation",
            "self.using = False\n        self.assign_privilege_and_make_request()\n",
            "self.using = False\n",
        ),
        breaks(
            "deadlock",
            "self.holder, self.asked = self.me, False",
            "self.holder = self.me",
        ),
        breaks("deadlock", "self.send(self.holder, PRIVILEGE)", "pass"),
    ),
    *of(
        "naimi-trehel",
        breaks("invariant", "        self.last = origin\n", ""),
        breaks("exclusion", "self.token_here, self.next = False, 0", "self.next = 0"),
        breaks("remote error", "            self.last = self.me\n", ""),
        breaks("invariant", "        elif self.requesting:\n", "        elif False:\n"),
        breaks("deadlock", "        if self.next:\n", "        if False:\n"),
        breaks(
            "exclusion",
            "            self.token_here = False\n            self.send(origin, TOKEN)\n",
            "            self.send(origin, TOKEN)\n",
        ),
        breaks("deadlock", "            self.next = origin\n", "            pass\n"),
    ),
    *of(
        "token-ring",
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
    ),
    *of(
        "ricart-agrawala-bounded",
        breaks(
            "exclusion",
            "if self.requesting_critical_section and we_came_first:",
            "if False:",
        ),
        breaks("exclusion", "(k == ours and j > self.me)", "False"),
        breaks("exclusion", "return (k > other) != wrapped", "return k > other"),
        breaks("exclusion", ">= len(self.members)", "> len(self.members)"),
        breaks("exclusion", ">= len(self.members)", ">= len(self.members) - 1"),
        breaks("exclusion", "2 * len(self.members) - 1", "2 * len(self.members) - 2"),
        breaks("remote error", "self.highest_sequence_number = -1", "pass"),
        breaks(
            "exclusion",
            "            self.highest_sequence_number = k\n",
            "            pass\n",
        ),
        breaks(
            "exclusion",
            "if self.later(k, self.highest_sequence_number):",
            "if k > self.highest_sequence_number:",
            Cluster(2, 3),
        ),
    ),
    *of(
        "singhal-dynamic",
        breaks("exclusion", "range(self.me + 1, ", "range(1, "),
        breaks(
            "exclusion",
            "if self.inside or (self.waiting and we_came_first):",
            "if self.waiting and we_came_first:",
            THREE,
        ),
        breaks("exclusion", "        self.authorized &= ~self.reply_deferred\n", ""),
        breaks(
            "deadlock",
            "            if self.waiting:\n"
            "                self.send(j, Request(self.our_sequence_number))\n",
            "",
            THREE,
        ),
        breaks(
            "exclusion", "            self.authorized ^= 1 << j\n", "            pass\n"
        ),
        breaks("deadlock", "(self.our_sequence_number, self.me) < (k, j)", "True", THREE),
        breaks("remote error", "        self.reply_deferred = 0\n", ""),
        harmless(
            "the first entries cost more, as in Carvalho and Roucairol's",
            "range(self.me + 1, ",
            "range(self.me + 2, ",
        ),
    ),
    *of(
        "neilsen-mizuno",
        breaks("remote error", "        self.last = sender\n", "", THREE),
        breaks("remote error", "            self.last = 0\n", ""),
        breaks("deadlock", "self.next = message.origin", "pass"),
        breaks("invariant", "        elif self.requesting:\n", "        elif False:\n"),
        breaks("remote error", "            self.next = 0\n", ""),
        breaks("deadlock", "        if self.next:\n", "        if False:\n"),
        breaks("exclusion", "        self.holding = False\n", ""),
        breaks(
            "remote error",
            "            self.send(self.last, message)\n",
            "            self.send(self.last, Request(self.me))\n",
            THREE,
        ),
        breaks("exclusion", "        if self.last:\n", "        if False:\n", THREE),
    ),
    *of(
        "ricart-agrawala-token",
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
    ),
    *of(
        "ricart-agrawala-ring",
        breaks("exclusion", "self.our_request < message", "self.our_request > message"),
        breaks("deadlock", "self.our_request < message", "True"),
        breaks(
            "exclusion",
            "self.our_request < message",
            "self.our_request.sequence_number < message.sequence_number",
        ),
        breaks("remote error", "held, self.held = self.held, ()", "held = self.held"),
        breaks(
            "deadlock",
            "        for request in held:\n            self.pass_on(request)\n",
            "",
        ),
        breaks("exclusion", "        self.highest_sequence_number += 1\n", ""),
        breaks(
            "exclusion",
            "            self.highest_sequence_number = message.sequence_number\n",
            "            pass\n",
        ),
        breaks("deadlock", "sorted((*self.held, message))", "(message,)", THREE),
        harmless(
            "the order in which held requests are passed on matters only for how soon",
            "sorted((*self.held, message))",
            "(*self.held, message)",
            THREE_TWICE,
        ),
    ),
    *of(
        "ricart-agrawala-ring-notes",
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
    ),
    *of(
        "majority",
        breaks(
            "exclusion",
            "self.votes = (1,) * len(self.members)\n",
            "self.votes = tuple(int(j == self.me) for j in self.members)\n",
        ),
        breaks("deadlock", "if first < request:", "if first > request:", THREE),
        breaks("deadlock", "self.overtaken(node)", "pass", Cluster(4, 1)),
        breaks("deadlock", "self.tell(locking[1], Inquire())", "pass", THREE),
        breaks(
            "deadlock",
            "sorted((*self.waiting_queue, self.locking))",
            "self.waiting_queue",
            THREE,
        ),
        breaks("remote error", "        self.locked_members ^= 1 << member\n", "", THREE),
    ),
    *of(
        "weighted-majority",
        breaks(
            "exclusion",
            "need = sum(self.votes) // 2 + 1",
            "need = sum(self.votes) // 2",
            THREE,
        ),
        breaks(
            "exclusion",
            "votes += self.votes[j - 1]",
            "votes += 3 if j == self.me else 1",
            THREE,
        ),
        breaks("deadlock", "if first < request:", "if first > request:", THREE),
        breaks("deadlock", "self.tell(locking[1], Inquire())", "pass", THREE),
        breaks("remote error", "        self.locked_members ^= 1 << member\n", "", THREE),
        harmless(
            "with an even number of votes a majority is larger, but any two still meet",
            "untied(len(self.members))",
            "(1,) * len(self.members)",
        ),
    ),
    *of(
        "ricart-agrawala-readers-writers",
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
    ),
    *of(
        "raymond-k",
        breaks(
            "exclusion", "len(self.members) - self.permits", "len(self.members) - 3", THREE
        ),
        harmless(
            "one at a time is safe, and nobody waits for ever; it wastes permits",
            "len(self.members) - self.permits",
            "len(self.members) - 1",
            THREE,
        ),
        breaks(
            "exclusion",
            "if self.inside or (self.waiting and we_came_first):",
            "if self.waiting and we_came_first:",
            THREE,
        ),
        breaks(
            "exclusion",
            "if self.inside or (self.waiting",
            "if False and (self.waiting",
            THREE,
        ),
        breaks(
            "remote error", "self.send(j, Reply(count))", "self.send(j, Reply(count + 1))"
        ),
        breaks("deadlock", "            if count:\n", "            if False:\n", THREE),
        breaks("exclusion", "k > ours or (k == ours and j > self.me)", "k > ours", THREE),
    ),
    *of(
        "srimani-reddy",
        breaks(
            "exclusion",
            "            self.idle -= 1\n            self.queue = ()\n",
            "            self.queue = ()\n",
            THREE,
        ),
        breaks(
            "exclusion",
            "                self.idle -= 1\n                self.pass_on(())\n",
            "                self.pass_on(())\n",
            THREE,
        ),
        breaks("deadlock", "            self.idle += 1\n", "            pass\n", THREE),
        breaks(
            "starvation",
            "            if self.idle and self.waits(sender):",
            "            if False:",
            THREE,
        ),
        breaks(
            "invariant",
            "return self.requested[node - 1] > self.granted[node - 1]",
            "return self.requested[node - 1] > 0",
            THREE,
        ),
        breaks(
            "deadlock",
            "return self.requested[node - 1] > self.granted[node - 1]",
            "return False",
            THREE,
        ),
        breaks("exclusion", "per_node + (self.me <= more)", "per_node + 1", THREE),
    ),
    *of(
        "ricart-agrawala-priority",
        breaks("exclusion", "self.step() - 1", "-1"),
        breaks("exclusion", "self.step() - 1", "self.step() - 2"),
        breaks(
            "exclusion",
            "self.highest_sequence_number += ",
            "self.highest_sequence_number = ",
        ),
        breaks(
            "exclusion",
            "self.highest_sequence_number += ",
            "self.highest_sequence_number -= ",
            THREE,
        ),
        breaks(
            "exclusion",
            "self.highest_sequence_number += ",
            "self.highest_sequence_number = self.our_sequence_number + ",
        ),
        breaks("deadlock", "        super().acquire()  # adds the last 1\n", ""),
        harmless(
            "with steps of one for all it is the algorithm without priority",
            "self.highest_sequence_number += self.step() - 1",
            "pass",
        ),
    ),
    *of(
        "singhal-heuristic",
        breaks(
            "starvation",
            "            if stranger:\n                self.ask(i)  # so that it comes",
            "            if False:\n                self.ask(i)  # so that it comes",
            THREE_TWICE,
        ),
        breaks(
            "starvation",
            'is None:\n            if self.state == "R" and stranger:',
            "is None:\n            if False:",
            THREE,
        ),
        breaks(
            "starvation",
            'self.state == "H":\n            self.hand_over()\n\n    def',
            "False:\n            self.hand_over()\n\n    def",
        ),
        breaks(
            "invariant",
            'elif self.state == "H":\n            self.hand_over()\n\n    def',
            "else:\n            self.hand_over()\n\n    def",
        ),
        breaks("invariant", "        newer[self.me - 1] = True\n", ""),
        breaks("remote error", "[ours > theirs for", "[ours >= theirs for", THREE_TWICE),
        breaks(
            "starvation",
            "self.token)\n            self.token = None\n",
            "self.token)\n",
            THREE_TWICE,
        ),
        breaks(
            "remote error",
            "self.sv, self.sn = self.token.tsv, self.token.tsn",
            "self.sn = self.token.tsn",
        ),
        breaks("deadlock", "% n < step", "% n > step"),
        harmless(
            "to be asked twice, or without need, does nobody harm",
            'is None:\n            if self.state == "R" and stranger:',
            'is None:\n            if self.state == "R":',
        ),
    ),
    *of(
        "sanders",
        breaks(
            "deadlock",
            "self.information.informing_set(self.me):",
            "self.information.informing_set(self.me)[1:]:",
        ),
        breaks("remote error", "if self.status_set >> request[1] & 1:", "if False:", THREE),
        breaks(
            "remote error",
            "self.information.status_set(self.me)",
            "self.information.request_set(self.me)",
            THREE,
        ),
        breaks(
            "remote error",
            "        self.locked_members = 0\n        for member in self.information",
            "        for member in self.information",
        ),
        breaks(
            "deadlock",
            "        super().lock_next()\n        while",
            "        while",
            THREE,
        ),
        breaks("deadlock", "self.overtaken(node)", "pass", GRID),
        harmless(
            "with Maekawa's sets whoever gets our permission informs us",
            "while self.locking is None and self.waiting_queue:",
            "while False:",
            THREE,
        ),
    ),
    *of(
        "ricart-agrawala-broadcast",
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
    ),
    *of(
        "helary-plouzeau-raynal",
        breaks(
            "starvation",
            "if message.time <= self.requested[k - 1]:",
            "if False:",
            THREE_TWICE,
        ),
        breaks(
            "remote error",
            "self.way_back = replaced(self.way_back, k, sender)",
            "self.way_back = replaced(self.way_back, k, k)",
            LINE,
        ),
        breaks("starvation", "        self.propagate(message)\n", "", LINE),
        breaks(
            "invariant",
            "if self.granted is not None and not self.requesting:",
            "if self.granted is not None:",
        ),
        breaks(
            "deadlock",
            "if self.requested[j - 1] > granted[j - 1]",
            "if self.requested[j - 1] > granted[j - 1] + 1",
        ),
        breaks("exclusion", "        self.granted = None\n", ""),
        breaks("remote error", "replaced(granted, oldest, time)", "granted"),
        breaks("deadlock", "return max(self.requested) + 1", "return 1"),
        breaks(
            "starvation",
            "if j not in request.sent_to]",
            "if j not in request.sent_to][:1]",
            LINE,
        ),
        harmless(
            "who is sent a request again knows it; only the messages are more",
            "        sent_to = tuple(sorted((*request.sent_to, *onward)))\n",
            "        sent_to = tuple(sorted((*request.sent_to, self.me)))\n",
            THREE,
        ),
    ),
    *of(
        "raynal-prime",
        breaks(
            "starvation",
            "        else:\n            self.pass_on()\n\n    def pass_on",
            "\n    def pass_on",
        ),
        breaks(
            "deadlock",
            "        self.requesting = False\n        self.pass_on()\n",
            "        self.requesting = False\n",
        ),
        breaks("remote error", "        self.product *= change\n", ""),
        breaks(
            "deadlock", "self.product *= message.change", "self.product = message.change"
        ),
        breaks(
            "exclusion", "product_at(self.first_holder, len(self.members))", "self.ours"
        ),
        breaks(
            "invariant",
            "        if self.product != self.ours:\n            return\n",
            "",
            THREE,
        ),
        breaks(
            "starvation",
            "primes[node % nodes])",
            "primes[(node + 1) % nodes])",
            Cluster(4, None),
        ),
    ),
    *of(
        "maekawa-sequential",
        breaks("remote error", "        self.queue = self.queue[1:]\n", "", THREE),
        breaks(
            "deadlock",
            "        if self.queue:\n            self.locked_for(self.queue[0])\n",
            "",
        ),
        breaks("remote error", "if len(self.queue) == 1:", "if True:", THREE),
        breaks(
            "exclusion",
            "self.locked_members == len(self.quorum)",
            "self.locked_members == 1",
            THREE,
        ),
        breaks(
            "deadlock",
            "return self.quorums.of(self.me)",
            "return (self.me, *(j for j in self.quorums.of(self.me) if j != self.me))",
            THREE,
        ),
        breaks(
            "starvation",
            "self.queue = (*self.queue, node)",
            "self.queue = (*self.queue[:1], node, *self.queue[1:])",
            Cluster(3, None, "grid"),
        ),
        breaks("invariant", "self.requesting, self.locked_members = False, 0", "pass"),
    ),
    *of(
        "maekawa-cyclic",
        breaks(
            "deadlock",
            "return self.quorums.of(origin)",
            "return (origin, *(j for j in self.quorums.of(origin) if j != origin))",
            THREE,
        ),
        breaks(
            "remote error",
            "way[way.index(self.me) + 1 :]",
            "way[way.index(self.me) + 2 :]",
            THREE,
        ),
        breaks("remote error", "Request(node)", "Request(self.me)", THREE),
        breaks("invariant", "        self.locked_members = len(self.quorum)\n", ""),
        breaks("deadlock", "            self.tell(node, Locked())\n", "            pass\n"),
        breaks("invariant", "self.admit(message.origin)", "self.admit(sender)", GRID),
        breaks(
            "remote error",
            "self.tell(self.way(self.me)[0], Request(self.me))",
            "self.tell(self.way(self.me)[-1], Request(self.me))",
            THREE,
        ),
    ),
    *of(
        "suzuki-kasami-bounded",
        breaks(
            "remote error",
            "return (number + 1) % self.modulus",
            "return (number + 1) % (self.limit + 1)",
            Cluster(3, (1, 2, 1)),
        ),
        breaks(
            "remote error",
            "        elif self.unanswered:\n            self.held_back = True\n",
            "",
            Cluster(3, (2, 3, 0)),
        ),
        breaks(
            "remote error",
            "if self.held_back and not self.unanswered:",
            "if self.held_back:",
            Cluster(3, (2, 3, 0)),
        ),
        breaks(
            "remote error",
            "        if arrived:\n",
            "        if self.place(j, number) < self.limit:\n",
            Cluster(3, (1, 2, 1)),
        ),
        breaks("deadlock", "self.send(j, ACK)", "pass", Cluster(2, 3)),
        breaks(
            "deadlock",
            "            self.held_back = False\n            self.ask()\n",
            "            self.held_back = False\n",
            Cluster(2, 3),
        ),
        breaks(
            "starvation",
            "if self.place(j, number) > self.place(j, self.requested[j - 1]):",
            "if True:",
            Cluster(3, (1, 2, 1)),
        ),
        breaks(
            "deadlock",
            "if self.place(j, number) > self.place(j, self.requested[j - 1]):",
            "if number > self.requested[j - 1]:",
            Cluster(2, 4),
        ),
        breaks(
            "deadlock",
            "== self.after(granted[j - 1])",
            "== granted[j - 1] + 1",
            Cluster(2, 5),
        ),
        breaks(
            "remote error",
            "== self.after(granted[j - 1])",
            "!= granted[j - 1]",
            Cluster(3, (1, 2, 1)),
        ),
        breaks(
            "remote error",
            "self.round_after = replaced(self.round_after, j, self.requested[j - 1])",
            "pass",
            Cluster(2, 3),
        ),
        breaks(
            "exclusion",
            "self.privilege)\n            self.privilege = None\n",
            "self.privilege)\n",
        ),
        breaks(
            "starvation",
            "        if self.privilege is not None and not self.requesting:\n",
            "        if False:\n",
        ),
    ),
    *of(
        "kakugawa",
        breaks(
            "exclusion",
            "k_coterie(len(self.members), self.permits)",
            "k_coterie(len(self.members), self.permits + 1)",
            THREE,
        ),
        breaks(
            "exclusion",
            "quorum = self.quorum_within(self.locked_members)",
            "quorum = self.locked_members",
            THREE,
        ),
        breaks(
            "remote error",
            "sorted((*self.waiting_queue, self.locking))",
            "self.waiting_queue",
            FIRST_AND_THIRD,
        ),
        breaks(
            "remote error",
            "        self.locked_members ^= 1 << member\n",
            "",
            FIRST_AND_THIRD,
        ),
        breaks(
            "deadlock",
            "            self.tell(member, Withdraw())\n",
            "            pass\n",
            FIRST_AND_THIRD,
        ),
        breaks("remote error", "        self.forget(sender)\n", "", FIRST_AND_THIRD),
        harmless(
            "with fewer groups fewer are inside, and nobody waits for ever",
            "k_coterie(len(self.members), self.permits)",
            "k_coterie(len(self.members), 1)",
            THREE,
        ),
        breaks("deadlock", "        self.tell(sender, Failed())\n", "", FIRST_AND_THIRD),
    ),
    *of(
        "agrawal-el-abbadi",
        breaks(
            "exclusion",
            "if self.permitted_by == self.asked and not self.inside",
            "if self.permitted_by and not self.inside",
        ),
        breaks("deadlock", "            self.tell(self.permitted[1], Inquire())\n", ""),
        breaks(
            "deadlock",
            "        self.queue = tuple(sorted((*self.queue, self.permitted)))\n",
            "",
        ),
        breaks(
            "exclusion",
            "if self.inside or not self.permitted_by >> sender & 1:",
            "if not self.permitted_by >> sender & 1:",
            Cluster(4, 1),
        ),
        breaks(
            "deadlock",
            "        self.permitted, self.inquired = None, False\n",
            "        self.permitted = None\n",
            THREE_TWICE,
        ),
        breaks(
            "deadlock",
            "            self.tell(member, Relinquish())\n",
            "            pass\n",
        ),
        breaks(
            "deadlock",
            "            self.ask_a_quorum()\n            self.enter_if_all_permit()\n",
            "            self.ask_a_quorum()\n",
            Cluster(2, 1, crashes=1),
        ),
        breaks(
            "deadlock",
            "        self.forget_requests_of(node)\n",
            "",
            Cluster(3, 1, crashes=1),
        ),
        breaks(
            "exclusion",
            "            self.asked ^= 1 << node\n            self.ask_a_quorum()\n",
            "            self.asked ^= 1 << node\n",
            Cluster(3, 1, crashes=1),
        ),
        harmless(
            "an earlier request is asked about in any case, and a second INQUIRE about the "
            "same PERMISSION is ignored",
            "elif request < self.permitted and not self.inquired:",
            "elif request < self.permitted:",
            Cluster(4, 1),
        ),
    ),
    *of(
        "chaudhuri-edward",
        breaks(
            "starvation",
            "        if known[1] != self.me != self.link and self.lrq:",
            "        if False:",
            Cluster(7, (0, 1, 0, 2, 0, 0, 1)),
        ),
        breaks(
            "starvation",
            "        self.lrq += request.nodes\n        self.call_token()\n",
            "        self.lrq += request.nodes\n",
            THREE,
        ),
        breaks(
            "deadlock",
            "            self.call_token()\n        else:\n            self.ask_locally()",
            "        else:\n            self.ask_locally()",
        ),
        breaks(
            "starvation",
            "        elif self.token is not None and not self.requesting:\n"
            "            self.grant_token(self.token)\n",
            "",
            THREE,
        ),
        breaks(
            "starvation",
            "            self.ask_locally()\n        elif",
            "            pass\n        elif",
            THREE,
        ),
        breaks(
            "deadlock",
            "        if MARKER not in self.lrq:\n            self.lrq += (MARKER,)\n",
            "",
            THREE,
        ),
        breaks(
            "deadlock",
            "            self.lrq += (MARKER,)\n            self.grq",
            "            self.grq",
            Cluster(5, (2, 1, 1, 0, 0)),
        ),
        breaks(
            "starvation",
            "            self.called = False\n            if self.lrq:\n"
            "                self.call_token()\n",
            "            self.called = False\n",
            Cluster(5, (1, 1, 1, 0, 1)),
        ),
        breaks(
            "starvation",
            "        elif self.lrq:\n            queue += (self.me,)\n",
            "",
            THREE,
        ),
        breaks(
            "exclusion",
            "        self.token = None\n        self.send(token.queue[0], token)",
            "        self.send(token.queue[0], token)",
        ),
        breaks(
            "starvation",
            "        if self.grq:\n            self.announce_locally",
            "        if False:\n            self.announce_locally",
            Cluster(7, (0, 1, 0, 2, 0, 0, 1)),
        ),
        breaks(
            "exclusion",
            "self.queued and self.requesting, False",
            "self.requesting, False",
            Cluster(4, 1),
        ),
        breaks(
            "remote error",
            "            number += 1\n            self.announce_locally",
            "            self.announce_locally",
            Cluster(3, (1, 0, 2)),
        ),
        harmless(
            "whoever asks the global collector tells it that it is, and so do the news",
            "max(self.global_request_collector, known)",
            "self.global_request_collector",
            THREE_TWICE,
        ),
    ),
    *of(
        "banerjee-chrysanthis",
        breaks("remote error", "self.groups = 1\n", "self.groups = self.me\n", THREE),
        breaks(
            "deadlock",
            "        self.local_request_collector = (number, collector)\n"
            "        self.broadcast",
            "        self.broadcast",
        ),
        breaks(
            "remote error",
            "self.broadcast(LrCollector(number, collector))",
            "self.broadcast(LrCollector(number, self.me))",
        ),
        breaks(
            "deadlock",
            "            self.send(known[1], Request(request.nodes, known[0]))\n"
            "            return\n        self.local_request",
            "            return\n        self.local_request",
            THREE,
        ),
        breaks("deadlock", "        self.lrq += request.nodes\n", ""),
        breaks("deadlock", "self.enter(rest)", "self.enter(Token((), rest.number))", THREE),
        breaks(
            "deadlock",
            "        self.local_request_collector = known\n        if known[1]",
            "        self.local_request_collector = (number, node)\n        if known[1]",
        ),
        harmless(
            "without the news a REQUEST goes the way that the collector went",
            "self.broadcast(LrCollector(number, collector))",
            "pass",
            THREE,
        ),
    ),
    *of(
        "mishra-srimani",
        breaks(
            "exclusion",
            "        self.checks |= 1 << j\n        if self.checking:\n",
            "        if self.checking:\n",
            THREE,
        ),
        breaks(
            "exclusion",
            "            self.send(j, RepCritical())\n        self.checks = 0\n",
            "            pass\n        self.checks = 0\n",
            THREE,
        ),
        *CHECKS,
        breaks(
            "deadlock",
            "            self.put_off = True\n"
            '            self.set_timer("token", self.time_out)\n',
            "            self.put_off = True\n",
            Cluster(3, 1, crashes=1),
        ),
        breaks(
            "deadlock",
            '        self.set_timer("answers", self.time_for_answers)\n'
            "        if not self.expected:\n",
            "        if not self.expected:\n",
            Cluster(3, 1, crashes=1),
        ),
        breaks(
            "deadlock",
            '            self.set_timer("token", self.time_out)\n\n    def hand_over',
            "            pass\n\n    def hand_over",
            Cluster(2, 1, crashes=1),
        ),
    ),
    *of(
        "mizuno-neilsen-rao",
        breaks(
            "starvation",
            "            self.pass_on_requests_of((j,))\n",
            "            pass\n",
            Cluster(4, 1),
        ),
        breaks(
            "starvation",
            "        self.pass_on_requests_of(self.members)\n",
            "",
            Cluster(3, 1, "plane"),
        ),
        breaks(
            "starvation",
            "            self.holder = self.first_holder\n",
            "            self.holder = 0\n",
            Cluster(4, 1),
        ),
        breaks(
            "starvation",
            "            self.pass_on_requests_of((self.me,))\n",
            "            pass\n",
            Cluster(3, 1, "plane"),
        ),
        breaks(
            "starvation",
            "                self.send(j, Acquired(message.granted))\n",
            "                pass\n",
            Cluster(3, 1, "plane"),
        ),
        breaks(
            "remote error",
            "        if sum(message.granted) < sum(self.granted):\n"
            "            return  # overtaken by a later one\n",
            "",
            Cluster(3, 2, "plane"),
        ),
        breaks(
            "starvation",
            "            self.serve_if_idle()\n\n    def receive_requests",
            "            pass\n\n    def receive_requests",
        ),
        breaks(
            "invariant",
            "        if not self.requesting:\n            assert",
            "        if True:\n            assert",
        ),
        harmless(
            "the holder is told more often than need be",
            "            self.holder = 0\n\n    def unknown",
            "\n    def unknown",
            Cluster(3, 1, "plane"),
        ),
    ),
    *of(
        "nishio-li-manning",
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
    ),
    *of(
        "chaudhuri-91",
        breaks(
            "deadlock",
            "(1, *(0,) * (self.mesh.rows - 1))",
            "(0,) * self.mesh.rows",
            THREE_TWICE,
        ),
        breaks("starvation", "            self.passed = 1\n", "", THREE_TWICE),
        breaks(
            "starvation",
            "            self.look_again()\n        elif self.gate",
            "            pass\n        elif self.gate",
        ),
        breaks(
            "deadlock",
            "        if self.asked >= self.passed:\n            self.call()\n",
            "",
            Cluster(4, 2),
        ),
        breaks(
            "starvation",
            "        self.asked = max(self.asked, privilege.wanted)\n",
            "",
            Cluster(9, (1, 0, 1, 0, 0, 0, 0, 1, 0)),
        ),
        breaks("starvation", "if self.passed > self.left:", "if False:", THREE),
        breaks(
            "starvation",
            "            self.pass_down(call)\n        else:",
            "            pass\n        else:",
            Cluster(9, (1, 0, 0, 1, 1, 0, 1, 0, 0)),
        ),
        breaks(
            "starvation",
            "            self.pass_down(message)\n",
            "            pass\n",
            Cluster(9, (1, 0, 0, 1, 1, 0, 1, 0, 0)),
        ),
        breaks(
            "deadlock",
            "return queued(privilege, [Call(row, seen, q) for (seen, row), q in calls])",
            "return privilege",
            Cluster(4, 2),
        ),
        breaks("starvation", "queued(privilege, self.notes)", "privilege", THREE),
        breaks(
            "deadlock",
            "self.home, self.left = False, self.passed",
            "self.left = self.passed",
            THREE,
        ),
        breaks(
            "exclusion",
            "        self.privilege = None\n        self.send(self.mesh.right",
            "        self.send(self.mesh.right",
        ),
        breaks(
            "deadlock",
            "        elif self.asked >= self.passed:\n"
            "            self.begin_round(self.privilege)\n",
            "",
        ),
        harmless(
            "each note is held against the rounds again, and has been answered",
            "        self.notes = ()\n",
            "",
            Cluster(4, 1),
        ),
    ),
    *of(
        "ricart-agrawala-implicit",
        breaks("exclusion", "            self.send(j, DEFERRED)\n", ""),
        breaks(
            "exclusion",
            "        self.outstanding_reply_count = self.unsettled.bit_count()\n",
            "        self.outstanding_reply_count = 0\n",
        ),
        breaks(
            "deadlock",
            "        self.outstanding_reply_count = self.unsettled.bit_count()\n",
            "",
        ),
        breaks(
            "exclusion",
            "        self.highest_sequence_number = max(self.highest_sequence_number, k)\n",
            "",
        ),
        breaks(
            "deadlock",
            "        self.unsettled ^= 1 << j\n        if not self.listening:\n",
            "        if not self.listening:\n",
        ),
        breaks("deadlock", "            self.reply_deferred |= 1 << j\n", ""),
    ),
    *of(
        "ricart-agrawala-implicit-broadcast",
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
    ),
    *of(
        "ricart-agrawala-delaying",
        breaks(
            "deadlock",
            "        super().receive_request(j, Request(k))\n",
            "        pass\n",
        ),
        breaks("deadlock", 'self.set_timer("act", self.patience)', "pass"),
        breaks(
            "invariant",
            "        self.delayed = tuple(sorted((*self.delayed, (k, j))))\n",
            "",
        ),
        breaks("remote error", "if any(sender == j for", "if any(sender != j for", THREE),
        breaks(
            "invariant",
            '        if not rest:\n            self.cancel_timer("act")\n',
            "",
            Cluster(2, (3, 1)),
        ),
        breaks(
            "deadlock",
            "        while self.delayed:\n            self.act_on_first()\n",
            "        self.act_on_first()\n",
            THREE,
        ),
        harmless(
            "it acts late on that request, as on a network that is slow for it",
            "while self.delayed and not self.still_first(*self.delayed[0]):",
            "while False:",
            Cluster(2, (3, 1)),
        ),
    ),
    *of(
        "ricart-agrawala-insertion",
        breaks(
            "exclusion",
            "        self.awaiting = self.the_others & ~self.included\n",
            "        self.awaiting = 0\n",
            BACK,
        ),
        breaks(
            "exclusion",
            "        self.awaiting = self.the_others & ~self.included\n",
            "        self.awaiting = self.the_others\n",
            BACK,
        ),
        breaks(
            "exclusion",
            "            self.highest_sequence_number, message.sequence_number\n        )\n"
            "        if self.standing is Standing.SETTLING and message.count",
            "            self.highest_sequence_number, 0\n        )\n"
            "        if self.standing is Standing.SETTLING and message.count",
            BACK,
        ),
        breaks(
            "exclusion",
            "        self.names |= bits(message.names)\n        self.insertions",
            "        self.insertions",
            BACK,
        ),
        breaks(
            "exclusion",
            "(self.our_sequence_number, self.me) < (k, j)",
            "self.our_sequence_number < k",
        ),
        breaks(
            "exclusion",
            "if self.requesting and not self.holding and current:",
            "if self.requesting and not self.holding:",
        ),
    ),
    *of(
        "raymond-echo",
        breaks(
            "remote error",
            "if message.wave > self.wave:\n            self.join(message.wave, j)",
            "if message.wave < self.wave:\n            self.join(message.wave, j)",
            LINE,
        ),
        breaks(
            "remote error",
            "        elif message.wave == self.wave:\n            self.answered(j)",
            "        else:\n            self.answered(j)",
            THREE,
        ),
        breaks("exclusion", "        if self.awaited:\n            return\n", "", LINE),
        breaks("deadlock", "self.send(self.holder, Echo(self.wave))", "pass", LINE),
        breaks(
            "exclusion",
            "        if self.initialized:\n            super().assign",
            "        if True:\n            super().assign",
            LINE,
        ),
        breaks("deadlock", "            self.children |= 1 << j\n", "", LINE),
        breaks("deadlock", "self.send(j, Initialize())", "pass", LINE),
        breaks(
            "deadlock",
            "self.wave, self.holder, self.children = wave, came_from, 0",
            "self.wave, self.children = wave, 0",
            LINE,
        ),
    ),
    *of(
        "maekawa-relinquish",
        breaks(
            "remote error",
            "if not self.inside and self.locked_members",
            "if self.locked_members",
            TRIANGLE,
        ),
        breaks(
            "deadlock", "if request < locking and not self.inquired:", "if False:", MESH
        ),
        breaks(
            "starvation",
            "if request < locking and not self.inquired:",
            "if request > locking and not self.inquired:",
            MESH,
        ),
        breaks(
            "deadlock",
            "        self.waiting_queue = tuple(sorted((*self.waiting_queue, request)))\n"
            "        if",
            "        if",
            MESH,
        ),
        breaks("remote error", "            self.inquired = True\n", "", TRIANGLE),
        breaks("remote error", "        self.locked_members ^= 1 << member\n", "", MESH),
        breaks(
            "deadlock",
            "            self.relinquish(sender)\n\n    def let_wait",
            "            pass\n\n    def let_wait",
            MESH,
        ),
        harmless(
            "the second question reaches a node that has relinquished, and is ignored",
            "if request < locking and not self.inquired:",
            "if request < locking:",
            TRIANGLE,
        ),
    ),
    *of(
        "suzuki-kasami-by-number",
        breaks("starvation", "return queue + tuple(sorted(", "return tuple(sorted(", THREE),
        breaks("deadlock", "return queue + tuple(sorted(", "return queue and (sorted("),
        breaks("deadlock", "[len(queue) :]", "[len(queue) + 1 :]"),
        breaks("exclusion", "            self.privilege = None\n", ""),
        breaks(
            "invariant",
            "self.requested[j - 1] == self.after(granted[j - 1]) and j not in queue",
            "j not in queue",
        ),
        breaks(
            "invariant",
            "        granted = replaced(self.privilege.granted, self.me, number)\n",
            "        granted = self.privilege.granted\n",
        ),
    ),
    *of(
        "raymond-piggyback",
        breaks("starvation", "            self.asked = bool(self.request_q)\n", "", LINE),
        breaks(
            "deadlock", "PRIVILEGE_REQUEST if self.asked else PRIVILEGE", "PRIVILEGE", LINE
        ),
        breaks(
            "remote error", "PRIVILEGE_REQUEST if self.asked else", "PRIVILEGE_REQUEST or"
        ),
        breaks(
            "deadlock",
            "        self.request_q += (sender,)\n        self.receive_privilege",
            "        self.receive_privilege",
            LINE,
        ),
        breaks(
            "remote error",
            "if self.request_q and not self.asked:",
            "if self.request_q:",
            LINE,
        ),
        breaks(
            "exclusion", "elif self.request_q and not self.using:", "elif self.request_q:"
        ),
        breaks("deadlock", "self.send(self.holder, REQUEST)", "pass"),
    ),
    *of(
        "agrawal-el-abbadi-trees",
        breaks(
            "exclusion",
            "if self.permitted_by == self.asked and not self.inside",
            "if self.permitted_by and not self.inside",
        ),
        breaks("deadlock", "            self.tell(self.permitted[1], Inquire())\n", ""),
        breaks(
            "exclusion",
            "down, cast(Tree, self.topology))",
            "down, cast(Tree, self.topology))[1:]",
            THREE,
        ),
        breaks(
            "deadlock",
            "            self.tell(member, Relinquish())\n",
            "            pass\n",
        ),
        breaks(
            "exclusion",
            "len(self.members), down, cast(Tree, self.topology))",
            "len(self.members), down, cast(Tree, self.topology)) and (self.me,)",
        ),
        breaks(
            "exclusion",
            "            self.asked ^= 1 << node\n            self.ask_a_quorum()\n",
            "            self.asked ^= 1 << node\n",
            Cluster(3, 1, crashes=1),
        ),
    ),
    *of(
        "mishra-srimani-bounded",
        *CHECKS,
    ),
    *of(
        "srimani-reddy-bounded",
        breaks(
            "deadlock",
            "            self.spare = tuple(sorted((*self.spare, recorded)))\n",
            "            pass\n",
            THREE,
        ),
        breaks(
            "deadlock",
            "        return 1 <= ahead <= self.limit + 1\n\n\nENTRIES",
            "        return False\n\n\nENTRIES",
            THREE,
        ),
        breaks(
            "exclusion",
            "            self.spare = tuple(rest)\n            self.queue = ()",
            "            self.queue = ()",
            THREE,
        ),
        breaks(
            "exclusion",
            "            self.spare = tuple(rest)\n            self.hand_on((), recorded)",
            "            self.hand_on((), recorded)",
            THREE,
        ),
        breaks("invariant", "2 * self.limit + 3", "self.limit + 1", A_ROUND),
    ),
    *of(
        "ricart-agrawala-broadcast-ordered",
        breaks(
            "exclusion",
            "if self.queue[:1] == (self.me,) and",
            "if self.me in self.queue and",
        ),
        breaks(
            "exclusion", "self.queue = (*self.queue, j)", "self.queue = (j, *self.queue)"
        ),
        breaks("remote error", "        self.broadcast(REPLY)\n", ""),
        breaks(
            "exclusion",
            "self.queue = self.queue[1:]  #",
            "#",
        ),
        breaks(
            "deadlock",
            "        self.queue = (*self.queue, j)\n        self.enter_if_first()\n",
            "        self.queue = (*self.queue, j)\n",
        ),
        breaks(
            "starvation",
            "if other != j)\n        self.enter_if_first()\n",
            "if other != j)\n",
        ),
        breaks(
            "remote error",
            "        if j == self.me:\n            return  # the medium has carried it\n",
            "",
        ),
        breaks("exclusion", " and not self.inside:", ":", THREE),
    ),
    *of(
        "naimi-trehel-failures",
        breaks(
            "exclusion",
            "            self.be_root()\n        else:\n            self.queried = True\n",
            "            pass\n        else:\n            self.queried = True\n",
            Cluster(3, 1, crashes=1),
        ),
        breaks(
            "remote error",
            "if message.epoch == self.epoch:",
            "if True:",
            Cluster(3, 2, crashes=1),
        ),
        breaks(
            "deadlock",
            "            self.stop()\n            self.ask()\n",
            "            self.stop()\n",
            Cluster(3, 1, crashes=1),
        ),
        breaks(
            "invariant",
            "self.last, self.next, self.queried = epoch[1], 0, False",
            "self.next, self.queried = 0, False",
            Cluster(3, 2, crashes=1),
        ),
        breaks(
            "invariant",
            "self.last, self.next, self.queried = self.me, 0, False",
            "self.last, self.queried = self.me, False",
            Cluster(3, 2, crashes=1),
        ),
        breaks(
            "deadlock",
            '        self.last = self.me\n        self.set_timer("wait", self.t_wait)\n',
            "        self.last = self.me\n",
            Cluster(2, 1, crashes=1),
        ),
        breaks(
            "starvation",
            '        self.stop()\n        self.set_timer("wait", self.t_wait)\n',
            "        self.stop()\n",
            Cluster(3, 1, crashes=1),
        ),
        breaks(
            "deadlock",
            '        self.set_timer("elec", self.t_elec)\n',
            "",
            Cluster(2, 1, crashes=1),
        ),
        breaks(
            "exclusion",
            "        self.stop()\n        super().receive_token(sender, message)\n",
            "        super().receive_token(sender, message)\n",
        ),
        breaks(
            "exclusion",
            "self.inquire(State.CONSULTING, Consult())",
            "self.inquire(State.CANDIDATE, Election())",
        ),
        breaks(
            "exclusion",
            "            self.queried = True\n",
            "            pass\n",
            Cluster(4, 1, crashes=1),
        ),
    ),
    *of(
        "chaudhuri-95",
        breaks(
            "deadlock",
            "            if row != self.row:\n",
            "            if row == 0 != self.row:\n",
            Cluster(4, 1),
        ),
        breaks(
            "starvation",
            "            self.asked = max(self.asked, message.round)\n",
            "",
            Cluster(9, (0, 1, 2, 0, 0, 0, 0, 1, 0)),
        ),
        breaks(
            "starvation",
            "        if right != origin:\n",
            "        if False:\n",
            Cluster(9, (0, 1, 2, 0, 0, 0, 0, 1, 0)),
        ),
        breaks("deadlock", "        super().leave(privilege)\n", "", THREE),
        breaks("starvation", "        super().note(call)\n", "", THREE),
        breaks("starvation", "if self.home or self.gate >= 0:", "if self.gate >= 0:"),
        breaks(
            "deadlock", "if self.home or self.gate >= 0:", "if self.home:", Cluster(4, 1)
        ),
        breaks(
            "starvation",
            "self.mesh.at(*privilege.queue[0])",
            "self.mesh.at(privilege.queue[0][0], 0)",
            Cluster(9, (1, 0, 1, 0, 0, 0, 0, 1, 0)),
        ),
        harmless(
            "a REQUEST that does not find the gate looks for it along the row",
            "        self.front = self.mesh.at(self.row, column)\n",
            "        pass\n",
            Cluster(9, (1, 0, 1, 0, 0, 0, 0, 1, 0)),
        ),
    ),
    *of(
        "chaudhuri-karaata",
        breaks("exclusion", "        self.permitted = node\n", ""),
        breaks("deadlock", "        self.permitted = 0\n", ""),
        breaks(
            "starvation",
            "        self.permitted = 0\n        self.serve_next()\n",
            "        self.permitted = 0\n",
        ),
        breaks("exclusion", "not self.permitted and self.queue:", "self.queue:"),
        breaks("exclusion", "            self.queue = tuple(rest)\n", ""),
        breaks(
            "starvation",
            "self.me, False\n        self.serve_next()\n",
            "self.me, False\n",
            Cluster(5, 1),
        ),
        breaks(
            "deadlock",
            "self.holder, self.asked = self.me, False",
            "self.holder = self.me",
            Cluster(5, 2),
        ),
        breaks("exclusion", "            self.holder = node\n", "", Cluster(5, 1)),
        breaks(
            "remote error",
            "if self.holder != self.me and self.queue and not self.asked:",
            "if self.holder != self.me and self.queue:",
            Cluster(6, 1),
        ),
        breaks(
            "starvation",
            "self.queue += (node,)",
            "self.queue = (node, *self.queue)",
            FOR_EVER,
        ),
        breaks(
            "remote error",
            "self.towards(message.to, message)",
            "self.towards(self.corner, message)",
            Cluster(4, 1),
        ),
    ),
    *of(
        "ricart-agrawala-failures",
        breaks(
            "exclusion",
            "if self.requesting and not self.holding and current:",
            "if self.requesting and not self.holding:",
        ),
        breaks(
            "exclusion",
            "(self.our_sequence_number, self.me) < (k, j)",
            "self.our_sequence_number < k",
        ),
        breaks(
            "deadlock",
            "        elif waited_for:\n            self.wait_on()\n",
            "",
            Cluster(2, 1, crashes=1, for_good=True),
        ),
        breaks(
            "exclusion",
            "if (j, k) in self.reply_deferred or (",
            "if (",
        ),
        breaks(
            "deadlock",
            '                self.set_timer("probe", self.time_for_answers)\n',
            "",
            Cluster(2, 1, crashes=1, for_good=True),
        ),
        breaks(
            "deadlock",
            '            self.set_timer("reply", self.time_out)\n',
            "",
            Cluster(2, 1, crashes=1, for_good=True),
        ),
        breaks(
            "deadlock",
            '        self.set_timer("restart", self.restart_interval)\n',
            "",
            Cluster(2, 1, crashes=1),
        ),
        breaks(
            "exclusion",
            "            self.ask(self.the_others, AskHighest())\n",
            "            self.settle()\n",
            Cluster(3, 1, crashes=1),
        ),
        breaks(
            "deadlock",
            "            self.join()\n        elif self.standing is Standing.SETTLING:\n",
            "            pass\n        elif self.standing is Standing.SETTLING:\n",
            Cluster(3, (0, 0, 1), crashes=2),
        ),
    ),
    *of(
        "maekawa-takeover",
        breaks(
            "deadlock", "        self.lock_next(message.seat, seat)\n", "        pass\n"
        ),
        breaks(
            "remote error",
            "seat = seat._replace(locking=request)",
            "seat = with_waiting(seat, request)",
            Cluster(3, 1, crashes=1),
        ),
        breaks(
            "deadlock",
            "            self.report(seat)\n",
            "            pass\n",
            Cluster(3, 1, crashes=1),
        ),
        breaks(
            "deadlock",
            "            self.lock_next(number, then)\n",
            "            pass\n",
            Cluster(3, 1, crashes=1),
        ),
        breaks(
            "deadlock",
            "unreported = seat.unreported & ~(1 << node)",
            "unreported = seat.unreported",
            Cluster(3, 1, crashes=1),
        ),
        breaks(
            "remote error",
            "return Seat(unreported=whose & ~self.lost)",
            "return Seat()",
            Cluster(3, 1, crashes=1),
        ),
    ),
    *of(
        "raymond-recovery",
        breaks(
            "remote error",
            "        if not self.unadvised >> sender & 1:\n"
            "            super().receive_request(sender, message)\n",
            "        super().receive_request(sender, message)\n",
            Cluster(2, 2, crashes=1),
        ),
        breaks(
            "deadlock",
            "            self.request_q += (j,)\n",
            "            pass\n",
            Cluster(2, 1, crashes=1),
        ),
        breaks(
            "remote error",
            "self.found, self.holder, self.asked = True, j, queued",
            "self.found, self.holder = True, j",
            Cluster(2, 2, crashes=1),
        ),
        breaks(
            "exclusion",
            "        if not self.unadvised:\n            super().assign",
            "        if True:\n            super().assign",
            Cluster(2, 2, crashes=1),
        ),
        breaks(
            "exclusion",
            "if not message.yours or (both_point and j < self.me):",
            "if not message.yours:",
            Cluster(2, 1, crashes=2),
        ),
        breaks(
            "deadlock",
            "(both_point and j < self.me)",
            "both_point",
            Cluster(2, 1, crashes=2),
        ),
        breaks(
            "deadlock",
            "self.holder, self.resting = self.me, True",
            "self.resting = True",
            Cluster(2, 2, crashes=1),
        ),
        breaks(
            "deadlock",
            "            self.send(j, Restart(True))\n",
            "",
            Cluster(3, (0, 1, 1), crashes=3),
        ),
        breaks(
            "deadlock",
            "        for j in nodes_in(recovering):\n            self.advise(j)\n",
            "",
            Cluster(3, 1, crashes=2),
        ),
    ),
    *of(
        "mishra-srimani-coordinator",
        breaks(
            "invariant",
            "            self.coordinator = queue[0]\n",
            "            pass\n",
            THREE,
        ),
        breaks(
            "starvation",
            "        if found:\n            self.ask()\n",
            "",
            Cluster(3, None, crashes=1),
        ),
        breaks(
            "deadlock",
            '        self.ask()\n        self.set_timer("token", self.time_out)\n',
            "        self.ask()\n",
            Cluster(2, 1, crashes=1),
        ),
        breaks(
            "invariant",
            "        if self.found:\n            self.broadcast(FalseAlarm())\n",
            "        if False:\n            pass\n",
        ),
        breaks(
            "exclusion",
            "        if self.privilege is not None or self.expected:\n",
            "        if self.expected:\n",
        ),
        harmless(
            "whose REQUEST is lost times out, finds the coordinator and asks it",
            "            self.send(self.coordinator, message)\n",
            "            pass\n",
            THREE,
        ),
    ),
)
