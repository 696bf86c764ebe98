"""The order in which the users that wait for an exclusive lock will acquire it.

A process requests the lock for the first of its waiters, and the algorithm serves requests
in the order in which they were made.  What follows is the rule of `node/turnstile.py`:

- By one grant a process serves its users in the order in which they came: at most
  `hand_overs`, and after the first only until `hand_over_time` is over.
- If some are left, the process requests again, behind all requests that wait by then.
- When a circle is formed anew, each process requests for its first waiter again, and those
  come in the order in which they have waited.

How long users will hold the lock is not known.  It is taken to be as long as the present
holder has held it: so a lock that is held for longer than `hand_over_time` is served
strictly in turn.  Nor is it known that a request is left over from users that gave up: the
next user of that process enters earlier than it is listed.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from math import ceil, inf
from typing import Any, NamedTuple

from peerlock.node.knobs import Knobs
from peerlock.node.locks import NamedLock

Described = dict[str, Any]  # a user, as a member describes it


class Turn(NamedTuple):
    """What one member tells of its turns with one lock."""

    here: bool = False  # it has the grant
    left: int = 0  # how many more of its users that grant may serve
    left_for: float = 0.0  # and for how many seconds
    hand_overs: int = 1  # of the next grant
    hand_over_time: float = 0.0
    requested_for: float = 0.0  # seconds since its request was made, if it waits


def turn_of(lock: NamedLock, knobs: Knobs, now: float) -> Turn:
    requested_for = now - lock.waiters[0].requested_at if lock.waiters else 0.0
    turn = Turn(False, 0, 0.0, knobs.hand_overs, knobs.hand_over_time, requested_for)
    for slot in lock.slots:
        if slot.here:
            return turn._replace(here=True, left=slot.left, left_for=slot.until - now)
    return turn


def entry_order(
    queues: Sequence[tuple[Turn, Sequence[Described]]], held_for: float
) -> list[Described]:
    """queues: of each member; held_for: by the present holder, in seconds."""
    return list(_entering(queues, held_for))


def _entering(
    queues: Sequence[tuple[Turn, Sequence[Described]]], held_for: float
) -> Iterator[Described]:
    by_place = sorted(
        queues, key=lambda queue: (not queue[0].here, -queue[0].requested_for)
    )
    line = deque((turn, deque(users)) for turn, users in by_place)
    while line:
        turn, users = line.popleft()
        if turn.here:
            most = served(turn.left, turn.left_for, held_for)
        else:
            most = max(1, served(turn.hand_overs, turn.hand_over_time, held_for))
        for _ in range(min(most, len(users))):
            yield users.popleft()
        if users:
            line.append((turn._replace(here=False), users))


def served(most: int, time: float, each: float) -> int:
    """How many users enter within this time, if each holds the lock for so long."""
    if time <= 0:
        return 0
    return most if time == inf or each <= 0 else min(most, ceil(time / each))
