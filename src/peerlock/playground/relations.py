"""The second view of a run: which node waits for which, and the structure behind it.

What is shown follows from the state that the algorithm has:

  * quorums (`locking`, `waiting_queue`): a node waits for the nodes for which members of
    its quorum are locked.  A member owes FAILED to a queued node if a request there
    precedes its own and it has not been told so.
  * a tree (`holder`, `request_q`): HOLDER points towards the token, and a node that has
    asked waits for its holder.
  * `last` and `next`: `next` is the node that waits for this one.
  * otherwise, a node waits for those that have not answered since it requested.

A token is where a field says so, or under way in a message of its name.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from peerlock.core.bits import nodes_in
from peerlock.core.peer import NodeId, Peer, label, snake
from peerlock.playground.fields import in_words
from peerlock.playground.run import Run
from peerlock.traces.trace import Kind

TOKEN_FIELDS = ("privilege", "token", "token_here", "has_token", "token_data", "holding")
TOKENS = ("TOKEN", "PRIVILEGE")
QUEUES = ("request_q", "waiting_queue", "queue", "request_queue", "lrq", "grq")

Edge = dict[str, Any]


def relations(run: Run) -> dict[str, Any]:
    waits = list(_waits(run))
    return {
        "kind": kind(run),
        "waits": waits,
        "cycle": cycle((edge["from"], edge["to"]) for edge in waits),
        "sets": list(_sets(run)),
        "locks": list(_locks(run)),
        "owed": list(_owed(run)),
        "pointers": list(_pointers(run)),
        "queues": dict(_queues(run)),
        "token": list(_tokens(run)),
        "carried": list(_carried(run)),
    }


def kind(run: Run) -> str:
    peer = run.cluster.peers[1]
    if _has(peer, "locking", "waiting_queue"):
        return "quorums"
    if _has(peer, "holder", "request_q"):
        return "tree"
    if _has(peer, "last", "next"):
        return "pointers"
    return "token" if any(hasattr(peer, name) for name in TOKEN_FIELDS) else "answers"


def _has(peer: Peer, *names: str) -> bool:
    return all(hasattr(peer, name) for name in names)


def _alive(run: Run) -> Iterator[tuple[NodeId, Any]]:
    return ((i, p) for i, p in run.cluster.peers.items() if i not in run.cluster.gone)


# Which node waits for which


def _waits(run: Run) -> Iterator[Edge]:
    by_kind = {"quorums": _locked_out, "tree": _asked, "pointers": _behind}
    found = by_kind.get(kind(run), _unanswered)
    waiting = run.cluster.judge.waiting
    return (e for e in found(run) if e["from"] in waiting or kind(run) == "tree")


def _edge(a: NodeId, b: NodeId, why: str) -> Edge:
    return {"from": a, "to": b, "why": why}


def _locked_out(run: Run) -> Iterator[Edge]:
    for i, peer in _alive(run):
        for j in _quorum(peer):
            member: Any = run.cluster.peers[j]
            lock = _first_of(member.locking)
            if lock not in (None, i) and not peer.locked_members >> j & 1:
                yield _edge(i, lock, f"member {j} is locked for {lock}")


def _asked(run: Run) -> Iterator[Edge]:
    for i, peer in _alive(run):
        if getattr(peer, "asked", False) and peer.holder != i:
            yield _edge(i, peer.holder, f"{i} has asked {peer.holder} for the token")


def _behind(run: Run) -> Iterator[Edge]:
    for i, peer in _alive(run):
        if peer.next and peer.next != i:
            yield _edge(peer.next, i, f"{i} will pass the token to {peer.next}")


def _unanswered(run: Run) -> Iterator[Edge]:
    for i in sorted(run.cluster.judge.waiting):
        asked: dict[NodeId, str] = {}
        since = max(
            k for k, s in enumerate(run.trace) if s.kind is Kind.REQUEST and s.node == i
        )
        for step in run.trace.steps[since:]:
            if step.node == i and step.peer is not None:
                if step.kind is Kind.SEND:
                    asked[step.peer] = label(step.message)
                elif step.kind is Kind.RECEIVE:
                    asked.pop(step.peer, None)
        for j, message in sorted(asked.items()):
            yield _edge(i, j, f"{j} has not answered {message}")


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


# Quorums


def _quorum(peer: Any) -> tuple[NodeId, ...]:
    if getattr(peer, "quorums", None) is None:
        asked = getattr(peer, "asked", 0)
        return tuple(nodes_in(asked)) if isinstance(asked, int) else ()
    found: tuple[NodeId, ...] = peer.quorums.of(peer.me)
    return found


def _first_of(lock: Any) -> NodeId | None:
    """The node of a timestamp, which is its last part."""
    return None if lock is None else int(lock[-1])


def _sets(run: Run) -> Iterator[dict[str, Any]]:
    for i, peer in run.cluster.peers.items():
        if getattr(peer, "quorums", None) is not None:
            yield {"node": i, "members": list(_quorum(peer))}


def _locks(run: Run) -> Iterator[dict[str, Any]]:
    if kind(run) == "quorums":
        for j, member in _alive(run):
            if member.locking is not None:
                yield {"member": j, "for": _first_of(member.locking)}


def _owed(run: Run) -> Iterator[Edge]:
    if kind(run) != "quorums":
        return
    for j, member in _alive(run):
        for request in member.waiting_queue:
            i = int(request[-1])
            rivals = [r for r in (member.locking, *member.waiting_queue) if r is not None]
            told = i == j or run.cluster.peers[i].failed_members >> j & 1  # type: ignore[attr-defined]
            if min(rivals) < request and not told and not _under_way(run, j, i, "FAILED"):
                yield {"from": j, "to": i, "what": "FAILED"}


def _under_way(run: Run, sender: NodeId, receiver: NodeId, name: str) -> bool:
    return any(
        (f.sender, f.receiver, snake(type(f.message)).upper()) == (sender, receiver, name)
        for f in run.cluster.flying
    )


# Pointers, queues, tokens


def _pointers(run: Run) -> Iterator[Edge]:
    for i, peer in _alive(run):
        for name in ("holder", "last", "next"):
            to = getattr(peer, name, None)
            if isinstance(to, int) and to and to != i:
                yield {"from": i, "to": to, "name": name}


def _queues(run: Run) -> Iterator[tuple[str, str]]:
    for i, peer in _alive(run):
        found = [(n, getattr(peer, n)) for n in QUEUES if getattr(peer, n, ())]
        if found:
            yield str(i), ", ".join(f"{name} {in_words(queue)}" for name, queue in found)


def _tokens(run: Run) -> Iterator[NodeId]:
    for i, peer in _alive(run):
        fields = (getattr(peer, name, None) for name in TOKEN_FIELDS)
        here = any(value is not None and value is not False for value in fields)
        if here or (kind(run) == "tree" and peer.holder == i):
            yield i


def _carried(run: Run) -> Iterator[Edge]:
    for flight in run.cluster.flying:
        if snake(type(flight.message)).upper() in TOKENS:
            yield {"from": flight.sender, "to": flight.receiver}
