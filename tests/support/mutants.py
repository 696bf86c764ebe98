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


def breaks(verdict: str, old: str, new: str, cluster: Cluster = PAIR) -> Mutant:
    return Mutant("", old, new, verdict, cluster)


def harmless(reason: str, old: str, new: str, cluster: Cluster = PAIR) -> Mutant:
    return Mutant("", old, new, cluster=cluster, harmless=reason)
