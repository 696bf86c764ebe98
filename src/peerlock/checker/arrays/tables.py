"""The sites of one node as arrays: what may happen at each, and where it leads.

A site is a local state and a box.  Both are few, their pairs are many.  So the peer is
asked once for each input in each local state, and boxes are filled and emptied once for
each letter, all in Python; the pairs and their moves are made of these by NumPy.

The moves of a site are sorted into groups.  All moves of a group are made in the same
way, by all the states that can make them together.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from peerlock.checker.arrays.boxes import CLOSED, LOST, TWICE, Boxes
from peerlock.checker.arrays.columns import Grown, Index, Ints, Rows
from peerlock.checker.arrays.memo import Grid, Memo
from peerlock.checker.arrays.numbers import Interned
from peerlock.checker.sites import FAULTS, Local, Outcome, Phase, Pushes, Sites, SiteStep

INSIDE, WAITING, QUIET, STILL = 1, 2, 4, 8  # what is so at a site
PLAIN, GRANT, BREACH, BEYOND = range(4)  # what an input leads to; then the faults
FAULT = 4
CRASH = FAULT + FAULTS.index("crash")
FAULT_STEPS = {LOST: SiteStep("lose"), TWICE: SiteStep("duplicate")}
IDLE = ("request", *FAULTS)  # steps that nothing is owed for
LOW = np.uint64(0xFFFFFFFF)


def key_of(high: Ints, low: Ints) -> NDArray[np.uint64]:
    return high.astype(np.uint64) << np.uint64(32) | low.astype(np.uint64)


def halves(keys: NDArray[np.uint64]) -> tuple[Index, Index]:
    return (keys >> np.uint64(32)).astype(np.intp), (keys & LOW).astype(np.intp)


class Group(Rows):
    """Moves that are made in the same way."""

    def __init__(self, kind: int, outlasting: bool, to: list[int]) -> None:
        super().__init__(
            *("rank", "own", "demand", "fence", "sends", "step"),
            *(f"to {node}" for node in to),
        )
        self.kind = kind
        self.outlasting = outlasting
        self.to = to  # the nodes that they may send messages to
        self.count = Grown(np.int32, 0)


@dataclass(frozen=True)
class Moves:
    """Some moves, in columns."""

    owner: Index  # at which of some sites
    own: Ints  # the site there afterwards
    demand: Ints
    fence: Ints
    sends: Ints
    step: Ints
    to: list[Ints]  # by node: which push that is there
    group: Ints
    busy: Ints
    news: Ints  # does the node hear of the latest grant?

    def order(self, rows: Index) -> Moves:
        return Moves(
            self.owner[rows],
            self.own[rows],
            self.demand[rows],
            self.fence[rows],
            self.sends[rows],
            self.step[rows],
            [column[rows] for column in self.to],
            self.group[rows],
            self.busy[rows],
            self.news[rows],
        )


class Tables:
    def __init__(self, sites: Sites) -> None:
        self.sites = sites
        self.index = sites.index
        self.boxes = Boxes(sites)
        self.numbers = Interned()  # of the sites: a local state above a box
        self.flags = Grown(np.uint8)
        self.demands = Grown(np.int64)  # of the node inside there, and one more; 0: none
        self.fences = Grown(np.int64)  # the highest that was granted there
        self.total = Grown(np.int32, -1)  # moves of a site; -1 is not known
        self.groups: dict[int, Group] = {}
        self.everybody: list[Tables] = []  # by index
        self.asked: Callable[[int, int, SiteStep], None] = lambda *_: None  # of each input
        self.commutes: Callable[[int, int, SiteStep], bool] | None = None  # a delivery
        self.alone = Grown(np.int32, -1)  # of a site: a move that is enough, by its rank
        self.pushed = Grid(
            lambda: (len(self.boxes.pushes), len(self.numbers)), self._push_all
        )
        self.cleared = Memo(lambda: len(self.numbers), self._clear_all)
        self._local_flags = Grown(np.uint8)
        self._local_demands = Grown(np.int64)
        self._local_fences = Grown(np.int64)
        self.steps: list[SiteStep] = []
        self._step_numbers: dict[SiteStep, int] = {}
        self._busy = Grown(np.uint8)  # of a step: must it happen if it can?
        self._inputs = Rows("step", "outlasting")  # of a local state
        self._outcomes = Interned()  # of inputs: a local state above a step
        nodes = range(sites.model.nodes)
        to = [f"{knows} to {node}" for knows in (0, 1) for node in nodes]
        self._results = Rows("local", "kind", "demand", "fence", "heard", "sends", *to)

    # Sites

    def number(self, locals_: Ints, boxes: Ints) -> Ints:
        found = self.numbers.number(key_of(locals_, boxes))
        if len(self.numbers) > self.flags.size:
            self._describe_locals()
            made, boxes = halves(self.numbers.keys[self.flags.size :])
            quiet = self.boxes.quiet.values[boxes] * np.uint8(QUIET)
            self.flags.extend(self._local_flags.values[made] | quiet)
            self.demands.extend(self._local_demands.values[made])
            self.fences.extend(self._local_fences.values[made])
            self.total.reach(len(self.numbers))
        return found

    def encode(self, site: int) -> int:
        """The number here of a site that the plain search has numbered."""
        local, knows, inbox = self.sites.sites[site]
        crashed = self.sites.locals[local].phase is Phase.CRASHED
        box = self.boxes.number(CLOSED if crashed else (knows, inbox))
        self.boxes.describe()
        return int(self.number(np.array([local]), np.array([box]))[0])

    def decode(self, number: int) -> int:
        (local,), (box,) = halves(self.numbers.keys[number : number + 1])
        knows, inbox = self.boxes.boxes[box]
        return self.sites.id((int(local), knows, () if inbox == CLOSED[1] else inbox))

    def by_site(self, fact: Callable[[Local], int], dtype: Any) -> Ints:
        """A fact about the local state of each site."""
        by_local = np.array([fact(local) for local in self.sites.locals], dtype)
        return by_local[halves(self.numbers.keys)[0]]

    def _describe_locals(self) -> None:
        known = self._local_flags.size
        new = self.sites.locals[known:]
        if not new:
            return
        flags = [
            INSIDE * (local.phase is Phase.INSIDE)
            + WAITING * (local.phase is Phase.WAITING)
            for local in new
        ]
        self._local_flags.extend(np.array(flags, np.uint8))
        demands = [(x.demand + 1) * (x.phase is Phase.INSIDE) for x in new]
        self._local_demands.extend(np.array(demands, np.int64))
        self._local_fences.extend(np.array([x.fence for x in new], np.int64))
        outlasting = self.sites.model.outlasting
        self._inputs.add(
            {
                number: [(self._step(s), s.timer in outlasting) for s in self._own(local)]
                for number, local in enumerate(new, known)
            }
        )

    def _own(self, local: Local) -> Iterator[SiteStep]:
        yield from self.sites.inputs(local)
        if self.sites.may_crash(local):
            yield SiteStep("crash")

    def _step(self, step: SiteStep) -> int:
        found = self._step_numbers.setdefault(step, len(self.steps))
        if found == len(self.steps):
            self.steps.append(step)
            self._busy.extend(np.array([step.what not in IDLE], np.uint8))
        return found

    # What messages do to a site

    def _push_all(self, pushes: Index, sites: Index) -> Ints:
        locals_, boxes = halves(self.numbers.keys[sites])
        return self.number(locals_, self.boxes.filled(pushes, boxes))

    def _clear_all(self, sites: Index) -> Ints:
        locals_, boxes = halves(self.numbers.keys[sites])
        return self.number(locals_, self.boxes.cleared.of(boxes))

    # Outcomes of inputs

    def _outcome(self, locals_: Ints, steps: Ints) -> Ints:
        begin = len(self._outcomes)
        found = self._outcomes.number(key_of(locals_, steps))
        if len(self._outcomes) > begin:
            new, inputs = halves(self._outcomes.keys[begin:])
            pairs = zip(new.tolist(), inputs.tolist(), strict=True)
            rows = [self._row(local, self.steps[step]) for local, step in pairs]
            self._results.add({n: [row] for n, row in enumerate(rows, begin)})
        return found

    def _row(self, local: int, step: SiteStep) -> tuple[int, ...]:
        sites = self.sites
        if step.what in FAULTS:
            crash = step.what == "crash"
            then = sites.gone(sites.locals[local]) if crash else local
            pushes = self._columns(sites.obituary() if crash else ())
            kind = FAULT + FAULTS.index(step.what)
            return (then, kind, 0, 0, 0, 0, *pushes, *pushes)
        self.asked(self.index, local, step)
        found = sites.outcome(local, step)
        sends = sum(len(push.letters) for _, push in found.pushes[0])
        columns = [column for some in found.pushes for column in self._columns(some)]
        heard = self.boxes.push(found.heard)
        granted = (kind_of(found), found.demand, found.fence)
        return (found.local, *granted, heard, sends, *columns)

    def _columns(self, pushes: Pushes) -> list[int]:
        """By node: which push that is at its site, 0 if there is none."""
        found = [0] * len(self.everybody)
        for to, push in pushes:
            found[to] = self.everybody[to].boxes.push(push.letters)
        return found

    # Moves

    def visit(self, sites: Index) -> None:
        """Find out what may happen at these."""
        new = np.unique(sites[self.total.values[sites] < 0])
        if not len(new):
            return
        moves = self._moves(*halves(self.numbers.keys[new]))
        moves = moves.order(self._plain_order(moves))
        total = np.bincount(moves.owner, minlength=len(new))
        rank = np.arange(len(moves.owner)) - (np.cumsum(total) - total)[moves.owner]
        for number in np.unique(moves.group).tolist():
            rows = np.flatnonzero(moves.group == number)
            some = moves.order(rows)
            counts = np.bincount(some.owner, minlength=len(new))
            group = self._group(number)
            to = [some.to[node] for node in group.to]
            group.put(
                new,
                counts,
                [
                    *(rank[rows], some.own, some.demand, some.fence),
                    *(some.sends, some.step, *to),
                ],
            )
        for group in self.groups.values():
            group.reach(len(self.numbers))
        self.total.values[new] = total
        self.alone.reach(len(self.numbers))
        if self.commutes is not None:
            rows = self._commuting(halves(self.numbers.keys[new])[0], moves)
            self.alone.values[new[moves.owner[rows]]] = rank[rows]
        busy = np.bincount(moves.owner, moves.busy, minlength=len(new))
        self.flags.values[new] |= (busy == 0).astype(np.uint8) * np.uint8(STILL)

    def _commuting(self, locals_: Index, moves: Moves) -> Index:
        """Deliveries that need no other order."""
        assert self.commutes is not None
        arrives = np.array([step.what == "receive" for step in self.steps], np.bool_)
        plain = moves.group < len(self.everybody) + 2
        rows = np.flatnonzero(plain & ~moves.news & arrives[moves.step])
        local = locals_[moves.owner[rows]]
        keys, places = np.unique(key_of(local, moves.step[rows]), return_inverse=True)
        pairs = zip(*(half.tolist() for half in halves(keys)), strict=True)
        found = [self.commutes(self.index, at, self.steps[step]) for at, step in pairs]
        return rows[np.array(found, np.bool_)[places]]

    def _plain_order(self, moves: Moves) -> Index:
        """By site, and there in the order of the plain search: unusual moves are last."""
        shapes = len(self.everybody) + 2
        unusual = moves.group >= shapes  # neither plain nor without conditions
        crash = moves.group // shapes == CRASH * 2
        return np.lexsort((crash, unusual, moves.owner))

    def _moves(self, locals_: Index, boxes: Index) -> Moves:
        """All that may happen at the sites of these local states and boxes."""
        owner, step, box, outlasting = self._possible(locals_, boxes)
        result = self._outcome(locals_[owner], step)
        knows = self.boxes.knows.values[box]
        kind = self._results["kind"][result]
        if self.sites.model.fences:
            kind = np.where((kind == GRANT) & (knows == 0), BREACH, kind)
        nodes = range(len(self.everybody))
        columns = [(self._results[f"0 to {k}"], self._results[f"1 to {k}"]) for k in nodes]
        to = [np.where(knows, one[result], zero[result]) for zero, one in columns]
        return Moves(
            owner,
            self._own_sites(locals_[owner], boxes[owner], box, kind, result),
            self._results["demand"][result],
            self._results["fence"][result],
            self._results["sends"][result],
            step,
            to,
            self._groups(kind, outlasting, to),
            self._busy.values[step],
            knows != self.boxes.knows.values[boxes[owner]],
        )

    def _possible(self, locals_: Index, boxes: Index) -> tuple[Ints, Ints, Ints, Ints]:
        """At which of them, what, which box is there then, and does it outlast the rest."""
        self.boxes.learn(boxes)
        owner, own = self._inputs.of(locals_)
        other, arrived = self.boxes.arrivals.of(boxes)
        letters, inverse = np.unique(
            self.boxes.arrivals["letter"][arrived], return_inverse=True
        )
        steps = [FAULT_STEPS.get(x) or SiteStep("receive", x) for x in letters.tolist()]
        arrivals = np.array([self._step(step) for step in steps], np.int32)[inverse]
        return (
            np.concatenate([owner, other]),
            np.concatenate([self._inputs["step"][own], arrivals]),
            np.concatenate([boxes[owner], self.boxes.arrivals["box"][arrived]]),
            np.concatenate(
                [self._inputs["outlasting"][own], np.zeros(len(other), np.int32)]
            ),
        )

    def _own_sites(
        self, locals_: Index, boxes: Index, box: Ints, kind: Ints, result: Ints
    ) -> Ints:
        """Where the moves lead here; those that lead nowhere stay."""
        then = self._results["local"][result].copy()
        box = box.copy()
        nowhere = (kind == BREACH) | (kind == BEYOND)
        then[nowhere], box[nowhere] = locals_[nowhere], boxes[nowhere]
        closed, opened = self.boxes.number(CLOSED), self.boxes.number((False, ()))
        self.boxes.describe()
        box[(box == closed) & ~nowhere] = opened
        box[kind == CRASH] = closed
        granted = np.flatnonzero(kind == GRANT)
        box[granted] = self.boxes.granted.of(box[granted])
        heard = np.where(nowhere, 0, self._results["heard"][result])
        if heard.any():
            box = self.boxes.filled(heard, box)
        return self.number(then, box)

    # Groups: (kind * 2 + outlasting) * shapes + shape

    def _groups(self, kind: Ints, outlasting: Ints, to: list[Ints]) -> Ints:
        """A shape is the one node that a message goes to, or none, or many."""
        none = len(to)
        several = sum((column > 0).astype(np.int32) for column in to)
        shape = sum((column > 0) * node for node, column in enumerate(to))
        shape = np.where(several == 0, none, np.where(several == 1, shape, none + 1))
        shape = np.where(kind == PLAIN, shape, none + 1)
        found: Ints = (kind * 2 + outlasting) * (none + 2) + shape
        return found

    def _group(self, number: int) -> Group:
        if number not in self.groups:
            nodes = len(self.everybody)
            rest, shape = divmod(number, nodes + 2)
            others = [node for node in range(nodes) if node != self.index]
            to = [shape] if shape < nodes else [] if shape == nodes else others
            self.groups[number] = Group(rest >> 1, bool(rest & 1), to)
        return self.groups[number]


def kind_of(outcome: Outcome) -> int:
    if outcome.beyond:
        return BEYOND
    if outcome.breach is not None:
        return BREACH
    return GRANT if outcome.granted else PLAIN
