"""How many messages a grant takes: all algorithms that serve locks, side by side.

    python -m bench.messages [--grants 20000] [--seed 1] [NAME…]

The nodes are those that run in processes, and a seeded loop takes the place of network and
programs: at each step a random link delivers its oldest batch, or a random process has its
turn, or its only user acquires a random name or releases what it holds.  Every process has
used every name before the messages are counted, and no name is given back.  So a seed gives
the same figures on every machine.  Batches are counted, too: messages to the same process
that are sent in one go share a system call.
"""

from __future__ import annotations

import argparse
from collections import deque
from collections.abc import Callable
from random import Random
from typing import NamedTuple

from peerlock.algorithms.catalogue import CATALOGUE
from peerlock.cli.ending import end_with
from peerlock.node.node import Node
from peerlock.node.terms import LOCK, Demand, demand
from peerlock.node.views import Member, View
from peerlock.node.waiters import State, Waiter
from peerlock.node.wire import Batch

PROCESSES = 8
NAMES = 64
RESERVED = 1 << 20  # fences for as many grants as are counted

LOCKS = tuple(entry.name for entry in CATALOGUE if "lock" in entry.serves)


class Cost(NamedTuple):
    """Of a grant."""

    messages: float
    batches: float


class Cluster:
    """Nodes, the links between them, and a user of each."""

    def __init__(self, processes: int, wanted: Demand, seed: int) -> None:
        self.random = Random(seed)
        self.batches = 0
        self._wanted = wanted
        self._links: dict[tuple[int, int], deque[Batch]] = {}
        self._users: dict[int, Waiter] = {}
        self.nodes = {i: Node(lambda: 0.0) for i in range(1, processes + 1)}
        view = View(processes, tuple(Member(i, f"at {i}", i) for i in self.nodes))
        for i, node in self.nodes.items():
            node.see(view, me=i)
            node.reserved(RESERVED, view.number)
        self.settle()

    @property
    def grants(self) -> int:
        return sum(node.statistics.grants for node in self.nodes.values())

    @property
    def messages(self) -> int:
        return sum(node.statistics.messages.total() for node in self.nodes.values())

    def settle(self) -> None:
        while steps := self._steps():
            self.random.choice(steps)()
            self._send()

    def open(self, names: list[str]) -> None:
        """Every process uses every name once."""
        for name in names:
            for i in self.nodes:
                self._acquire(i, name)
            self._send()
            while any(user.state is State.WAITING for user in self._users.values()):
                self.settle()
                self._release_all()
            self._release_all()
        self.settle()

    def use(self, names: list[str], grants: int) -> None:
        """A random name, again and again, by the user of each process."""
        end = self.grants + grants
        while self.grants < end:
            users = [lambda i=i: self._next(i, names) for i in self._ready()]
            self.random.choice([*self._steps(), *users])()
            self._send()

    def _ready(self) -> list[int]:
        waiting = (i for i, user in self._users.items() if user.state is State.WAITING)
        return sorted({*self.nodes} - {*waiting})

    def _steps(self) -> list[Callable[[], None]]:
        turns = [node.turn for node in self.nodes.values() if node.wants_turn]
        return turns + [lambda link=link: self._deliver(*link) for link in self._links]

    def _deliver(self, sender: int, to: int) -> None:
        batches = self._links[sender, to]
        batch = batches.popleft()
        if not batches:
            del self._links[sender, to]
        self.nodes[to].receive(sender, batch)

    def _send(self) -> None:
        for i, node in self.nodes.items():
            for to, batch in node.drain():
                self._links.setdefault((i, to), deque()).append(batch)
                self.batches += 1

    def _next(self, i: int, names: list[str]) -> None:
        user = self._users.get(i)
        if user is not None and user.state is State.HOLDING:
            self.nodes[i].release(user)
        else:
            self._acquire(i, self.random.choice(names))

    def _acquire(self, i: int, name: str) -> None:
        user = self._users[i] = Waiter(self._wanted)
        self.nodes[i].acquire(name, user)

    def _release_all(self) -> None:
        for i, user in self._users.items():
            if user.state is State.HOLDING:
                self.nodes[i].release(user)
        self._send()


def cost(algorithm: str, processes: int, names: int, grants: int, seed: int = 1) -> Cost:
    """Of a grant, when each process uses names at random."""
    cluster = Cluster(processes, demand(algorithm), seed)
    called = [f"name-{i}" for i in range(names)]
    cluster.open(called)
    messages, batches, before = cluster.messages, cluster.batches, cluster.grants
    cluster.use(called, grants)
    taken = cluster.grants - before
    return Cost((cluster.messages - messages) / taken, (cluster.batches - batches) / taken)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--grants", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("algorithms", nargs="*", metavar="NAME", default=LOCKS)
    options = parser.parse_args()
    rows = {}
    for name in options.algorithms:
        many = cost(name, PROCESSES, NAMES, options.grants, options.seed)
        one = cost(name, PROCESSES, 1, options.grants, options.seed)
        rows[name] = (many, one)
    print(f"| algorithm | {NAMES} names: messages | batches | one name: messages |")
    print("| --- | ---: | ---: | ---: |")
    for name, (many, one) in sorted(rows.items(), key=lambda row: row[1]):
        mark = " (default)" if name == LOCK else ""
        figures = f"{many.messages:.2f} | {many.batches:.2f} | {one.messages:.2f}"
        print(f"| `{name}`{mark} | {figures} |")


if __name__ == "__main__":
    end_with(main)
