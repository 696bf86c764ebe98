"""When messages arrive: functions that are called for every message.

An Arrival goes from (time of sending, sender, receiver) to the time of arrival; Arrivals
are the same for a message to several receivers, in their order.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from peerlock.core.peer import NodeId

Arrival = Callable[[float, NodeId, NodeId], float]
Arrivals = Callable[[float, NodeId, Sequence[NodeId]], list[float]]


def one_by_one(arrival: Arrival) -> Arrivals:
    return lambda now, sender, receivers: [arrival(now, sender, to) for to in receivers]


def spread(low: float, span: float, random: Callable[[], float]) -> Arrival:
    """After `low`, and an even share of `span`."""
    return lambda now, sender, receiver: now + low + span * random()


def all_spread(low: float, span: float, random: Callable[[], float]) -> Arrivals:
    """The same draws, without a call for each."""

    def arrivals(now: float, sender: NodeId, receivers: Sequence[NodeId]) -> list[float]:
        soonest = now + low
        return [soonest + span * random() for _ in receivers]

    return arrivals
