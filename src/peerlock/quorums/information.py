"""Information structures: which nodes a node asks, and which it informs after leaving.

B. A. Sanders, "The Information Structure of Distributed Mutual Exclusion Algorithms",
1987: node i asks the nodes of its request set R_i and informs those of its informing set
I_i when it leaves.  So node k knows of the nodes in its status set, those that inform it,
whether they are inside.  Ricart and Agrawala's algorithm and Maekawa's are two extremes:
ask all and inform no other node, or ask few and inform the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from itertools import combinations

from peerlock.core.bits import Nodes, bits
from peerlock.core.peer import NodeId
from peerlock.quorums.agreements import entries
from peerlock.quorums.constructions import Quorum, QuorumSystem, plane


@dataclass(frozen=True)
class InformationStructure:
    """Nodes are 1..N; `informing[i - 1]` is I_i and `request[i - 1]` is R_i, ascending."""

    kind: str
    informing: tuple[Quorum, ...]
    request: tuple[Quorum, ...]

    # What an entry takes, where more is known of that than follows from the sets.
    known_entry: QuorumSystem | None = field(default=None, repr=False, compare=False)

    @property
    def nodes(self) -> int:
        return len(self.request)

    def informing_set(self, node: NodeId) -> Quorum:
        return self.informing[node - 1]

    def request_set(self, node: NodeId) -> Quorum:
        return self.request[node - 1]

    def status_set(self, node: NodeId) -> Quorum:
        """The nodes that `node` is informed by."""
        return tuple(j for j, informed in enumerate(self.informing, 1) if node in informed)

    def messages(self, node: NodeId) -> int:
        """The cost of an entry without contention: REQUESTs, permissions, RELEASEs."""
        informed = set(self.informing_set(node)) - {node}
        asked = set(self.request_set(node)) - {node}
        return len(informed) + 2 * len(asked)

    @cached_property
    def excluding(self) -> bool:
        """Of any two nodes one learns of the other in time.

        Each node that is informed was asked; and any two nodes inform a common third one,
        or each asks the other and knows about itself.
        """
        return self.asked_first and self.learning

    @cached_property
    def asked_first(self) -> bool:
        """Each node that is informed was asked."""
        sets = zip(self.informing, self.request, strict=True)
        return all(set(informed) <= set(asked) for informed, asked in sets)

    @cached_property
    def learning(self) -> bool:
        """Any two inform a common third, or ask each other and know about themselves."""
        informed = dict(enumerate(map(bits, self.informing), 1))
        asked = dict(enumerate(map(bits, self.request), 1))
        return all(
            informed[i] & informed[j] or _ask_each_other(i, j, informed, asked)
            for i, j in combinations(range(1, self.nodes + 1), 2)
        )

    @cached_property
    def entry(self) -> QuorumSystem:
        """The nodes that must be up for an entry: a request set and an informing set."""
        known = self.known_entry or entries(self.request, self.informing)
        return replace(known, kind=f"sanders:{self.kind}")


def _ask_each_other(
    i: NodeId, j: NodeId, informed: Mapping[NodeId, Nodes], asked: Mapping[NodeId, Nodes]
) -> bool:
    ask_each_other = asked[i] >> j & asked[j] >> i & 1
    know_themselves = informed[i] >> i & informed[j] >> j & 1
    return bool(ask_each_other and know_themselves)


@lru_cache
def ricart_agrawala(n: int) -> InformationStructure:
    """I_i = {i}, R_i all nodes."""
    _require_a_node(n)
    members = tuple(range(1, n + 1))
    alone = tuple((i,) for i in members)
    return InformationStructure("ricart-agrawala", alone, (members,) * n)


@lru_cache
def maekawa(quorums: QuorumSystem) -> InformationStructure:
    """I_i = R_i = S_i."""
    return InformationStructure("maekawa", quorums.quorums, quorums.quorums, quorums)


KINDS: Mapping[str, Callable[[int], InformationStructure]] = {
    "ricart-agrawala": ricart_agrawala,
    "maekawa": lambda n: maekawa(plane(n)),
}


def _require_a_node(n: int) -> None:
    if n < 1:
        raise ValueError(f"an information structure needs at least one node, not {n}")
