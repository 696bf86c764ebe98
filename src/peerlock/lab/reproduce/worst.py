"""Schedules of Maekawa's algorithm that cost more than the paper's worst case, 5(K−1).

One more is for the lecture's mesh, of which it says the same.

The bound.  A REQUEST that arrives at another node causes one LOCKED, one FAILED or one
INQUIRE, never two of them.  An INQUIRE is answered by one RELINQUISH at most, and then the
node that relinquished is sent LOCKED once more.  So a REQUEST costs at most six messages at
a member: REQUEST, INQUIRE, RELINQUISH, LOCKED twice, RELEASE.  A node's own request has a
higher number than all that its node has seen, so it never makes its own member INQUIRE.
Hence fewer than 6c messages per entry, if each node asks c = K−1 others.

What is missing to 6c.  When E nodes that are in nobody's set ask the same c members, each
member is free when its first REQUEST arrives, which costs three messages less, and the
first node that relinquishes has been sent a FAILED, which costs two less.  So no more than
6cE − 3c − 2 messages are sent for E entries; `common_members` sends as many.  That is more
than 5c for each entry as soon as E > 3 + 2/c.
"""

from __future__ import annotations

from collections import defaultdict, deque
from collections.abc import Iterable
from itertools import pairwise, product
from typing import Any

from peerlock.algorithms.maekawa import Maekawa, Request
from peerlock.algorithms.maekawa_relinquish import MaekawaRelinquish
from peerlock.core.peer import Enter, NodeId, Send
from peerlock.quorums.constructions import QuorumSystem, grid, plane
from peerlock.simulator.by_hand import ByHand


def most_for(members: int, entries: int) -> float:
    """Per entry, if nodes that are in nobody's set all ask the same members."""
    return 6 * members - (3 * members + 2) / entries


def common_members(members: int, entries: int) -> float:
    """Messages per entry when the last node is preempted at each member by all others.

    Nodes 1 to `members` are asked by all that follow, each of which asks once.  Lower
    numbers precede, so the last node waits for all others.
    """
    nodes = members + entries
    common = tuple(range(1, members + 1))
    cluster = ByHand("maekawa", nodes, quorums=QuorumSystem("common", (common,) * nodes))
    victim, *preceding = range(nodes, members, -1)
    for asking in (victim, *preceding):
        cluster.request(asking)
    _fail(cluster, victim, preceding[0], common)
    for leaving, entering in pairwise(preceding):
        cluster.leave(leaving)
        for member in common:
            cluster.deliver(leaving, member, "RELEASE")
            cluster.deliver(member, victim, "LOCKED")
            _preempt(cluster, member, victim, entering)
    cluster.leave(preceding[-1])
    cluster.settle()
    cluster.leave(victim)
    cluster.settle()
    return cluster.sent / entries


def _fail(cluster: ByHand, victim: NodeId, first: NodeId, common: tuple[int, ...]) -> None:
    """The victim has all members but one, where it has failed; `first` takes them all."""
    one, *others = common
    for member in others:
        cluster.deliver(victim, member, "REQUEST")
        cluster.deliver(member, victim, "LOCKED")
    cluster.deliver(first, one, "REQUEST")
    cluster.deliver(victim, one, "REQUEST")
    cluster.deliver(one, victim, "FAILED")
    cluster.deliver(one, first, "LOCKED")
    for member in others:
        _preempt(cluster, member, victim, first)


def _preempt(cluster: ByHand, member: NodeId, victim: NodeId, entering: NodeId) -> None:
    cluster.deliver(entering, member, "REQUEST")
    cluster.deliver(member, victim, "INQUIRE")
    cluster.deliver(victim, member, "RELINQUISH")
    cluster.deliver(member, entering, "LOCKED")


def all_at_once(n: int) -> float:
    """Messages per entry when all nodes of a plane ask and later REQUESTs precede.

    REQUESTs arrive when nothing else is under way, those of the highest nodes first.
    A node that is inside stays there until all have arrived.
    """
    nodes = range(n, 0, -1)
    requests = product(nodes, nodes)
    run = _Run(Maekawa, plane(n), range(1, n + 1), requests, patient=True)
    return run.messages_per_entry()


def on_a_mesh(side: int, each: int) -> float:
    """Messages per entry when the nodes of a mesh's last row are preempted by others.

    By the lecture's rules, as repaired in `maekawa-relinquish`.  The nodes of the last row
    ask first, and lock their columns; none of them gets all that it needs.  Then `each`
    nodes of every other row, and of nearly every column, ask and enter one after the other,
    and their members go back to the last row each time.
    """
    last = range(side * (side - 1) + 1, side * side + 1)
    others = [
        side * row + (row + i * (side // each)) % side + 1
        for row in range(side - 1)
        for i in range(each)
    ]
    mesh = grid(side * side)
    first = max(node for node in others if node % side == 1)
    common = set(mesh.of(first)) & set(mesh.of(last[0])) - {first, last[0]}
    one = max(common.difference(others))
    order = (*last, first, *sorted(others, reverse=True))
    requests = ((first, one), *product(order, range(1, side * side + 1)))
    run = _Run(MaekawaRelinquish, mesh, (*last, *others), requests)
    return run.messages_per_entry()


class _Run:
    """Nodes that ask once each.

    REQUESTs arrive in the order given, each when nothing else can: a link is FIFO, and what
    is behind a REQUEST waits for it.
    """

    def __init__(
        self,
        peer: type[Maekawa],
        quorums: QuorumSystem,
        asking: Iterable[NodeId],
        requests: Iterable[tuple[NodeId, NodeId]],  # may name more, and some twice
        patient: bool = False,  # inside, stays until all REQUESTs have arrived
    ) -> None:
        members = tuple(range(1, quorums.nodes + 1))
        self.peers = {i: peer(i, members, quorums=quorums) for i in members}
        self.sent = self.entries = 0
        self._links: dict[tuple[NodeId, NodeId], deque[Any]] = defaultdict(deque)
        self._answers: deque[tuple[NodeId, NodeId]] = deque()  # links to deliver from
        self._inside: deque[NodeId] = deque()
        self._asking = tuple(asking)
        self._requests = deque(requests)
        self._patient = patient

    def messages_per_entry(self) -> float:
        for node in self._asking:
            self.peers[node].acquire()
            self._carry_out(node)
        while self._step():
            pass
        assert self.entries == len(self._asking)
        return self.sent / self.entries

    def _step(self) -> bool:
        if self._answers:
            self._deliver(*self._answers.popleft())
        elif self._inside and not (self._patient and self._requests):
            node = self._inside.popleft()
            self.peers[node].release()
            self._carry_out(node)
        elif self._requests:
            link = self._requests.popleft()
            if self._is_next(link, Request):
                self._deliver(*link)
        else:
            return False
        return True

    def _carry_out(self, node: NodeId) -> None:
        for effect in self.peers[node].drain():
            if isinstance(effect, Send):
                self.sent += 1
                link = node, effect.to
                self._links[link].append(effect.message)
                if len(self._links[link]) == 1:
                    self._line_up(link)
            elif isinstance(effect, Enter):
                self.entries += 1
                self._inside.append(node)

    def _is_next(self, link: tuple[NodeId, NodeId], kind: type) -> bool:
        return bool(self._links[link]) and isinstance(self._links[link][0], kind)

    def _line_up(self, link: tuple[NodeId, NodeId]) -> None:
        """The first message of a link may be delivered; a REQUEST awaits its turn."""
        if not self._is_next(link, Request):
            self._answers.append(link)

    def _deliver(self, sender: NodeId, receiver: NodeId) -> None:
        link = sender, receiver
        message = self._links[link].popleft()
        if self._links[link]:
            self._line_up(link)
        self.peers[receiver].receive(sender, message)
        self._carry_out(receiver)
