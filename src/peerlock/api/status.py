"""The state of a node, and of a cluster, as plain values."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from typing import Any

from peerlock.api.meeting import USUAL, Reach, meet
from peerlock.node.locks import Waiter
from peerlock.node.node import Node
from peerlock.node.views import Member, View
from peerlock.runtime.questions import answer_of


def describe(node: Node) -> dict[str, Any]:
    """What one node knows."""
    now = node.clock()
    locks = [
        {
            "name": lock.name,
            "algorithm": lock.terms.algorithm if lock.terms else None,
            "permits": lock.terms.permits if lock.terms else 0,
            "holders": [held(holder, now) for holder in lock.holders],
            "waiters": [waiting(waiter, now) for waiter in lock.waiters],
        }
        for lock in node.locks.values()
        if lock.holders or lock.waiters
    ]
    counted = {"lost": node.statistics.lost}
    return {"view": node.view.number, "running": node.running, **counted, "locks": locks}


def held(holder: Waiter, now: float) -> dict[str, Any]:
    return {
        "fence": holder.fence,
        "shared": holder.demand.shared,
        "held_for": now - holder.since,
        **labelled(holder),
    }


def waiting(waiter: Waiter, now: float) -> dict[str, Any]:
    waited = {"shared": waiter.demand.shared, "waited_for": now - waiter.asked_at}
    return waited | labelled(waiter)


def labelled(user: Waiter) -> dict[str, str]:
    """The label that a user has besides that of its process."""
    label = getattr(user, "label", "")
    return {"label": label} if label else {}


async def survey(cluster: str | None = None, reach: Reach = USUAL) -> dict[str, Any]:
    """Ask every member, without joining: members, locks, holders, waiters."""
    engine, transport = meet(cluster, None, reach)
    try:
        view = await engine.read()
        questions = (answer_of(m, engine.cluster, transport) for m in view.members)
        answers = await asyncio.gather(*questions)
        told = [answer if isinstance(answer, dict) else None for answer in answers]
        return summed_up(view, told)
    finally:
        engine.close()


def summed_up(view: View, answers: Sequence[dict[str, Any] | None]) -> dict[str, Any]:
    locks: dict[str, dict[str, Any]] = {}
    members = []
    for member, answer in zip(view.members, answers, strict=True):
        who = {"pid": member.pid, "address": between_machines(member)}
        members.append({"id": member.id, **who, "answers": answer is not None})
        for lock in answer["locks"] if answer else ():
            entry = locks.setdefault(lock["name"], {**lock, "holders": [], "waiters": []})
            entry["algorithm"] = entry["algorithm"] or lock["algorithm"]
            entry["permits"] = entry["permits"] or lock["permits"]
            for kind in ("holders", "waiters"):
                entry[kind].extend({**who, **user} for user in lock[kind])
    for lock in locks.values():
        lock["holders"].sort(key=lambda user: -user["held_for"])
        lock["waiters"].sort(key=lambda user: -user["waited_for"])
    return {
        "view": view.number,
        "members": members,
        "locks": [locks[name] for name in sorted(locks)],
    }


def between_machines(member: Member) -> str | None:
    """Its address between machines; on one machine, its process id is enough."""
    return None if member.address.startswith("/") else member.address
