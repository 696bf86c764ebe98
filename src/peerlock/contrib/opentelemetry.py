"""Spans and counters for OpenTelemetry.

    instrument(node)                        # counters of what the node has done
    async with traced(node.lock("x")): ...  # spans peerlock.acquire and peerlock.hold

Without `traced` a lock costs what it costs without OpenTelemetry.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from types import TracebackType
from typing import Any

from opentelemetry import metrics, trace
from opentelemetry.metrics import CallbackOptions, Meter, Observation
from opentelemetry.trace import Span, Tracer

import peerlock
from peerlock import Grant, Lock, sync

__all__ = ["instrument", "traced"]

COUNTERS = {
    "grants": "Grants to local users",
    "handed_over": "Grants that needed no message",
    "waited": "Total waiting time of local users, in seconds",
    "lost": "Grants that were lost",
}


def instrument(node: peerlock.LockNode | sync.LockNode, meter: Meter | None = None) -> None:
    """Counters `peerlock.grants`, `.handed_over`, `.waited` and `.lost` of this node."""
    meter = meter or metrics.get_meter("peerlock")
    for name, text in COUNTERS.items():
        counter = meter.create_observable_counter
        counter(f"peerlock.{name}", [observer(node, name)], description=text)


def observer(
    node: peerlock.LockNode | sync.LockNode, name: str
) -> Callable[[CallbackOptions], Iterable[Observation]]:
    def observe(_: CallbackOptions) -> Iterable[Observation]:
        return [Observation(getattr(node.statistics(), name))]

    return observe


class traced:  # noqa: N801  # it reads like a function
    """A lock in `with` or `async with`, for one use: the wait and the hold are spans."""

    def __init__(self, lock: Lock | sync.Lock, tracer: Tracer | None = None) -> None:
        self._lock: Any = lock
        self._tracer = tracer or trace.get_tracer("peerlock")
        self._hold: AbstractContextManager[Span]

    def __enter__(self) -> sync.Grant:
        with self._span("peerlock.acquire"):
            grant: sync.Grant = self._lock.__enter__()
        self._begin(grant)
        return grant

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            self._lock.__exit__(kind, error, trace)
        finally:
            self._hold.__exit__(kind, error, trace)

    async def __aenter__(self) -> Grant:
        with self._span("peerlock.acquire"):
            grant: Grant = await self._lock.__aenter__()
        self._begin(grant)
        return grant

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        try:
            await self._lock.__aexit__(kind, error, trace)
        finally:
            self._hold.__exit__(kind, error, trace)

    def _span(self, what: str, **more: int) -> AbstractContextManager[Span]:
        attributes = {"peerlock.name": self._lock.name}
        attributes |= {f"peerlock.{key}": value for key, value in more.items()}
        return self._tracer.start_as_current_span(what, attributes=attributes)

    def _begin(self, grant: Grant | sync.Grant) -> None:
        self._hold = self._span("peerlock.hold", fence=grant.fence)
        self._hold.__enter__()
