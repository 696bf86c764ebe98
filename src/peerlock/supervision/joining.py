"""To be a member while a command runs: joining may take too long, or be called off."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

from peerlock.api.errors import ClusterError
from peerlock.api.tasks import LockNode

# Seconds that joining may take, however little one wants to wait: who does not want to wait
# at all wants the lock all the same if it is free.
JOINING = 3.0

TIDYING = 1.0  # seconds, for who has not joined after all, to take back what is half done


class Patience:
    """Somebody waits so many seconds for a lock, joining included; None: for ever."""

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
    """Inside, the node has joined; ClusterError if it could not, within so many seconds."""
    joining = asyncio.ensure_future(node.__aenter__())
    try:
        await asyncio.wait([joining], timeout=within)
        if not joining.done():
            raise ClusterError(f"the cluster did not let us in within {within:g} s")
        await joining
        yield
    finally:
        await call_off(joining)
        await node.leave()


async def call_off(joining: asyncio.Future[Any]) -> None:
    """Cancelled once, it tidies up, for which it needs the others to answer; twice, not."""
    while not joining.done():
        joining.cancel()
        await asyncio.wait([joining], timeout=TIDYING)
    if not joining.cancelled():
        joining.exception()  # has been seen: nobody need hear of it
