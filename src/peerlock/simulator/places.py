"""The judge of places: a request that was made clearly before another is served before it.

Judged are names whose algorithm serves members in the order of their requests, and
exclusive requests that wait.  Each process requests for the first of its users: that one
counts, from when it became the first and its process did not hold the name.  The request of
a user that gives up is not withdrawn, and serves the next user of that process: so a grant
may answer the request of an earlier user.  If that was a reader, a writer of that process
can request only after the reader's grant: it is not judged until then.

A *turn* of a process begins with a grant after another process's; what it hands on to its
own users in that turn is bounded elsewhere.  When a turn begins, no other process may have
a first user that has waited clearly longer, both by the time at which it asked and by the
time at which it became the first.  "Clearly" leaves room for clocks that run at different
rates, and for messages under way.  A user that waited while a process was slow, stood still
or could not be reached is not judged: then messages take their time.  While a process is
considered a member that is dead, or out after a failed step, requests to it are lost until
the circle is formed anew, and homes wait for it; and a process that gets errors from the
engine, or waits for it, cannot see the view in which another has come, nor enter an epoch
that was opened in it: so a user that waits then is judged only if it had asked before, in
an epoch in which all members could request.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from peerlock.simulator.witness import Misrule

# Virtual seconds, and how much of its wait a clock may be wrong by.
CLEARLY = 0.2
RATES = 0.15

# Algorithms whose undisturbed order is the order of asking: tests/node/test_homes.py.
IN_TURN = frozenset(
    (
        "banerjee-chrysanthis",
        "central",
        "lamport",
        "naimi-trehel",
        "neilsen-mizuno",
        "ricart-agrawala",
        "ricart-agrawala-bounded",
        "ricart-agrawala-priority",
        "ricart-agrawala-readers-writers",
    )
)


@dataclass(eq=False)
class QueuePlace:
    """One user's request."""

    who: str  # its process
    asked_at: float
    shared: bool
    asked_in_epoch: bool  # that runs, and when no dead process was considered a member
    counts: Callable[[], bool]  # whether it waits to be served in turn


@dataclass
class Queue:
    """The requests for one name that have not been served, in their order."""

    waiting: list[QueuePlace] = field(default_factory=list)
    inside: list[QueuePlace] = field(default_factory=list)
    served: str = ""  # the process that had the last turn
    changed: dict[str, float] = field(
        default_factory=dict
    )  # of the first user there, and of its holding
    claims: dict[str, float] = field(
        default_factory=dict
    )  # first asked since it was served
    left_readers: set[str] = field(default_factory=set)  # and a reader has given up since

    def since(self, place: QueuePlace) -> float:
        """From when on its process could ask for it."""
        return max(place.asked_at, self.changed.get(place.who, 0.0))

    def turn_of(self, who: str) -> None:
        self.served = who
        self.claims.pop(who, None)
        self.left_readers.discard(who)
        for place in self.waiting:
            if place.who == who:
                self.claims[who] = place.asked_at
                break

    def first_of_each(self) -> list[QueuePlace]:
        first: dict[str, QueuePlace] = {}
        for place in self.waiting:
            first.setdefault(place.who, place)
        return list(first.values())


class Places:
    def __init__(
        self,
        clock: Callable[[], float],
        calm: Callable[[], float],
        whole: Callable[[], float],
    ) -> None:
        """calm: since when no process has been slow, still or out of reach;
        whole: since when no process has considered one a member that is not in, or could
        not learn that one is."""
        self.compared = 0  # requests that were served before one made clearly later
        self._clock = clock
        self._calm = calm
        self._whole = whole
        self._queues: dict[str, Queue] = {}

    def asks(self, name: str, place: QueuePlace) -> None:
        queue = self._queues.setdefault(name, Queue())
        queue.waiting.append(place)
        queue.claims.setdefault(place.who, place.asked_at)

    def granted(self, name: str, place: QueuePlace, algorithm: str) -> None:
        queue = self._queues[name]
        if queue.served != place.who and place.counts() and algorithm in IN_TURN:
            for other in queue.first_of_each():
                if other.who != place.who:
                    self._compare(name, queue, place, other)
        self._remove(queue, place)
        queue.inside.append(place)
        queue.turn_of(place.who)

    def over(self, name: str, place: QueuePlace) -> None:
        """It has released or lost it, or given up, or was refused, or its process died."""
        queue = self._queues.setdefault(name, Queue())
        if place in queue.waiting:
            if place.shared and place in queue.first_of_each():
                queue.left_readers.add(place.who)
            self._remove(queue, place)
        elif place in queue.inside:
            queue.inside.remove(place)
            queue.changed[place.who] = self._clock()

    def _remove(self, queue: Queue, place: QueuePlace) -> None:
        queue.waiting.remove(place)
        queue.changed[place.who] = self._clock()

    def _compare(
        self, name: str, queue: Queue, served: QueuePlace, other: QueuePlace
    ) -> None:
        if other.who in queue.left_readers or any(p.who == other.who for p in queue.inside):
            return
        if not other.counts():
            return
        now, claim = self._clock(), queue.claims[served.who]
        asked, since = now - other.asked_at, now - queue.since(other)
        if since >= now - (self._calm() if other.asked_in_epoch else self._whole()):
            return
        if _clearly_longer(now - queue.since(served), asked):
            self.compared += 1
        elif _clearly_longer(since, now - claim):
            raise Misrule(
                f"{served.who} gets {name}, asked for at {served.asked_at:.3f}, before "
                f"{other.who}, which has waited since {other.asked_at:.3f}"
            )


def _clearly_longer(one: float, other: float) -> bool:
    return one * (1.0 - RATES) > other + CLEARLY
