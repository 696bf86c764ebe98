"""Renamings of nodes under which a cluster behaves the same.

States that are equal up to such a renaming need be searched once.  That is sound because
of this argument:

1. No algorithm says that it is symmetric; what its peers do is compared.  A renaming π
   takes each local state of node i to one of node π(i), and each message from i to j to
   one from π(i) to π(j).  It begins with the local states in which the nodes start.  For
   each input that the search gives to node i in a local state, π(i) gets the renamed input
   in the renamed local state.  What follows must be the same: the grant, the phase, the
   timers, the requests that are left, and as many messages to the renamed nodes in the
   same order.  The local states and messages that follow are then each other's images.
2. An image is unique, and so is its origin.  If a second one is needed, or if anything
   differs, the cluster is not symmetric under π: `Asymmetric` is raised, π is given up,
   and the search begins anew.  So when a search ends, each input that it has given to a
   peer agrees with its image under every renaming that was used.
3. So a renaming takes each step of the cluster to a step.  If a state is replaced by its
   image, every schedule from the one is a schedule from the other with renamed nodes.
   Whether a property is violated does not depend on the names, and neither does the
   number of steps or messages.  Which node is overtaken does.
4. A renaming is used with its inverse, which is why it also takes what follows from an
   image back to what would have followed.  What is made of two renamings need not be
   compared: each input is compared with its images, and these with theirs.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations

from peerlock.checker.letters import Inbox
from peerlock.checker.sites import Local, Outcome, Sites, SiteStep

Renaming = tuple[int, ...]  # of each node by index: the index of its image
Input = tuple[int, int, SiteStep]  # a node, its local state, and what happens there
MOST = 120  # renamings that are used
SMALL = 5  # nodes, of which all renamings are tried


class Asymmetric(Exception):
    """The cluster behaves differently under these renamings."""

    def __init__(self, *renamings: Renaming) -> None:
        super().__init__(*renamings)
        self.renamings = renamings


def inverse(renaming: Renaming) -> Renaming:
    return tuple(sorted(range(len(renaming)), key=renaming.__getitem__))


def candidates(requests: tuple[int, ...]) -> list[Renaming]:
    """Of nodes with as many requests; with many nodes only those that exchange two."""
    nodes = range(len(requests))
    every: Iterator[Renaming] = permutations(nodes)
    if len(nodes) > SMALL:
        every = (swapped(len(nodes), a, b) for b in nodes for a in range(b))
    alike = (p for p in every if all(requests[i] == requests[p[i]] for i in nodes))
    return [p for p in alike if p != tuple(nodes)]


def swapped(nodes: int, one: int, other: int) -> Renaming:
    found = list(range(nodes))
    found[one], found[other] = other, one
    return tuple(found)


def generators(renamings: list[Renaming]) -> list[Renaming]:
    """A few of these, of which the others are made; or of which at most MOST are made."""
    found: list[Renaming] = []
    made: set[Renaming] = set()
    for renaming in renamings:
        if renaming not in made and len(more := closed([*found, renaming])) <= MOST:
            found, made = [*found, renaming], more
    return found


def closed(renamings: list[Renaming]) -> set[Renaming]:
    """All that are made of these, or more than MOST of them."""
    return {renaming for renaming, _, _ in composed(renamings)}


def composed(renamings: list[Renaming]) -> list[tuple[Renaming, Renaming, Renaming]]:
    """All that are made of these, each with the earlier one and the one that make it.

    Not the one that renames nothing, and not many more than MOST.
    """
    found: list[tuple[Renaming, Renaming, Renaming]] = []
    todo = [tuple(range(len(renaming))) for renaming in renamings[:1]]
    known = set(todo)
    for earlier in todo:  # which grows meanwhile
        for last in renamings if len(found) <= MOST else ():
            both = tuple(last[node] for node in earlier)
            if both not in known:
                known.add(both)
                todo.append(both)
                found.append((both, earlier, last))
    return found


class Renamings:
    """The images of local states and messages, as far as they are known."""

    def __init__(self, sites: list[Sites], used: list[Renaming]) -> None:
        self.sites = sites
        self._back = {r: inverse(r) for r in used} | {inverse(r): r for r in used}
        self.used = used = list(self._back)
        nodes = range(len(sites))
        self._locals: dict[Renaming, list[dict[int, int]]] = {
            r: [{} for _ in nodes] for r in used
        }
        self._messages: dict[Renaming, list[list[dict[int, int]]]] = {
            r: [[{} for _ in nodes] for _ in nodes] for r in used
        }
        self._compared: set[Input] = set()

    def begin(self, starts: list[Outcome]) -> None:
        """With the local states in which the nodes start."""
        for renaming in self.used:
            for node, outcome in enumerate(starts):
                self._agree(renaming, node, outcome, starts[renaming[node]])

    def compare(self, node: int, local: int, step: SiteStep) -> None:
        """An input of a peer with its images, and these with theirs."""
        todo: list[Input] = [(node, local, step._replace(letter=self._plain(node, step)))]
        differ: list[Renaming] = []
        while todo:
            given = todo.pop()
            if given in self._compared:
                continue
            self._compared.add(given)
            for renaming in self.used:
                try:
                    todo.append(self._compare(renaming, *given))
                except Asymmetric:
                    differ.append(renaming)
        if differ:
            raise Asymmetric(*differ)

    def local(self, renaming: Renaming, node: int, local: int) -> int:
        return self._image(renaming, self._locals[renaming][node], local)

    def inbox(self, renaming: Renaming, node: int, inbox: Inbox) -> Inbox:
        letters = [self._letter(renaming, node, letter) for letter in inbox]
        return self.sites[renaming[node]].letters.add((), tuple(letters))

    # One input

    def _plain(self, node: int, step: SiteStep) -> int:
        """Its letter without what it knows, which the peer does not see."""
        if not step.letter:
            return 0
        letters = self.sites[node].letters
        sender, _, message = letters.open(step.letter)
        return letters.letter(message, False, sender)

    def _compare(self, renaming: Renaming, node: int, local: int, step: SiteStep) -> Input:
        there = renaming[node]
        image = self.local(renaming, node, local)
        same = step
        if step.letter:
            same = step._replace(letter=self._letter(renaming, node, step.letter))
        here = self.sites[node].outcome(local, step)
        self._agree(renaming, node, here, self.sites[there].outcome(image, same))
        return there, image, same

    def _agree(self, renaming: Renaming, node: int, here: Outcome, there: Outcome) -> None:
        if facts(self.sites[node], here) != facts(self.sites[renaming[node]], there):
            raise Asymmetric(renaming)
        if here.breach is not None:
            return
        self._bind(renaming, self._locals, (node,), here.local, there.local)
        self._bind_letters(renaming, node, node, here.heard, there.heard)
        for ours, theirs in zip(here.pushes, there.pushes, strict=True):
            images = {to: push.letters for to, push in theirs}
            if len(ours) != len(images):
                raise Asymmetric(renaming)
            for to, push in ours:
                self._bind_letters(
                    renaming, node, to, push.letters, images.get(renaming[to], ())
                )

    def _bind_letters(
        self, renaming: Renaming, sender: int, to: int, ours: Inbox, theirs: Inbox
    ) -> None:
        if len(ours) != len(theirs):
            raise Asymmetric(renaming)
        for one, other in zip(ours, theirs, strict=True):
            a = self.sites[to].letters.open(one)
            b = self.sites[renaming[to]].letters.open(other)
            if a.knows != b.knows:
                raise Asymmetric(renaming)
            self._bind(renaming, self._messages, (sender, to), a.message, b.message)

    # Images

    def _bind(
        self, renaming: Renaming, maps: object, at: tuple[int, ...], one: int, other: int
    ) -> None:
        """Each is the other's image, and nothing else is."""
        back = self._back[renaming]
        for way, place, origin, image in (
            (renaming, at, one, other),
            (back, tuple(renaming[node] for node in at), other, one),
        ):
            known = maps[way]  # type: ignore[index]
            for node in place:
                known = known[node]
            if known.setdefault(origin, image) != image:
                raise Asymmetric(renaming)

    def _letter(self, renaming: Renaming, node: int, letter: int) -> int:
        sender, knows, message = self.sites[node].letters.open(letter)
        known = self._messages[renaming][sender - 1][node]
        image = self._image(renaming, known, message)
        to = self.sites[renaming[node]]
        return to.letters.letter(image, knows, renaming[sender - 1] + 1)

    def _image(self, renaming: Renaming, known: dict[int, int], origin: int) -> int:
        if origin not in known:
            raise Asymmetric(renaming)
        return known[origin]


def facts(sites: Sites, outcome: Outcome) -> tuple[object, ...]:
    """What must be the same of an outcome and its image."""
    if outcome.breach is not None:
        return (outcome.breach.property,)
    local: Local = sites.locals[outcome.local]
    return (
        *(local.phase, local.left, local.timers, local.demand),
        *(outcome.granted, outcome.demand, outcome.beyond),
    )
