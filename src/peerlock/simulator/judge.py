"""The judge is outside the algorithm and sees only requests, grants and releases."""

from __future__ import annotations

from peerlock.core.demands import Demand, Permits, Rule
from peerlock.core.peer import NodeId, listed
from peerlock.simulator.violation import Violation


class Judge:
    """Checks exclusion, growing fences, and that no waiter is forgotten.

    The rule says which requests may be inside together: one at a time by default.  The
    fence of an entry is above that of every earlier entry that it excludes: a reader's
    above every earlier writer's, and a writer's above all.  A node that crashes loses what
    it knew, so fences are not checked where nodes crash.
    """

    def __init__(self, rule: Rule | None = None, fences: bool = True) -> None:
        self.rule = rule or Permits()
        self.fences = fences
        self.waiting: set[NodeId] = set()
        self.inside: set[NodeId] = set()
        self.demands: dict[NodeId, Demand] = {}  # of those that wait or are inside
        demands, together = self.rule.demands, self.rule.together
        self._plain = demands[0]
        self._bars = dict.fromkeys(demands, 0)  # the fence that is to be exceeded
        self._rivals = {
            one: [other for other in demands if not together((one, other))]
            for one in demands
        }

    def requested(self, node: NodeId, demand: Demand = None) -> None:
        """For the rule's first demand, unless told otherwise."""
        self.waiting.add(node)
        self.demands[node] = self._plain if demand is None else demand

    def granted(self, node: NodeId, fence: int) -> None:
        inside = self.inside
        if node not in self.waiting:
            raise Violation(node, f"{node} enters without having asked")
        self.waiting.remove(node)
        inside.add(node)
        if len(inside) > 1 and not self.rule.together([self.demands[j] for j in inside]):
            raise Violation(node, f"{listed(inside)} are inside together")
        if self.fences:
            bars, demand = self._bars, self.demands[node]
            if fence <= bars[demand]:
                raise Violation(node, f"{node}'s fence {fence} follows {bars[demand]}")
            for rival in self._rivals[demand]:
                if fence > bars[rival]:
                    bars[rival] = fence

    def left(self, node: NodeId) -> None:
        self.inside.remove(node)
        del self.demands[node]

    def crashed(self, node: NodeId) -> None:
        self.waiting.discard(node)
        self.inside.discard(node)
        self.demands.pop(node, None)

    def at_rest(self) -> None:
        """Nothing more can happen by itself."""
        if self.waiting:
            waits = "waits" if len(self.waiting) == 1 else "wait"
            raise Violation(
                min(self.waiting),
                f"deadlock: {listed(self.waiting)} {waits}, and nothing more can happen",
            )

    def no_progress(self, events: int) -> None:
        """No node has entered for this many events."""
        if self.waiting and not self.inside:
            raise Violation(
                min(self.waiting),
                f"{listed(self.waiting)} waited through {events:,} events, "
                "and no node entered",
            )
