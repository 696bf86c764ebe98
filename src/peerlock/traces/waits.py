"""Which node waits for which, and why: what follows from the states of the peers.

  * quorums (`locking`, `waiting_queue`): a node waits for the nodes for which members of
    its quorum are locked.  A member owes FAILED to a queued node if a request there
    precedes its own and it has not been told so.
  * a tree (`holder`, `request_q`): a node that has asked waits for its holder.
  * `last` and `next`: `next` is the node that waits for this one.
  * a token: a node waits for the node that has it, or to which it is on its way.
  * otherwise, a node waits for those that have not answered since it requested.  Where
    replies are deferred, the request of another node is no answer.

A wait is pending while a message is under way that may end it.  Waits that are not pending
and lead in a circle are a deadlock, unless a message elsewhere breaks it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, fields, replace
from functools import cache
from typing import Any, NamedTuple

from peerlock.core.bits import nodes_in
from peerlock.core.peer import NodeId, Peer, label, snake
from peerlock.traces.trace import Kind, Step

TOKEN_FIELDS = ("privilege", "token", "token_here", "has_token", "token_data")
TOKENS = ("TOKEN", "PRIVILEGE")
STRUCTURES = {
    "quorums": {"locking", "waiting_queue"},
    "tree": {"holder", "request_q"},
    "pointers": {"last", "next"},
}


class Wait(NamedTuple):
    """`node` waits for `other`; `pending`: a message under way may end that."""

    node: NodeId
    other: NodeId
    why: str
    pending: bool = False


class Owed(NamedTuple):
    """`node` should have sent `what` to `other`, and has not."""

    node: NodeId
    other: NodeId
    what: str


@dataclass
class WaitScene:
    """The peers, and what the steps say so far of those that wait and what travels."""

    peers: dict[NodeId, Any]
    gone: set[NodeId] = field(default_factory=set)
    waiting: set[NodeId] = field(default_factory=set)
    under_way: dict[int | None, Step] = field(default_factory=dict)  # sends, by flight
    carried: dict[int | None, Step] = field(default_factory=dict)  # those of tokens
    whereabouts: tuple[list[NodeId], list[int | None]] = ([], [])  # of tokens, a move ago
    between: Counter[tuple[NodeId, NodeId]] = field(default_factory=Counter)
    asked: dict[NodeId, dict[NodeId, str]] = field(default_factory=dict)
    questions: set[str] = field(default_factory=set)  # what nodes send as they request
    asking: bool = False  # whether what is sent now is such a question

    def advance(self, step: Step) -> None:
        node, other = step.node, step.peer
        self.asking = step.kind is Kind.REQUEST or (self.asking and step.kind is Kind.SEND)
        match step.kind:
            case Kind.REQUEST:
                self.waiting.add(node)
                self.asked[node] = {}
            case Kind.ENTER:
                self.waiting.discard(node)
            case Kind.CRASH:
                self._crash(node)
            case Kind.RESTART:
                self.gone.discard(node)
            case Kind.SEND if other is not None:
                self._send(step, other)
            case Kind.RECEIVE if other is not None:
                self._land(step)
                self._answer(step, other)
            case Kind.LOSE:
                self._land(step)

    def _send(self, step: Step, other: NodeId) -> None:
        name = message_name(step)
        self.under_way[step.flight] = step
        self.between[step.node, other] += 1
        if name in TOKENS:
            self.carried[step.flight] = step
        if self.asking:
            self.questions.add(name)
        if step.node in self.waiting and name in self.questions:
            self.asked[step.node][other] = label(step.message)

    def _answer(self, step: Step, other: NodeId) -> None:
        deferring = hasattr(self.peers[step.node], "reply_deferred")
        if not (deferring and message_name(step) in self.questions):
            self.asked.get(step.node, {}).pop(other, None)

    def _land(self, step: Step) -> None:
        """Once, however often it is received."""
        self.carried.pop(step.flight, None)
        if self.under_way.pop(step.flight, None) and step.peer is not None:
            self.between[step.peer, step.node] -= 1

    def _crash(self, node: NodeId) -> None:
        self.gone.add(node)
        self.waiting.discard(node)
        for step in list(self.under_way.values()):
            if step.peer == node:
                self._land(replace(step, node=node, peer=step.node))

    def alive(self) -> Iterator[tuple[NodeId, Any]]:
        return ((i, p) for i, p in self.peers.items() if i not in self.gone)

    def talk(self, a: NodeId, b: NodeId) -> bool:
        """Whether a message is under way between them."""
        return bool(self.between[a, b] or self.between[b, a])

    def travels(self, sender: NodeId, receiver: NodeId, name: str) -> bool:
        """Whether a message of this name is under way."""
        return bool(self.between[sender, receiver]) and any(
            (s.node, s.peer) == (sender, receiver) and message_name(s) == name
            for s in self.under_way.values()
        )


def message_name(step: Step) -> str:
    return snake(type(step.message)).upper()


def kind(peer: Peer) -> str:
    """The structure that the fields of a peer show."""
    return _kind(type(peer))


@cache
def _kind(peer: type[Peer]) -> str:
    names = {f.name for f in fields(peer)}
    for found, needed in STRUCTURES.items():
        if needed <= names:
            return found
    return "token" if _token_fields(peer) else "answers"


def waits(scene: WaitScene) -> list[Wait]:
    return [wait for i in scene.peers for wait in waits_of(scene, i)]


def waits_of(scene: WaitScene, i: NodeId) -> list[Wait]:
    """What one node waits for."""
    found = kind(scene.peers[i])
    if i in scene.gone or not (i in scene.waiting or found == "tree"):
        return []
    rule = {"quorums": _locked_out, "tree": _asked, "pointers": _behind, "token": _without}
    return list(rule.get(found, _unanswered)(scene, i))


def concerned(scene: WaitScene, moved: set[NodeId]) -> Iterable[NodeId]:
    """The nodes whose waits may change if these nodes do."""
    found = kind(scene.peers[1])
    if found == "quorums":
        return [i for i, p in scene.peers.items() if moved & {i, *quorum(p)}]
    if found == "token":
        before, scene.whereabouts = scene.whereabouts, ([*tokens(scene)], [*scene.carried])
        return moved if scene.whereabouts == before else scene.peers
    return moved if found == "answers" else scene.peers


def _locked_out(scene: WaitScene, i: NodeId) -> Iterator[Wait]:
    peer = scene.peers[i]
    for j in quorum(peer):
        lock = owner(scene.peers[j].locking)
        if lock is not None and lock != i and not peer.locked_members >> j & 1:
            pending = scene.talk(i, j) or scene.talk(j, lock)
            yield Wait(i, lock, f"member {j} is locked for {lock}", pending)


def _asked(scene: WaitScene, i: NodeId) -> Iterator[Wait]:
    peer = scene.peers[i]
    if getattr(peer, "asked", False) and (j := peer.holder) != i:
        yield Wait(i, j, f"{i} has asked {j} for the token", scene.talk(i, j))


def _behind(scene: WaitScene, i: NodeId) -> Iterator[Wait]:
    for j, peer in scene.peers.items():
        if peer.next == i != j and j not in scene.gone:
            yield Wait(i, j, f"{j} will pass the token to {i}", scene.talk(i, j))


def _without(scene: WaitScene, i: NodeId) -> Iterator[Wait]:
    for j in tokens(scene):
        if j != i:
            yield Wait(i, j, f"{j} has the token", scene.talk(i, j))
    for step in scene.carried.values():
        if step.peer is not None and step.peer != i:
            yield Wait(i, step.peer, f"the token is on its way to {step.peer}", True)


def _unanswered(scene: WaitScene, i: NodeId) -> Iterator[Wait]:
    for j, message in sorted(scene.asked[i].items()):
        yield Wait(i, j, f"{j} has not answered {message}", scene.talk(i, j))


def owed(scene: WaitScene) -> Iterator[Owed]:
    """Each FAILED that a member of a quorum should have sent."""
    if kind(scene.peers[1]) != "quorums":
        return
    for j, member in scene.alive():
        rivals = [r for r in (member.locking, *member.waiting_queue) if r is not None]
        for request in member.waiting_queue:
            i = int(request[-1])
            told = i == j or scene.peers[i].failed_members >> j & 1
            if not told and min(rivals) < request and not scene.travels(j, i, "FAILED"):
                yield Owed(j, i, "FAILED")


def tokens(scene: WaitScene) -> Iterator[NodeId]:
    """The nodes that have a token, as their fields say."""
    any_peer: Peer = scene.peers[1]
    names, is_tree = _token_fields(type(any_peer)), kind(any_peer) == "tree"
    for i, peer in scene.alive():
        values = [getattr(peer, name) for name in names]
        held = any(value is not None and value is not False for value in values)
        if held or (is_tree and peer.holder == i):
            yield i


@cache
def _token_fields(peer: type[Peer]) -> list[str]:
    return [f.name for f in fields(peer) if f.name in TOKEN_FIELDS]


def quorum(peer: Any) -> tuple[NodeId, ...]:
    """The members that it has asked, where any that are enough will do."""
    if hasattr(peer, "asked"):
        return tuple(nodes_in(peer.asked))
    found: tuple[NodeId, ...] = peer.quorums.of(peer.me)
    return found


def owner(lock: Any) -> NodeId | None:
    """The node of a timestamp, which is its last part."""
    return None if lock is None else int(lock[-1])


def deadlocked(edges: Iterable[Wait]) -> list[NodeId]:
    """A cycle of waits that nothing under way may end."""
    return cycle((edge.node, edge.other) for edge in edges if not edge.pending)


def cycle(edges: Iterable[tuple[NodeId, NodeId]]) -> list[NodeId]:
    """The first cycle that depth-first search finds, from the lowest node; or nothing."""
    leads: dict[NodeId, list[NodeId]] = {}
    for a, b in edges:
        leads.setdefault(a, []).append(b)
    done: set[NodeId] = set()
    for root in sorted(leads):
        path: list[NodeId] = []
        stack = [(root, iter(leads.get(root, [])))] if root not in done else []
        path = [root] if stack else []
        while stack:
            node, further = stack[-1]
            step = next((j for j in further if j not in done), None)
            if step is None:
                done.add(node)
                stack.pop()
                path.pop()
            elif step in path:
                return path[path.index(step) :]
            else:
                path.append(step)
                stack.append((step, iter(leads.get(step, []))))
    return []
