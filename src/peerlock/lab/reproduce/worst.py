"""Schedules of Maekawa's algorithm that cost more than the paper's worst case, 5(K−1).

The bound.  A REQUEST that arrives at another node causes one LOCKED, one FAILED or one
INQUIRE, never two of them.  An INQUIRE is answered by one RELINQUISH at most, and then the
node that relinquished is sent LOCKED once more.  So a REQUEST costs at most six messages at
a member: REQUEST, INQUIRE, RELINQUISH, LOCKED twice, RELEASE.  A node's own request has a
higher number than all that its node has seen, so it never makes its own member INQUIRE.
Hence fewer than 6c messages per entry, if each node asks c = K−1 others.

What is missing to 6c.  When E nodes that are in nobody's set ask the same c members, each
member is free when its first REQUEST arrives, which costs three messages less, and whoever
relinquishes first has been sent a FAILED, which costs two less.  So no more than
6cE − 3c − 2 messages are sent for E entries; `common_members` sends as many.  That is more
than 5c for each entry as soon as E > 3 + 2/c.
"""

from __future__ import annotations

from collections import defaultdict, deque
from heapq import heappop, heappush
from itertools import pairwise
from typing import Any

from peerlock.algorithms.maekawa import Maekawa, Request
from peerlock.core.peer import Enter, NodeId, Send
from peerlock.quorums.constructions import QuorumSystem, plane
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
    Whoever is inside stays there until all have arrived.
    """
    run = _Preceding(n)
    for node in run.peers:
        run.peers[node].acquire()
        run.carry_out(node)
    while run.step():
        pass
    assert run.entries == n
    return run.sent / n


class _Preceding:
    def __init__(self, n: int) -> None:
        members, quorums = tuple(range(1, n + 1)), plane(n)
        self.peers = {i: Maekawa(i, members, quorums=quorums) for i in members}
        self.sent = self.entries = 0
        self._links: dict[tuple[NodeId, NodeId], deque[Any]] = defaultdict(deque)
        self._answers: deque[tuple[NodeId, NodeId]] = deque()  # links to deliver from
        self._requests: list[tuple[NodeId, NodeId]] = []  # the same, negative: a heap
        self._inside: deque[NodeId] = deque()

    def step(self) -> bool:
        if self._answers:
            self._deliver(*self._answers.popleft())
        elif self._requests:
            sender, receiver = heappop(self._requests)
            self._deliver(-sender, -receiver)
        elif self._inside:
            node = self._inside.popleft()
            self.peers[node].release()
            self.carry_out(node)
        else:
            return False
        return True

    def carry_out(self, node: NodeId) -> None:
        for effect in self.peers[node].drain():
            if isinstance(effect, Send):
                self.sent += 1
                link = self._links[node, effect.to]
                link.append(effect.message)
                if len(link) == 1:
                    self._line_up(node, effect.to)
            elif isinstance(effect, Enter):
                self.entries += 1
                self._inside.append(node)

    def _line_up(self, sender: NodeId, receiver: NodeId) -> None:
        """The first message of a link may be delivered."""
        if isinstance(self._links[sender, receiver][0], Request):
            heappush(self._requests, (-sender, -receiver))
        else:
            self._answers.append((sender, receiver))

    def _deliver(self, sender: NodeId, receiver: NodeId) -> None:
        link = self._links[sender, receiver]
        message = link.popleft()
        if link:
            self._line_up(sender, receiver)
        self.peers[receiver].receive(sender, message)
        self.carry_out(receiver)
