"""Nodes of tasks in one cluster, for tests."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import peerlock
from peerlock.api.tasks import Lock, LockNode
from peerlock.membership.place import engine_for
from tests.support.loops import delivered


@asynccontextmanager
async def members(
    cluster: str, number: int, **settings: Any
) -> AsyncIterator[list[LockNode]]:
    async with AsyncExitStack() as stack:
        nodes = [
            await stack.enter_async_context(peerlock.join(cluster, **settings))
            for _ in range(number)
        ]
        await delivered(*nodes)
        yield nodes


async def put_out(cluster: str, node: LockNode) -> None:
    """As a member does that finds that it has been silent for too long."""
    engine = engine_for(cluster, None)
    await engine.leave(node.host.node.me)
    engine.close()
    node.driver.soon(node.host._look_soon)


async def is_free(lock: Lock) -> bool:
    try:
        grant = await lock.try_acquire()
    except peerlock.WouldBlock:
        return False
    grant.release()
    return True
