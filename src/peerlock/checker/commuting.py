"""Deliveries that commute with all else, so that one order of them is enough.

In a state in which such a delivery is possible, it is the only step that is searched (a
persistent set of one step).  That is sound because of this argument:

1. The delivery d of a message at node i is *quiet*: it grants nothing, changes neither the
   phase nor the timers, and brings no news of a grant.  If fences are checked, it sends
   nothing either.  So it is independent of each step at another node: that only appends
   messages to what is under way to i.
2. At node i it is compared with each other input x.  First d and then x must lead to the
   same local state as first x and then d.  Each of the two must have the same effects in
   both orders; on FIFO channels, both must not send to the same node.  And d must commute
   again with all that follows x.  So every schedule in which d comes later has a schedule
   with d first that leads to the same state, and from every state d is still possible.
3. Which inputs there are is found out by the search.  An input that is possible before d is
   possible after d, where the search asks the peer about it; whatever is asked there is
   compared before d, too, and counts as asked there.  If it does not commute,
   `Dependent` is raised, that kind of delivery is given up, and the search begins anew.
   So when a search ends, what it has relied on holds for all that can happen.
4. A step must not be put off for ever.  That cannot happen where each step leads to a
   deeper layer; where one does not, `Dependent` gives up all.

A violation of a property is a grant or a failure at one node, or a state in which nothing
happens; a quiet delivery neither causes nor prevents these, so all of them are found.
The path to one need not be a shortest one, and the measures of all schedules are lost.
"""

from __future__ import annotations

from collections import defaultdict
from typing import NamedTuple

from peerlock.checker.sites import Outcome, Phase, Sites, SiteStep


class DeliveryKind(NamedTuple):
    """Deliveries that are relied on together, or given up together."""

    message: str
    phase: Phase
    asks_again: bool


class Dependent(Exception):
    """Deliveries of these kinds do not commute; None: no kind is of use here."""

    def __init__(self, kind: DeliveryKind | None) -> None:
        super().__init__(kind)
        self.kind = kind


class Commuting:
    def __init__(self, sites: list[Sites], given_up: set[DeliveryKind]) -> None:
        self.sites = sites
        self.given_up = given_up
        self.used: set[DeliveryKind] = set()
        model = sites[0].model
        self._fifo, self._fences = model.network.fifo, model.fences
        self._asked: dict[tuple[int, int], set[SiteStep]] = defaultdict(set)
        self._relied: dict[tuple[int, int], set[SiteStep]] = defaultdict(set)
        self._before: dict[tuple[int, int], set[tuple[int, SiteStep]]] = defaultdict(set)
        self._todo: list[tuple[int, int, SiteStep, SiteStep]] = []  # to be compared

    def alone(self, node: int, local: int, delivery: SiteStep) -> bool:
        """Whether this delivery is enough, as far as is known."""
        kind = self._kind(node, local, delivery)
        if kind in self.given_up or not self._quiet(node, local, delivery):
            return False
        self._rely(node, local, delivery, kind)
        self._work_off()
        return True

    def asked(self, node: int, local: int, step: SiteStep) -> None:
        """An input is possible here: whatever is relied on must commute with it."""
        self._ask(node, local, step)
        self._work_off()

    def _ask(self, node: int, local: int, step: SiteStep) -> None:
        here = node, local
        if step in self._asked[here]:
            return
        self._asked[here].add(step)
        self._todo += [(node, local, delivery, step) for delivery in self._relied[here]]
        self._todo += [
            (node, then, delivery, step) for then, delivery in self._before[here]
        ]

    def _rely(
        self, node: int, local: int, delivery: SiteStep, on_behalf: DeliveryKind
    ) -> None:
        here = node, local
        if delivery in self._relied[here]:
            return
        kind = self._kind(node, local, delivery)
        if kind in self.given_up or not self._quiet(node, local, delivery):
            raise Dependent(on_behalf)
        self.used.add(kind)
        self._relied[here].add(delivery)
        then = node, self.sites[node].outcome(local, delivery).local
        self._before[then].add((local, delivery))
        steps = self._asked[here] | self._asked[then]
        self._todo += [(node, local, delivery, step) for step in steps]

    def _work_off(self) -> None:
        while self._todo:
            node, local, delivery, step = self._todo.pop()
            if step == delivery or (self._fifo and self._in_line(node, step, delivery)):
                continue
            self._compare(node, local, delivery, step)
            self._ask(node, local, step)

    def _compare(self, node: int, local: int, delivery: SiteStep, step: SiteStep) -> None:
        outcome, kind = self.sites[node].outcome, self._kind(node, local, delivery)
        first, later = outcome(local, delivery), outcome(local, step)
        after = outcome(first.local, step)
        if effects(after) != effects(later):
            raise Dependent(kind)
        if later.breach is not None:
            return
        last = outcome(later.local, delivery)
        if last.local != after.local or effects(last) != effects(first):
            raise Dependent(kind)
        if self._fifo and receivers(first) & receivers(later):
            raise Dependent(kind)
        self._rely(node, later.local, delivery, kind)

    def _quiet(self, node: int, local: int, delivery: SiteStep) -> bool:
        sites = self.sites[node]
        found = sites.outcome(local, delivery)
        if found.breach is not None or found.granted or found.beyond or found.heard:
            return False
        one, other = sites.locals[local], sites.locals[found.local]
        same = one._replace(snapshot=()) == other._replace(snapshot=())
        return same and not (self._fences and found.pushes[0])

    def _kind(self, node: int, local: int, delivery: SiteStep) -> DeliveryKind:
        sites = self.sites[node]
        message = sites.message(delivery)
        here = sites.locals[local]
        return DeliveryKind(type(message).__name__, here.phase, here.left > 0)

    def _in_line(self, node: int, step: SiteStep, delivery: SiteStep) -> bool:
        """Whether both are messages of one sender, of which one waits for the other."""
        letters = self.sites[node].letters
        if not step.letter:
            return False
        return letters.open(step.letter).sender == letters.open(delivery.letter).sender


def effects(outcome: Outcome) -> tuple[object, ...]:
    """What is seen of an outcome outside the peer."""
    if outcome.breach is not None:
        return (outcome.breach.property,)
    sent = tuple(
        frozenset((to, push.letters) for to, push in pushes) for pushes in outcome.pushes
    )
    return sent, outcome.heard, outcome.granted, outcome.demand, outcome.beyond


def receivers(outcome: Outcome) -> set[int]:
    return {to for to, _ in outcome.pushes[0]}
