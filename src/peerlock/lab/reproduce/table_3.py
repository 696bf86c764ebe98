"""Maekawa, 1985: table III, what nodes know of each other; figure 3; and section 2."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from math import sqrt
from typing import Any

from peerlock.core.peer import NodeId, snake
from peerlock.lab.reproduce import maekawa
from peerlock.lab.reproduce.expect import Exactly, Near
from peerlock.lab.reproduce.item import Because, Item
from peerlock.quorums.constructions import QuorumSystem, plane
from peerlock.quorums.systems import quorum_system
from peerlock.simulator.by_hand import ByHand
from peerlock.traces.trace import Kind

SOURCE = maekawa.SOURCE
CENTRAL, PROPOSED, THEIRS = "central", "maekawa", "ricart-agrawala"
PROPOSED_9, THEIRS_7 = "maekawa-takeover", "ricart-agrawala-failures"
HALF_MORE = "K is √N + ½ or so, and K−1 others are asked, not √N − 1."


def items() -> Iterator[Item]:
    for n in (13, 31, 57):
        yield from numbers_of_nodes(n)
        yield from removal(n)
    yield from figure_3()
    yield from majorities()


# Table III


def numbers_of_nodes(n: int) -> Iterator[Item]:
    root = sqrt(n)
    for title, measure, columns in (
        ("to which a REQUEST must be sent", requests_sent, (1, root - 1, n - 1)),
        ("of which each node keeps dynamic information", known, (n, root, n)),
        ("of which a failure loses dynamic information", lost, (n, root, 1)),
        ("of which each node keeps static information", named, (0, root, n)),
    ):
        for name, said in zip((CENTRAL, PROPOSED, THEIRS), columns, strict=True):
            k = len(plane(n).of(1))
            exact = k - 1 if said == root - 1 else k
            yield Item(
                SOURCE,
                f"Table III: the number of nodes {title}",
                {"n": n, "K": k, "asked with": name},
                Near(said, relative=0.02),
                partial(measure, name, n),
                Because(HALF_MORE, Exactly(exact)) if name == PROPOSED else None,
            )


def requests_sent(name: str, n: int) -> int:
    """By the last node, which is not the coordinator."""
    cluster = ByHand(name, n)
    cluster.request(n)
    return cluster.sent


def known(name: str, n: int) -> int:
    """The most of a node, the control node if there is one, when all ask."""
    cluster = all_asking(name, n)
    return max(len(nodes_known(peer)) for peer in cluster.peers.values())


def all_asking(name: str, n: int, **settings: Any) -> ByHand:
    """No message but a REQUEST has arrived."""
    cluster = ByHand(name, n, **settings)
    for node in cluster.members:
        cluster.request(node)
    deliver_requests(cluster)
    return cluster


def deliver_requests(cluster: ByHand) -> None:
    for flight in list(cluster.flying):
        if snake(type(flight.message)) == "request":
            cluster.deliver(flight.sender, flight.receiver, "REQUEST")


def nodes_known(peer: Any) -> set[NodeId]:
    """Whose requests it keeps."""
    if hasattr(peer, "reply_deferred"):
        return {j for j in peer.members if peer.reply_deferred >> j & 1} | {peer.me}
    if hasattr(peer, "waiting_queue"):
        locking = [peer.locking] if peer.locking else []
        return {node for _, node in (*locking, *peer.waiting_queue)}
    return {*peer.queue, *([peer.holder] if peer.holder else [])}


def lost(name: str, n: int) -> int:
    """The failed node, and all that have to tell again what it knew of them."""
    if name == CENTRAL:
        return known(name, n)
    return 1 + (reports_of_a_failure(n) if name == PROPOSED else told_after_a_failure(n))


def reports_of_a_failure(n: int) -> int:
    cluster = ByHand(PROPOSED_9, n, quorums=plane(n))
    cluster.crash(1)
    cluster.settle()
    return cluster.sent


def told_after_a_failure(n: int) -> int:
    """Messages besides those of an entry, and those that find and report the failure."""
    plain = {"request", "reply", "are_you_there", "yes_i_am_here", "node_failed"}
    cluster = with_a_failed_node(THEIRS_7, n)
    sent = [step.message for step in cluster.trace if step.kind is Kind.SEND]
    return sum(snake(type(message)) not in plain for message in sent)


def named(name: str, n: int) -> int:
    """The nodes that the first node, the control node if there is one, asks unasked."""
    cluster = ByHand(name, n)
    cluster.request(1)
    return cluster.sent + (1 if cluster.sent else 0)  # and itself


def removal(n: int) -> Iterator[Item]:
    backup, possible = "needs a back-up", "dynamically possible"
    for title, measure, columns in (
        ("removal of a (control) node", removed, (backup, possible, possible)),
        ("overtaking by another node", overtaken, (backup, possible, "not necessary")),
    ):
        for name, said in zip((CENTRAL, PROPOSED_9, THEIRS_7), columns, strict=True):
            yield Item(
                SOURCE,
                f"Table III: {title}",
                {"n": n, "by": name},
                Exactly(said),
                partial(measure, name, n),
            )


def with_a_failed_node(name: str, n: int) -> ByHand:
    """Node 1, the control node if there is one; then the last node asks."""
    cluster = ByHand(name, n)
    cluster.crash(1)
    cluster.settle()
    cluster.request(n)
    cluster.settle()
    for timer in ("reply", "probe"):
        if (n, timer) in cluster.timers:
            cluster.fire(n, timer)
            cluster.settle()
    return cluster


def removed(name: str, n: int) -> str:
    inside = with_a_failed_node(name, n).judge.inside
    return "dynamically possible" if inside == {n} else "needs a back-up"


def overtaken(name: str, n: int) -> str:
    """Whether the part of the failed node is another's afterwards."""
    cluster = with_a_failed_node(name, n)
    if cluster.judge.inside != {n}:
        return "needs a back-up"
    reported = any(snake(type(s.message)) == "report" for s in cluster.trace if s.message)
    return "dynamically possible" if reported else "not necessary"


# Figure 3, with the sets of figure 1 (b)

ASKING = (1, 2, 4, 6)
WAITS = {"1": [2], "2": [4, 6], "4": [1], "6": [1]}


def figure_3() -> Iterator[Item]:
    yield Item(
        SOURCE,
        "Fig. 3: a circular waiting",
        {"n": 7, "asking": list(ASKING)},
        Exactly(WAITS),
        waits_for,
    )
    yield Item(
        SOURCE,
        "Fig. 3: the circular waiting is broken, and node 2 enters",
        {"n": 7, "asking": list(ASKING)},
        Exactly(2),
        first_to_enter,
    )


def circle() -> ByHand:
    given = QuorumSystem("given", maekawa.printed(7))
    cluster = ByHand(PROPOSED, 7, quorums=given)
    for node in ASKING:
        cluster.request(node)
    deliver_requests(cluster)
    return cluster


def waits_for() -> dict[str, list[NodeId]]:
    """For whom the members of each are locked, where it is in their queues."""
    found: dict[NodeId, list[NodeId]] = {}
    for peer in circle().peers.values():
        member: Any = peer
        for _, waiting in member.waiting_queue:
            found.setdefault(waiting, []).append(member.locking[1])
    return {str(node): sorted(found[node]) for node in sorted(found)}


def first_to_enter() -> NodeId:
    cluster = circle()
    cluster.settle()
    (inside,) = cluster.judge.inside
    return inside


# Section 2: majorities

HALF = "A majority is ⌊N/2⌋ + 1, as section 1 of the paper says itself: “a half, N/2”."


def majorities() -> Iterator[Item]:
    for n in (3, 7, 13, 50):
        half = n // 2 + 1
        yield Item(
            SOURCE,
            "§2: Thomas's majority consensus, K = N and D = N",
            {"n": n},
            Exactly([n, n]),
            partial(size_and_duty, n),
            Because(HALF, Exactly([half, half])),
        )


def size_and_duty(n: int) -> list[int]:
    """K, and D: in how many sets each node is; the same for all nodes."""
    sets = quorum_system("majority", n).quorums
    sizes = {len(members) for members in sets}
    duties = {sum(node in members for members in sets) for node in range(1, n + 1)}
    (size,), (duty,) = sizes, duties
    return [size, duty]
