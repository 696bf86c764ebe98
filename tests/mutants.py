"""Small errors, put into the algorithms on purpose; the checker must notice each one.

A mutant is its algorithm's file with one passage replaced.  `cluster` is a small cluster
in which it is caught.  Where a change can do no harm, `harmless` says why.
"""

from __future__ import annotations

import inspect
import sys
from dataclasses import dataclass, replace
from types import ModuleType

from peerlock.algorithms.catalogue import Algorithm, algorithm
from peerlock.checker.model import Model, Network
from peerlock.core.peer import Peer


@dataclass(frozen=True)
class Cluster:
    nodes: int
    requests: int | None  # by each node; None is without end
    quorums: str | None = None


PAIR = Cluster(2, 2)
THREE = Cluster(3, 1)
THREE_TWICE = Cluster(3, 2)
GRID = Cluster(4, 1, "grid")
FOR_EVER = Cluster(3, None)


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
        settings = entry.settings(cluster.nodes, cluster.quorums)
        asked = cluster.requests
        return Model(
            name=str(self),
            make=lambda node: peer(node, members, **settings),
            nodes=cluster.nodes,
            requests=None if asked is None else (asked,) * cluster.nodes,
            network=Network(fifo=entry.fifo),
        )


def mutated(entry: Algorithm, old: str, new: str) -> type[Peer]:
    """The algorithm's class, from its file with `old` replaced by `new`."""
    source = inspect.getsource(sys.modules[entry.peer.__module__])
    assert source.count(old) == 1, f"{old!r} occurs {source.count(old)} times"
    module = ModuleType(f"mutant of {entry.peer.__module__}")
    sys.modules[module.__name__] = module  # where dataclasses look types up
    exec(compile(source.replace(old, new), module.__name__, "exec"), module.__dict__)
    peer: type[Peer] = getattr(module, entry.peer.__name__)
    return peer


def of(name: str, *mutants: Mutant) -> tuple[Mutant, ...]:
    return tuple(replace(mutant, algorithm=name) for mutant in mutants)


def breaks(verdict: str, old: str, new: str, cluster: Cluster = PAIR) -> Mutant:
    return Mutant("", old, new, verdict, cluster)


def harmless(reason: str, old: str, new: str, cluster: Cluster = PAIR) -> Mutant:
    return Mutant("", old, new, cluster=cluster, harmless=reason)


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
        breaks("deadlock", "self.overtaken(before[0][1])", "pass", GRID),
        breaks("deadlock", "self.tell(self.locking[1], Inquire())", "pass", THREE),
        breaks(
            "deadlock",
            "        for member in nodes_in(self.inquiring_members):\n"
            "            self.relinquish(member)\n",
            "",
            GRID,
        ),
        breaks(
            "invariant",
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
            "self.requested[j - 1] == granted[j - 1] + 1 and",
            "self.requested[j - 1] > granted[j - 1] + 1 and",
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
)
