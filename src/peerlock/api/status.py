"""The state of a node, and of a cluster, as plain values."""

from __future__ import annotations

import asyncio
import os
import socket
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from peerlock.api.entry_order import Turn, entry_order, turn_of
from peerlock.api.meeting import USUAL, Reach, rendezvous
from peerlock.core.errors import UsageError
from peerlock.membership.place import chosen
from peerlock.node.node import Node
from peerlock.node.views import Member, View
from peerlock.node.waiters import Waiter
from peerlock.runtime.questions import answer_of

LONGEST_LABEL = 200


@dataclass(frozen=True)
class Holder:
    """A user that holds a lock."""

    label: str  # of its process: see `join`
    pid: int  # its process, on its machine
    address: str | None  # of its process between machines
    shared: bool  # it shares the lock with other readers
    fence: int  # of its grant
    held_for: float  # seconds


@dataclass(frozen=True)
class Waiting:
    """A user that waits for a lock."""

    label: str  # of its process: see `join`
    pid: int  # its process, on its machine
    address: str | None  # of its process between machines
    shared: bool  # it would share the lock with other readers
    waited_for: float  # seconds


@dataclass(frozen=True)
class LockStatus:
    """A lock that is held or waited for."""

    name: str  # of the lock
    algorithm: str | None  # None while the lock is being opened
    permits: int  # of a semaphore; 0 for a lock
    holders: tuple[Holder, ...]  # the longest first
    waiters: tuple[Waiting, ...]  # the next one first


@dataclass(frozen=True)
class MemberStatus:
    """A process of the cluster."""

    id: int  # of the member
    pid: int  # on its machine
    address: str | None  # between machines
    label: str | None  # None if it has not answered
    answers: bool  # within a second


@dataclass(frozen=True)
class Status:
    """A cluster: its members, and the holders and waiters of its locks."""

    view: int  # its number, which grows whenever a member comes or goes
    members: tuple[MemberStatus, ...]  # the oldest first
    locks: tuple[LockStatus, ...]  # by name; those that are held or waited for

    def holder_of(self, name: str) -> Holder | None:
        """The first holder of the lock; None if it is free."""
        holders = (
            holder for lock in self.locks if lock.name == name for holder in lock.holders
        )
        return next(holders, None)


def status_of(found: dict[str, Any]) -> Status:
    """The same as values with types."""
    members = tuple(MemberStatus(**member) for member in found["members"])
    return Status(found["view"], members, tuple(map(lock_status, found["locks"])))


def lock_status(lock: dict[str, Any]) -> LockStatus:
    holders = tuple(Holder(**holder) for holder in lock["holders"])
    waiters = tuple(Waiting(**waiter) for waiter in lock["waiters"])
    return LockStatus(lock["name"], lock["algorithm"], lock["permits"], holders, waiters)


def plain_label(label: str | None) -> str:
    """By default the host, the process id and the program."""
    if label is None:
        program = os.path.basename(sys.argv[0]) if sys.argv else ""
        return f"{socket.gethostname()} {os.getpid()} {program or 'python'}"[:LONGEST_LABEL]
    if not isinstance(label, str) or not 0 < len(label) <= LONGEST_LABEL:
        raise UsageError(
            f"a label is a str of 1 to {LONGEST_LABEL} characters, got {label!r:.50}"
        )
    if not label.isprintable():
        raise UsageError(f"a label must be printable, got {label!r:.50}")
    return label


def describe(node: Node, label: str = "") -> dict[str, Any]:
    """What one node knows."""
    now = node.clock()
    locks = [
        {
            "name": lock.name,
            "algorithm": lock.terms.algorithm if lock.terms else None,
            "permits": lock.terms.permits if lock.terms else 0,
            "holders": [held(holder, now) for holder in lock.holders],
            "waiters": [waiting(waiter, now) for waiter in lock.waiters],
            "turn": turn_of(lock, node.knobs, now),
        }
        for lock in node.locks.values()
        if lock.holders or lock.waiters
    ]
    return {
        "label": label,
        "view": node.view.number,
        "running": node.running,
        "lost": node.statistics.lost,
        "locks": locks,
    }


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
    engine, transport = rendezvous(cluster, None, reach)
    try:
        view = await engine.read()
        questions = (answer_of(m, engine.cluster, transport) for m in view.members)
        answers = await asyncio.gather(*questions)
        told = [answer if isinstance(answer, dict) else None for answer in answers]
        return summed_up(view, told)
    finally:
        engine.close()


class Survey:
    """Asks the members of a cluster, for one of them."""

    def __init__(self, cluster: str | None, reach: Reach) -> None:
        self._where = chosen(cluster), reach

    async def ask(self) -> Status:
        return status_of(await survey(*self._where))


def summed_up(view: View, answers: Sequence[dict[str, Any] | None]) -> dict[str, Any]:
    locks: dict[str, dict[str, Any]] = {}
    queues: dict[str, list[tuple[Turn, list[dict[str, Any]]]]] = {}
    members = []
    for member, answer in zip(view.members, answers, strict=True):
        label = str(answer.get("label", ""))[:LONGEST_LABEL] if answer else None
        who = {"pid": member.pid, "address": between_machines(member), "label": label}
        members.append({"id": member.id, **who, "answers": answer is not None})
        for lock in answer["locks"] if answer else ():
            name = lock["name"]
            entry = locks.setdefault(name, {**lock, "holders": []})
            entry["algorithm"] = entry["algorithm"] or lock["algorithm"]
            entry["permits"] = entry["permits"] or lock["permits"]
            entry["holders"] += [{**who, **user} for user in lock["holders"]]
            waiters = [{**who, **user} for user in lock["waiters"]]
            queues.setdefault(name, []).append((Turn(*lock["turn"]), waiters))
    for name, lock in locks.items():
        del lock["turn"]
        lock["holders"].sort(key=lambda user: -user["held_for"])
        lock["waiters"] = in_order(lock, queues[name])
    return {
        "view": view.number,
        "members": members,
        "locks": [locks[name] for name in sorted(locks)],
    }


def in_order(
    lock: dict[str, Any], queues: list[tuple[Turn, list[dict[str, Any]]]]
) -> list[dict[str, Any]]:
    """The waiters, the next one first.  A process requests a permit for each of its users,
    so those of a semaphore enter as they have come."""
    if lock["permits"]:
        waiters = [waiter for _, some in queues for waiter in some]
        return sorted(waiters, key=lambda user: -user["waited_for"])
    held_for = lock["holders"][0]["held_for"] if lock["holders"] else 0.0
    return entry_order(queues, held_for)


def between_machines(member: Member) -> str | None:
    """Its address between machines; on one machine, its process id is enough."""
    return None if member.address.startswith("/") else member.address
