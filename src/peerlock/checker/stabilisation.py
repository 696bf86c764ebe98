"""Convergence: from every state whatever, by every fair schedule, to where all is well.

The rules:
  * A peer that stabilises says what a fault may leave behind: `memories` are the states
    that its node may be in, `links` what may be under way to it.  Every combination of
    these, over all nodes, is a state to begin from.  What its user does follows from its
    memory: it waits if it is `requesting`, unless it is `inside`.
  * Nothing that happens before all is well counts as an error.  A state is *unsafe* if some
    schedule leads from it to one in which more are inside than may be.  All is well in the
    others: nothing ever goes wrong there, as what follows a safe state is safe.
  * The cluster converges if no fair schedule stays among the unsafe states, and if from no
    state whatever a fair schedule keeps a node waiting for ever.  Fair is meant as in
    `starvation`, and a timer that can fire again and again does so: one that outlasts all
    that is under way can fire only when nothing is.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

from peerlock.checker.measures import waits
from peerlock.checker.model import Model
from peerlock.checker.search import NOWHERE, Limits, Search
from peerlock.checker.sites import Local, Phase, Sites
from peerlock.checker.starvation import Duty, duty, knots
from peerlock.core.demands import Permits
from peerlock.core.errors import UsageError


@dataclass(frozen=True)
class Convergence:
    beginnings: int  # states that were begun from
    states: int  # these and all that follow
    unsafe: int
    failure: str = ""  # what a fair schedule does for ever, if it does not converge
    cut: str = ""  # why the search was cut short, if it was

    @property
    def holds(self) -> bool:
        return not self.failure and not self.cut


class Everywhere(Search):
    """A search that begins in every state whatever."""

    def __init__(self, model: Model) -> None:
        super().__init__(
            replace(model, requests=None, rule=Permits(model.nodes), fences=False)
        )
        here = [list(self._left_behind(sites)) for sites in self.sites]
        for at in product(*here):
            state = self.join(list(at))
            if self.numbers.setdefault(state, len(self.states)) == len(self.states):
                self.states.append(state)
        self.beginnings = len(self.states)

    def _left_behind(self, sites: Sites) -> Iterator[int]:
        peer: Any = self.model.make(sites.me)
        if not hasattr(peer, "memories"):
            raise UsageError(
                f"{self.model.name} does not say what a fault may leave behind"
            )
        timers = tuple(self.model.outlasting)
        links = [sites.inbox(letters) for letters in peer.links()]
        for memory, inbox in product(peer.memories(), links):
            peer.restore(memory)
            local = Local(memory, _phase(peer), 1, timers)
            yield sites.id((sites.local_id(local), False, inbox))


def _phase(peer: Any) -> Phase:
    if not peer.requesting:
        return Phase.IDLE
    return Phase.INSIDE if peer.inside else Phase.WAITING


def convergence(model: Model, limits: Limits | None = None) -> Convergence:
    search = Everywhere(model)
    search.run(limits or Limits())
    if search.cut:
        return Convergence(search.beginnings, search.size, 0, cut=search.cut)
    if search.breach is not None:
        return Convergence(search.beginnings, search.size, 0, search.breach.text)
    unsafe = _leading_to(search, _crowded(search, model))
    failure = ""
    if (state := _stays(search, unsafe)) is not None:
        failure = f"more are inside than may be, again and again: {_told(search, state)}"
    for index in range(model.nodes):
        if not failure and (state := _stays(search, waits(search, index))) is not None:
            failure = f"{index + 1} waits for ever: {_told(search, state)}"
    return Convergence(search.beginnings, search.size, sum(unsafe), failure)


def _crowded(search: Search, model: Model) -> bytearray:
    """Of each state: are more inside than may be?"""
    (plain,) = model.rule.demands
    counts = (phases.count(Phase.INSIDE) for phases in map(search.phases, search.states))
    return bytearray(not model.rule.together([plain] * count) for count in counts)


def _leading_to(search: Search, goal: bytearray) -> bytearray:
    """Of each state: does some schedule lead from it to one of these?"""
    before: list[list[int]] = [[] for _ in search.states]
    for state in range(search.size):
        for target in set(search.targets(state)) - {NOWHERE}:
            before[target].append(state)
    found, todo = bytearray(goal), [state for state, here in enumerate(goal) if here]
    while todo:
        for state in before[todo.pop()]:
            if not found[state]:
                found[state] = 1
                todo.append(state)
    return found


def _stays(search: Search, region: bytearray) -> int | None:
    """A state that a fair schedule comes by for ever without leaving the region."""
    todo = [region]
    while todo:
        for knot in knots(search, todo.pop()):
            members = set(knot)
            possible = {state: dict(_possible(search, state)) for state in knot}
            done = {
                does for some in possible.values() for does in some if some[does] in members
            }
            if set.intersection(*map(set, possible.values())) - done:
                continue  # what is possible all the time must be done, here and in any part
            refused = {timer for some in possible.values() for timer in some} - done
            refused = {timer for timer in refused if timer[0] == "timer"}
            if not refused:
                return min(knot)
            left = bytearray(search.size)
            for state in knot:
                left[state] = refused.isdisjoint(possible[state])
            todo.append(left)
    return None


def _possible(search: Search, state: int) -> Iterator[tuple[Duty, int]]:
    """What must happen sooner or later, and where it leads."""
    actions = search.actions(search.state(state))
    for action, target in zip(actions, search.targets(state), strict=True):
        does = duty(action, search.model.network.fifo)
        if does is not None and target != NOWHERE:
            yield does, target


def _told(search: Search, state: int) -> str:
    at = search.split(search.state(state))
    here = (
        sites.local(site).snapshot for sites, site in zip(search.sites, at, strict=True)
    )
    return ", ".join(f"{node} has {memory}" for node, memory in enumerate(here, 1))
