"""One state of the cluster, and the steps that lead on from it.

A state is one integer, a field per site, and above them how many faults were spent.  A
step adds remembered differences to it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from peerlock.checker.model import Model
from peerlock.checker.sites import (
    FAULTS,
    MASK,
    WIDTH,
    Action,
    Breach,
    Messages,
    Phase,
    Sites,
    Special,
)
from peerlock.core.peer import NodeId, listed

BREACH, BEYOND, IMPOSSIBLE = -1, -2, -3  # what stands for a state where there is none
FAULT_WIDTH = 8
HELP = 20_000  # states to search for a node that can help


class Steps:
    def __init__(self, model: Model) -> None:
        self.model = model
        messages = Messages()
        self.sites = [Sites(model, i, messages) for i in range(model.nodes)]
        for sites in self.sites:
            sites.everybody = self.sites
        network = model.network
        self.budgets = (network.losses, network.duplications, network.crashes)

    # States

    def initial(self) -> int:
        """Every node has started, one after the other, and what they sent is under way."""
        self.starts = outcomes = [sites.start() for sites in self.sites]
        fences = self.model.fences
        at = [
            sites.id((outcome.local, fences, ()))
            for sites, outcome in zip(self.sites, outcomes, strict=True)
        ]
        state = self.join(at)
        for sites, outcome in zip(self.sites, outcomes, strict=True):
            own = ((sites.index, sites.push(outcome.heard)),) if outcome.heard else ()
            for to, push in (*outcome.pushes[fences], *own):
                state += push[self.split(state)[to]]
        return state

    def join(self, at: list[int], spent: tuple[int, ...] = ()) -> int:
        state = sum(s << sites.shift for s, sites in zip(at, self.sites, strict=True))
        return state + sum(n * self._fault(kind) for kind, n in enumerate(spent))

    def split(self, state: int) -> list[int]:
        """The number of each site."""
        return [state >> sites.shift & MASK for sites in self.sites]

    def spent(self, state: int) -> tuple[int, ...]:
        """How many faults of each kind."""
        kinds = range(len(FAULTS))
        return tuple(state // self._fault(kind) % (1 << FAULT_WIDTH) for kind in kinds)

    def _fault(self, kind: int) -> int:
        return 1 << self.model.nodes * WIDTH + kind * FAULT_WIDTH

    def phases(self, state: int) -> list[Phase]:
        at = self.split(state)
        return [sites.phase(s) for sites, s in zip(self.sites, at, strict=True)]

    def is_quiet(self, state: int) -> bool:
        """Nothing is under way."""
        at = self.split(state)
        return not any(sites.sites[s][2] for sites, s in zip(self.sites, at, strict=True))

    # Steps

    def actions(self, state: int) -> list[Action]:
        """What can happen in it, in the order of `following`."""
        at = self.split(state)
        found: list[Action] = []
        for sites, site in zip(self.sites, at, strict=True):
            found += sites.actions[site]
        return found

    def following(self, state: int) -> list[int]:
        """The state after each action, or what stands for one."""
        at = self.split(state)
        found: list[int] = []
        for sites, site in zip(self.sites, at, strict=True):
            plain, special = sites.moves[site]
            for delta, pushes in plain:
                found.append(state + delta + sum(push[at[to]] for to, push in pushes))
            found += [self.leads_to(state, at, sites.index, move) for move in special]
        return found

    def leads_to(self, state: int, at: list[int], index: int, move: Special) -> int:
        """The state after an unusual move, or what stands for one."""
        if move.fault is not None:
            return self._spend(state, at, move)
        if move.outlasting and not self.is_quiet(state):
            return IMPOSSIBLE
        if move.beyond:
            return BEYOND
        if self.breach_by(at, index, move) is not None:
            return BREACH
        return self._make(state + move.delta, at, index, move)

    def breach_by(self, at: list[int], index: int, move: Special) -> Breach | None:
        if move.granted and not self._may_join(at, move.demand):
            return too_many({*self._inside(at), index + 1}, index + 1)
        if move.granted and self.model.fence_of and move.fence <= self._latest_fence(at):
            return self.sites[index].stale_fence
        return move.breach

    def _make(self, then: int, at: list[int], index: int, move: Special) -> int:
        """No other node knows of a grant; after it, the node may send messages."""
        if self.model.fences and move.granted:
            at = at.copy()
            for to, sites in enumerate(self.sites):
                if to != index:
                    change = sites.cleared[at[to]]
                    then += change
                    at[to] += change >> sites.shift
        for to, push in move.pushes:
            then += push[at[to]]
        return then

    def _spend(self, state: int, at: list[int], move: Special) -> int:
        kind = FAULTS.index(move.fault or "")
        if self.spent(state)[kind] == self.budgets[kind]:
            return IMPOSSIBLE
        then = state + self._fault(kind) + move.delta
        for to, push in move.pushes:
            then += push[at[to]]
        return then

    def _may_join(self, at: list[int], demand: int) -> bool:
        locals_ = [sites.local(site) for sites, site in zip(self.sites, at, strict=True)]
        inside = [local.demand for local in locals_ if local.phase is Phase.INSIDE]
        return self.together([*inside, demand])

    def together(self, numbers: Sequence[int]) -> bool:
        """Whether requests for these, by number, may be inside at a time."""
        rule = self.model.rule
        return rule.together([rule.demands[number] for number in numbers])

    def _latest_fence(self, at: list[int]) -> int:
        pairs = zip(self.sites, at, strict=True)
        return max(sites.local(site).fence for sites, site in pairs)

    def _inside(self, at: list[int]) -> set[NodeId]:
        return {
            sites.me
            for sites, site in zip(self.sites, at, strict=True)
            if sites.phase(site) is Phase.INSIDE
        }

    # Violations

    def first_breach(self, state: int) -> tuple[int, Breach] | None:
        """The first of its moves that violates a property, and which."""
        at, move = self.split(state), 0
        for sites, site in zip(self.sites, at, strict=True):
            plain, special = sites.moves[site]
            for number, unusual in enumerate(special, move + len(plain)):
                if self.leads_to(state, at, sites.index, unusual) == BREACH:
                    breach = self.breach_by(at, sites.index, unusual)
                    assert breach is not None
                    return number, breach
            move += len(plain) + len(special)
        return None

    def stuck(self, state: int) -> Breach | None:
        """Nothing happens unless a node requests.  Then none should wait, and the model
        should not object to what the nodes are like."""
        at = self.split(state)
        if not all(sites.still[site] for sites, site in zip(self.sites, at, strict=True)):
            return None
        phases = enumerate(self.phases(state), 1)
        waiting = {node for node, phase in phases if phase is Phase.WAITING}
        if waiting:
            return stuck(waiting, self._helped(state))
        return self._objection(at) if self.model.at_rest else None

    def _objection(self, at: list[int]) -> Breach | None:
        assert self.model.at_rest is not None
        pairs = zip(self.sites, at, strict=True)
        text = self.model.at_rest([sites.peer(site) for sites, site in pairs])
        return Breach("invariant", 1, f"at rest, {text}") if text else None

    def _helped(self, state: int) -> bool:
        """Whether a waiting node would enter if the others requested once more."""
        waiting = [p is Phase.WAITING for p in self.phases(state)]
        start = self.join(
            [
                sites.asking_again(site)
                for sites, site in zip(self.sites, self.split(state), strict=True)
            ]
        )
        seen, todo = {start}, [start]
        while todo and len(seen) < HELP:
            here = todo.pop()
            phases = self.phases(here)
            if any(w and p is Phase.INSIDE for w, p in zip(waiting, phases, strict=True)):
                return True
            fresh = set(self._successors(here)) - seen
            seen |= fresh
            todo += fresh
        return False

    def _successors(self, state: int) -> Iterator[int]:
        """On a network without faults, and ignoring violations on the way."""
        at = self.split(state)
        for sites, site in zip(self.sites, at, strict=True):
            plain, special = sites.moves[site]
            for delta, pushes in plain:
                yield state + delta + sum(push[at[to]] for to, push in pushes)
            for move in special:
                if move.outlasting and not self.is_quiet(state):
                    continue
                if move.breach is None and move.fault is None and not move.beyond:
                    yield self._make(state + move.delta, at, sites.index, move)


def too_many(inside: set[NodeId], entering: NodeId) -> Breach:
    return Breach("exclusion", entering, f"{listed(inside)} are inside together")


def stuck(waiting: set[NodeId], helped: bool) -> Breach:
    waits = f"{listed(waiting)} {'waits' if len(waiting) == 1 else 'wait'}"
    if helped:
        text = f"starvation: {waits}, and nothing happens until another node asks"
        return Breach("starvation", min(waiting), text)
    text = f"deadlock: {waits}, and nothing more can happen"
    return Breach("deadlock", min(waiting), text)
