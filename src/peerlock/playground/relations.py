"""The second view of a run: which node waits for which, and the structure behind it.

The waits are those of `traces.waits`.  What else is shown follows from the state that the
algorithm has: quorums with their locks, HOLDER pointers of a tree, `last` and `next`,
queues, and the token, which is where a field says so, or under way in a message of its
name.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from peerlock.core.peer import snake
from peerlock.playground.run import Run
from peerlock.traces.fields import in_words
from peerlock.traces.waits import (
    TOKENS,
    WaitScene,
    deadlocked,
    kind,
    owed,
    owner,
    quorum,
    tokens,
    waits,
)

QUEUES = ("request_q", "waiting_queue", "queue", "request_queue", "lrq", "grq")

Edge = dict[str, Any]


def relations(run: Run) -> dict[str, Any]:
    scene = WaitScene(dict(run.cluster.peers))
    for step in run.trace:
        scene.advance(step)
    found = waits(scene)
    return {
        "kind": kind(scene.peers[1]),
        "waits": [{"from": w.node, "to": w.other, "why": w.why} for w in found],
        "cycle": deadlocked(found),
        "sets": list(_sets(scene)),
        "locks": list(_locks(scene)),
        "owed": [{"from": o.node, "to": o.other, "what": o.what} for o in owed(scene)],
        "pointers": list(_pointers(scene)),
        "queues": dict(_queues(scene)),
        "token": list(tokens(scene)),
        "carried": list(_carried(run)),
    }


def _sets(scene: WaitScene) -> Iterator[dict[str, Any]]:
    for i, peer in scene.peers.items():
        if getattr(peer, "quorums", None) is not None and (members := quorum(peer)):
            yield {"node": i, "members": list(members)}


def _locks(scene: WaitScene) -> Iterator[dict[str, Any]]:
    if kind(scene.peers[1]) == "quorums":
        for j, member in scene.alive():
            if member.locking is not None:
                yield {"member": j, "for": owner(member.locking)}


def _pointers(scene: WaitScene) -> Iterator[Edge]:
    for i, peer in scene.alive():
        for name in ("holder", "last", "next"):
            to = getattr(peer, name, None)
            if isinstance(to, int) and to and to != i:
                yield {"from": i, "to": to, "name": name}


def _queues(scene: WaitScene) -> Iterator[tuple[str, str]]:
    for i, peer in scene.alive():
        found = [(n, getattr(peer, n)) for n in QUEUES if getattr(peer, n, ())]
        if found:
            yield str(i), ", ".join(f"{name} {in_words(queue)}" for name, queue in found)


def _carried(run: Run) -> Iterator[Edge]:
    for flight in run.cluster.flying:
        if snake(type(flight.message)).upper() in TOKENS:
            yield {"from": flight.sender, "to": flight.receiver}
