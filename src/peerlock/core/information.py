"""Information structures: whom a node asks, and whom it tells that it has left.

B. A. Sanders, "The Information Structure of Distributed Mutual Exclusion Algorithms",
1987: node i asks the nodes of its request set R_i and informs those of its informing set
I_i when it leaves.  So node k knows of the nodes in its status set, those that inform it,
whether they are inside.  Ricart and Agrawala's algorithm and Maekawa's are two extremes:
ask all and inform nobody else, or ask few and inform the same.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from itertools import combinations

from peerlock.core.peer import NodeId
from peerlock.core.quorums import Quorum, QuorumSystem, plane


@dataclass(frozen=True)
class InformationStructure:
    """Nodes are 1..N; `informing[i - 1]` is I_i and `request[i - 1]` is R_i, ascending."""

    kind: str
    informing: tuple[Quorum, ...]
    request: tuple[Quorum, ...]

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
        """What an entry that nobody contests costs: REQUESTs, permissions, RELEASEs."""
        informed = set(self.informing_set(node)) - {node}
        asked = set(self.request_set(node)) - {node}
        return len(informed) + 2 * len(asked)

    @cached_property
    def excluding(self) -> bool:
        """Of any two nodes one learns of the other in time.

        Whoever is informed was asked; and any two nodes inform a common third one, or each
        asks the other and knows about itself.
        """
        asked_first = all(
            set(informed) <= set(asked)
            for informed, asked in zip(self.informing, self.request, strict=True)
        )
        pairs = combinations(range(1, self.nodes + 1), 2)
        return asked_first and all(self._meet(i, j) for i, j in pairs)

    def _meet(self, i: NodeId, j: NodeId) -> bool:
        if set(self.informing_set(i)) & set(self.informing_set(j)):
            return True
        ask_each_other = j in self.request_set(i) and i in self.request_set(j)
        know_themselves = i in self.informing_set(i) and j in self.informing_set(j)
        return ask_each_other and know_themselves


@lru_cache
def ricart_agrawala(n: int) -> InformationStructure:
    """I_i = {i}, R_i all nodes."""
    members = tuple(range(1, n + 1))
    alone = tuple((i,) for i in members)
    return InformationStructure("ricart-agrawala", alone, (members,) * n)


@lru_cache
def maekawa(quorums: QuorumSystem) -> InformationStructure:
    """I_i = R_i = S_i."""
    return InformationStructure("maekawa", quorums.quorums, quorums.quorums)


KINDS: Mapping[str, Callable[[int], InformationStructure]] = {
    "ricart-agrawala": ricart_agrawala,
    "maekawa": lambda n: maekawa(plane(n)),
}
