"""Membership while a command runs: joining may take too long, or be cancelled."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from peerlock.api.errors import ClusterError
from peerlock.api.tasks import LockNode

# Seconds that joining may take, however short the timeout: a caller that does not want to
# wait still wants the lock if it is free.
JOINING = 3.0

TIDYING = 1.0  # seconds to undo a join that was cancelled


class Patience:
    """How many seconds a caller waits for a lock, joining included; None: without limit."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._began = time.monotonic()

    @property
    def for_joining(self) -> float | None:
        return None if self._seconds is None else max(self._seconds, JOINING)

    def left(self) -> float | None:
        if self._seconds is None:
            return None
        return max(0.0, self._began + self._seconds - time.monotonic())


@asynccontextmanager
async def member(node: LockNode, within: float | None = None) -> AsyncIterator[None]:
    """In the body, the node has joined; raises ClusterError if it could not in time."""
    joining = asyncio.ensure_future(node.__aenter__())
    try:
        await asyncio.wait([joining], timeout=within)
        if not joining.done():
            raise ClusterError(
                f"the cluster is unreachable: joining took longer than {within:g} s"
            )
        await joining
        yield
    finally:
        await call_off(joining)
        await node.leave()


async def call_off(joining: asyncio.Future[Any]) -> None:
    """Cancelled once, it cleans up, for which the other members must answer; twice, it
    ends."""
    while not joining.done():
        joining.cancel()
        await asyncio.wait([joining], timeout=TIDYING)
    if not joining.cancelled():
        joining.exception()  # it is retrieved, so that it is not logged
